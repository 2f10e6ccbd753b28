//! How much labels tell that come late.
//!
//! A prediction cannot heed a label that comes after it was made. If n labels come since and their residuals
//! r = y - p have nothing in common, they are n lessons, however late they come. But if they go together, as in a
//! stay in hospital all of whose events have one label, n such residuals add up to one large step, where one
//! lesson was to be had. So what comes late counts 1 / τ times, where
//!
//! ```text
//! τ = 1 + 2 Σ_k E[r_t r_{t-k}] / E[r_t²]
//! ```
//!
//! and the sum is over the labels that came between the prediction and its own label: n observations that
//! correlate are worth n / τ independent ones [K], and a likelihood that takes them for independent is to be
//! raised to 1 / τ [R]. Labels further than some [`REACH`] back count less and less, and the means are over about
//! [`MEMORY`] labels.
//!
//! Both were chosen on streams of low rank with labels 100 to 5,000 events late (seeds 200 and 201), and on stays
//! in hospital. 32 or 128 instead of 64, and 4,000 instead of 1,000, change log losses by at most .001.
//!
//! [K] Kish: Survey Sampling, 1965 (the design effect); as the integrated autocorrelation time it is known from
//! Monte Carlo. [R] Ribatet, Cooley, Davison: Bayesian Inference from Composite Likelihoods, 2012.

use crate::math::pow;

/// Labels so far back count 1 / e.
const REACH: f64 = 64.0;
/// Means are over so many labels.
const MEMORY: f64 = 1000.0;
/// The sum of squares is no smaller than this, so that it can be divided by.
const LEAST: f64 = 1e-6;

/// Residuals of late labels, and how they go together.
#[derive(Clone, Debug, PartialEq)]
pub struct Dependence {
    /// Sums of the residuals so far, newer ones counting more.
    pub sums: Vec<f64>,
    /// How many residuals there were.
    pub labels: u64,
    /// Running sums of the products with those since the prediction, and of the squares.
    pub products: f64,
    /// See `products`.
    pub squares: f64,
}

impl Dependence {
    /// Of residuals of so many numbers each.
    pub fn new(classes: usize) -> Self {
        Self { sums: vec![0.0; classes], labels: 0, products: 0.0, squares: LEAST }
    }

    /// How often a label counts that comes late, given its residual and what `sums` and `labels` were when its
    /// event was predicted.
    pub fn weight(&mut self, residual: &[f64], sums: &[f64], labels: u64) -> f64 {
        let passed = pow(1.0 - 1.0 / REACH, (self.labels - labels) as f64);
        let (mut product, mut square) = (0.0, 0.0);
        for ((&own, &now), &then) in residual.iter().zip(&self.sums).zip(sums) {
            product += own * (now - passed * then);
            square += own * own;
        }
        let kept = 1.0 - 1.0 / MEMORY;
        self.products = kept * self.products + product;
        self.squares = (kept * self.squares + square).max(LEAST);
        1.0 / (1.0 + 2.0 * self.products / self.squares).max(1.0)
    }

    /// Take in the residual of an event that had been asked about.
    pub fn add(&mut self, residual: &[f64]) {
        for (sum, &own) in self.sums.iter_mut().zip(residual) {
            *sum = (1.0 - 1.0 / REACH) * (*sum + own);
        }
        self.labels += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers in (0, 1), always the same.
    fn uniforms(mut seed: u64) -> impl FnMut() -> f64 {
        move || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            ((seed >> 33) as f64 + 0.5) / f64::from(1_u32 << 31)
        }
    }

    /// The last weight of labels that come `size` at a time, a share of each bunch the same sign.
    fn weight_of(size: usize, alike: f64) -> f64 {
        let (mut model, mut uniform, mut weight) = (Dependence::new(1), uniforms(5), 1.0);
        for _ in 0..5000 / size {
            let (sums, labels, sign) = (model.sums.clone(), model.labels, uniform() > 0.5);
            for _ in 0..size {
                let own = if uniform() < alike { sign } else { uniform() > 0.5 };
                let residual = [if own { 0.5 } else { -0.5 }];
                weight = model.weight(&residual, &sums, labels);
                model.add(&residual);
            }
        }
        weight
    }

    #[test]
    fn labels_that_are_one_count_once_and_those_that_differ_all() {
        assert!((weight_of(5, 1.0) * 5.0 - 1.0).abs() < 0.1);
        assert!((weight_of(20, 1.0) * 20.0 - 1.0).abs() < 0.3);
        assert!(weight_of(1, 1.0) == 1.0 && weight_of(5, 0.0) > 0.8 && weight_of(1000, 0.0) > 0.4);
        // Kish's design effect: 1 + (size - 1) times the correlation within a bunch.
        assert!((weight_of(10, 0.5) * (1.0 + 9.0 * 0.25) - 1.0).abs() < 0.2);
    }
}
