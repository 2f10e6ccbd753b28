//! The interface of all learners.

use std::any::Any;

use dyn_clone::{DynClone, clone_trait_object};

use crate::block::{Block, Event, Evicted};
use crate::explaining::{Explanation, leave_one_out};
use crate::state::{Refused, State};
use crate::translation::Translation;

/// The unit in which the targets of a regression are standardised; it changes as targets arrive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Unit {
    /// The target that is 0 in this unit.
    pub centre: f64,
    /// The size of 1 in this unit, above 0.
    pub spread: f64,
}

impl Unit {
    /// Targets in their original units.
    pub const NONE: Self = Self { centre: 0.0, spread: 1.0 };

    /// Converts a number to this unit.
    pub fn standard(self, number: f64) -> f64 {
        (number - self.centre) / self.spread
    }

    /// Converts a number from this unit.
    pub fn plain(self, standard: f64) -> f64 {
        standard * self.spread + self.centre
    }
}

/// Everything about an event besides what it observes.
#[derive(Clone, Copy, Debug)]
pub struct Lesson<'a> {
    /// +1 or -1, the index of a class, or a target; NaN for an unlabelled event, from which only what needs no label is
    /// learned.
    pub label: f64,
    /// The raw label: in a regression, the target before it was standardised.
    pub target: f64,
    /// The unit of scores in a regression.
    pub unit: Unit,
    /// The weight of the event, 0 or more; an event of weight 0 is only predicted and leaves the model unchanged.
    pub weight: f64,
    /// A number that identifies the event when it is predicted without a label, and again when the label arrives; 0 for
    /// none. Only a mixture uses it.
    pub ticket: u64,
    /// Whether the event was learned before, without its label: now only what needs the label is learned from it.
    pub observed_before: bool,
    /// Whether other events share its label; the weight is then its share of one.
    pub shares_label: bool,
    /// Whether scores are needed; if not, a learner that learns without them may write NaN, at no cost.
    pub wants_scores: bool,
    /// Scores of external experts, one expert after another, `classes` each; only for a mixture.
    pub external_scores: &'a [f64],
}

impl Lesson<'static> {
    /// Nothing to learn: the event is only predicted.
    pub const NONE: Self = Self {
        label: f64::NAN,
        target: f64::NAN,
        unit: Unit::NONE,
        weight: 0.0,
        ticket: 0,
        observed_before: false,
        shares_label: false,
        wants_scores: true,
        external_scores: &[],
    };

    /// A label, or NaN for none, of an event of weight one.
    pub const fn of(label: f64) -> Self {
        Self { label, target: label, weight: 1.0, ..Self::NONE }
    }
}

impl Lesson<'_> {
    /// Whether there is a label.
    pub fn is_labelled(&self) -> bool {
        !self.label.is_nan()
    }

    /// Whether the event is to be learned with its label.
    pub fn is_learned(&self) -> bool {
        self.is_labelled() && self.weight > 0.0
    }

    /// How many events it counts as where something decays per event: its share of one if other events share its label,
    /// because what is known of the experts decays with what has been learned since.
    pub fn events(&self) -> f64 {
        if self.shares_label { self.weight.min(1.0) } else { 1.0 }
    }

    /// Whether the event is to be learned without a label.
    pub fn is_observed(&self) -> bool {
        !self.is_labelled() && self.weight > 0.0
    }
}

/// One entry of a summary.
#[derive(Clone, Debug, PartialEq)]
pub enum Fact {
    /// A size or a count.
    Count(u64),
    /// Not applicable.
    Nothing,
    /// A fraction or a mean.
    Number(f64),
    /// A number for each of several names.
    Numbers(Vec<(String, f64)>),
}

/// The memory of a learner, taken from its summary.
pub fn bytes_in(facts: &[(&str, Fact)]) -> u64 {
    let is_bytes = |(name, fact): &(&str, Fact)| match fact {
        Fact::Count(count) if *name == "bytes" => Some(*count),
        _ => None,
    };
    facts.iter().find_map(is_bytes).unwrap_or(0)
}

/// A learner: events in, scores out.
///
/// `step` does everything: the scores are those from before the event is learned.
pub trait Learner: Any + DynClone + Send + Sync {
    /// The number of scores of an event: 1 for two classes and for a regression, otherwise one per class.
    fn classes(&self) -> usize;

    /// The number of events learned.
    fn steps(&self) -> u64;

    /// The number of external experts, whose scores a lesson must contain.
    fn external_experts(&self) -> usize {
        0
    }

    /// The number of its models, each with scores of its own; more than one only in a mixture, see `join`.
    fn models(&self) -> usize {
        1
    }

    /// Whether it accepts targets however far out; otherwise a mixture clips them, where they are standardised.
    fn takes_far_labels(&self) -> bool {
        false
    }

    /// Whether it learns an event just as well if no scores are wanted, and saves time then.
    fn learns_unasked(&self) -> bool {
        false
    }

    /// Whether a mixture may withhold most events from it when it has been of no use for long; false for learners that
    /// learn from unlabelled events.
    fn may_lie_dormant(&self) -> bool {
        true
    }

