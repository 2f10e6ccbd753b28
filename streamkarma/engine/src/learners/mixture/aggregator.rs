//! Mixing the scores of arbitrary experts by log loss.

use std::f64::consts::FRAC_1_SQRT_2;

use super::calibration::{
    Calibration, FARTHEST, NUMBER_PRIOR_VARIANCE, OF_CLASSES, OF_NUMBERS, sanitise, sigmoid,
};
use super::completeness::{Completeness, Observed};
use super::fixed_share::{Blend, Shares};
use super::mean_weight::MeanWeight;
use super::newton::DRIFT;
use super::range::Range;
use super::resting::Resting;
use super::scales::Scales;
use super::succession::Succession;
use super::ties::Ties;
use crate::math::{exp, within};

/// Window of the running means, in events: the scale of a score changes while its expert learns.
const WINDOW: f64 = 1000.0;

/// What is mixed for one event.
#[derive(Clone, Copy, Debug)]
pub struct ExpertScores<'a> {
    /// One score per expert, or one per class with several classes, one expert after another.
    pub scores: &'a [f64],
    /// How much of the event is observed.
    pub observed: Observed,
}

#[cfg(test)]
impl<'a> ExpertScores<'a> {
    /// Scores of events that are all observed to the same extent.
    pub fn of(scores: &'a [f64]) -> Self {
        Self { scores, observed: [1.0, 0.0] }
    }
}

/// How fast statistics forget.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Forgetting {
    /// Drift of covariances; see [`super::newton`].
    pub drift: f64,
    /// Window of means, in events.
    pub window: f64,
}

impl Forgetting {
    /// From the half-life, in events, of what calibrations and the blend have learned; 0 for the slow forgetting that
    /// they have anyway.
    pub fn new(half_life: f64, regression: bool) -> Self {
        if half_life.is_nan() || half_life <= 0.0 {
            return Self { drift: DRIFT, window: WINDOW };
        }
        // Where gain and drift balance, P = sqrt(drift variance / q), and what was learned fades at the rate P q per
        // event. The mean curvature q is 1 for squares and smaller for logits, where variances are about 1.
        let rate = std::f64::consts::LN_2 / half_life;
        let known = if regression { NUMBER_PRIOR_VARIANCE } else { 0.2 };
        Self { drift: (rate * rate / known).clamp(DRIFT, 0.5), window: WINDOW.min(1.0 + 1.0 / rate) }
    }
}

/// The weight of an event.
#[derive(Clone, Copy, Debug)]
pub struct Count {
    /// Weight in Bayes' rule, and in gradient and curvature.
    pub weight: f64,
    /// The number of events that it amounts to in everything that fades from event to event.
    pub events: f64,
}

#[cfg(test)]
impl Count {
    /// One event of the given weight.
    pub fn of(weight: f64) -> Self {
        Self { weight, events: 1.0 }
    }
}

/// Working values of the current event.
#[derive(Clone, Debug, Default)]
pub struct Scratch {
    /// The weight of each member among those that make a prediction; 0 for the others.
    pub weights: Vec<f64>,
    /// The mean square of each expert's score once the event is learned.
    pub squares: Vec<f64>,
    /// The factor of z in each expert's logit to which its slope is added.
    pub neutral: Vec<f64>,
    /// The features that each expert's parameters multiply; for each class if there are several.
    pub features: Vec<f64>,
    /// The logit of each member, or of each class of each member; the means in a regression.
    pub logits: Vec<f64>,
    /// The probabilities of these; with several classes, the slopes of the log loss once the event is learned.
    pub chances: Vec<f64>,
    /// The likelihood of each member.
    pub likelihoods: Vec<f64>,
    /// The prediction of each member of a regression minus the target.
    pub residuals: Vec<f64>,
    /// The direction of a gradient.
    pub direction: Vec<f64>,
    /// See [`super::newton::Newton`].
    pub gains: Vec<f64>,
    /// What the mixture would predict from earlier scores.
    pub mixed: Vec<f64>,
    /// The blend's logit of each class without some experts, and the probabilities of these.
    pub left: Vec<f64>,
    pub left_chances: Vec<f64>,
}

impl Scratch {
    fn new(experts: usize, classes: usize) -> Self {
        let of_members = (experts + 1) * classes;
        Self {
            weights: vec![0.0; experts + 1],
            squares: vec![0.0; experts],
            neutral: vec![0.0; experts],
            features: vec![1.0; experts * OF_CLASSES * classes],
            logits: vec![0.0; of_members],
            chances: vec![0.0; of_members],
            likelihoods: vec![0.0; experts + 1],
            residuals: Vec::new(),
            direction: vec![0.0; experts.max(OF_CLASSES)],
            gains: vec![0.0; experts.max(OF_CLASSES)],
            mixed: vec![0.0; classes],
            left: vec![0.0; classes],
            left_chances: vec![0.0; classes],
        }
    }
}

