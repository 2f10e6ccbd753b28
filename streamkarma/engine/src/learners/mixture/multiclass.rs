//! Mixing predictions for several classes.

use super::aggregator::{Aggregator, Count, Scratch};
use super::calibration::{
    BOUNDED, FARTHEST, OF_CLASSES, OF_SEVERAL_PRIOR_VARIANCES, OWN, SLOPE, bounded_features, centre, ema,
    fading, softmax,
};
use super::newton::{Newton, Objective, step_offsets};
use super::resting::{UNLIKELY, without};
use crate::math::{dot, log, within};

impl Aggregator {
    pub(super) fn step_several(
        &mut self,
        scores: &[f64],
        label: f64,
        count: Count,
        mixed: &mut [f64],
    ) -> f64 {
        self.predict_several(scores);
        let doubt = self.mix_several(mixed);
        let class = label as usize;
        if label.is_nan() || class >= self.classes {
            return f64::NAN;
        }
        if count.weight > 0.0 {
            self.learn_several(class, count, doubt);
        }
        -mixed[class]
    }

    /// The class probabilities of each member.
    fn predict_several(&mut self, scores: &[f64]) {
        let rate = 1.0 / (self.steps as f64 + 2.0).min(self.forgetting.window);
        let Self { calibration, scratch, blend, classes, .. } = self;
        let classes = *classes;
        let (logits, blended) = scratch.logits.split_at_mut(self.experts * classes);
        blended.fill(0.0);
        let features = scratch.features.chunks_exact_mut(OF_CLASSES * classes);
        for (e, (features, logits)) in features.zip(logits.chunks_exact_mut(classes)).enumerate() {
            if scratch.weights[e] == 0.0 {
                scratch.squares[e] = calibration.squares[e];
                logits.fill(0.0);
                continue;
            }
            let (z, bounded) = features.split_at_mut(classes);
            let square = centre(&scores[e * classes..(e + 1) * classes], z);
            scratch.squares[e] = ema(calibration.squares[e], square, rate);
            let unit = scratch.squares[e].sqrt();
            z.iter_mut().for_each(|each| *each = within(*each / unit, FARTHEST));
            let (margins, own) = bounded.split_at_mut(classes);
            bounded_features(z, margins, own);
            let neutral = unit.min(1.0);
            scratch.neutral[e] = neutral;
            let parameters = &calibration.parameters[e * OF_CLASSES..(e + 1) * OF_CLASSES];
            let offsets = &calibration.offsets[e * classes..(e + 1) * classes];
            for c in 0..classes {
                let calibrated = dot(parameters, &[z[c], margins[c], own[c]]);
                logits[c] = neutral * z[c] + calibrated + offsets[c];
            }
            softmax(logits, &mut scratch.chances[e * classes..(e + 1) * classes]);
            blended.iter_mut().zip(logits).for_each(|(each, logit)| *each += blend.mix[e] * *logit);
        }
        softmax(blended, &mut scratch.chances[self.experts * classes..]);
    }

    /// The log of the members' mean probability of each class; returns the entropy of these probabilities.
    fn mix_several(&mut self, mixed: &mut [f64]) -> f64 {
        let (scratch, mut entropy) = (&mut self.scratch, 0.0);
        for (c, mixed) in mixed.iter_mut().enumerate() {
            let chances = scratch.chances.iter().skip(c).step_by(self.classes);
            scratch.likelihoods.iter_mut().zip(chances).for_each(|(to, chance)| *to = *chance);
            let chance = dot(&scratch.weights, &scratch.likelihoods);
            *mixed = log(chance);
            for (weight, row) in scratch.weights.iter().zip(scratch.chances.chunks_exact_mut(self.classes)) {
                if *weight == 0.0 {
                    row[c] = chance;
                }
            }
            entropy -= chance * *mixed;
        }
        entropy
    }

