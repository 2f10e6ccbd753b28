//! Mixing the predictions of a regression. All values are in units of the target's root mean square.
//!
//! The members' densities are Student's t with [`FREEDOM`] degrees of freedom, or Laplace's for the absolute loss.
//! Their widths are unknown: see [`super::scales`].
//!
//! With Gaussian densities, whose tails are light, the few largest residuals decide between the members. Compared with
//! these, each with a scale that followed the member's residuals, the mean absolute error was 2.5 % lower in the
//! geometric mean on 38 development streams (generators with seeds 101 and 102, tables, synthetic streams with skewed
//! and curved targets; 8,000 events at most), and the root mean square error was the same: up to 7 % lower for curved
//! targets, up to 9 % higher for skewed ones. If most targets are equal, the squared loss needs other densities: see
//! [`super::ties`].

use super::aggregator::{Aggregator, Count, ExpertScores, Scratch};
use super::calibration::{FARTHEST, NUMBER_PRIOR_VARIANCE, OF_NUMBERS, SLOPE, ema, sanitise};
use super::newton::{Newton, Objective};
use super::resting::without;
use super::ties::gaussian;
use crate::math::{dot, exp, within};

/// Degrees of freedom of the members' densities.
pub const FREEDOM: f64 = 4.0;
/// For calibration, residuals are clipped to ± this many times their scale.
pub const OUTLYING: f64 = 5.0;
/// Least absolute residuals are found by least squares, weighted by the inverse of the residual, at most this.
const STEEPEST: f64 = 10.0;
/// Laplace's density is constant beyond so many scales, where it would underflow.
const FARTHEST_LAPLACE: f64 = 700.0;

impl Aggregator {
    pub(super) fn step_number(
        &mut self,
        expert_scores: ExpertScores,
        target: f64,
        count: Count,
        mixed: &mut [f64],
    ) -> f64 {
        self.completeness.set_event(expert_scores.observed, self.steps);
        let unit = self.calibration.squares[0].sqrt();
        mixed[0] = unit * self.predict_number(expert_scores.scores, unit);
        if target.is_nan() {
            return f64::NAN;
        }
        if count.weight > 0.0 {
            self.learn_number(target, unit, count);
        }
        let residual = mixed[0] - target;
        residual * residual
    }

    fn predict_number(&mut self, scores: &[f64], unit: f64) -> f64 {
        let Self { calibration, scratch, blend, completeness, experts, .. } = self;
        let features = scratch.features.as_chunks_mut::<OF_NUMBERS>().0;
        let parameters = calibration.parameters.as_chunks::<OF_NUMBERS>().0;
        for e in 0..*experts {
            if scratch.weights[e] == 0.0 {
                scratch.logits[e] = 0.0;
                continue;
            }
            features[e] = [within(sanitise(scores[e]) / unit, FARTHEST), 1.0];
            scratch.logits[e] = dot(&parameters[e], &features[e]);
        }
        scratch.logits[*experts] = completeness.adjusted(dot(&blend.mix, &scratch.logits));
        dot(&scratch.weights, &scratch.logits)
    }

    fn learn_number(&mut self, target: f64, unit: f64, Count { weight, events }: Count) {
        let seen = (self.steps as f64 + 1.0).min(self.forgetting.window);
        self.steps += 1;
        let square = ema(self.calibration.squares[0], target * target, weight / (weight + seen));
        self.calibration.squares.fill(square);
        let target = within(target / unit, FARTHEST);
        self.observe_number(target, weight);
        let prediction = dot(&self.scratch.weights, &self.scratch.logits);
        self.ties.observe_residual(within(prediction - target, FARTHEST), weight, self.steps - 1);
        self.update_members(target, Count { weight, events });
        let Scratch { weights, likelihoods, .. } = &mut self.scratch;
        let all = dot(weights, likelihoods);
        for (weight, likelihood) in weights.iter().zip(likelihoods) {
            if *weight == 0.0 {
                *likelihood = all;
            }
        }
        self.shares.update(&mut self.scratch.likelihoods, weight, f64::INFINITY, self.steps);
    }

