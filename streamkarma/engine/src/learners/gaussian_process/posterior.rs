//! What is known of a Gaussian process given events: Bayesian linear regression on its features.
//!
//! With inducing points u, U'U the radial kernel between any two of them and k that between them and an event, the features
//! of an event are U'^-1 k, and those of the linear part. Their weights have a standard Gaussian prior, so that the prior of
//! targets has the kernel (as near as the points tell). Given events with features phi, targets y and noise s,
//!
//! ```text
//! covariance P = (1 + Σ phi phi' / s)^-1,   mean w = P Σ phi y / s,
//! ```
//!
//! and one more event gives w + P phi (y - w' phi) / (s + phi' P phi), and P - P phi phi' P / (s + phi' P phi): recursive
//! least squares. P is symmetric, and kept up to its diagonal: what it takes to read and write it is what an event costs.

use std::iter::repeat_n;

use super::kernel::Kernel;
use crate::chance::Random;
use crate::cholesky::Cholesky;
use crate::math::dot;
use crate::scale::within;

/// Added to the radial part of points with themselves, in its unit, so that equal points break nothing.
const JITTER: f64 = 1e-6;
/// No weight is larger.
pub const LARGEST_WEIGHT: f64 = 1e9;

/// Events as a process sees them.
pub struct Sample {
    /// Inputs, one event after another.
    pub rows: Vec<f64>,
    /// By event: its standardised target, and its weight.
    pub targets: Vec<f64>,
    pub weights: Vec<f64>,
}

impl Sample {
    /// The inputs of an event.
    pub fn row(&self, event: usize) -> &[f64] {
        let inputs = self.rows.len() / self.targets.len().max(1);
        &self.rows[event * inputs..][..inputs]
    }

    /// So many events, drawn at random; all if there are no more.
    pub fn drawn(&self, most: usize, random: &mut Random) -> Self {
        let mut order: Vec<usize> = (0..self.targets.len()).collect();
        for at in 0..most.min(order.len()) {
            let drawn = at + random.below(order.len() - at);
            order.swap(at, drawn);
        }
        order.truncate(most);
        let of = |numbers: &[f64]| order.iter().map(|&event| numbers[event]).collect();
        let rows = order.iter().flat_map(|&event| self.row(event)).copied().collect();
        Self { rows, targets: of(&self.targets), weights: of(&self.weights) }
    }
}

/// What is known.
#[derive(Clone, Debug)]
pub struct Posterior {
    kernel: Kernel,
    /// Inputs of the inducing points, one after another; and in units of lengths.
    pub inducing: Vec<f64>,
    scaled_points: Vec<f64>,
    /// Of U'^-1, each row up to its diagonal, one after another.
    whitening: Vec<f64>,
    points: usize,
    /// Mean of the weights, and their covariance, each row up to its diagonal, one after another.
    pub weights: Vec<f64>,
    pub covariance: Vec<f64>,
    /// The event in hand: what was said of it, its features, these times the covariance, and room.
    said: f64,
    features: Vec<f64>,
    moved: Vec<f64>,
    scaled: Vec<f64>,
    alike: Vec<f64>,
}

impl Posterior {
    /// What is known before any event, with points one after another.
    pub fn prior(kernel: Kernel, inducing: Vec<f64>) -> Self {
        let inputs = kernel.inputs();
        let (mut scaled_points, mut scaled, mut alike) = (Vec::new(), Vec::new(), Vec::new());
        let points = inducing.len() / inputs.max(1);
        for point in inducing.chunks_exact(inputs.max(1)) {
            kernel.scale(point, &mut scaled);
            scaled_points.extend_from_slice(&scaled);
        }
        let mut cholesky = Cholesky::default();
        for (i, row) in cholesky.rows(points).enumerate() {
            kernel.alike(&scaled_points[i * inputs..][..inputs], &scaled_points, &mut alike);
            row.copy_from_slice(&alike);
            row[i] += JITTER * kernel.radial;
        }
        cholesky.factorise();
        cholesky.invert();
        let whitening = cholesky.inverse_rows().take(points).flatten().copied().collect();
        let size = points + inputs + 1;
        let covariance = (0..size).flat_map(|i| repeat_n(0.0, i).chain([1.0])).collect();
        Self {
            kernel,
            inducing,
            scaled_points,
            whitening,
            points,
            weights: vec![0.0; size],
            covariance,
            said: 0.0,
            features: vec![0.0; size],
            moved: vec![0.0; size],
            scaled,
            alike,
        }
    }

