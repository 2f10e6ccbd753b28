//! Running the experts of a mixture over a block, several at a time, and mixing what they say meanwhile.

use std::borrow::Cow;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::Mixture;
use super::mixing::Mixing;
use crate::block::Block;
use crate::learner::{Learner, Lesson};
use crate::scale::within;

/// Blocks of fewer events are not worth a thread.
const WORTH_A_THREAD: usize = 32;
/// Events that experts predict and learn while those before them are mixed: enough that a thread is worth it, and
/// few enough that what they say stays near the processor.
const STAGE: usize = 256;

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

/// Some events in a row.
pub struct Stage<'a> {
    pub block: Block<'a>,
    pub lessons: &'a [Lesson<'a>],
    /// The lessons for those that cannot have far targets.
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

/// A learner, and the number of the first of its models among all of them.
pub struct Expert<'m> {
    pub first: usize,
    pub learner: &'m mut Box<dyn Learner>,
}

impl Mixture {
    /// Predict, then learn, the events of a block.
    pub(super) fn run_block(
        &mut self,
        block: &Block,
        lessons: &[Lesson],
        mut scores: &mut [f64],
        mut losses: &mut [f64],
    ) {
        let (events, classes) = (block.len(), self.classes());
        let near = near(lessons, self.farthest);
        let whole = Stage { block: *block, lessons, near: &near };
        let threads = if events < WORTH_A_THREAD { 1 } else { self.threads.min(self.learners.len()) };
        let Self { learners, aggregator, late, models, row, said, said_before, .. } = self;
        let (mut may_rest, mut others) = experts(learners);
        let mut mixing = Mixing { aggregator, late, models, row };
        let mut before: Option<Stage> = None;
        let mut begin = 0;
        while begin < events || before.is_some() {
            let size = STAGE.min(events - begin);
            let stage = whole.part(begin, size);
            std::mem::swap(said, said_before);
            said.resize(models.iter().sum::<usize>() * size * classes, 0.0);
            let mix = || {
                if let Some(before) = &before {
                    let scores = scores.split_off_mut(..before.len() * classes).unwrap_or_default();
                    let losses = losses.split_off_mut(..before.len()).unwrap_or_default();
                    mixing.run(&mut may_rest, before, said_before, scores, losses);
                }
            };
            run_beside(mix, &mut others, &stage, said, classes, threads);
            before = (size > 0).then_some(stage);
            begin += size;
        }
        // Those of the last events, which may be learned later.
        std::mem::swap(said, said_before);
    }
}

/// The experts that may rest, and the others.
fn experts(learners: &mut [Box<dyn Learner>]) -> (Vec<Expert<'_>>, Vec<Expert<'_>>) {
    let mut next = 0;
    let numbered = learners.iter_mut().map(|learner| {
        let first = next;
        next += learner.models();
        Expert { first, learner }
    });
    numbered.partition(|expert| expert.learner.learns_unasked())
}

/// Let each expert predict and learn all of a stage, and do something else at the same time.
fn run_beside(
    other: impl FnOnce(),
    experts: &mut [Expert],
    stage: &Stage,
    said: &mut [f64],
    classes: usize,
    threads: usize,
) {
    let events = stage.len();
    if events == 0 {
        return other();
    }
    let mut rest = said;
    // From the end on: in `auto` those come last that take the longest, and who is left with one of them
    // alone would be waited for.
    let work = experts.iter_mut().rev().map(|Expert { first, learner }| {
        let own = rest.split_off_mut(*first * classes * events..).unwrap_or_default();
        let width = learner.models() * classes;
        (learner, &mut own[..events * width])
    });
    let run = |learner: &mut Box<dyn Learner>, own: &mut [f64]| {
        let mut losses = vec![0.0; events];
        learner.run(&stage.block, stage.lessons_for(&**learner), own, &mut losses);
    };
    if threads == 1 {
        other();
        return work.for_each(|(learner, own)| run(learner, own));
    }
    // Some take longer than others: who is done takes the next.
    let queue = Mutex::new(work);
    let take = || queue.lock().ok()?.next();
    let worker = || {
        while let Some((learner, own)) = take() {
            run(learner, own);
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads {
            scope.spawn(worker);
        }
        other();
        worker();
    });
}

/// The lessons for those that cannot have targets farther from 0.
fn near<'a, 'b>(lessons: &'a [Lesson<'b>], farthest: f64) -> Cow<'a, [Lesson<'b>]> {
    if !lessons.iter().any(|lesson| lesson.label.abs() > farthest) {
        return Cow::Borrowed(lessons);
    }
    let cut = |lesson: &Lesson<'b>| Lesson { label: within_or_none(lesson.label, farthest), ..*lesson };
    Cow::Owned(lessons.iter().map(cut).collect())
}

/// A target cut to ±`farthest`; NaN stays what it is.
pub fn within_or_none(target: f64, farthest: f64) -> f64 {
    if target.is_nan() { target } else { within(target, farthest) }
}
