//! The contributions of attributes to a mixture's prediction: their contributions to the experts' scores, weighted.
//!
//! A calibrated score of one column is its slope at that score (that of a secant through 0) times the score, plus an
//! offset. The same holds for a mixture of probabilities in log-odds: with k(L) = tanh(L / 2) / (2 L), the secant of
//! the logistic function through 0, the log-odds of Σ s_m p_m are Σ s_m k(L_m) / k(L) L_m. The sum is exact, and only
//! the offsets remain. Means of numbers are linear anyway. With several classes, each log-probability is attributed to
//! the members' logits by their weights in it, s_m p_mc / p_c; the effect of normalisation is left to the calibration.

use super::Mixture;
use super::aggregator::Aggregator;
use super::calibration::{
    BOUNDED, FARTHEST, LIMIT, OF_CLASSES, OF_NUMBERS, OFFSET, OWN, SHARP, SLOPE, SOFT, sanitise, sigmoid,
};
use crate::block::Event;
use crate::explaining::Explanation;
use crate::math::{dot, exp, within};

/// Log-odds closer to 0 than this use the slope of the logistic function there.
const FLAT: f64 = 1e-5;

/// The prediction of a mixture as a linear form of the experts' scores.
struct Combination {
    classes: usize,
    /// By expert and class: the factor of a score; with several classes, of a score minus their mean.
    own: Vec<f64>,
    /// By expert and class: the factor of the margin over a rival, and the class of that rival.
    margin: Vec<(f64, usize)>,
}

impl Combination {
    /// The linear form of the scores of all experts, or of parts of these scores.
    fn of(&self, scores: &[f64]) -> Vec<f64> {
        let mut sums = vec![0.0; self.classes];
        for (e, row) in scores.chunks_exact(self.classes).enumerate() {
            let mean = if self.classes > 1 { row.iter().sum::<f64>() / self.classes as f64 } else { 0.0 };
            for (c, sum) in sums.iter_mut().enumerate() {
                let (factor, rival) = self.margin[e * self.classes + c];
                *sum += self.own[e * self.classes + c] * (row[c] - mean) + factor * (row[c] - row[rival]);
            }
        }
        sums
    }
}

impl Mixture {
    /// Explain the event that was predicted last.
    pub(super) fn explain_mixture(&mut self, event: Event, into: &mut Explanation) {
        // The adjustment by the latest labels is not due to any attribute.
        let prediction = self.recent.as_ref().map_or(&into.scores, |recent| &recent.prediction);
        let combination = self.aggregator.combination(&self.row, prediction);
        let experts: Vec<Explanation> = self
            .learners
            .iter_mut()
            .map(|learner| Explanation::of(&mut **learner, event, &[], 0, into.unit))
            .collect();
        let mut calibrations: Vec<f64> =
            experts.iter().flat_map(|expert| expert.calibration.clone()).collect();
        calibrations.resize(self.row.len(), 0.0);
        let mut parts = vec![0.0; self.row.len()];
        for (at, attribute) in into.attributes().to_vec().into_iter().enumerate() {
            let each = experts.iter().flat_map(|expert| expert.parts().nth(at)).flat_map(|(_, parts)| parts);
            parts.iter_mut().zip(each).for_each(|(to, part)| *to = *part);
            for (column, sum) in combination.of(&parts).into_iter().enumerate() {
                into.add(attribute, column, sum);
            }
        }
        // The factors of an expert without a prediction are 0.
        let row: Vec<f64> = self.row.iter().map(|&score| if score.is_nan() { 0.0 } else { score }).collect();
        let (prediction, nested) = (combination.of(&row), combination.of(&calibrations));
        for (c, calibration) in into.calibration.iter_mut().enumerate() {
            *calibration = into.scores[c] - prediction[c] + nested[c];
        }
    }
}

impl Aggregator {
    /// The last prediction from these scores as a linear form of them.
    fn combination(&self, scores: &[f64], prediction: &[f64]) -> Combination {
        let classes = self.classes;
        let (mut own, mut margin) = (vec![0.0; scores.len()], vec![(0.0, 0); scores.len()]);
        let stretch = self.completeness.stretch();
        let blended: Vec<f64> = (0..classes).map(|c| self.weight_of(self.experts, c, prediction)).collect();
        for (e, row) in scores.chunks_exact(classes).enumerate() {
            for c in 0..classes {
                let blended = if row[0].is_nan() { 0.0 } else { stretch * self.blend.mix[e] * blended[c] };
                let counts = self.weight_of(e, c, prediction) + blended;
                let (slope, of_margin) = self.slopes(e, c, row);
                own[e * classes + c] = counts * slope;
                margin[e * classes + c] = (counts * of_margin.0, of_margin.1);
            }
        }
        Combination { classes, own, margin }
    }

    /// The factor of a member's logit in the prediction of a class.
    fn weight_of(&self, member: usize, class: usize, prediction: &[f64]) -> f64 {
        let (weight, scratch) = (self.scratch.weights[member], &self.scratch);
        if self.regression {
            return weight;
        }
        if self.classes > 1 {
            return weight * scratch.chances[member * self.classes + class] / exp(prediction[class]);
        }
        let (logit, bounded) = if member < self.experts {
            (scratch.logits[member], 1.0)
        } else {
            let logit = self.completeness.adjusted(dot(&self.blend.mix, &scratch.logits[..self.experts]));
            (within(logit, LIMIT), ratio(within(logit, LIMIT), logit))
        };
        weight * bounded * secant(logit) / secant(prediction[0])
    }

    /// The slope of an expert's logit for a class along the score, and along the score's margin over the best rival.
    fn slopes(&self, expert: usize, class: usize, row: &[f64]) -> (f64, (f64, usize)) {
        let score = sanitise(row[class]);
        if self.regression {
            let unit = self.calibration.squares[0].sqrt();
            let slope = self.calibration.parameters[expert * OF_NUMBERS + SLOPE];
            return (slope * ratio(within(score / unit, FARTHEST), score / unit), (0.0, 0));
        }
        let (scratch, unit) = (&self.scratch, self.scratch.squares[expert].sqrt());
        let parameters = &self.calibration.parameters[expert * OF_CLASSES..][..OF_CLASSES];
        let plain = scratch.neutral[expert] + parameters[SLOPE];
        if self.classes > 1 {
            let z = &scratch.features[expert * OF_CLASSES * self.classes..][..self.classes];
            let rivals = (0..self.classes).filter(|&other| other != class);
            let rival = rivals.max_by(|&one, &other| z[one].total_cmp(&z[other])).unwrap_or(class);
            let of_margin = 0.5 * parameters[BOUNDED] / (SHARP + (z[class] - z[rival]).abs());
            return ((plain + parameters[OWN] / (SOFT + z[class].abs())) / unit, (of_margin / unit, rival));
        }
        let z = within(score / unit, FARTHEST);
        let slope = plain + parameters[BOUNDED] / (SHARP + z.abs());
        let logit = slope * z + parameters[OFFSET];
        (slope * ratio(z, score / unit) / unit * ratio(within(logit, LIMIT), logit), (0.0, 0))
    }
}

/// The fraction of a number that is left.
fn ratio(left: f64, whole: f64) -> f64 {
    if whole == 0.0 { 1.0 } else { left / whole }
}

/// The slope of the logistic function's secant from 0, where it is 1/2, to a logit.
fn secant(logit: f64) -> f64 {
    if logit.abs() < FLAT { 0.25 } else { (sigmoid(logit) - 0.5) / logit }
}
