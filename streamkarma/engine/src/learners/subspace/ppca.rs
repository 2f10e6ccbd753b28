//! A subspace of many coordinates, learned from incomplete events: probabilistic PCA [T], by online EM.
//!
//! The model is x_k = m_k + d_k (F_k' z + e_k) with the latent z ~ N(0, I) of dimension r and e_k of
//! variance s². Given what an event observes, z has
//!
//! ```text
//! covariance s² M^-1, mean mu = M^-1 F_o' x_o,  M = F_o' F_o + s² I    (x standardised),
//! ```
//!
//! and E[z z'] = mu mu' + s² M^-1. Every observed row takes a step towards the solution of the M step,
//! E[x_k mu'] = F_k E[z z'],
//!
//! ```text
//! F_k <- F_k + eta ((x_k - F_k' mu) mu' - s² F_k M^-1),
//! ```
//!
//! and s² towards the mean of (x_k - F_k' mu)² + s² F_k' M^-1 F_k. [T] leaves open the online form and
//! its steps; here eta is that of [`super::step_sizes`] in the row's n_k-th event, held below what would
//! overshoot. Work is |o| r² + r³, memory r numbers per coordinate: the r² of statistics per row
//! that an exact M step wants are not kept.
//!
//! The zeros beside a category that holds are never visited. A row that has a value in a share p of its
//! attribute's events is drawn towards p E[x_k mu' | it has one] / d_k, which is where the M step leads if
//! mu is 0 on average in the events of the attribute.
//!
//! [T] Tipping, Bishop: Probabilistic Principal Component Analysis, JRSS B 61, 1999.

use super::cholesky::{Cholesky, add_four};
use super::correlations::LEAST_NOISE;
use super::pairwise_moments::{FARTHEST, ROUNDING};
use super::step_sizes::StepSizes;
use super::uniform::Uniform;
use crate::block::Event;
use crate::math::dot;

/// Standard deviation of a row's norm before it has learned anything: from 0 no row would move.
const START: f64 = 0.3;

/// What is known about coordinates and their attributes.
#[derive(Clone, Debug)]
pub struct Ppca {
    rank: usize,
    start: Uniform,
    step_sizes: StepSizes,
    /// F, row by row.
    pub rows: Vec<f64>,
    /// Events that observed an attribute.
    pub observed: Vec<f64>,
    /// Events that gave a coordinate a value.
    pub value_counts: Vec<f64>,
    /// Sums of its values.
    pub sums: Vec<f64>,
    /// And of their squares.
    pub squares: Vec<f64>,
    /// What the last event that was explained says of the latent.
    pub posterior: Posterior,
}

/// What an event says of the latent.
#[derive(Clone, Debug, Default)]
pub struct Posterior {
    /// mu.
    pub mean: Vec<f64>,
    /// By item: d_k, or 0 where nothing is known.
    pub deviations: Vec<f64>,
    /// By item: x_k - F_k' mu.
    pub residuals: Vec<f64>,
    /// The coordinates of which something is known.
    known: Vec<u32>,
    /// M.
    cholesky: Cholesky,
    pull: Vec<f64>,
}

/// What rows begin with, one after another.
pub fn start(rank: usize) -> Uniform {
    let spread = START * (3.0 / rank.max(1) as f64).sqrt();
    Uniform::new(-spread, spread)
}

impl Ppca {
    /// Nothing known.
    pub fn new(rank: usize) -> Self {
        let nothing = Vec::new;
        Self {
            rank,
            start: start(rank),
            step_sizes: StepSizes::default(),
            rows: nothing(),
            observed: nothing(),
            value_counts: nothing(),
            sums: nothing(),
            squares: nothing(),
            posterior: Posterior::default(),
        }
    }

    /// Make room for so many. What a row begins with does not depend on how many others there are.
    pub fn grow(&mut self, attributes: usize, coordinates: usize) {
        self.observed.resize(attributes, 0.0);
        let start = &mut self.start;
        self.rows.resize_with(coordinates * self.rank, || start.draw());
        for row in [&mut self.value_counts, &mut self.sums, &mut self.squares] {
            row.resize(coordinates, 0.0);
        }
    }

    /// Mean and standard deviation of a coordinate where its attribute is observed.
    pub fn moments(&self, attribute: u32, coordinate: usize) -> (f64, f64) {
        let observed = self.observed.get(attribute as usize).copied().unwrap_or(0.0);
        if observed <= 0.0 {
            return (0.0, 0.0);
        }
        let (mean, square) = (self.sums[coordinate] / observed, self.squares[coordinate] / observed);
        let variance = square - mean * mean;
        (mean, if variance > ROUNDING * square { variance.sqrt() } else { 0.0 })
    }

    /// Dimension of the latent.
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// The row of a coordinate.
    pub fn row(&self, coordinate: usize) -> &[f64] {
        &self.rows[coordinate * self.rank..][..self.rank]
    }