    /// Whether it makes no prediction, so that its first score is NaN, before there is something of its kind to learn
    /// from; a mixture gives it no weight until then.
    fn begins_silent(&self) -> bool {
        false
    }

    /// Take over the models of a learner that sees the same features in every event, so that these are computed only
    /// once. Returns whether it is such a learner and neither has learned anything yet.
    fn join(&mut self, _other: &dyn Learner) -> bool {
        false
    }

    /// Predict an event, then learn it if it is to be learned.
    ///
    /// An unlabelled event is predicted like one that is predicted only. Then the learner learns from it what needs no
    /// label, if there is any such thing.
    ///
    /// `scores` has room for `classes` scores of each model, one model after another. Returns the loss suffered by the
    /// first model; NaN if there is no label.
    fn step(&mut self, event: Event, lesson: Lesson, scores: &mut [f64]) -> f64;

    /// Predict, then learn, the events of a block in turn: `step` on each, after `forget` of what was evicted before
    /// it.
    ///
    /// `scores` has room for the scores of each event, one event after another, and `losses` for one loss each.
    fn run(&mut self, block: &Block, lessons: &[Lesson], scores: &mut [f64], losses: &mut [f64]) {
        let width = self.models() * self.classes();
        for (t, row) in scores.chunks_exact_mut(width).enumerate() {
            if let Some(evicted) = block.evicted_before(t) {
                self.forget(evicted);
            }
            losses[t] = self.step(block.event(t), lessons[t], row);
        }
    }

    /// Learn the event that was predicted last, if nothing has been done since: the rest of `step`.
    ///
    /// `scores` holds its scores. If learning it begins with something new, they are computed again.
    fn learn_predicted(&mut self, event: Event, lesson: Lesson, scores: &mut [f64]) -> f64 {
        self.step(event, lesson, scores)
    }

    /// Compute the contribution of each attribute to the scores of the event that was predicted last, which are in
    /// `into`.
    ///
    /// A learner whose score is not a sum computes what the scores would lose without each attribute.
    fn explain(&mut self, event: Event, into: &mut Explanation) {
        leave_one_out(self, event, into);
    }

    /// Mean and variance of each coordinate given what an event observes, if the learner has learned how they are
    /// correlated.
    fn conditional(&mut self, _event: Event) -> Option<Vec<(f64, f64)>> {
        None
    }

    /// Forget what was learned about evicted attributes and coordinates: their indices will be used for others.
    ///
    /// From then on they contribute as little as if they had never been learned.
    fn forget(&mut self, evicted: &Evicted);

    /// Change to this many classes; a weight w of two classes becomes -w/2 and w/2, and new classes begin with 0.
    fn widen(&mut self, classes: usize);

    /// Forget everything, and continue as after `steps` steps.
    fn restart(&mut self, steps: u64);

    /// Sizes of the model, `bytes` among them, and what became of the examples; in order.
    fn summary(&self) -> Vec<(&'static str, Fact)>;

    /// Everything that was learned.
    fn state(&self) -> State;

    /// Load a state of a model with this many attributes and coordinates.
    ///
    /// # Errors
    ///
    /// If the arrays contradict each other, or point outside of the model. The learner is then as after `restart(0)`,
    /// or unchanged.
    fn restore(&mut self, state: &State, attributes: usize, coordinates: usize) -> Result<(), Refused>;

    /// Renumber the classes: class c becomes `places[c]`, and all of `places` are different.
    ///
    /// With one row of scores `places` is `[0, 1]` or `[1, 0]`, which flips the signs of all scores; otherwise its
    /// length is the number of classes.
    ///
    /// # Errors
    ///
    /// If the learner cannot do this: why, in one line.
    fn relabel(&mut self, _places: &[usize]) -> Result<(), Refused> {
        Err("this kind of learner cannot be merged".to_owned())
    }

    /// Forget the latest errors: the next event does not directly follow those learned last.
    fn forget_last(&mut self) {}

    /// Whether names have to keep their indices when models are merged, because weights are located by hashing them.
    fn is_hashed(&self) -> bool {
        false
    }

    /// Translate to the names and scales of a merged model.
    ///
    /// Scores of events stay the same, unless the docstring of the learner's `merging.rs` says otherwise. If only
    /// indices change, they stay the same up to the last bits.
    ///
    /// # Errors
    ///
    /// If the learner cannot do this, for instance because a hashed table would need other slots: why, in one line.
    fn translate(&mut self, _translation: &Translation) -> Result<(), Refused> {
        Err("this kind of learner cannot be merged".to_owned())
    }

    /// Take in what `parts` have learned since each of them was identical to this one: `self + Σ (part - self)`.
    ///
    /// All have been translated to the same names and scales, and have the same number of classes. The order of the
    /// parts affects only the last bits, and so does merging some of them beforehand.
    ///
    /// # Errors
    ///
    /// If a part is another kind of learner, or has other settings: why, in one line. This learner may then be in any
    /// state.
    fn merge(&mut self, _parts: &[&dyn Learner]) -> Result<(), Refused> {
        Err("this kind of learner cannot be merged".to_owned())
    }
}

clone_trait_object!(Learner);
