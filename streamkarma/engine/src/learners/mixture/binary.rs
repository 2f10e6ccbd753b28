//! Mixing two classes.

use super::aggregator::{Aggregator, Count, ExpertScores};
use super::calibration::{
    BOUNDED, FARTHEST, LIMIT, OF_CLASSES, OF_TWO_PRIOR_VARIANCES, SHARP, SLOPE, ema, fading, sanitise,
    sigmoid, softsign,
};
use super::newton::{Newton, Objective};
use super::resting::{UNLIKELY, without};
use crate::math::{dot, log, logistic_all, within};

impl Aggregator {
    pub(super) fn step_two(
        &mut self,
        expert_scores: ExpertScores,
        label: f64,
        count: Count,
        mixed: &mut [f64],
    ) -> f64 {
        self.completeness.set_event(expert_scores.observed, self.steps);
        let chance = self.predict_two(expert_scores.scores);
        let logit = log(chance / (1.0 - chance));
        mixed[0] = logit;
        if label.is_nan() {
            return self.succession.bound(&mut mixed[0], label, f64::NAN);
        }
        let truth = if label > 0.0 { 1.0 } else { 0.0 };
        let loss = self.succession.bound(&mut mixed[0], label, -log(1.0 - (truth - chance).abs()));
        if count.weight > 0.0 {
            self.succession.observe(label, count.weight);
            self.learn_two(truth, count, -log(1.0 - chance) - chance * logit);
        }
        loss
    }

    /// The probability of the label +1.
    fn predict_two(&mut self, scores: &[f64]) -> f64 {
        let rate = 1.0 / (self.steps as f64 + 2.0).min(self.forgetting.window);
        let Self { calibration, scratch, blend, completeness, experts, .. } = self;
        let experts = *experts;
        let features = scratch.features.as_chunks_mut::<OF_CLASSES>().0;
        let parameters = calibration.parameters.as_chunks::<OF_CLASSES>().0;
        for e in 0..experts {
            if scratch.weights[e] == 0.0 {
                (scratch.squares[e], scratch.logits[e]) = (calibration.squares[e], 0.0);
                continue;
            }
            let score = sanitise(scores[e]);
            scratch.squares[e] = ema(calibration.squares[e], score * score, rate);
            let unit = scratch.squares[e].sqrt();
            let z = within(score / unit, FARTHEST);
            scratch.neutral[e] = unit.min(1.0);
            features[e][SLOPE] = z;
            features[e][BOUNDED] = softsign(z, SHARP);
            let logit = scratch.neutral[e] * z + dot(&parameters[e], &features[e]);
            scratch.logits[e] = within(logit, LIMIT);
        }
        let blended = dot(&blend.mix, &scratch.logits[..experts]);
        scratch.logits[experts] = blended;
        scratch.chances.copy_from_slice(&scratch.logits);
        scratch.chances[experts] = within(completeness.adjusted(blended), LIMIT);
        logistic_all(&mut scratch.chances);
        let chance = dot(&scratch.weights, &scratch.chances);
        for (weight, each) in scratch.weights.iter().zip(&mut scratch.chances) {
            if *weight == 0.0 {
                *each = chance;
            }
        }
        chance
    }

    /// Record the contributions of experts that may rest.
    fn observe_two(&mut self, truth: f64, weight: f64) {
        let Self { resting, scratch, blend, completeness, experts, .. } = self;
        if resting.experts.is_empty() {
            return;
        }
        let likelihood = |chance: f64| (1.0 - (truth - chance).abs()).max(UNLIKELY);
        let (weights, chances) = (&scratch.weights, &scratch.chances);
        let prediction = dot(weights, chances);
        resting.observe_loss(-log(likelihood(prediction)), weight);
        for place in 0..resting.experts.len() {
            let own = resting.experts[place].experts.clone();
            if weights[own.start] > 0.0 {
                let part = dot(&blend.mix[own.clone()], &scratch.logits[own.clone()]);
                let left = scratch.logits[*experts] - part;
                let blend = sigmoid(within(completeness.adjusted(left), LIMIT));
                let others = without(own, prediction, weights, chances, blend);
                resting.observe_gain(place, log(likelihood(prediction) / likelihood(others)), weight);
            }
        }
    }

    fn learn_two(&mut self, truth: f64, Count { weight, events }: Count, doubt: f64) {
        let drift = events * fading(self.steps, self.forgetting.drift);
        self.steps += 1;
        self.observe_two(truth, weight);
        let Self { calibration, shares, blend, completeness, steps, scratch, experts, .. } = self;
        for (likelihood, chance) in scratch.likelihoods.iter_mut().zip(&scratch.chances) {
            *likelihood = 1.0 - (truth - chance).abs();
        }
        shares.update(&mut scratch.likelihoods, weight, doubt, *steps);
        let (logits, blended) = scratch.logits.split_at(*experts);
        let slope = scratch.chances[*experts] - truth;
        // The gradient of the adjusted blend.
        let stretch = completeness.stretch();
        scratch.direction.iter_mut().zip(logits).for_each(|(along, logit)| *along = stretch * logit);
        completeness.learn(blended[0], Objective::Log { slope, weight }, drift, *steps);
        let newton = blend.newton(drift, &mut scratch.gains);
        newton.step(&scratch.direction[..*experts], Objective::Log { slope, weight });
        calibration.squares.copy_from_slice(&scratch.squares);
        let parameters = calibration.parameters.as_chunks_mut::<OF_CLASSES>().0;
        let covariances = calibration.covariances.as_chunks_mut::<{ OF_CLASSES * OF_CLASSES }>().0;
        let features = scratch.features.as_chunks::<OF_CLASSES>().0;
        for (e, parameters) in parameters.iter_mut().enumerate() {
            if scratch.weights[e] == 0.0 {
                continue;
            }
            let slope = scratch.chances[e] - truth;
            let newton = Newton {
                parameters,
                covariance: &mut covariances[e],
                prior_variances: &OF_TWO_PRIOR_VARIANCES,
                drift,
                gains: &mut scratch.gains,
            };
            newton.step(&features[e], Objective::Log { slope, weight });
            // A score that points the wrong way is noise: its sign must not be reversed.
            parameters[SLOPE] = parameters[SLOPE].max(-scratch.neutral[e]);
            parameters[BOUNDED] = parameters[BOUNDED].max(0.0);
        }
    }
}