/// Calibrates experts and mixes their predictions; for the method see [`super::calibration`], [`super::newton`] and
/// [`super::fixed_share`].
///
/// Scores may be on any scale. If an expert makes no prediction, its first score is NaN, see [`super::resting`]. An
/// event of weight w counts as w events in Bayes' rule, and in the gradient and curvature of Newton steps; on average,
/// events count as one at most, see [`super::mean_weight`].
#[derive(Clone, Debug)]
pub struct Aggregator {
    pub(super) experts: usize,
    pub(super) regression: bool,
    /// Whether a regression uses the absolute loss.
    pub(super) absolute: bool,
    pub(super) classes: usize,
    pub(super) forgetting: Forgetting,
    pub(super) calibration: Calibration,
    pub(super) shares: Shares,
    pub(super) blend: Blend,
    pub(super) completeness: Completeness,
    /// The scale of the members' errors in a regression.
    pub(super) scales: Scales,
    /// Whether most targets of a regression are equal.
    pub(super) ties: Ties,
    /// The range of its targets.
    pub(super) range: Range,
    /// The labels of two classes.
    pub(super) succession: Succession,
    pub(super) mean_weight: MeanWeight,
    pub(super) resting: Resting,
    /// The experts that are admitted with their first prediction only.
    pub(super) latecomers: Vec<usize>,
    pub(super) steps: u64,
    pub(super) scratch: Scratch,
}

impl Aggregator {
    /// Create a mixture of 1 or more experts for two classes or a regression; see [`Forgetting::new`].
    pub fn new(experts: usize, regression: bool, half_life: f64) -> Self {
        Self::begin(experts.max(1), 1, regression, Forgetting::new(half_life, regression))
    }

    pub(super) fn begin(experts: usize, classes: usize, regression: bool, forgetting: Forgetting) -> Self {
        Self {
            experts,
            regression,
            absolute: false,
            classes,
            forgetting,
            calibration: Calibration::new(experts, classes, regression),
            shares: Shares::new(experts + 1),
            blend: Blend::new(experts, classes == 1 && !regression),
            completeness: Completeness::new(),
            scales: Scales::new(regression),
            ties: Ties::default(),
            range: Range::default(),
            succession: Succession::default(),
            mean_weight: MeanWeight::default(),
            resting: Resting::default(),
            latecomers: Vec::new(),
            steps: 0,
            scratch: Scratch::new(experts, classes),
        }
    }

    /// The same with the absolute loss, if it is a regression: the prediction is a median.
    #[must_use]
    pub fn with_absolute_loss(self) -> Self {
        Self { absolute: true, ..self }
    }

    /// The same, except that some experts have no weight before their first prediction.
    #[must_use]
    pub(super) fn with_latecomers(mut self, latecomers: Vec<usize>) -> Self {
        self.shares.keep_out(&latecomers);
        self.blend.keep_out(&latecomers);
        Self { latecomers, ..self }
    }

    /// Admit the latecomers among the experts that have a score.
    fn admit(&mut self, scores: &[f64]) {
        for &expert in &self.latecomers {
            if !self.shares.has(expert) && !scores[expert * self.classes].is_nan() {
                // One of the members is the blend.
                self.blend.admit(expert, self.shares.members() - 1);
                self.shares.admit(expert);
            }
        }
    }

    /// The variance of the residuals if most targets are equal and the loss is squared; see [`super::ties`].
    pub(super) fn variance_beside_ties(&self) -> Option<f64> {
        self.ties.variance().filter(|_| self.regression && !self.absolute)
    }

    /// The number of experts mixed.
    pub fn experts(&self) -> usize {
        self.experts
    }

    /// The number of scores of an expert, and of the mixture: 1 for two classes and for a regression, else one per
    /// class.
    pub fn classes(&self) -> usize {
        self.classes
    }

    /// The number of events learned.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// Bayes weights of the experts and, last, of the blend; their sum is 1.
    #[cfg(test)]
    pub fn weights(&self) -> &[f64] {
        &self.shares.weights
    }

    /// The mean of the weights over the last 1,000 events or so.
    pub fn mean_weights(&self) -> &[f64] {
        &self.shares.means
    }

