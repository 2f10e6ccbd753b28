//! A curve that makes heavy-tailed targets, skewed or not, nearly Gaussian.
//!
//! `z = gamma + delta asinh((y - xi) / lambda)` is Johnson's system S_U (Johnson 1949). It is close to a line near xi
//! and to a logarithm far from it, on either side. For prices, durations and counts it approaches its limit, log(y -
//! c), and for Gaussian targets a line. Slifker and Shapiro (The Johnson system: selection and parameter estimation,
//! Technometrics 22, 1980) give the parameters in closed form from four quantiles, so no search is needed, and
//! outliers beyond the outer quantiles have no influence.

use super::quantiles::{INNER, OUTER};
use crate::math::{acosh, asinh, cosh, exp, log, sinh, within};

/// The largest |z|: targets farther out are clipped to it, and no prediction lies beyond it.
pub const EXTREME: f64 = 4.0;
/// Bounds of the tails, as multiples of the middle, so that no curve becomes too steep.
const THINNEST: f64 = 0.1;
const HEAVIEST: f64 = 30.0;
/// Lower bound of the product of both tails. S_U ends at 1, where the curve becomes a logarithm or, for a Gaussian, a
/// line.
const LEAST_PRODUCT: f64 = 1.01;
/// The mean is at most e to this power times as far from xi as the median is; from 0, if logarithms are transformed.
pub const MOST_LIFT: f64 = 2.0;

/// The curve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Johnson {
    gamma: f64,
    delta: f64,
    xi: f64,
    lambda: f64,
}

impl Johnson {
    /// The curve that maps four quantiles of targets to -[`OUTER`], -[`INNER`], [`INNER`] and [`OUTER`], the same
    /// quantiles of a Gaussian. They must ascend, and the inner two must differ.
    pub fn through(quantiles: &[f64; 4]) -> Self {
        let middle = quantiles[2] - quantiles[1];
        let (left, right) = tails(quantiles);
        // Tails lighter than a logarithm's are raised to the lightest that S_U allows; their ratio stays the same.
        let product = (left * right).max(LEAST_PRODUCT);
        let raised = (product / (left * right)).sqrt();
        let (left, right) = (raised * left, raised * right);
        let (sum, root) = (left + right, (product - 1.0).sqrt());
        let delta = (OUTER - INNER) / acosh(0.5 * sum);
        Self {
            delta,
            gamma: delta * asinh(0.5 * (left - right) / root),
            lambda: 2.0 * middle * root / ((sum - 2.0) * (sum + 2.0).sqrt()),
            xi: 0.5 * (quantiles[1] + quantiles[2]) + 0.5 * middle * (left - right) / (sum - 2.0),
        }
    }

    /// How much the tails of a distribution with these quantiles differ from a Gaussian's.
    pub fn non_normality(quantiles: &[f64; 4]) -> f64 {
        let (left, right) = tails(quantiles);
        log(left).abs() + log(right).abs()
    }

    /// Transform a target to z, within ±[`EXTREME`].
    pub fn transform(&self, target: f64) -> f64 {
        within(self.gamma + self.delta * asinh((target - self.xi) / self.lambda), EXTREME)
    }

    /// The target that is transformed to z. Medians are mapped to medians.
    pub fn median(&self, z: f64) -> f64 {
        self.xi + self.lambda * sinh((within(z, EXTREME) - self.gamma) / self.delta)
    }

    /// The derivative of [`Self::median`] in z.
    pub fn steepness(&self, z: f64) -> f64 {
        self.lambda / self.delta * cosh((within(z, EXTREME) - self.gamma) / self.delta)
    }

    /// The mean target, if transformed targets are Gaussian around z.
    pub fn mean(&self, z: f64, variance: f64) -> f64 {
        let lift = (0.5 * variance / (self.delta * self.delta)).min(MOST_LIFT);
        self.xi + exp(lift) * (self.median(z) - self.xi)
    }
}

/// The left and the right tail, as multiples of the middle.
fn tails(quantiles: &[f64; 4]) -> (f64, f64) {
    let middle = quantiles[2] - quantiles[1];
    let tail = |from: f64, to: f64| ((to - from) / middle).clamp(THINNEST, HEAVIEST);
    (tail(quantiles[0], quantiles[1]), tail(quantiles[2], quantiles[3]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learners::transformed_target::quantiles::GAUSSIAN;

    #[test]
    fn curve_maps_quantiles_to_gaussian_quantiles() {
        for quantiles in [[-3.0, -0.6, 0.5, 4.0], [0.3, 0.6, 2.0, 40.0], [-8.0, 0.0, 1.0, 2.5]] {
            let curve = Johnson::through(&quantiles);
            for (quantile, z) in quantiles.iter().zip(GAUSSIAN) {
                assert!((curve.transform(*quantile) - z).abs() < 1e-9, "{quantiles:?}");
                assert!((curve.median(z) - quantile).abs() < 1e-9);
            }
            let steps = [-1.0, 0.0, 1.5].map(|z| (curve.median(z + 1e-6) - curve.median(z - 1e-6)) / 2e-6);
            for (step, z) in steps.into_iter().zip([-1.0, 0.0, 1.5]) {
                assert!((curve.steepness(z) / step - 1.0).abs() < 1e-6);
            }
        }
    }

    #[test]
    fn gaussian_is_unchanged_and_lognormal_becomes_its_logarithm() {
        let (plain, log) = (Johnson::through(&GAUSSIAN), Johnson::through(&GAUSSIAN.map(|z| 5.0 + exp(z))));
        for z in [-2.0, -1.0, 0.0, 0.7, 2.2] {
            assert!((plain.transform(z) - z).abs() < 0.05);
            assert!((log.transform(5.0 + exp(z)) - z).abs() < 0.05);
            assert!((log.mean(z, 1.0) - 5.0 - exp(z + 0.5)).abs() < 0.1 * exp(z + 0.5));
        }
    }

    #[test]
    fn extreme_quantiles_and_targets_stay_finite() {
        let ends: [f64; 6] = [-1e250, -3.0, 0.0, 1e-12, 1.0, 1e250];
        for outer in ends {
            for middle in [1e-9, 1.0, 1e9] {
                let curve = Johnson::through(&[-outer.abs() - middle, 0.0, middle, outer.abs() + middle]);
                for target in ends {
                    let z = curve.transform(target);
                    assert!(
                        z.abs() <= EXTREME && curve.median(z).is_finite() && curve.mean(z, 1e9).is_finite()
                    );
                }
            }
        }
    }
}