    /// What is known given these events.
    pub fn of(kernel: Kernel, inducing: Vec<f64>, sample: &Sample) -> Self {
        let mut posterior = Self::prior(kernel, inducing);
        let size = posterior.weights.len();
        // The inverse of the covariance, from the diagonal on.
        let mut precision = vec![0.0; size * size];
        precision.iter_mut().step_by(size + 1).for_each(|diagonal| *diagonal = 1.0);
        let mut right = vec![0.0; size];
        for (event, (target, weight)) in sample.targets.iter().zip(&sample.weights).enumerate() {
            posterior.write_features(sample.row(event));
            let certainty = weight / posterior.kernel.noise;
            for (i, row) in precision.chunks_exact_mut(size).enumerate() {
                let factor = certainty * posterior.features[i];
                add(&mut row[i..], factor, &posterior.features[i..]);
            }
            add(&mut right, certainty * target, &posterior.features);
        }
        let mut cholesky = Cholesky::default();
        cholesky
            .rows(size)
            .zip(precision.chunks_exact(size))
            .for_each(|(room, row)| room.copy_from_slice(row));
        cholesky.factorise();
        cholesky.solve(&mut right);
        cholesky.invert();
        let inverse = cholesky.inverse_matrix().chunks_exact(size).enumerate();
        posterior.covariance = inverse.flat_map(|(i, row)| &row[..=i]).copied().collect();
        posterior.weights = right.into_iter().map(|weight| within(weight, LARGEST_WEIGHT)).collect();
        posterior
    }

    pub fn kernel(&self) -> &Kernel {
        &self.kernel
    }

    /// How many inducing points there are.
    pub fn points(&self) -> usize {
        self.points
    }

    /// What was said of the event in hand.
    pub fn said(&self) -> f64 {
        self.said
    }

    /// Have an event with these inputs in hand; returns the mean of its target.
    pub fn predict(&mut self, z: &[f64]) -> f64 {
        self.write_features(z);
        self.said = dot(&self.weights, &self.features);
        self.said
    }

    fn write_features(&mut self, z: &[f64]) {
        let points = self.points;
        self.kernel.scale(z, &mut self.scaled);
        self.kernel.alike(&self.scaled, &self.scaled_points, &mut self.alike);
        let mut rows = &self.whitening[..];
        for (i, feature) in self.features[..points].iter_mut().enumerate() {
            let (row, rest) = rows.split_at(i + 1);
            *feature = dot(row, &self.alike);
            rows = rest;
        }
        let (slope, constant) = (self.kernel.slope.sqrt(), self.kernel.constant.sqrt());
        for (feature, value) in self.features[points..].iter_mut().zip(z) {
            *feature = slope * value;
        }
        if let Some(last) = self.features.last_mut() {
            *last = constant;
        }
    }

    /// Learn the target of the event in hand.
    pub fn learn(&mut self, target: f64, weight: f64) {
        self.multiply();
        let Self { kernel, weights, covariance, said, features, moved, .. } = self;
        let variance = dot(moved, features).max(0.0) + kernel.noise / weight;
        let change = (target - *said) / variance;
        for (own, moved) in weights.iter_mut().zip(&*moved) {
            *own = within(*own + change * moved, LARGEST_WEIGHT);
        }
        let mut rows = &mut covariance[..];
        for (i, factor) in moved.iter().enumerate() {
            let (row, rest) = rows.split_at_mut(i + 1);
            add(row, -factor / variance, moved);
            rows = rest;
        }
    }

    /// Multiply the covariance by the features: each row counts as a column as well.
    fn multiply(&mut self) {
        let Self { covariance, features, moved, .. } = self;
        let mut rows = &covariance[..];
        for (i, feature) in features.iter().enumerate() {
            let (row, rest) = rows.split_at(i + 1);
            moved[i] = dot(row, features);
            add(&mut moved[..i], *feature, row);
            rows = rest;
        }
    }

    pub fn bytes(&self) -> usize {
        8 * (2 * self.inducing.len() + self.whitening.len() + self.covariance.len() + 4 * self.weights.len())
    }
}

/// Add a row times a factor.
fn add(target: &mut [f64], factor: f64, row: &[f64]) {
    for (entry, other) in target.iter_mut().zip(row) {
        *entry += factor * other;
    }
}
