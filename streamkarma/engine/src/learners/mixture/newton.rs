//! Online Newton steps, as in an extended Kalman filter (recursive least squares for a number).
//!
//! With gradient `g x`, curvature `q x x'` and covariance P,
//!
//! `P ← P - P x q x' P / (1 + q x' P x)`, then `parameters ← parameters - P x g`.
//!
//! P then drifts back towards where it began, so that old events are forgotten slowly and P stays positive
//! definite whatever came. Left open by the papers is the step where the model errs grossly: there the
//! curvature p (1 - p) of the log loss vanishes, and Newton would leap. Here `q = r max(r, 1 - r)` with
//! `r = |p - y|`: the curvature where p is fair, and the squared gradient, that of the online Newton step
//! (Hazan, Agarwal, Kale 2007), where p is wrong.

use super::calibration::PRIOR_VARIANCE;

/// The share of its first value that comes back to a covariance with every event, at least.
pub const DRIFT: f64 = 1e-5;
/// Early on covariances drift by `WARMUP / (t + 10)²` at event t.
pub const WARMUP: f64 = 10.0;

/// q of the module's text, for the slope p - y of the log loss in a logit.
pub fn curvature(slope: f64) -> f64 {
    let off = slope.abs();
    off * off.max(1.0 - off)
}

/// Parameters that are followed by Newton steps.
pub struct Newton<'a> {
    /// K of them.
    pub parameters: &'a mut [f64],
    /// K × K, symmetric to the last bit, and it stays so.
    pub covariance: &'a mut [f64],
    /// It began with this on its diagonal.
    pub prior_variance: f64,
    /// See [`DRIFT`].
    pub drift: f64,
    /// Scratch, K or more.
    pub gains: &'a mut [f64],
}

impl Newton<'_> {
    /// One step of the module's text, and the drift.
    ///
    /// `x` is the direction of the gradient; `slope` and `curvature` are g and q, times the weight of the
    /// event. Inlined, so that loops over few parameters are unrolled.
    #[inline(always)]
    pub fn step(self, x: &[f64], slope: f64, curvature: f64) {
        let size = x.len();
        let gains = &mut self.gains[..size];
        gains.fill(0.0);
        for (row, &along) in self.covariance.chunks_exact(size).zip(x) {
            for (gain, &entry) in gains.iter_mut().zip(row) {
                *gain += entry * along;
            }
        }
        let mut total = 1.0;
        for (&gain, &along) in gains.iter().zip(x) {
            total += curvature * gain * along;
        }
        let (rate, shrinking, kept) = (slope / total, curvature / total, 1.0 - self.drift);
        for (i, row) in self.covariance.chunks_exact_mut(size).enumerate() {
            self.parameters[i] -= rate * gains[i];
            for (entry, &gain) in row.iter_mut().zip(gains.iter()) {
                *entry = kept * (*entry - shrinking * (gains[i] * gain));
            }
            row[i] += self.drift * self.prior_variance;
        }
    }
}

/// A step of each class's offset on its own, by the slopes p_c - y_c of the log loss.
pub fn step_offsets(offsets: &mut [f64], variances: &mut [f64], slopes: &[f64], weight: f64, drift: f64) {
    for ((offset, variance), &slope) in offsets.iter_mut().zip(variances).zip(slopes) {
        *variance /= 1.0 + weight * curvature(slope) * *variance;
        *offset -= weight * slope * *variance;
        *variance = (1.0 - drift) * *variance + drift * PRIOR_VARIANCE;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_found_as_by_least_squares() {
        // Ridge regression of y = 2 x + 1 at x = 0, 1, 2, 3 with a penalty of 1 / 100: its own solution.
        let (mut parameters, mut covariance, mut gains) = ([0.0; 2], [100.0, 0.0, 0.0, 100.0], [0.0; 2]);
        for t in 0..4 {
            let x = [f64::from(t), 1.0];
            let residual = parameters[0] * x[0] + parameters[1] - (2.0 * x[0] + 1.0);
            let newton = Newton {
                parameters: &mut parameters,
                covariance: &mut covariance,
                prior_variance: 100.0,
                drift: 0.0,
                gains: &mut gains,
            };
            newton.step(&x, residual, 1.0);
        }
        // (X'X + I / 100) solved by hand.
        let (xx, x1, n) = (14.01, 6.0, 4.01);
        let (xy, y1) = (34.0, 16.0);
        let determinant = xx * n - x1 * x1;
        assert!((parameters[0] - (xy * n - x1 * y1) / determinant).abs() < 1e-10);
        assert!((parameters[1] - (xx * y1 - x1 * xy) / determinant).abs() < 1e-10);
        assert!((covariance[0] - n / determinant).abs() < 1e-10);
        assert_eq!(covariance[1], covariance[2]);
    }
}
