//! Running the experts of a mixture over a block, several at a time.

use std::borrow::Cow;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::Mixture;
use super::resting::SEGMENT;
use crate::block::Block;
use crate::learner::{Learner, Lesson};
use crate::scale::within;

/// Blocks of fewer events are not worth a thread.
const WORTH_A_THREAD: usize = 32;

/// How many experts of a mixture that is made from now on may run at the same time.
static THREADS: AtomicUsize = AtomicUsize::new(1);

/// Let experts of mixtures that are made from now on run on so many threads; what comes out does not depend
/// on it.
pub fn use_threads(threads: usize) {
    THREADS.store(threads.max(1), Ordering::Relaxed);
}

/// How many experts of a mixture that is made now may run at the same time.
pub fn threads() -> usize {
    THREADS.load(Ordering::Relaxed)
}

impl Mixture {
    /// How many of the events that come next end with one after which it is decided anew who rests; all of them if
    /// nobody may.
    pub(super) fn segment(&self, lessons: &[Lesson]) -> usize {
        let resting = &self.aggregator.resting;
        if resting.experts.is_empty() {
            return lessons.len();
        }
        let left = SEGMENT - self.aggregator.steps() % SEGMENT;
        let learned = lessons.iter().enumerate().filter(|(_, lesson)| lesson.is_learned());
        learned.map(|(t, _)| t + 1).nth(left as usize - 1).unwrap_or(lessons.len())
    }

    /// Lets each expert predict and learn all of a block.
    pub(super) fn run_experts(&mut self, block: &Block, lessons: &[Lesson]) {
        let (events, classes) = (block.len(), self.classes());
        self.scores.resize(self.names.len() * events * classes, 0.0);
        self.losses.resize(self.learners.len() * events, 0.0);
        let near = self.near(lessons);
        let seldom = self.asked_seldom(&near);
        let threads = if events < WORTH_A_THREAD { 1 } else { self.threads.min(self.learners.len()) };
        let resting = &self.aggregator.resting;
        let mut rest = self.scores.as_mut_slice();
        // From the end on: in `auto` those come last that take the longest, and who is left with one of them
        // alone would be waited for.
        let work = self.learners.iter_mut().zip(self.losses.chunks_exact_mut(events)).rev().map(
            |(learner, losses)| {
                let begin = rest.len() - learner.models() * events * classes;
                let lessons = if resting.rests(begin / (events * classes)) {
                    &seldom
                } else if learner.takes_far_labels() {
                    lessons
                } else {
                    &near
                };
                (learner, lessons, rest.split_off_mut(begin..).unwrap_or_default(), losses)
            },
        );
        if threads == 1 {
            return work
                .for_each(|(learner, lessons, scores, losses)| learner.run(block, lessons, scores, losses));
        }
        // Some take longer than others: who is done takes the next.
        let queue = Mutex::new(work);
        let take = || queue.lock().ok()?.next();
        let worker = || {
            while let Some((learner, lessons, scores, losses)) = take() {
                learner.run(block, lessons, scores, losses);
            }
        };
        std::thread::scope(|scope| {
            for _ in 1..threads {
                scope.spawn(worker);
            }
            worker();
        });
    }

    /// The lessons for those that rest.
    fn asked_seldom<'a, 'b>(&self, lessons: &'a [Lesson<'b>]) -> Cow<'a, [Lesson<'b>]> {
        let resting = &self.aggregator.resting;
        if !resting.rests.contains(&true) {
            return Cow::Borrowed(lessons);
        }
        let mut events = self.aggregator.steps();
        let asked = |lesson: &Lesson<'b>| {
            let wants_scores = resting.asks_all(events);
            events += u64::from(lesson.is_learned());
            Lesson { wants_scores, ..*lesson }
        };
        Cow::Owned(lessons.iter().map(asked).collect())
    }

    /// The lessons for those that cannot have far targets.
    fn near<'a, 'b>(&self, lessons: &'a [Lesson<'b>]) -> Cow<'a, [Lesson<'b>]> {
        if !lessons.iter().any(|lesson| lesson.label.abs() > self.farthest) {
            return Cow::Borrowed(lessons);
        }
        let cut =
            |lesson: &Lesson<'b>| Lesson { label: within_or_none(lesson.label, self.farthest), ..*lesson };
        Cow::Owned(lessons.iter().map(cut).collect())
    }
}

/// A target cut to ±`farthest`; NaN stays what it is.
pub fn within_or_none(target: f64, farthest: f64) -> f64 {
    if target.is_nan() { target } else { within(target, farthest) }
}
