//! One learner with its scores calibrated to log-odds.

use super::Mixture;
use crate::block::{Block, Event, Evicted};
use crate::explaining::Explanation;
use crate::learner::{Fact, Learner, Lesson};
use crate::merging::of_kind;
use crate::state::{Refused, State};
use crate::translation::Translation;

/// A mixture of one expert that is not a regression; its summary is that of the expert.
#[derive(Clone)]
pub struct Calibrated(Mixture);

impl Calibrated {
    /// Wrap a learner; `half_life` as in [`Mixture::new`].
    ///
    /// # Errors
    ///
    /// If the learner has several classes already.
    pub fn new(expert: Box<dyn Learner>, half_life: f64) -> Result<Self, Refused> {
        let mixture = Mixture::new(vec![("expert".to_owned(), expert)], 0, false, half_life)?;
        Ok(Self(mixture.without_recent()))
    }
}

impl Learner for Calibrated {
    fn classes(&self) -> usize {
        self.0.classes()
    }

    fn steps(&self) -> u64 {
        self.0.steps()
    }

    fn step(&mut self, event: Event, lesson: Lesson, scores: &mut [f64]) -> f64 {
        self.0.step(event, lesson, scores)
    }

    fn learn_predicted(&mut self, event: Event, lesson: Lesson, scores: &mut [f64]) -> f64 {
        self.0.learn_predicted(event, lesson, scores)
    }

    fn run(&mut self, block: &Block, lessons: &[Lesson], scores: &mut [f64], losses: &mut [f64]) {
        self.0.run(block, lessons, scores, losses);
    }

    fn explain(&mut self, event: Event, into: &mut Explanation) {
        self.0.explain(event, into);
    }

    fn conditional(&mut self, event: Event) -> Option<Vec<(f64, f64)>> {
        self.0.conditional(event)
    }

    fn forget(&mut self, evicted: &Evicted) {
        self.0.forget(evicted);
    }

    fn widen(&mut self, classes: usize) {
        self.0.widen(classes);
    }

    fn restart(&mut self, steps: u64) {
        self.0.restart(steps);
    }

    fn summary(&self) -> Vec<(&'static str, Fact)> {
        self.0.learners()[0].summary()
    }

    fn state(&self) -> State {
        self.0.state()
    }

    fn restore(&mut self, state: &State, attributes: usize, coordinates: usize) -> Result<(), Refused> {
        self.0.restore(state, attributes, coordinates)
    }

    fn relabel(&mut self, places: &[usize]) -> Result<(), Refused> {
        self.0.relabel(places)
    }

    fn is_hashed(&self) -> bool {
        self.0.is_hashed()
    }

    fn translate(&mut self, translation: &Translation) -> Result<(), Refused> {
        self.0.translate(translation)
    }

    fn merge(&mut self, parts: &[&dyn Learner]) -> Result<(), Refused> {
        let parts: Vec<&Self> = of_kind(parts)?;
        self.0.merge(&parts.iter().map(|part| &part.0 as &dyn Learner).collect::<Vec<_>>())
    }
}
