//! The doubling trick: support vectors for a stream of unknown length.
//!
//! The γ and ρ of the theorem are for T events. With T unknown the model restarts from v = 0 after 1, 3, 7, … events
//! learned, each time with the settings for one event more than it has learned so far. Its regret is at most the sum of
//! the bounds of its epochs: a constant times the bound for a T known in advance.

use super::schedule::{Schedule, horizon};
use super::storage::Vectors;
use super::{Rule, SupportVectors};
use crate::block::{Event, Evicted};
use crate::explaining::Explanation;
use crate::learner::{Fact, Learner, Lesson};
use crate::merging::{counted_together, learned_since};
use crate::state::{Refused, State, ensure};
use crate::translation::Translation;

/// KARMA that restarts after 1, 3, 7, … events learned.
#[derive(Clone, Debug)]
pub struct DoublingSupportVectors {
    inner: SupportVectors,
    schedule: Schedule,
    /// Events learned before this epoch.
    before: u64,
}

impl DoublingSupportVectors {
    /// Like [`SupportVectors::new`], with γ and ρ from the schedule instead of the rule.
    pub fn new(rule: Rule, average: bool, schedule: Schedule) -> Self {
        let mut new = Self { inner: SupportVectors::new(rule, average), schedule, before: 0 };
        new.tune();
        new
    }

    /// The current step rule.
    pub fn rule(&self) -> &Rule {
        self.inner.rule()
    }

    /// Set the γ and ρ of the epoch that begins after `before` events.
    fn tune(&mut self) {
        (self.inner.rule.gamma, self.inner.rule.rho) = self.schedule.settings(self.before + 1);
    }

    /// Whether another model would have the same settings after the same number of events.
    fn is_like(&self, other: &Self) -> bool {
        let Rule { gamma, rho, .. } = self.inner.rule;
        let rule = Rule { gamma, rho, ..other.inner.rule };
        self.schedule == other.schedule && self.inner.is_like(&rule, other.inner.average)
    }

    /// Begin the next epoch from v = 0; the counts of the examples' fates go on.
    fn start_afresh(&mut self) {
        self.before = self.steps();
        self.inner.resume(Vectors::new(self.inner.classes(), self.inner.average), 0);
        self.tune();
    }
}

impl Learner for DoublingSupportVectors {
    fn classes(&self) -> usize {
        self.inner.classes()
    }

    fn steps(&self) -> u64 {
        self.before + self.inner.steps()
    }

    fn step(&mut self, event: Event, lesson: Lesson, scores: &mut [f64]) -> f64 {
        let loss = self.inner.step(event, lesson, scores);
        if self.inner.steps() > self.before {
            self.start_afresh();
        }
        loss
    }

    fn explain(&mut self, event: Event, into: &mut Explanation) {
        self.inner.explain(event, into);
    }

    fn forget(&mut self, evicted: &Evicted) {
        self.inner.forget(evicted);
    }

    fn widen(&mut self, classes: usize) {
        self.inner.widen(classes);
    }

    fn restart(&mut self, steps: u64) {
        self.before = horizon(steps + 1) - 1;
        self.tune();
        self.inner.restart(steps - self.before);
    }

    fn summary(&self) -> Vec<(&'static str, Fact)> {
        self.inner.summary()
    }

    fn state(&self) -> State {
        let mut state = self.inner.state();
        state.put_i64s("before", vec![self.before as i64], &[1]);
        state
    }

    fn relabel(&mut self, places: &[usize]) -> Result<(), Refused> {
        self.inner.relabel(places)
    }

    fn translate(&mut self, translation: &Translation) -> Result<(), Refused> {
        self.inner.translate(translation)
    }

    /// The merged model is in the epoch of the total number of events, with the settings of that epoch.
    fn merge(&mut self, parts: &[&dyn Learner]) -> Result<(), Refused> {
        let learned = learned_since(self, parts, |part| self.is_like(part))?;
        if let [(only, _)] = learned[..] {
            *self = only.clone();
        } else if !learned.is_empty() {
            let steps = counted_together(self.steps(), learned.iter().map(|(part, _)| part.steps()));
            self.before = horizon(steps + 1) - 1;
            self.tune();
            let inner: Vec<_> = learned.iter().map(|&(part, events)| (&part.inner, events)).collect();
            self.inner.become_mean(&inner, steps - self.before);
        }
        Ok(())
    }

    fn restore(&mut self, state: &State, attributes: usize, coordinates: usize) -> Result<(), Refused> {
        let &[before] = state.i64s("before")?.0 else {
            return Err("the state must have one number of events before this epoch".to_owned());
        };
        let steps = super::state::steps(state)?;
        ensure(
            (0..1 << 62).contains(&before) && before as u64 == horizon(before as u64 + steps + 1) - 1,
            &format!("no epoch begins after {before} events and lasts {steps}"),
        )?;
        let old = std::mem::replace(&mut self.before, before as u64);
        self.tune();
        self.inner.restore(state, attributes, coordinates).inspect_err(|_| {
            self.before = old;
            self.tune();
        })
    }
}
