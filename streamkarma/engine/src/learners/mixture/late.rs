//! Predictions of events, kept until their labels arrive.
//!
//! Experts are judged by these predictions rather than by what they would predict when the label arrives: by then they
//! may have learned events with the same label, which favours experts that memorise. The earlier prediction is fair
//! whatever happened in between, as in learning with delayed feedback [J], [W].
//!
//! [J] Joulani, György, Szepesvári: Online Learning under Delayed Feedback, ICML 2013. [W] Weinberger, Ordentlich: On
//! Delayed Prediction of Individual Sequences, 2002.

use std::collections::{BTreeMap, HashMap};

use super::aggregator::{Aggregator, ExpertScores};
use super::calibration::sanitise;
use super::completeness::MEASURES;
use super::dependence::Dependence;
use crate::learner::Lesson;

/// Maximum number of events kept.
pub const MOST: usize = 10_000;
/// Maximum number of numbers kept for all of them: 16 MB.
const MOST_NUMBERS: usize = 1 << 21;
/// Bytes of an event besides its numbers: its keys in two maps.
const BYTES: usize = 96;

/// The prediction of an event, and what is needed to judge it.
#[derive(Clone, Debug)]
pub struct PendingPrediction {
    /// The number under which the event was predicted.
    pub ticket: u64,
    /// The number of events that the aggregator had learned by then, and of labels that had arrived for predicted
    /// events.
    pub steps: u64,
    /// See `steps`.
    pub labels: u64,
    /// The scores of each expert; how much of the event is observed; the prediction of the mixture, see
    /// [`Aggregator::prediction`]; and the sums of [`Dependence`].
    pub numbers: Box<[f64]>,
}

/// Predicted events that await their labels, and how labels depend on each other.
#[derive(Clone, Debug)]
pub struct Late {
    pub(super) experts: usize,
    pub(super) classes: usize,
    pub(super) most: usize,
    /// The position of each ticket in the order of arrival.
    places: HashMap<u64, u64>,
    pub(super) kept: BTreeMap<u64, PendingPrediction>,
    last: u64,
    pub(super) dependence: Dependence,
    residual: Vec<f64>,
}

impl Late {
    /// For the scores of `experts` experts.
    pub fn new(experts: usize, classes: usize) -> Self {
        Self {
            experts,
            classes,
            most: MOST.min(MOST_NUMBERS / width(experts, classes)).max(1),
            places: HashMap::new(),
            kept: BTreeMap::new(),
            last: 0,
            dependence: Dependence::new(classes),
            residual: Vec::new(),
        }
    }

    /// The number of numbers per event.
    pub(super) fn width(&self) -> usize {
        width(self.experts, self.classes)
    }

    /// Keep the prediction of an event unless there is one already; the oldest is dropped if the capacity is exceeded.
    pub fn keep(&mut self, ticket: u64, aggregator: &Aggregator, expert_scores: ExpertScores, mixed: &[f64]) {
        if self.places.contains_key(&ticket) {
            return;
        }
        let mut numbers = Vec::with_capacity(self.width());
        // NaN if an expert made no prediction.
        let score = |&score: &f64| if score.is_nan() { score } else { sanitise(score) };
        numbers.extend(expert_scores.scores.iter().map(score));
        numbers.extend(expert_scores.observed);
        numbers.extend(mixed.iter().map(|&mixed| aggregator.prediction(mixed)));
        numbers.extend(&self.dependence.sums);
        let (steps, labels) = (aggregator.steps(), self.dependence.labels);
        self.put(PendingPrediction { ticket, steps, labels, numbers: numbers.into() });
        self.bound();
    }

    pub(super) fn put(&mut self, kept: PendingPrediction) {
        self.last += 1;
        self.places.insert(kept.ticket, self.last);
        self.kept.insert(self.last, kept);
    }

    fn bound(&mut self) {
        while self.kept.len() > self.most {
            if let Some((_, oldest)) = self.kept.pop_first() {
                self.places.remove(&oldest.ticket);
            }
        }
    }

    /// Drop all events that await their labels.
    pub(super) fn clear(&mut self) {
        self.places.clear();
        self.kept.clear();
    }