    /// Record the gains of experts that may rest.
    fn observe_several(&mut self, class: usize, weight: f64) {
        let Self { resting, scratch, blend, classes, experts, .. } = self;
        let Scratch { weights, chances, logits, likelihoods, left, left_chances, .. } = scratch;
        if resting.experts.is_empty() {
            return;
        }
        let of_class = chances.iter().skip(class).step_by(*classes);
        likelihoods.iter_mut().zip(of_class).for_each(|(to, chance)| *to = *chance);
        let likelihood = dot(weights, likelihoods).max(UNLIKELY);
        resting.observe_loss(-log(likelihood), weight);
        let (logits, blended) = logits.split_at(*experts * *classes);
        for place in 0..resting.experts.len() {
            let own = resting.experts[place].experts.clone();
            if weights[own.start] > 0.0 {
                left.copy_from_slice(blended);
                for e in own.clone() {
                    let logits = &logits[e * *classes..][..*classes];
                    left.iter_mut().zip(logits).for_each(|(left, logit)| *left -= blend.mix[e] * logit);
                }
                softmax(left, left_chances);
                let blend = left_chances[class];
                let others = without(own, likelihood, weights, likelihoods, blend);
                resting.observe_gain(place, log(likelihood / others.max(UNLIKELY)), weight);
            }
        }
    }

    fn learn_several(&mut self, class: usize, Count { weight, events }: Count, doubt: f64) {
        let drift = events * fading(self.steps, self.forgetting.drift);
        let (experts, classes) = (self.experts, self.classes);
        self.steps += 1;
        self.observe_several(class, weight);
        let Self { shares, blend, steps, scratch, .. } = self;
        for (likelihood, chances) in
            scratch.likelihoods.iter_mut().zip(scratch.chances.chunks_exact_mut(classes))
        {
            *likelihood = chances[class];
            chances[class] -= 1.0; // from now on the slopes of the log loss
        }
        shares.update(&mut scratch.likelihoods, weight, doubt, *steps);
        let slopes = &scratch.chances[experts * classes..];
        for (along, logits) in scratch.direction.iter_mut().zip(scratch.logits.chunks_exact(classes)) {
            *along = dot(slopes, logits);
        }
        let newton = blend.newton(drift, &mut scratch.gains);
        newton.step(&scratch.direction[..experts], squared_gradient(weight));
        for e in 0..experts {
            if self.scratch.weights[e] == 0.0 {
                continue;
            }
            self.calibrate_several(e, weight, drift);
        }
    }

    /// A step of the calibration of expert `e`.
    fn calibrate_several(&mut self, e: usize, weight: f64, drift: f64) {
        let Self { calibration, scratch, classes, .. } = self;
        let of_classes = e * *classes..(e + 1) * *classes;
        calibration.squares[e] = scratch.squares[e];
        let slopes = &scratch.chances[of_classes.clone()];
        let mut direction = [0.0; OF_CLASSES];
        let features = scratch.features.chunks_exact(*classes).skip(e * OF_CLASSES);
        for (along, feature) in direction.iter_mut().zip(features) {
            *along = dot(slopes, feature);
        }
        let parameters = &mut calibration.parameters[e * OF_CLASSES..(e + 1) * OF_CLASSES];
        let size = OF_CLASSES * OF_CLASSES;
        let newton = Newton {
            parameters,
            covariance: &mut calibration.covariances[e * size..(e + 1) * size],
            prior_variances: &OF_SEVERAL_PRIOR_VARIANCES,
            drift,
            gains: &mut scratch.gains,
        };
        newton.step(&direction, squared_gradient(weight));
        // A score that points the wrong way is noise: it must not be inverted.
        parameters[SLOPE] = parameters[SLOPE].max(-scratch.neutral[e]);
        parameters[BOUNDED] = parameters[BOUNDED].max(0.0);
        parameters[OWN] = parameters[OWN].max(0.0);
        let offsets = &mut calibration.offsets[of_classes.clone()];
        step_offsets(offsets, &mut calibration.offset_variances[of_classes], slopes, weight, drift);
    }
}

/// The loss along its own gradient, whose square serves as the curvature, as in the online Newton step (Hazan, Agarwal,
/// Kale 2007).
pub fn squared_gradient(weight: f64) -> Objective {
    Objective::Square { slope: weight, curvature: weight }
}
