//! How alike the targets of two events are.
//!
//! For inputs x and z, p of them, with a length for each,
//!
//! ```text
//! k(x, z) = radial exp(-Σ ((x_j - z_j) / length_j)² / 2) + linear (1 + x' z / p),
//! ```
//!
//! and the noise of an event of weight w has the variance noise / w. All of these are above 0, and known by their logarithms.

use crate::math::{dot, exp, exp_all, log};

/// The first logarithms are those of the radial and the linear part and of the noise; those of lengths follow.
pub const SHARED: usize = 3;
/// Between these logarithms are; beyond, nothing changes but rounding.
const LOWEST: [f64; SHARED + 1] = [-7.0, -7.0, -16.0, -2.0];
const HIGHEST: [f64; SHARED + 1] = [7.0, 7.0, 3.0, 5.0];
/// Without an event to tell: the mean of each logarithm and its deviation. Lengths are about the root of how many there are,
/// so that events are at a distance of about 1.
const EXPECTED: [f64; SHARED] = [0.0, 0.0, -2.3];
const DEVIATIONS: [f64; SHARED + 1] = [2.0, 2.0, 3.0, 1.5];
/// Exponents end here.
const LEAST_EXPONENT: f64 = -700.0;

/// The kernel.
#[derive(Clone, Debug)]
pub struct Kernel {
    logarithms: Vec<f64>,
    /// The part of the radial kernel; what the linear one gives any two events, and a product of two inputs; and the
    /// variance of the noise.
    pub radial: f64,
    pub constant: f64,
    pub slope: f64,
    pub noise: f64,
    /// One over each length.
    inverse: Vec<f64>,
}

impl Kernel {
    /// That of such logarithms, which are cut where they are too far out.
    pub fn new(mut logarithms: Vec<f64>) -> Self {
        for (at, logarithm) in logarithms.iter_mut().enumerate() {
            *logarithm = logarithm.clamp(LOWEST[at.min(SHARED)], HIGHEST[at.min(SHARED)]);
        }
        let inverse: Vec<f64> = logarithms[SHARED..].iter().map(|&length| exp(-length)).collect();
        let [radial, constant, noise] = [0, 1, 2].map(|at| exp(logarithms[at]));
        let slope = constant / inverse.len().max(1) as f64;
        Self { logarithms, radial, constant, slope, noise, inverse }
    }

    /// What is expected of each logarithm where there are so many inputs: its mean, and its deviation.
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

    /// Write inputs in units of their lengths.
    pub fn scale(&self, z: &[f64], scaled: &mut Vec<f64>) {
        scaled.clear();
        scaled.extend(z.iter().zip(&self.inverse).map(|(value, inverse)| value * inverse));
    }

    /// Write the radial part between an event and others; all are scaled.
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