    /// Remove and return the prediction of an event whose label has arrived.
    pub fn take(&mut self, ticket: u64) -> Option<PendingPrediction> {
        self.kept.remove(&self.places.remove(&ticket)?)
    }

    /// The scores of a kept prediction.
    pub fn expert_scores<'k>(&self, kept: &'k PendingPrediction) -> ExpertScores<'k> {
        let (scores, rest) = kept.numbers.split_at(self.experts * self.classes);
        ExpertScores { scores, observed: std::array::from_fn(|i| rest[i]) }
    }

    /// The weight of an event whose label has arrived; None if a prediction made now is as good, since no event was
    /// learned since it was predicted, or better, since none had been learned before. Residuals of the latter are alike
    /// whatever the labels have in common. If it is known that labels are shared, their weight accounts for it, but a
    /// prediction made now may know the label.
    pub fn weigh(
        &mut self,
        kept: &PendingPrediction,
        aggregator: &Aggregator,
        lesson: &Lesson,
    ) -> Option<f64> {
        if kept.steps == 0 && !lesson.shares_label {
            return None;
        }
        let (prediction, sums) =
            kept.numbers[self.experts * self.classes + MEASURES..].split_at(self.classes);
        let Self { dependence, residual, .. } = self;
        aggregator.residual(prediction, lesson.label, residual);
        let is_late = aggregator.steps() > kept.steps;
        let part = is_late.then(|| dependence.weight(residual, sums, kept.labels));
        dependence.add(residual);
        part.map(|part| if lesson.shares_label { 1.0 } else { part })
    }

    /// Widen to `classes` classes, as learners do: a score f of two becomes -f/2 and f/2, and new ones start at 0.
    pub fn widen(&mut self, classes: usize) {
        let before = self.classes;
        if classes <= before {
            return;
        }
        let kept = std::mem::take(&mut self.kept);
        let mut wide = Self::new(self.experts, classes);
        for PendingPrediction { ticket, steps, labels, numbers } in kept.into_values() {
            let mut wider = Vec::with_capacity(wide.width());
            let (scores, rest) = numbers.split_at(self.experts * before);
            scores.chunks_exact(before).for_each(|own| wider.extend(widened(own, classes, [-0.5, 0.5])));
            let (observed, rest) = rest.split_at(MEASURES);
            let (prediction, sums) = rest.split_at(before);
            wider.extend(observed);
            let mut chances = widened(prediction, classes, [-1.0, 1.0]);
            if before == 1 {
                chances[0] += 1.0;
            }
            wider.extend(chances);
            wider.extend(widened(sums, classes, HALVES));
            wide.put(PendingPrediction { ticket, steps, labels, numbers: wider.into() });
        }
        wide.bound();
        let Dependence { sums, labels, products, squares } = &self.dependence;
        let (sums, labels) = (widened(sums, classes, HALVES), *labels);
        wide.dependence = Dependence { sums, labels, products: *products, squares: *squares };
        *self = wide;
    }

    /// Whether every ticket is unique.
    pub(super) fn is_sound(&self) -> bool {
        self.places.len() == self.kept.len()
    }

    /// The memory used by what is kept.
    pub fn bytes(&self) -> usize {
        8 * (self.dependence.sums.len() + 3) + self.kept.len() * (BYTES + 8 * self.width())
    }
}

/// The number of numbers per event: scores, how much of it is observed, the prediction, and sums.
fn width(experts: usize, classes: usize) -> usize {
    (experts + 2) * classes + MEASURES
}

/// Factors that split a residual of two classes into one for each of them, of the same overall length.
pub const HALVES: [f64; 2] = [-std::f64::consts::FRAC_1_SQRT_2, std::f64::consts::FRAC_1_SQRT_2];

/// Widen numbers to `classes` classes: from two classes by `factors`, or from fewer classes.
fn widened(own: &[f64], classes: usize, factors: [f64; 2]) -> Vec<f64> {
    let mut wide = match own {
        [both] => factors.map(|factor| factor * both).to_vec(),
        _ => own.to_vec(),
    };
    wide.resize(classes, 0.0);
    wide
}
