//! A subspace of many coordinates, learned from incomplete events: probabilistic PCA [T], by online EM, with a separate
//! noise for each coordinate, which makes it factor analysis.
//!
//! The model is x_k = m_k + d_k (F_k' z + e_k) with the latent z ~ N(0, I) of dimension r and e_k of variance s_k².
//! Given the observed values of an event, z has
//!
//! ```text
//! covariance M^-1, mean mu = M^-1 F_o' S_o^-1 x_o,  M = F_o' S_o^-1 F_o + I    (x standardised, S = diag s²),
//! ```
//!
//! and E[z z'] = mu mu' + M^-1. Every observed row takes a step towards the solution of the M step, E[x_k mu'] = F_k
//! E[z z'],
//!
//! ```text
//! F_k <- F_k + eta ((x_k - F_k' mu) mu' - F_k M^-1),
//! ```
//!
//! and s_k² one towards the mean of (x_k - F_k' mu)² + F_k' M^-1 F_k. [T] leaves open the online form and its step
//! sizes; here eta is that of [`super::step_sizes`] for the row's n_k-th event, limited so as not to overshoot. The
//! cost is |o| r² + r³, the memory r numbers per coordinate: the r² statistics per row that an exact M step needs are
//! not kept.
//!
//! In [T] all coordinates have the same noise. Those unrelated to the subspace, such as an hour of the day, then make
//! all others look noisy: beside an id, a time and a user (`examples/spoil.py ids`, seeds 200 to 202) the mean error of
//! the mixture was .0120, and with separate noises .0109; without these columns .0086 and .0087.
//!
//! The zeros beside an observed category are never visited. A row that has a value in a fraction p of its attribute's
//! events is drawn towards p E[x_k mu' | it has one] / d_k, which is where the M step leads if mu is 0 on average in
//! the events of the attribute. Its noise includes the zeros, each of which is as far from the mean as that fraction
//! implies. It explains nothing before it has occurred [`FEW`] times.
//!
//! [T] Tipping, Bishop: Probabilistic Principal Component Analysis, JRSS B 61, 1999.

use super::correlations::LEAST_NOISE;
use super::explaining::squared_length;
use super::pairwise_moments::{FARTHEST, ROUNDING};
use super::step_sizes::StepSizes;
use super::uniform::Uniform;
use crate::block::Event;
use crate::cholesky::{COMMON, Cholesky, add_four};
use crate::math::dot;

/// Root mean square of an untrained row's norm: from 0 no row would move.
const START: f64 = 0.3;
/// A category that occurred less often does not inform the latent: its statistics would be trusted as much as those of
/// a number. As it is rare, its value is far from the mean, and a guess would weigh heavily.
const FEW: f64 = 10.0;
/// Steps of the noise are this many times those of the row, because everything else depends on it.
const NOISE_STEPS: f64 = 2.0;
/// Maximum surprise of a value.
const MOST_SURPRISE: f64 = 30.0;

/// What has been learned about coordinates and their attributes.
#[derive(Clone, Debug)]
pub struct Ppca {
    rank: usize,
    start: Uniform,
    step_sizes: StepSizes,
    /// The factor loadings F, row by row.
    pub rows: Vec<f64>,
    /// Number of events that observed each attribute.
    pub observed: Vec<f64>,
    /// Number of events that gave each coordinate a value.
    pub value_counts: Vec<f64>,
    /// Sums of these values.
    pub sums: Vec<f64>,
    /// Sums of their squares.
    pub squares: Vec<f64>,
    /// s_k².
    pub noise: Vec<f64>,
    /// Posterior of the latent given the last explained event.
    pub posterior: Posterior,
}

/// The posterior of the latent given an event.
#[derive(Clone, Debug, Default)]
pub struct Posterior {
    /// mu.
    pub mean: Vec<f64>,
    /// By item: d_k, or 0 where there is no data yet.
    pub deviations: Vec<f64>,
    /// By item: x_k - F_k' mu.
    pub residuals: Vec<f64>,
    /// The coordinates that inform the latent.
    known: Vec<u32>,
    /// Cholesky factor of M, see the head of the module.
    cholesky: Cholesky,
    pull: Vec<f64>,
}

/// The initial entries of the rows, one row after another.
pub fn start(rank: usize) -> Uniform {
    let spread = START * (3.0 / rank.max(1) as f64).sqrt();
    Uniform::new(-spread, spread)
}