    /// Mix the scores of an event, then learn the event if it has a label and a weight above 0.
    ///
    /// `mixed` receives the log-odds of the label +1, the log-probabilities of several classes, or the mean. Returns
    /// the log loss of the mixture, in nats, or its squared error; NaN without a label.
    pub fn step(&mut self, expert_scores: ExpertScores, label: f64, count: Count, mixed: &mut [f64]) -> f64 {
        if !label.is_nan() && count.weight > 0.0 {
            self.mean_weight.observe(count.weight);
        }
        let count = Count { weight: self.mean_weight.relative(count.weight), ..count };
        self.distribute_weights(expert_scores.scores);
        let loss = if self.regression {
            self.step_number(expert_scores, label, count, mixed)
        } else if self.classes > 1 {
            self.step_several(expert_scores.scores, label, count, mixed)
        } else {
            self.step_two(expert_scores, label, count, mixed)
        };
        if !label.is_nan() && count.weight > 0.0 {
            self.admit(expert_scores.scores);
        }
        loss
    }

    /// Distribute the weights among the members that make a prediction.
    fn distribute_weights(&mut self, scores: &[f64]) {
        let weights = &mut self.scratch.weights;
        weights.copy_from_slice(&self.shares.weights);
        let mut is_silent = false;
        for (weight, scores) in weights.iter_mut().zip(scores.chunks_exact(self.classes)) {
            // Without a weight to share, the others keep theirs to the last bit.
            if scores[0].is_nan() && *weight > 0.0 {
                (*weight, is_silent) = (0.0, true);
            }
        }
        if is_silent {
            let total: f64 = weights.iter().sum();
            weights.iter_mut().for_each(|weight| *weight /= total);
        }
    }

    /// Learn an event from predictions that were made earlier.
    pub fn learn(&mut self, expert_scores: ExpertScores, label: f64, count: Count) {
        let mut mixed = std::mem::take(&mut self.scratch.mixed);
        self.step(expert_scores, label, count, &mut mixed);
        self.scratch.mixed = mixed;
    }

    /// Convert an output of `step` to a prediction: the probability of a class, of +1 if there are two; or the number.
    pub fn prediction(&self, mixed: f64) -> f64 {
        match self.classes {
            _ if self.regression => sanitise(mixed),
            1 => sigmoid(mixed),
            _ => exp(mixed),
        }
    }

    /// The root mean square of the targets of a regression.
    pub fn unit(&self) -> f64 {
        self.calibration.squares[0].sqrt()
    }

    /// Whether this is a mixture for two classes.
    pub fn is_of_two(&self) -> bool {
        self.classes == 1 && !self.regression
    }

    /// Writes the residuals of a prediction: of the label +1, of each class, or of the number.
    ///
    /// Those of several classes are scaled such that with two of them the square would be the same. Those of numbers
    /// are in units of the target's root mean square.
    pub fn residual(&self, prediction: &[f64], label: f64, residual: &mut Vec<f64>) {
        residual.clear();
        if self.regression {
            residual.push(within((label - prediction[0]) / self.unit(), FARTHEST));
        } else if self.classes == 1 {
            residual.push(f64::from(u8::from(label > 0.0)) - prediction[0]);
        } else {
            let truth = |class| f64::from(u8::from(label == class as f64));
            let each = prediction.iter().enumerate();
            residual.extend(each.map(|(class, chance)| (truth(class) - chance) * FRAC_1_SQRT_2));
        }
    }

    /// Widen to `classes` classes, keeping what was learned about the existing ones.
    pub fn widen(&mut self, classes: usize) {
        if !self.regression && classes > self.classes {
            self.calibration.widen(classes);
            self.blend.widen();
            self.completeness = Completeness::new();
            self.classes = classes;
            self.scratch = Scratch::new(self.experts, classes);
        }
    }

    /// Forget everything.
    pub fn restart(&mut self) {
        let (resting, latecomers) = (self.resting.restarted(), std::mem::take(&mut self.latecomers));
        let absolute = self.absolute;
        let begun = Self::begin(self.experts, 1, self.regression, self.forgetting);
        *self = Self { absolute, resting, ..begun }.with_latecomers(latecomers);
    }

    /// The memory used by what was learned.
    pub fn bytes(&self) -> usize {
        let Calibration { squares, parameters, covariances, offsets, offset_variances } = &self.calibration;
        let all = [
            squares,
            parameters,
            covariances,
            offsets,
            offset_variances,
            &self.shares.weights,
            &self.shares.means,
            &self.blend.mix,
            &self.blend.covariance,
            &self.scales.weights,
        ];
        size_of::<u64>()
            + size_of::<Completeness>()
            + all.iter().map(|each| size_of_val(each.as_slice())).sum::<usize>()
    }

    /// The number of parameters of each expert.
    pub(super) fn size(&self) -> usize {
        if self.regression { OF_NUMBERS } else { OF_CLASSES }
    }
}
