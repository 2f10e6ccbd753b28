//! Mixing the scores of experts, whoever they are, by log loss.

use std::f64::consts::FRAC_1_SQRT_2;

use super::calibration::{
    Calibration, FARTHEST, NUMBER_PRIOR_VARIANCE, OF_CLASSES, OF_NUMBERS, clip, sanitise, sigmoid,
};
use super::completeness::{Completeness, Observed};
use super::fixed_share::{Blend, Shares};
use super::newton::DRIFT;
use super::resting::Resting;
use super::scales::Scales;
use crate::math::exp;

/// Means run over this many events: the scale of a score changes while its expert learns.
const WINDOW: f64 = 1000.0;
/// Events of a larger weight count as this one.
const HEAVIEST: f64 = 1e100;

/// What there is to mix of an event.
#[derive(Clone, Copy, Debug)]
pub struct Said<'a> {
    /// One of each expert, or of several classes one of each, one expert after another.
    pub scores: &'a [f64],
    /// How much of the event is observed.
    pub observed: Observed,
}

impl<'a> Said<'a> {
    /// Scores of events that observe all as much.
    pub fn of(scores: &'a [f64]) -> Self {
        Self { scores, observed: [1.0, 0.0] }
    }
}

/// How fast statistics forget.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Forgetting {
    /// Of covariances; see [`super::newton`].
    pub drift: f64,
    /// Of means, in events.
    pub window: f64,
}

impl Forgetting {
    /// With a half-life in events of what calibrations and the blend have learned; 0 for the slow
    /// forgetting they have anyway.
    pub fn new(half_life: f64, regression: bool) -> Self {
        if half_life.is_nan() || half_life <= 0.0 {
            return Self { drift: DRIFT, window: WINDOW };
        }
        // Where gain and drift balance, P = sqrt(drift variance / q), and what was learned fades at the
        // rate P q of an event; q, the mean curvature, is 1 in squares and less in logits, where variances are some 1.
        let rate = std::f64::consts::LN_2 / half_life;
        let known = if regression { NUMBER_PRIOR_VARIANCE } else { 0.2 };
        Self { drift: (rate * rate / known).clamp(DRIFT, 0.5), window: WINDOW.min(1.0 + 1.0 / rate) }
    }
}

/// How much an event counts.
#[derive(Clone, Copy, Debug)]
pub struct Count {
    /// In Bayes' rule, and in gradient and curvature.
    pub weight: f64,
    /// As how many events in what fades from event to event.
    pub events: f64,
}

impl Count {
    /// One event of that weight.
    pub fn of(weight: f64) -> Self {
        Self { weight, events: 1.0 }
    }
}

/// What is known of the event in hand.
#[derive(Clone, Debug, Default)]
pub struct Scratch {
    /// Of each member: its weight among those that say something, 0 of those that do not.
    pub weights: Vec<f64>,
    /// Of each expert: the mean square of its score, if the event is learned.
    pub squares: Vec<f64>,
    /// Of each expert: the factor of z in a logit that its slope is added to.
    pub neutral: Vec<f64>,
    /// Of each expert what its parameters are for; of each of several classes.
    pub features: Vec<f64>,
    /// Of each member, or each class of each member; also the means of a regression.
    pub logits: Vec<f64>,
    /// The probabilities of these; of several classes, once learned, the slopes of the log loss.
    pub chances: Vec<f64>,
    /// Of each member.
    pub likelihoods: Vec<f64>,
    /// Of each member of a regression: what it said less the target.
    pub residuals: Vec<f64>,
    /// Of a gradient.
    pub direction: Vec<f64>,
    /// See [`super::newton::Newton`].
    pub gains: Vec<f64>,
    /// What the mixture would say of scores of earlier on.
    pub mixed: Vec<f64>,
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
        }
    }
}

/// Calibrates experts and mixes what they say; the method is in [`super::calibration`], [`super::newton`]
/// and [`super::fixed_share`].
///
/// Scores may be on any scale; of an expert that says nothing the first is NaN, see [`super::resting`]. An event
/// of weight w counts w times: in Bayes' rule, and in gradient and curvature of Newton's steps.
#[derive(Clone, Debug)]
pub struct Aggregator {
    pub(super) experts: usize,
    pub(super) regression: bool,
    /// Whether the absolute loss counts in a regression.
    pub(super) absolute: bool,
    pub(super) classes: usize,
    pub(super) forgetting: Forgetting,
    pub(super) calibration: Calibration,
    pub(super) shares: Shares,
    pub(super) blend: Blend,
    pub(super) completeness: Completeness,
    /// How far members are off in a regression.
    pub(super) scales: Scales,
    pub(super) resting: Resting,
    pub(super) steps: u64,
    pub(super) scratch: Scratch,
}

