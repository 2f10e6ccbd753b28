//! How much weight late labels have.
//!
//! A prediction cannot take account of a label that arrives after it was made. If n labels arrive in between and their
//! residuals r = y - p are uncorrelated, they are n lessons, however late they are. But if they are correlated, as in
//! a hospital stay whose events all have one label, n such residuals add up to one large step, where there was only
//! one lesson to learn. So a late label has weight 1 / τ, where
//!
//! ```text
//! τ = 1 + 2 Σ_k E[r_t r_{t-k}] / E[r_t²]
//! ```
//!
//! and the sum is over the labels that arrived between the prediction and its own label: n correlated observations are
//! worth n / τ independent ones [K], and a likelihood that treats them as independent should be raised to the power of
//! 1 / τ [R]. Labels more than some [`REACH`] back have less and less weight, and the means are over about [`MEMORY`]
//! labels.
//!
//! Both were chosen on low-rank streams with labels 100 to 5,000 events late (seeds 200 and 201), and on hospital
//! stays. With 32 or 128 instead of 64, and 4,000 instead of 1,000, log losses change by at most 0.001.
//!
//! [K] Kish: Survey Sampling, 1965 (the design effect); known as the integrated autocorrelation time in Monte Carlo.
//! [R] Ribatet, Cooley, Davison: Bayesian Inference from Composite Likelihoods, 2012.

use crate::math::pow;

/// The weight of labels that are this far back is 1 / e.
const REACH: f64 = 64.0;
/// Window of the means, in labels.
const MEMORY: f64 = 1000.0;
/// Smallest sum of squares, so that it can be divided by.
const LEAST: f64 = 1e-6;

/// Residuals of late labels, and how they are correlated.
#[derive(Clone, Debug, PartialEq)]
pub struct Dependence {
    /// Sums of the residuals so far, with more weight on newer ones.
    pub sums: Vec<f64>,
    /// The number of residuals so far.
    pub labels: u64,
    /// Running sums of the products with the residuals since the prediction, and of the squares.
    pub products: f64,
    /// See `products`.
    pub squares: f64,
}

impl Dependence {
    /// For residuals of `classes` numbers each.
    pub fn new(classes: usize) -> Self {
        Self { sums: vec![0.0; classes], labels: 0, products: 0.0, squares: LEAST }
    }

    /// The weight of a late label, given its residual, and `sums` and `labels` as they were when its event was
    /// predicted.
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

    /// Add the residual of an event that was predicted before its label arrived.
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

    /// A deterministic sequence of numbers in (0, 1).
    fn uniforms(mut seed: u64) -> impl FnMut() -> f64 {
        move || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            ((seed >> 33) as f64 + 0.5) / f64::from(1_u32 << 31)
        }
    }

    /// The last weight of labels that arrive in bunches of `size`, a fraction `alike` of each with the same sign.
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
    fn identical_labels_count_once_and_independent_ones_fully() {
        assert!((weight_of(5, 1.0) * 5.0 - 1.0).abs() < 0.1);
        assert!((weight_of(20, 1.0) * 20.0 - 1.0).abs() < 0.3);
        assert!(weight_of(1, 1.0) == 1.0 && weight_of(5, 0.0) > 0.8 && weight_of(1000, 0.0) > 0.4);
        // Kish's design effect: 1 + (size - 1) times the correlation within a bunch.
        assert!((weight_of(10, 0.5) * (1.0 + 9.0 * 0.25) - 1.0).abs() < 0.2);
    }
}
