//! Running the experts of a mixture over a block, and mixing their predictions.

use std::borrow::Cow;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::Mixture;
use super::dormancy::NAP;
use super::mixing::Mixing;
use super::resting::{Rest, Resting, SEGMENT, lessons_up_to};
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
    /// The number of events learned before.
    learned: u64,
}

impl<'a> Stage<'a> {
    pub fn len(&self) -> usize {
        self.lessons.len()
    }

    /// The events split into stages, in each of which every expert is in one state of rest.
    fn stages(&self) -> impl Iterator<Item = Self> {
        self.split(|left, learned| lessons_up_to(SEGMENT, learned, &left[..STAGE.min(left.len())]))
    }

    /// The events split into parts, of as many events as `events` returns for those that are left and the number of
    /// events learned before these.
    fn split(&self, events: impl Fn(&[Lesson], u64) -> usize) -> impl Iterator<Item = Self> {
        let (mut begin, mut learned) = (0, self.learned);
        std::iter::from_fn(move || {
            let left = self.lessons.get(begin..).filter(|left| !left.is_empty())?;
            let some = begin..begin + events(left, learned);
            let (lessons, near) = (&self.lessons[some.clone()], &self.near[some.clone()]);
            let part = Self { block: self.block.part(begin, some.len()), lessons, near, learned };
            learned += lessons.iter().filter(|lesson| lesson.is_learned()).count() as u64;
            begin = some.end;
            Some(part)
        })
    }

    /// The number of times that it had been decided which experts rest before these events.
    pub fn segment(&self) -> u64 {
        self.learned / SEGMENT
    }

    /// The lessons for a learner in the given state of rest.
    fn lessons_for(&self, learner: &dyn Learner, rest: Rest) -> Cow<'a, [Lesson<'a>]> {
        let lessons = if learner.takes_far_labels() { self.lessons } else { self.near };
        if rest == Rest::Awake {
            return Cow::Borrowed(lessons);
        }
        let mut learned = self.learned;
        let asked = |lesson: &Lesson<'a>| {
            let wants_scores = rest.is_asked(learned);
            learned += u64::from(lesson.is_learned());
            Lesson { wants_scores, ..*lesson }
        };
        Cow::Owned(lessons.iter().map(asked).collect())
    }
}

/// A learner, its index among all learners, and the number of its first model among all models.
pub struct Expert<'m> {
    pub place: usize,
    pub first: usize,
    pub learner: &'m mut Box<dyn Learner>,
    /// Whether it may begin or cease to rest between two segments. Otherwise it does not have to wait for the decision.
    pub may_change: bool,
}

impl Expert<'_> {
    /// Predict and then learn a stage in the given state of rest; `losses` is a scratch buffer.
    pub fn run(&mut self, stage: &Stage, rest: Rest, scores: &mut [f64], losses: &mut [f64]) {
        let learner = &mut **self.learner;
        let lessons = stage.lessons_for(learner, rest);
        if rest == Rest::Dormant {
            run_dormant(learner, &stage.block, &lessons, scores);
        } else {
            learner.run(&stage.block, &lessons, scores, &mut losses[..stage.len()]);
        }
    }
}

/// Let a dormant expert predict and learn those events for which its scores are wanted.
fn run_dormant(learner: &mut dyn Learner, block: &Block, lessons: &[Lesson], scores: &mut [f64]) {
    let width = scores.len() / lessons.len();
    for ((t, lesson), own) in lessons.iter().enumerate().zip(scores.chunks_exact_mut(width)) {
        if let Some(evicted) = block.evicted_before(t) {
            learner.forget(evicted);
        }
        if lesson.wants_scores {
            learner.step(block.event(t), *lesson, own);
        } else {
            own.fill(f64::NAN);
        }
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
        let whole = Stage { block: *block, lessons, near: &near, learned: self.aggregator.steps() };
        let (mut begin, classes) = (0, self.classes());
        // Between these parts, another expert may become dormant.
        for part in whole.split(|left, learned| lessons_up_to(NAP, learned, left)) {
            let some = begin..begin + part.len();
            self.run_part(
                &part,
                &mut scores[some.start * classes..some.end * classes],
                &mut losses[some.clone()],
            );
            begin = some.end;
        }
    }

    /// The same for events in which no expert becomes dormant.
    fn run_part(&mut self, part: &Stage, scores: &mut [f64], losses: &mut [f64]) {
        let (events, classes) = (part.len(), self.classes());
        let threads = if events < WORTH_A_THREAD { 1 } else { self.threads.min(self.learners.len()) };
        let Self { learners, aggregator, late, relevance, recent, models, row, expert_scores, .. } = self;
        let models: &[usize] = models;
        let all = models.iter().sum::<usize>() * classes;
        let mut experts = experts(learners, &aggregator.resting);
        let recent = recent.as_mut();
        let mut mixing = Mixing { aggregator, late, relevance, recent, models, row };
        if threads > 1 {
            expert_scores.resize(all * events, 0.0);
            let expert_scores = by_learner(expert_scores, models, classes * events);
            let stages: Vec<Stage> = part.stages().collect();
            return run_together(threads, &stages, &mut experts, &mut mixing, expert_scores, scores, losses);
        }
        let (mut scores, mut losses) = (scores, losses);
        for stage in part.stages() {
            expert_scores.resize(all * stage.len(), 0.0);
            let mut expert_scores = by_learner(expert_scores, models, classes * stage.len());
            let losses = losses.split_off_mut(..stage.len()).unwrap_or_default();
            for expert in &mut experts {
                let rest = mixing.aggregator.resting.rest_of(expert.first);
                expert.run(&stage, rest, expert_scores[expert.place], losses);
            }
            let scores = scores.split_off_mut(..classes * stage.len()).unwrap_or_default();
            mixing.run(&stage, &expert_scores, scores, losses);
        }
    }
}

/// The experts of these learners.
fn experts<'m>(learners: &'m mut [Box<dyn Learner>], resting: &Resting) -> Vec<Expert<'m>> {
    let mut next = 0;
    let numbered = learners.iter_mut().enumerate().map(|(place, learner)| {
        let first = next;
        next += learner.models();
        let may_change = learner.learns_unasked() || resting.rest_of(first) == Rest::Dormant;
        Expert { place, first, learner, may_change }
    });
    numbered.collect()
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