impl Aggregator {
    /// Of so many experts, 1 or more, for two classes or a regression; see [`Forgetting::new`].
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
            resting: Resting::default(),
            steps: 0,
            scratch: Scratch::new(experts, classes),
        }
    }

    /// The same, but by the absolute loss, if it is a regression: what is said is a median.
    #[must_use]
    pub fn with_absolute_loss(self) -> Self {
        Self { absolute: true, ..self }
    }

    /// How many experts are mixed.
    pub fn experts(&self) -> usize {
        self.experts
    }

    /// Scores of an expert, and of the mixture: 1 for two classes and for a regression, else one per class.
    pub fn classes(&self) -> usize {
        self.classes
    }

    /// Events learned.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// Bayes weights of the experts and, last, of the blend; their sum is 1.
    pub fn weights(&self) -> &[f64] {
        &self.shares.weights
    }

    /// The mean of the weights over the last 1,000 events or so.
    pub fn mean_weights(&self) -> &[f64] {
        &self.shares.means
    }

    /// Mix the scores of an event, then learn it if it has a label and a weight above 0.
    ///
    /// `mixed` receives the log-odds of the label +1, log-probabilities of several classes, or the mean. Returns the
    /// log loss of the mixture, in nats, or its squared error; NaN without a label.
    pub fn step(&mut self, said: Said, label: f64, count: Count, mixed: &mut [f64]) -> f64 {
        let count = Count { weight: count.weight.min(HEAVIEST), ..count };
        self.share_out(said.scores);
        if self.regression {
            self.step_number(said, label, count, mixed)
        } else if self.classes > 1 {
            self.step_several(said.scores, label, count, mixed)
        } else {
            self.step_two(said, label, count, mixed)
        }
    }

    /// Share out the weights among the members that say something.
    fn share_out(&mut self, scores: &[f64]) {
        let weights = &mut self.scratch.weights;
        weights.copy_from_slice(&self.shares.weights);
        let mut is_silent = false;
        for (weight, scores) in weights.iter_mut().zip(scores.chunks_exact(self.classes)) {
            if scores[0].is_nan() {
                (*weight, is_silent) = (0.0, true);
            }
        }
        if is_silent {
            let total: f64 = weights.iter().sum();
            weights.iter_mut().for_each(|weight| *weight /= total);
        }
    }

    /// Learn an event from what was said of it earlier on.
    pub fn learn(&mut self, said: Said, label: f64, count: Count) {
        let mut mixed = std::mem::take(&mut self.scratch.mixed);
        self.step(said, label, count, &mut mixed);
        self.scratch.mixed = mixed;
    }

    /// What was said, of what `step` gives: the probability of a class, of +1 where there are two; or the number.
    pub fn said(&self, mixed: f64) -> f64 {
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

    /// Whether it mixes two classes.
    pub fn is_of_two(&self) -> bool {
        self.classes == 1 && !self.regression
    }

    /// Writes the residuals of what was said: of the label +1, of each class, or of the number.
    ///
    /// Those of several classes are such that two would have the same square. Numbers are in units of the target's
    /// root mean square.
    pub fn residual(&self, said: &[f64], label: f64, residual: &mut Vec<f64>) {
        residual.clear();
        if self.regression {
            residual.push(clip((label - said[0]) / self.unit(), FARTHEST));
        } else if self.classes == 1 {
            residual.push(f64::from(u8::from(label > 0.0)) - said[0]);
        } else {
            let truth = |class| f64::from(u8::from(label == class as f64));
            let each = said.iter().enumerate();
            residual.extend(each.map(|(class, chance)| (truth(class) - chance) * FRAC_1_SQRT_2));
        }
    }

    /// Go to so many classes; what is known of those there are stays as it is.
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
        let resting = self.resting.restarted();
        let absolute = self.absolute;
        *self = Self { absolute, resting, ..Self::begin(self.experts, 1, self.regression, self.forgetting) };
    }

    /// The memory of what was learned.
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

    /// Parameters of each expert.
    pub(super) fn size(&self) -> usize {
        if self.regression { OF_NUMBERS } else { OF_CLASSES }
    }
}
