//! The posterior of a Gaussian process: Bayesian linear regression on its features.
//!
//! With inducing points u, U'U the radial kernel between any two of them and k that between them and an event, the
//! features of an event are U'^-1 k and those of the linear part. Their weights have a standard Gaussian prior, so
//! that the prior covariance of targets is the kernel (as far as the points can represent it). Given events with
//! features phi, targets y and noise s,
//!
//! ```text
//! covariance P = (1 + Σ phi phi' / s)^-1,   mean w = P Σ phi y / s,
//! ```
//!
//! and one more event updates them to w + P phi (y - w' phi) / (s + phi' P phi) and P - P phi phi' P / (s + phi' P
//! phi), by recursive least squares. P is symmetric, and only its lower triangle is stored: reading and writing it is
//! most of the cost of an event.

use std::iter::repeat_n;

use super::kernel::Kernel;
use crate::cholesky::Cholesky;
use crate::math::{dot, within};
use crate::random::Random;

/// Added to the diagonal of the points' radial kernel, as a fraction of its amplitude, so that duplicate points do no
/// harm.
const JITTER: f64 = 1e-6;
/// Upper bound of |weight|.
pub const LARGEST_WEIGHT: f64 = 1e9;

/// Events as inputs and targets.
pub struct Sample {
    /// Inputs, event by event.
    pub rows: Vec<f64>,
    /// The standardised target and the weight of each event.
    pub targets: Vec<f64>,
    pub weights: Vec<f64>,
}

impl Sample {
    /// The inputs of an event.
    pub fn row(&self, event: usize) -> &[f64] {
        let inputs = self.rows.len() / self.targets.len().max(1);
        &self.rows[event * inputs..][..inputs]
    }

    /// A random sample of at most this many events.
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

/// The posterior of the weights.
#[derive(Clone, Debug)]
pub struct Posterior {
    kernel: Kernel,
    /// Inputs of the inducing points, point by point, and the same scaled.
    pub inducing: Vec<f64>,
    scaled_points: Vec<f64>,
    /// The lower triangle of U'^-1, row by row.
    whitening: Vec<f64>,
    points: usize,
    /// Mean of the weights, and the lower triangle of their covariance, row by row.
    pub weights: Vec<f64>,
    pub covariance: Vec<f64>,
    /// The current event: its prediction, its features, the covariance times these, and scratch buffers.
    prediction: f64,
    features: Vec<f64>,
    moved: Vec<f64>,
    scaled: Vec<f64>,
    alike: Vec<f64>,
}

impl Posterior {
    /// The prior, with these inducing points.
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
            prediction: 0.0,
            features: vec![0.0; size],
            moved: vec![0.0; size],
            scaled,
            alike,
        }
    }

    /// The posterior given these events.
    pub fn of(kernel: Kernel, inducing: Vec<f64>, sample: &Sample) -> Self {
        let mut posterior = Self::prior(kernel, inducing);
        let size = posterior.weights.len();
        // The upper triangle of the inverse covariance.
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

    /// Number of inducing points.
    pub fn points(&self) -> usize {
        self.points
    }

    /// The prediction for the current event.
    pub fn prediction(&self) -> f64 {
        self.prediction
    }

    /// Make the event with these inputs the current one; returns the mean of its target.
    pub fn predict(&mut self, z: &[f64]) -> f64 {
        self.write_features(z);
        self.prediction = dot(&self.weights, &self.features);
        self.prediction
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

    /// Learn the target of the current event.
    pub fn learn(&mut self, target: f64, weight: f64) {
        self.multiply();
        let Self { kernel, weights, covariance, prediction, features, moved, .. } = self;
        let variance = dot(moved, features).max(0.0) + kernel.noise / weight;
        let change = (target - *prediction) / variance;
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

    /// Multiply the covariance by the features; by symmetry each stored row is also a column.
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

/// Add a multiple of a row.
fn add(target: &mut [f64], factor: f64, row: &[f64]) {
    for (entry, other) in target.iter_mut().zip(row) {
        *entry += factor * other;
    }
}