    /// Fill in the posterior from one event; s² is `noise`. What was never learned is passed over.
    pub fn explain(&mut self, owners: &[u32], noise: f64, event: &Event) {
        let mut posterior = std::mem::take(&mut self.posterior);
        let Posterior { mean, deviations, residuals, known, .. } = &mut posterior;
        known.clear();
        deviations.clear();
        residuals.clear();
        mean.clear();
        mean.resize(self.rank, 0.0);
        for (&k, value) in event.coordinates.iter().zip(event.values) {
            let owner = owners.get(k as usize);
            let (center, deviation) = owner.map_or((0.0, 0.0), |&owner| self.moments(owner, k as usize));
            deviations.push(deviation);
            // The constant is no coordinate of the subspace, and has no deviation.
            if deviation == 0.0 {
                residuals.push(0.0);
                continue;
            }
            let x = ((value - center) / deviation).clamp(-FARTHEST, FARTHEST);
            residuals.push(x);
            known.push(k);
            for (explained, factor) in mean.iter_mut().zip(self.row(k as usize)) {
                *explained += factor * x;
            }
        }
        self.solve(&mut posterior, noise);
        self.posterior = posterior;
    }

    /// From F_o' x_o to mu, and from x_o to the residuals.
    fn solve(&self, posterior: &mut Posterior, noise: f64) {
        let Posterior { mean, deviations, residuals, known, cholesky, .. } = posterior;
        for (i, entries) in cholesky.rows(self.rank).enumerate() {
            entries.fill(0.0);
            entries[i] = noise;
        }
        let (quads, rest) = known.as_chunks::<4>();
        for quad in quads {
            let rows = quad.map(|k| self.row(k as usize));
            for (i, entries) in cholesky.rows(self.rank).enumerate() {
                add_four(&mut entries[i..], rows.map(|row| row[i]), rows.map(|row| &row[i..]));
            }
        }
        for &k in rest {
            let row = self.row(k as usize);
            for (entries, x) in cholesky.rows(self.rank).zip(row) {
                for (entry, y) in entries.iter_mut().zip(row) {
                    *entry += x * y;
                }
            }
        }
        cholesky.factorise();
        cholesky.solve(mean);
        let informative = residuals.iter_mut().zip(deviations).filter(|(_, deviation)| **deviation != 0.0);
        for ((residual, _), &k) in informative.zip(known.iter()) {
            *residual -= dot(self.row(k as usize), mean);
        }
    }

    /// Learn the event that was just explained, and return what it says of s².
    ///
    /// `weight` is how often it counts, `growth` what an event of weight 1 adds to the counts. There is
    /// room for what it has.
    pub fn learn(&mut self, event: &Event, noise: f64, weight: f64, growth: f64) -> f64 {
        let Posterior { mean, deviations, residuals, known, cholesky, pull } = &mut self.posterior;
        let energy = 1.0 + dot(mean, mean);
        let amount = weight * growth;
        let (mut surprise, mut last) = (0.0, None);
        cholesky.invert();
        let items = event.attributes.iter().zip(event.coordinates).zip(event.values);
        for (((&a, &k), value), (deviation, residual)) in items.zip(deviations.iter().zip(residuals.iter())) {
            let (a, k) = (a as usize, k as usize);
            if last != Some(a) {
                self.observed[a] += amount;
                last = Some(a);
            }
            self.value_counts[k] += amount;
            self.sums[k] += amount * value;
            self.squares[k] += amount * value * value;
            if *deviation == 0.0 {
                continue;
            }
            let row = &mut self.rows[k * self.rank..][..self.rank];
            pull.clear();
            pull.resize(row.len(), 0.0);
            cholesky.add_solution(row, pull);
            surprise += residual * residual + noise * dot(row, pull);
            let eta = weight * self.step_sizes.of(self.value_counts[k] / growth);
            let share = self.value_counts[k] / self.observed[a];
            if share < 1.0 {
                // The deviation is from before the event, as that of a value which had been forgotten may be.
                let target = (share * value / deviation).clamp(-FARTHEST, FARTHEST);
                step_to(row, eta.min(1.0), target, mean);
            } else {
                step_by(row, eta / (1.0 + eta * energy), *residual, mean, noise, pull);
            }
        }
        if known.is_empty() { noise } else { surprise / known.len() as f64 }
    }

    /// s² after the step of one event, the `events`-th.
    pub fn next_noise(&mut self, noise: f64, surprise: f64, events: f64) -> f64 {
        (noise + self.step_sizes.of(events) * (surprise - noise)).max(LEAST_NOISE)
    }
}

/// Towards `target` mu.
fn step_to(row: &mut [f64], eta: f64, target: f64, mean: &[f64]) {
    for (factor, mu) in row.iter_mut().zip(mean) {
        *factor += eta * (target * mu - *factor);
    }
}

/// Towards the solution of the M step; `pull` is F_k M^-1.
fn step_by(row: &mut [f64], eta: f64, residual: f64, mean: &[f64], noise: f64, pull: &[f64]) {
    for ((factor, mu), pull) in row.iter_mut().zip(mean).zip(pull) {
        *factor += eta * (residual * mu - noise * pull);
    }
}
