//! What every learner can do.

use std::any::Any;

use dyn_clone::{DynClone, clone_trait_object};

use crate::block::{Block, Event, Gone};
use crate::change::Change;
use crate::explaining::{Explanation, leave_one_out};
use crate::state::{Refused, State};

/// The unit in which the targets of a regression are standardised; it moves as they come.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Unit {
    /// The target that is 0 in it.
    pub centre: f64,
    /// How much 1 in it is, above 0.
    pub spread: f64,
}

impl Unit {
    /// Targets as they come.
    pub const NONE: Self = Self { centre: 0.0, spread: 1.0 };

    /// A number in this unit.
    pub fn standard(self, number: f64) -> f64 {
        (number - self.centre) / self.spread
    }

    /// What is this much in this unit, in none.
    pub fn plain(self, standard: f64) -> f64 {
        standard * self.spread + self.centre
    }
}

/// What is known of one event beside what it observes.
#[derive(Clone, Copy, Debug)]
pub struct Lesson<'a> {
    /// +1 or -1, the number of a class, or a target; NaN for an event without a label, which teaches what
    /// needs none.
    pub label: f64,
    /// The label as it came: in a regression the target before it was standardised.
    pub target: f64,
    /// Of a regression: the unit of scores.
    pub unit: Unit,
    /// How often the event counts, 0 or more; one of weight 0 is predicted only and leaves the model as it
    /// is.
    pub weight: f64,
    /// Under which number the event is asked about, or was before its label came; 0 for none. Only a mixture
    /// minds.
    pub ticket: u64,
    /// Whether the event was learned before, without its label: it then teaches only what needs the label.
    pub observed_before: bool,
    /// Whether others have the same label, and the weight is its part of one.
    pub shares_label: bool,
    /// Whether scores are wanted; where not, a learner that learns without them may write NaN, for nothing.
    pub wants_scores: bool,
    /// Scores of models from elsewhere, one after another, `classes` each; only for a mixture.
    pub others: &'a [f64],
}

impl Lesson<'static> {
    /// Nothing to learn: the event is predicted only.
    pub const NONE: Self = Self {
        label: f64::NAN,
        target: f64::NAN,
        unit: Unit::NONE,
        weight: 0.0,
        ticket: 0,
        observed_before: false,
        shares_label: false,
        wants_scores: true,
        others: &[],
    };

    /// A label, or NaN for none, of an event that counts once.
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

    /// How many events it is in what fades event by event: its part of one where others have the same label, for
    /// what is known of the experts fades with what was learned since.
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
    /// Does not apply.
    Nothing,
    /// A share or a mean.
    Number(f64),
    /// A number for each of several names.
    Numbers(Vec<(String, f64)>),
}

/// The memory of a learner, by its summary.
pub fn bytes_in(facts: &[(&str, Fact)]) -> u64 {
    let is_bytes = |(name, fact): &(&str, Fact)| match fact {
        Fact::Count(count) if *name == "bytes" => Some(*count),
        _ => None,
    };
    facts.iter().find_map(is_bytes).unwrap_or(0)
}

/// A learner: events in, scores out.
///
/// `step` is the whole of it: scores come from before the event is learned.
pub trait Learner: Any + DynClone + Send + Sync {
    /// Scores of an event: 1 for two classes and for a regression, else one per class.
    fn classes(&self) -> usize;

    /// Events learned.
    fn steps(&self) -> u64;

    /// How many models from elsewhere there are, whose scores a lesson must have.
    fn others(&self) -> usize {
        0
    }

    /// How many models it has, each with scores of its own; more than one only in a mixture, see `join`.
    fn models(&self) -> usize {
        1
    }

    /// Whether targets may lie as far out as they are; else a mixture cuts them, where they are standardised.
    fn takes_far_labels(&self) -> bool {
        false
    }

    /// Whether it learns an event as well if no scores were wanted, and saves time by that.
    fn learns_unasked(&self) -> bool {
        false
    }

    /// Whether a mixture may keep most events from it where it has been of no use for long; not from those that learn
    /// from events without a label.
    fn may_lie_dormant(&self) -> bool {
        true
    }

    /// Take in the models of a learner that sees the same features in every event, so that these are found
    /// once for all. Returns whether it is such a learner, and both know nothing yet.
    fn join(&mut self, _other: &dyn Learner) -> bool {
        false
    }

    /// Predict an event, then learn it if it is to be learned.
    ///
    /// An event without a label is predicted as one that is predicted only. Then it teaches what needs no
    /// label, if the learner has any such thing.
    ///
    /// `scores` has room for `classes` scores of each model, one model after another. Returns the loss
    /// suffered, that of the first model; NaN where there is no label.
    fn step(&mut self, event: Event, lesson: Lesson, scores: &mut [f64]) -> f64;

