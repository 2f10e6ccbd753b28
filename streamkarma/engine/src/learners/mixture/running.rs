//! Running the experts of a mixture over a block, and mixing their predictions.

use std::borrow::Cow;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::Mixture;
use super::dormancy::NAP;
use super::mixing::Mixing;
use super::resting::{Rest, Resting, lessons_up_to};
use super::scheduler::run_together;
use crate::block::Block;
use crate::learner::{Learner, Lesson};
use crate::math::within;

/// Blocks with fewer events are not worth a thread.
const WORTH_A_THREAD: usize = 32;
/// Events that an expert predicts and learns before its predictions are mixed: few enough to stay in the processor's
/// cache, and enough that threads seldom have to coordinate.
pub const STAGE: usize = 128;

/// Number of experts that may run at the same time in a mixture created from now on.
static THREADS: AtomicUsize = AtomicUsize::new(1);

/// Let the experts of mixtures created from now on run on so many threads; results do not depend on it.
pub fn use_threads(threads: usize) {
    THREADS.store(threads.max(1), Ordering::Relaxed);
}

/// Number of experts that may run at the same time in a mixture created now.
pub fn threads() -> usize {
    THREADS.load(Ordering::Relaxed)
}

/// Consecutive events.
pub struct Stage<'a> {
    pub block: Block<'a>,
    pub lessons: &'a [Lesson<'a>],
    /// The lessons for learners that cannot handle far targets.
    near: &'a [Lesson<'a>],
}

impl<'a> Stage<'a> {
    pub fn len(&self) -> usize {
        self.lessons.len()
    }

    pub fn part(&self, begin: usize, events: usize) -> Self {
        let some = begin..begin + events;
        let (lessons, near) = (&self.lessons[some.clone()], &self.near[some]);
        Self { block: self.block.part(begin, events), lessons, near }
    }

    pub fn lessons_for(&self, learner: &dyn Learner) -> &'a [Lesson<'a>] {
        if learner.takes_far_labels() { self.lessons } else { self.near }
    }
}

/// A learner, its index among all learners, and the number of its first model among all models.
pub struct Expert<'m> {
    pub place: usize,
    pub first: usize,
    pub learner: &'m mut Box<dyn Learner>,
}

impl Expert<'_> {
    /// Predict and then learn a stage; `losses` is a scratch buffer.
    pub fn run(&mut self, stage: &Stage, scores: &mut [f64], losses: &mut [f64]) {
        let lessons = stage.lessons_for(&**self.learner);
        self.learner.run(&stage.block, lessons, scores, &mut losses[..stage.len()]);
    }
}

impl Mixture {
    /// Predict and then learn the events of a block.
    pub(super) fn run_block(
        &mut self,
        block: &Block,
        lessons: &[Lesson],
        scores: &mut [f64],
        losses: &mut [f64],
    ) {
        let near = near(lessons, self.farthest);
        let whole = Stage { block: *block, lessons, near: &near };
        let (mut begin, classes) = (0, self.classes());
        // Between these parts, another expert may become dormant.
        while begin < block.len() {
            let events = lessons_up_to(NAP, self.aggregator.steps(), &lessons[begin..]);
            let scores = &mut scores[begin * classes..][..events * classes];
            self.run_part(&whole.part(begin, events), scores, &mut losses[begin..][..events]);
            begin += events;
        }
    }

    /// The same for events in which no expert becomes dormant.
    fn run_part(&mut self, whole: &Stage, scores: &mut [f64], losses: &mut [f64]) {
        let (events, classes) = (whole.len(), self.classes());
        let threads = if events < WORTH_A_THREAD { 1 } else { self.threads.min(self.learners.len()) };
        let Self { learners, aggregator, late, relevance, recent, models, row, expert_scores, .. } = self;
        let models: &[usize] = models;
        let all = models.iter().sum::<usize>() * classes;
        let (may_rest, mut others) = experts(learners, &aggregator.resting);
        let recent = recent.as_mut();
        let mut mixing = Mixing { aggregator, late, relevance, recent, models, row, may_rest };
        if threads > 1 {
            expert_scores.resize(all * events, 0.0);
            let expert_scores = by_learner(expert_scores, models, classes * events);
            return run_together(threads, whole, &mut others, &mut mixing, expert_scores, scores, losses);
        }
        for begin in (0..events).step_by(STAGE) {
            let stage = whole.part(begin, STAGE.min(events - begin));
            expert_scores.resize(all * stage.len(), 0.0);
            let mut expert_scores = by_learner(expert_scores, models, classes * stage.len());
            let losses = &mut losses[begin..begin + stage.len()];
            for expert in &mut others {
                expert.run(&stage, expert_scores[expert.place], losses);
            }
            mixing.run(
                &stage,
                &mut expert_scores,
                &mut scores[begin * classes..][..classes * stage.len()],
                losses,
            );
        }
    }
}

/// The experts that may rest before the next of them becomes dormant, and the others.
fn experts<'m>(
    learners: &'m mut [Box<dyn Learner>],
    resting: &Resting,
) -> (Vec<Expert<'m>>, Vec<Expert<'m>>) {
    let mut next = 0;
    let numbered = learners.iter_mut().enumerate().map(|(place, learner)| {
        let first = next;
        next += learner.models();
        Expert { place, first, learner }
    });
    numbered
        .partition(|expert| expert.learner.learns_unasked() || resting.rest_of(expert.first) == Rest::Dormant)
}

/// The scores of each learner, which are stored one learner after another, with `each` scores for each model.
pub fn by_learner<'s>(mut expert_scores: &'s mut [f64], models: &[usize], each: usize) -> Vec<&'s mut [f64]> {
    models.iter().map(|models| expert_scores.split_off_mut(..models * each).unwrap_or_default()).collect()
}

/// The lessons for learners that cannot handle targets farther from 0.
fn near<'a, 'b>(lessons: &'a [Lesson<'b>], farthest: f64) -> Cow<'a, [Lesson<'b>]> {
    if !lessons.iter().any(|lesson| lesson.label.abs() > farthest) {
        return Cow::Borrowed(lessons);
    }
    let cut = |lesson: &Lesson<'b>| Lesson { label: within_or_none(lesson.label, farthest), ..*lesson };
    Cow::Owned(lessons.iter().map(cut).collect())
}

/// A target clipped to ±`farthest`; NaN stays NaN.
pub fn within_or_none(target: f64, farthest: f64) -> f64 {
    if target.is_nan() { target } else { within(target, farthest) }
}
