//! The covariance of the targets of two events.
//!
//! For inputs x and z, p of them, with a length scale for each,
//!
//! ```text
//! k(x, z) = radial exp(-Σ ((x_j - z_j) / length_j)² / 2) + linear (1 + x' z / p),
//! ```
//!
//! and the noise of an event of weight w has the variance noise / w. All parameters are positive and stored as
//! logarithms.

use crate::math::{dot, exp, exp_all, log};

/// The first logarithms are those of the radial part, the linear part and the noise; those of the lengths follow.
pub const SHARED: usize = 3;
/// Bounds of the logarithms; beyond them only rounding errors change.
const LOWEST: [f64; SHARED + 1] = [-7.0, -7.0, -16.0, -2.0];
const HIGHEST: [f64; SHARED + 1] = [7.0, 7.0, 3.0, 5.0];
/// The prior of the logarithms: means and standard deviations. Lengths are expected near the square root of their
/// number, so that events are at a distance of about 1.
const EXPECTED: [f64; SHARED] = [0.0, 0.0, -2.3];
const DEVIATIONS: [f64; SHARED + 1] = [2.0, 2.0, 3.0, 1.5];
/// Lower bound of exponents.
const LEAST_EXPONENT: f64 = -700.0;

/// The kernel.
#[derive(Clone, Debug)]
pub struct Kernel {
    logarithms: Vec<f64>,
    /// The amplitude of the radial kernel; the constant of the linear one and its factor of x' z; and the variance of
    /// the noise.
    pub radial: f64,
    pub constant: f64,
    pub slope: f64,
    pub noise: f64,
    /// The inverse of each length.
    inverse: Vec<f64>,
}

impl Kernel {
    /// The kernel with these logarithms, which are clipped to their bounds.
    pub fn new(mut logarithms: Vec<f64>) -> Self {
        for (at, logarithm) in logarithms.iter_mut().enumerate() {
            *logarithm = logarithm.clamp(LOWEST[at.min(SHARED)], HIGHEST[at.min(SHARED)]);
        }
        let inverse: Vec<f64> = logarithms[SHARED..].iter().map(|&length| exp(-length)).collect();
        let [radial, constant, noise] = [0, 1, 2].map(|at| exp(logarithms[at]));
        let slope = constant / inverse.len().max(1) as f64;
        Self { logarithms, radial, constant, slope, noise, inverse }
    }

    /// The prior mean and standard deviation of the logarithm at an index, with this many inputs.
    pub fn expected(inputs: usize, at: usize) -> (f64, f64) {
        let length = 0.5 * log(inputs.max(1) as f64);
        (EXPECTED.get(at).copied().unwrap_or(length), DEVIATIONS[at.min(SHARED)])
    }

    pub fn logarithms(&self) -> &[f64] {
        &self.logarithms
    }

    pub fn inputs(&self) -> usize {
        self.inverse.len()
    }

    /// Divide inputs by their lengths.
    pub fn scale(&self, z: &[f64], scaled: &mut Vec<f64>) {
        scaled.clear();
        scaled.extend(z.iter().zip(&self.inverse).map(|(value, inverse)| value * inverse));
    }

    /// Compute the radial part between an event and others, all of them scaled.
    pub fn alike(&self, scaled: &[f64], others: &[f64], alike: &mut Vec<f64>) {
        let own = dot(scaled, scaled);
        alike.clear();
        alike.extend(others.chunks_exact(scaled.len().max(1)).map(|other| {
            let apart = own + dot(other, other) - 2.0 * dot(scaled, other);
            (self.logarithms[0] - 0.5 * apart.max(0.0)).max(LEAST_EXPONENT)
        }));
        exp_all(alike);
    }
}