    /// Predict, then learn, the events of a block in turn: `step` on each, and before it `forget` what was
    /// given up there.
    ///
    /// `scores` has room for the scores of each event, one event after another, and `losses` for one
    /// loss each.
    fn run(&mut self, block: &Block, lessons: &[Lesson], scores: &mut [f64], losses: &mut [f64]) {
        let width = self.models() * self.classes();
        for (t, row) in scores.chunks_exact_mut(width).enumerate() {
            if let Some(gone) = block.gone_before(t) {
                self.forget(gone);
            }
            losses[t] = self.step(block.event(t), lessons[t], row);
        }
    }

    /// Learn the event that was predicted last, with nothing done since: the rest of `step`.
    ///
    /// `scores` holds those it got. Where learning begins with something new, they are found again.
    fn learn_predicted(&mut self, event: Event, lesson: Lesson, scores: &mut [f64]) -> f64 {
        self.step(event, lesson, scores)
    }

    /// Say what each attribute contributes to the scores of the event that was predicted last, which are in `into`.
    ///
    /// A learner whose score is no sum says what the scores would lose without each.
    fn explain(&mut self, event: Event, into: &mut Explanation) {
        leave_one_out(self, event, into);
    }

    /// Mean and variance of each coordinate given what an event observes, if the learner knows how they go together.
    fn conditional(&mut self, _event: Event) -> Option<Vec<(f64, f64)>> {
        None
    }

    /// Forget what was learned of attributes and coordinates that were given up: they come back as others.
    ///
    /// From then on they tell as little as what was never learned.
    fn forget(&mut self, gone: &Gone);

    /// Go to so many classes; from w of two classes to -w/2 and w/2, and new ones begin with 0.
    fn widen(&mut self, classes: usize);

    /// Forget everything, and go on as after `steps` steps.
    fn restart(&mut self, steps: u64);

    /// Sizes of the model, `bytes` among them, and what became of the examples; in order.
    fn summary(&self) -> Vec<(&'static str, Fact)>;

    /// Everything learned.
    fn state(&self) -> State;

    /// Take over a state, of a model with so many attributes and coordinates.
    ///
    /// # Errors
    ///
    /// If the arrays contradict each other, or point outside of the model. The learner is then as after
    /// `restart(0)`, or as it was.
    fn restore(&mut self, state: &State, attributes: usize, coordinates: usize) -> Result<(), Refused>;

    /// Number the classes anew: class c becomes `places[c]`, and all of `places` are different.
    ///
    /// With one row of scores `places` is `[0, 1]` or `[1, 0]`, which turns the signs of all scores; else it is
    /// as long as there are classes.
    ///
    /// # Errors
    ///
    /// If the learner cannot: why, in one line.
    fn relabel(&mut self, _places: &[usize]) -> Result<(), Refused> {
        Err("this kind of learner cannot be merged".to_owned())
    }

    /// Add to how models go over into a merged one what becomes of values that learners standardise themselves:
    /// `changes` are of this one, which is the base, and of `parts`, all as they are before [`Self::carry`].
    ///
    /// # Errors
    ///
    /// If a part is another kind of learner.
    fn complete_changes(&self, _parts: &[&dyn Learner], _changes: &mut [Change]) -> Result<(), Refused> {
        Ok(())
    }

    /// Forget the latest errors: what comes next does not follow the events learned last.
    fn forget_last(&mut self) {}

    /// Whether names have to keep their indices when models are merged, for weights are found by hashing them.
    fn is_hashed(&self) -> bool {
        false
    }

    /// Go over to the names and scales of a merged model.
    ///
    /// Scores of events stay what they were, as far as the docstring of the learner's `merging.rs` does not say
    /// otherwise. Where only indices change, they stay to the last bits.
    ///
    /// # Errors
    ///
    /// If the learner cannot, as where a hashed table would need other places: why, in one line.
    fn carry(&mut self, _change: &Change) -> Result<(), Refused> {
        Err("this kind of learner cannot be merged".to_owned())
    }

    /// Take in what `parts` have learned since each of them was as this one is: `self + Σ (part - self)`.
    ///
    /// All have been carried to the same names and scales, and have as many classes. The order of the parts does not
    /// show but in the last bits, nor does it where some of them were merged before.
    ///
    /// # Errors
    ///
    /// If a part is another kind of learner, or has other settings: why, in one line. This one may then be in any
    /// state.
    fn merge(&mut self, _parts: &[&dyn Learner]) -> Result<(), Refused> {
        Err("this kind of learner cannot be merged".to_owned())
    }
}

clone_trait_object!(Learner);