impl Ppca {
    /// Without any data.
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
            noise: nothing(),
            posterior: Posterior::default(),
        }
    }

    /// Grow to so many. The initial value of a row does not depend on how many others there are.
    pub fn grow(&mut self, attributes: usize, coordinates: usize) {
        self.observed.resize(attributes.max(self.observed.len()), 0.0);
        let start = &mut self.start;
        self.rows.resize_with(coordinates * self.rank, || start.draw());
        self.noise.resize(coordinates, 1.0);
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

    /// Whether a coordinate of an attribute is a category that is still too rare to inform the latent.
    fn is_rare(&self, attribute: u32, coordinate: usize, growth: f64) -> bool {
        let observed = self.observed.get(attribute as usize).copied().unwrap_or(0.0);
        let count = self.value_counts[coordinate];
        count < observed && count < FEW * growth
    }

    /// Compute the posterior given one event. Names that were never learned are skipped.
    ///
    /// `growth` is what an event of weight 1 adds to the counts.
    pub fn explain(&mut self, owners: &[u32], growth: f64, event: &Event) {
        match self.rank {
            COMMON => self.explain_with_rank(COMMON, owners, growth, event),
            rank => self.explain_with_rank(rank, owners, growth, event),
        }
    }

    #[inline(always)]
    fn explain_with_rank(&mut self, rank: usize, owners: &[u32], growth: f64, event: &Event) {
        let mut posterior = std::mem::take(&mut self.posterior);
        let Posterior { mean, deviations, residuals, known, .. } = &mut posterior;
        known.clear();
        deviations.clear();
        residuals.clear();
        mean.clear();
        mean.resize(rank, 0.0);
        for (&k, value) in event.coordinates.iter().zip(event.values) {
            let owner = owners.get(k as usize);
            let owner = owner.filter(|&&owner| !self.is_rare(owner, k as usize, growth));
            let (center, deviation) = owner.map_or((0.0, 0.0), |&owner| self.moments(owner, k as usize));
            deviations.push(deviation);
            // The constant is not a coordinate of the subspace, and has no deviation.
            if deviation == 0.0 {
                residuals.push(0.0);
                continue;
            }
            let x = ((value - center) / deviation).clamp(-FARTHEST, FARTHEST);
            residuals.push(x);
            known.push(k);
            let precise = x / self.noise[k as usize];
            for (explained, factor) in mean[..rank].iter_mut().zip(&self.rows[k as usize * rank..][..rank]) {
                *explained += factor * precise;
            }
        }
        self.solve(rank, &mut posterior);
        self.posterior = posterior;
    }

    /// Turn F_o' S_o^-1 x_o into mu, and x_o into the residuals.
    #[inline(always)]
    fn solve(&self, rank: usize, posterior: &mut Posterior) {
        let row = |k: u32| &self.rows[k as usize * rank..][..rank];
        let Posterior { mean, deviations, residuals, known, cholesky, .. } = posterior;
        for (i, entries) in cholesky.rows(rank).enumerate() {
            entries.fill(0.0);
            entries[i] = 1.0;
        }
        let (quads, rest) = known.as_chunks::<4>();
        for quad in quads {
            let rows = quad.map(row);
            let precisions = quad.map(|k| 1.0 / self.noise[k as usize]);
            for (i, entries) in cholesky.rows(rank).enumerate() {
                let factors = std::array::from_fn(|j| precisions[j] * rows[j][i]);
                add_four(&mut entries[i..], factors, rows.map(|row| &row[i..]));
            }
        }
        for &k in rest {
            let (row, precision) = (row(k), 1.0 / self.noise[k as usize]);
            for (entries, x) in cholesky.rows(rank).zip(row) {
                let factor = precision * x;
                for (entry, y) in entries.iter_mut().zip(row) {
                    *entry += factor * y;
                }
            }
        }
        cholesky.factorise();
        cholesky.solve(mean);
        let informative = residuals.iter_mut().zip(deviations).filter(|(_, deviation)| **deviation != 0.0);
        for ((residual, _), &k) in informative.zip(known.iter()) {
            *residual -= dot(row(k), mean);
        }
    }

    /// The variance of a coordinate given the observed values of the last explained event.
    pub fn conditional_variance(&self, attribute: u32, coordinate: usize) -> f64 {
        let left = squared_length(&self.posterior.cholesky, self.row(coordinate)) + self.noise[coordinate];
        let (_, deviation) = self.moments(attribute, coordinate);
        deviation * deviation * left.min(1.0)
    }

    /// Learn the event that was just explained.
    ///
    /// `weight` is its weight, `growth` what an event of weight 1 adds to the counts. There must be capacity for its
    /// names.
    pub fn learn(&mut self, event: &Event, weight: f64, growth: f64) {
        match self.rank {
            COMMON => self.learn_with_rank(COMMON, event, weight, growth),
            rank => self.learn_with_rank(rank, event, weight, growth),
        }
    }

    #[inline(always)]
    fn learn_with_rank(&mut self, rank: usize, event: &Event, weight: f64, growth: f64) {
        let Posterior { mean, deviations, residuals, cholesky, pull, .. } = &mut self.posterior;
        pull.resize(rank, 0.0);
        let (mean, pull) = (&mean[..rank], &mut pull[..rank]);
        let energy = 1.0 + dot(mean, mean);
        let amount = weight * growth;
        let mut last = None;
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
            let row = &mut self.rows[k * rank..][..rank];
            pull.fill(0.0);
            cholesky.add_solution(row, pull);
            let surprise = residual * residual + dot(row, pull);
            let eta = weight * self.step_sizes.of(self.value_counts[k] / growth);
            let share = self.value_counts[k] / self.observed[a];
            // For a category the zeros count, too, each with a surprise of share / (1 - share).
            let surprise = if share < 1.0 { share * (surprise + 1.0) } else { surprise };
            let noise = &mut self.noise[k];
            *noise += (NOISE_STEPS * eta).min(1.0) * (surprise.min(MOST_SURPRISE) - *noise);
            *noise = noise.max(LEAST_NOISE);
            if share < 1.0 {
                // The deviation is from before the event, and may be that of a value that had been forgotten.
                let target = (share * value / deviation).clamp(-FARTHEST, FARTHEST);
                step_to(row, eta.min(1.0), target, mean);
            } else {
                step_by(row, eta / (1.0 + eta * energy), *residual, mean, pull);
            }
        }
    }
}

/// Step towards `target` mu.
fn step_to(row: &mut [f64], eta: f64, target: f64, mean: &[f64]) {
    for (factor, mu) in row.iter_mut().zip(mean) {
        *factor += eta * (target * mu - *factor);
    }
}

/// Step towards the solution of the M step; `pull` is F_k M^-1.
fn step_by(row: &mut [f64], eta: f64, residual: f64, mean: &[f64], pull: &[f64]) {
    for ((factor, mu), pull) in row.iter_mut().zip(mean).zip(pull) {
        *factor += eta * (residual * mu - pull);
    }
}
