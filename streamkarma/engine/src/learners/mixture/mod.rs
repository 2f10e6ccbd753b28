//! Combining several learners into one: experts that learn independently, and a mixture of their predictions.

mod aggregator;
mod averaging;
mod binary;
mod calibrated;
mod calibration;
mod completeness;
mod dependence;
mod dormancy;
#[cfg(test)]
mod dormancy_tests;
#[cfg(test)]
mod echo_experts;
mod explaining;
mod fixed_share;
mod late;
mod late_state;
#[cfg(test)]
mod late_tests;
#[cfg(test)]
mod latecomer_tests;
mod mean_weight;
mod merging;
#[cfg(test)]
mod merging_tests;
mod mixing;
mod multiclass;
mod newcomers;
mod newton;
mod numbers;
mod range;
mod recent;
mod recent_state;
mod relevance;
#[cfg(test)]
mod relevance_tests;
mod resting;
mod resting_state;
#[cfg(test)]
mod resting_tests;
mod running;
mod scales;
mod scheduler;
#[cfg(test)]
mod sharing_tests;
mod state;
mod succession;
mod summary;
#[cfg(test)]
mod tests;
mod ties;

use std::collections::BTreeSet;

use self::aggregator::Aggregator;
pub use calibrated::Calibrated;
pub use running::use_threads;

use self::late::Late;
use self::mixing::Mixing;
use self::recent::Recent;
use self::relevance::Relevance;
use self::resting::{Rest, Resting};
use self::running::{by_learner, within_or_none};
use crate::block::{Block, Event, Evicted};
use crate::explaining::Explanation;
use crate::learner::{Fact, Learner, Lesson};
use crate::scale::CLIP;
use crate::state::{Refused, State, ensure};
use crate::translation::Translation;

/// A mixture of experts with the same interface as each expert.
///
/// External experts may take part: their scores are in [`Lesson::external_scores`] and follow those of the others. The
/// mixture is made for a fixed number of them.
///
/// When a label arrives late, experts are judged by what they predicted before it, and correlated labels have less
/// weight: see [`late`] and [`dependence`].
#[derive(Clone)]
pub struct Mixture {
    names: Vec<String>,
    /// Fewer than the names if adjacent experts share the features of an event.
    learners: Vec<Box<dyn Learner>>,
    aggregator: Aggregator,
    late: Late,
    relevance: Relevance,
    /// None if predictions are not adjusted by the latest errors, as with a single expert.
    recent: Option<Recent>,
    threads: usize,
    /// Largest distance of targets from 0 for experts that do not take far labels; infinity for no limit.
    farthest: f64,
    /// The number of models of each learner.
    models: Vec<usize>,
    /// Scores of the learners, one learner after another, for the latest stage or for a whole block.
    expert_scores: Vec<f64>,
    /// Scores of the experts, the external ones included, for the current event.
    row: Vec<f64>,
}

impl Mixture {
    /// Create a mixture of one or more named experts and a number of external ones, for two classes or a regression.
    ///
    /// `half_life` is in events, 0 or more, and applies to what is learned about the experts; 0 means slow forgetting.
    ///
    /// # Errors
    ///
    /// If there is no expert, two experts have the same name, or one has several classes already.
    pub fn new(
        experts: Vec<(String, Box<dyn Learner>)>,
        external_experts: usize,
        regression: bool,
        half_life: f64,
    ) -> Result<Self, Refused> {
        let (names, experts): (Vec<String>, Vec<_>) = experts.into_iter().unzip();
        ensure(!names.is_empty(), "a mixture needs an expert")?;
        ensure(BTreeSet::from_iter(&names).len() == names.len(), "two experts have the same name")?;
        ensure(experts.iter().all(|each| each.classes() == 1), "an expert has several classes already")?;
        let mut learners: Vec<Box<dyn Learner>> = Vec::new();
        for expert in experts {
            if !learners.last_mut().is_some_and(|last| last.join(&*expert)) {
                learners.push(expert);
            }
        }
        let mut aggregator = Aggregator::new(names.len() + external_experts, regression, half_life)
            .with_latecomers(latecomers(&learners));
        aggregator.resting = Resting::new(&learners);
        let row = vec![0.0; aggregator.experts()];
        Ok(Self {
            names,
            models: learners.iter().map(|learner| learner.models()).collect(),
            learners,
            late: Late::new(aggregator.experts(), 1),
            relevance: Relevance::default(),
            recent: Some(Recent::new(regression, false, aggregator.forgetting)),
            aggregator,
            threads: running::threads(),
            farthest: f64::INFINITY,
            expert_scores: Vec::new(),
            row,
        })
    }

    /// The same with the absolute loss: targets are predicted by their median.
    #[must_use]
    pub fn with_absolute_loss(self) -> Self {
        let aggregator = self.aggregator.with_absolute_loss();
        let recent = self.recent.map(|_| Recent::new(aggregator.regression, true, aggregator.forgetting));
        Self { aggregator, recent, ..self }
    }

    /// The same without adjusting predictions by the latest errors.
    #[must_use]
    pub fn without_recent(self) -> Self {
        Self { recent: None, ..self }
    }

    /// The same for standardised targets that have not been clipped: they are clipped to ±[`CLIP`](crate::scale::CLIP)
    /// for all experts but those that take far labels.
    #[must_use]
    pub fn with_far_labels(self) -> Self {
        Self { farthest: CLIP, ..self }
    }