    /// Compute the density of each member at the target, and let the member take a step towards the target.
    fn update_members(&mut self, target: f64, Count { weight, events }: Count) {
        let beside_ties = self.variance_beside_ties();
        let (widest, scale, noise) = match beside_ties {
            Some(variance) => (FARTHEST, 1.0, variance.max(1.0)),
            None => {
                let scale = self.scales.typical();
                (OUTLYING * scale, scale, self.scales.noise())
            }
        };
        let Self { scales, scratch, absolute, .. } = self;
        let Scratch { weights, logits, likelihoods, residuals, .. } = scratch;
        residuals.clear();
        residuals.extend(logits.iter().map(|prediction| prediction - target));
        if *absolute {
            scales.observe(laplace, weights, residuals, likelihoods, weight);
        } else {
            scales.observe(student, weights, residuals, likelihoods, weight);
        }
        if let Some(variance) = beside_ties {
            gaussian(variance, weights, residuals, likelihoods);
        }
        for m in 0..=self.experts {
            if self.scratch.weights[m] > 0.0 {
                let residual = within(self.scratch.residuals[m], widest);
                let steepness = if self.absolute { (scale / residual.abs()).min(STEEPEST) } else { 1.0 };
                self.calibrate_number(m, Count { weight: weight * steepness / noise, events }, residual);
            }
        }
    }

    /// Record the gains of experts that may rest.
    fn observe_number(&mut self, target: f64, weight: f64) {
        let Self { resting, scratch, blend, completeness, absolute, experts, .. } = self;
        if resting.experts.is_empty() {
            return;
        }
        let loss = |prediction: f64| {
            if *absolute {
                (prediction - target).abs()
            } else {
                (prediction - target) * (prediction - target)
            }
        };
        let (weights, logits) = (&scratch.weights, &scratch.logits);
        let prediction = dot(weights, logits);
        let stretch = completeness.stretch();
        resting.observe_loss(loss(prediction), weight);
        for place in 0..resting.experts.len() {
            let own = resting.experts[place].experts.clone();
            if weights[own.start] > 0.0 {
                let left = logits[*experts] - stretch * dot(&blend.mix[own.clone()], &logits[own.clone()]);
                let others = without(own, prediction, weights, logits, left);
                resting.observe_gain(place, loss(others) - loss(prediction), weight);
            }
        }
    }

    /// A step of member `m`: the calibration of an expert, or the blend.
    fn calibrate_number(&mut self, m: usize, Count { weight, events }: Count, residual: f64) {
        let drift = events * self.forgetting.drift;
        let Self { calibration, scratch, blend, completeness, experts, steps, .. } = self;
        // For predictions that are stretched before they are compared with the target.
        let loss = |stretch: f64| Objective::Square {
            slope: stretch * weight * residual,
            curvature: stretch * stretch * weight,
        };
        if m == *experts {
            let predictions = &scratch.logits[..m];
            let (blended, stretch) = (dot(&blend.mix, predictions), completeness.stretch());
            completeness.learn(blended, loss(1.0), drift, *steps);
            return blend.newton(drift, &mut scratch.gains).step(predictions, loss(stretch));
        }
        let parameters = &mut calibration.parameters.as_chunks_mut::<OF_NUMBERS>().0[m];
        let newton = Newton {
            parameters,
            covariance: &mut calibration.covariances.as_chunks_mut::<{ OF_NUMBERS * OF_NUMBERS }>().0[m],
            prior_variances: &[NUMBER_PRIOR_VARIANCE; OF_NUMBERS],
            drift,
            gains: &mut scratch.gains,
        };
        newton.step(&scratch.features.as_chunks::<OF_NUMBERS>().0[m], loss(1.0));
        parameters[SLOPE] = parameters[SLOPE].max(0.0);
    }
}

/// The density of a residual in units of the scale, up to a constant factor.
pub fn student(residual: f64) -> f64 {
    let spread = 1.0 + residual * residual / FREEDOM;
    // To the power of -(FREEDOM + 1) / 2.
    1.0 / (spread * spread * spread.sqrt())
}

/// The same for the absolute loss; never 0, so that no scale is lost for good.
pub fn laplace(residual: f64) -> f64 {
    exp(-residual.abs().min(FARTHEST_LAPLACE))
}