    /// Set the maximum number of experts that run at the same time.
    #[cfg(test)]
    fn set_threads(&mut self, threads: usize) {
        self.threads = threads.max(1);
    }

    /// The learners of the experts.
    pub fn learners(&self) -> &[Box<dyn Learner>] {
        &self.learners
    }

    /// Resize the scratch buffer to the current number of classes.
    fn make_room(&mut self) {
        self.row.clear();
        self.row.resize(self.aggregator.experts() * self.aggregator.classes(), 0.0);
    }
}

/// The numbers of the experts that are silent at first.
fn latecomers(learners: &[Box<dyn Learner>]) -> Vec<usize> {
    let models = learners.iter().flat_map(|learner| vec![learner.begins_silent(); learner.models()]);
    models.enumerate().filter(|(_, is_silent)| *is_silent).map(|(expert, _)| expert).collect()
}

impl Learner for Mixture {
    fn classes(&self) -> usize {
        self.aggregator.classes()
    }

    fn external_experts(&self) -> usize {
        self.aggregator.experts() - self.names.len()
    }

    fn steps(&self) -> u64 {
        self.learners[0].steps()
    }

    fn step(&mut self, event: Event, lesson: Lesson, scores: &mut [f64]) -> f64 {
        let (starts, terms, mut loss) = ([0, event.len()], [0, event.terms.len()], [f64::NAN]);
        self.run(&Block::whole(&event, &starts, &terms), &[lesson], scores, &mut loss);
        loss[0]
    }

    fn run(&mut self, block: &Block, lessons: &[Lesson], scores: &mut [f64], losses: &mut [f64]) {
        self.run_block(block, lessons, scores, losses);
    }

    fn learn_predicted(&mut self, event: Event, lesson: Lesson, scores: &mut [f64]) -> f64 {
        let classes = self.classes();
        let Self {
            learners, aggregator, late, relevance, recent, models, row, expert_scores, farthest, ..
        } = self;
        let (mut expert_scores, mut expert) = (by_learner(expert_scores, models, classes), 0);
        for (learner, own) in learners.iter_mut().zip(&mut expert_scores) {
            let label = if learner.takes_far_labels() {
                lesson.label
            } else {
                within_or_none(lesson.label, *farthest)
            };
            let rest = aggregator.resting.rest_of(expert);
            let wants_scores = rest.is_asked(aggregator.steps());
            expert += learner.models();
            if rest == Rest::Dormant && !wants_scores {
                own.fill(f64::NAN);
                continue;
            }
            learner.learn_predicted(event, Lesson { label, wants_scores, ..lesson }, own);
        }
        let recent = recent.as_mut();
        let mut mixing = Mixing { aggregator, late, relevance, recent, models, row };
        mixing.gather(0, &expert_scores, lesson.external_scores);
        mixing.mix(&event, &lesson, scores)
    }

    fn explain(&mut self, event: Event, into: &mut Explanation) {
        self.explain_mixture(event, into);
    }

    fn conditional(&mut self, event: Event) -> Option<Vec<(f64, f64)>> {
        self.learners.iter_mut().find_map(|learner| learner.conditional(event))
    }

    fn forget(&mut self, evicted: &Evicted) {
        self.learners.iter_mut().for_each(|learner| learner.forget(evicted));
        self.relevance.forget(evicted);
    }

    fn widen(&mut self, classes: usize) {
        for learner in &mut self.learners {
            learner.widen(classes);
        }
        self.aggregator.widen(classes);
        self.late.widen(self.aggregator.classes());
        self.relevance = Relevance::default();
        if let Some(recent) = &mut self.recent {
            recent.widen(self.aggregator.classes());
        }
        self.make_room();
    }

    fn restart(&mut self, steps: u64) {
        for learner in &mut self.learners {
            learner.restart(steps);
        }
        self.aggregator.restart();
        self.late = Late::new(self.aggregator.experts(), 1);
        self.relevance = Relevance::default();
        self.recent = self.recent.take().map(|recent| recent.begun(1));
        self.make_room();
    }

    fn summary(&self) -> Vec<(&'static str, Fact)> {
        self.facts()
    }

    /// The state of the aggregator, and that of each learner under its number.
    fn state(&self) -> State {
        let mut state = self.aggregator.state();
        state.put_part("late", self.late.state());
        state.put_part("relevance", self.relevance.state());
        if let Some(recent) = &self.recent {
            state.put_part("recent", recent.state());
        }
        for (number, learner) in self.learners.iter().enumerate() {
            state.put_part(&number.to_string(), learner.state());
        }
        state
    }

    fn restore(&mut self, state: &State, attributes: usize, coordinates: usize) -> Result<(), Refused> {
        let taken = self.take(state, attributes, coordinates);
        if taken.is_err() {
            self.restart(0);
        }
        taken
    }

    fn relabel(&mut self, places: &[usize]) -> Result<(), Refused> {
        self.relabel_all(places)
    }

    fn forget_last(&mut self) {
        if let Some(recent) = &mut self.recent {
            recent.forget_last();
        }
    }

    fn is_hashed(&self) -> bool {
        self.learners.iter().any(|learner| learner.is_hashed())
    }

    fn translate(&mut self, translation: &Translation) -> Result<(), Refused> {
        self.translate_all(translation)
    }

    fn merge(&mut self, parts: &[&dyn Learner]) -> Result<(), Refused> {
        self.merge_all(parts)
    }
}
