//! Mixing the experts' predictions of a stage, event by event.

use std::borrow::Cow;

use super::aggregator::{Aggregator, Count, ExpertScores};
use super::completeness::Observed;
use super::late::Late;
use super::recent::Recent;
use super::relevance::Relevance;
use super::resting::{Rest, SEGMENT, lessons_up_to};
use super::running::{Expert, Stage};
use crate::block::{Block, Event};
use crate::learner::{Learner, Lesson};

/// The components of a mixture besides its experts.
pub struct Mixing<'m> {
    pub aggregator: &'m mut Aggregator,
    pub late: &'m mut Late,
    pub relevance: &'m mut Relevance,
    pub recent: Option<&'m mut Recent>,
    /// The number of models of each learner.
    pub models: &'m [usize],
    /// Scores of the experts, the external ones included, for the current event.
    pub row: &'m mut [f64],
    /// The experts that may rest.
    pub may_rest: Vec<Expert<'m>>,
}

impl Mixing<'_> {
    /// Mix the scores of a stage, and learn how to; `expert_scores` are those of each learner.
    ///
    /// Experts that may rest have not made their predictions yet, because before each segment it is decided which of
    /// them rest.
    pub fn run(
        &mut self,
        stage: &Stage,
        expert_scores: &mut [&mut [f64]],
        scores: &mut [f64],
        losses: &mut [f64],
    ) {
        let (events, classes) = (stage.len(), self.aggregator.classes());
        let mut begin = 0;
        while begin < events {
            let size = self.segment(&stage.lessons[begin..]);
            self.run_those_that_may_rest(
                &stage.part(begin, size),
                begin,
                expert_scores,
                &mut losses[begin..],
            );
            for t in begin..begin + size {
                self.gather(t, expert_scores, stage.lessons[t].external_scores);
                let mixed = &mut scores[t * classes..(t + 1) * classes];
                if let Some(evicted) = stage.block.evicted_before(t) {
                    self.relevance.forget(evicted);
                }
                losses[t] = self.mix(&stage.block.event(t), &stage.lessons[t], mixed);
            }
            begin += size;
        }
    }

    /// Let the experts that may rest predict and learn a segment, which begins at `begin` of its stage; `losses` is a
    /// scratch buffer.
    fn run_those_that_may_rest(
        &mut self,
        segment: &Stage,
        begin: usize,
        expert_scores: &mut [&mut [f64]],
        losses: &mut [f64],
    ) {
        let (size, classes) = (segment.len(), self.aggregator.classes());
        let mut experts = std::mem::take(&mut self.may_rest);
        for Expert { place, first, learner } in &mut experts {
            let width = learner.models() * classes;
            let own = &mut expert_scores[*place][begin * width..(begin + size) * width];
            let lessons = segment.lessons_for(&***learner);
            let rest = self.aggregator.resting.rest_of(*first);
            let lessons = self.asked(rest, lessons);
            if rest == Rest::Dormant {
                run_dormant(&mut ***learner, &segment.block, &lessons, own);
            } else {
                learner.run(&segment.block, &lessons, own, &mut losses[..size]);
            }
        }
        self.may_rest = experts;
    }

    /// The number of events up to the next decision about which experts rest; all of them if none may rest.
    fn segment(&self, lessons: &[Lesson]) -> usize {
        if self.may_rest.is_empty() {
            return lessons.len();
        }
        lessons_up_to(SEGMENT, self.aggregator.steps, lessons)
    }

    /// The lessons for experts in the given state of rest.
    fn asked<'a, 'b>(&self, rest: Rest, lessons: &'a [Lesson<'b>]) -> Cow<'a, [Lesson<'b>]> {
        if rest == Rest::Awake {
            return Cow::Borrowed(lessons);
        }
        let mut events = self.aggregator.steps;
        let asked = |lesson: &Lesson<'b>| {
            let wants_scores = rest.is_asked(events);
            events += u64::from(lesson.is_learned());
            Lesson { wants_scores, ..*lesson }
        };
        Cow::Owned(lessons.iter().map(asked).collect())
    }

    /// Collect the learners' scores of event `t`.
    pub fn gather(&mut self, t: usize, expert_scores: &[&mut [f64]], external_scores: &[f64]) {
        let classes = self.aggregator.classes();
        let mut rest = &mut *self.row;
        for (models, expert_scores) in self.models.iter().zip(expert_scores) {
            let width = models * classes;
            let own = rest.split_off_mut(..width).unwrap_or_default();
            own.copy_from_slice(&expert_scores[t * width..][..width]);
        }
        rest.fill(0.0);
        rest.iter_mut().zip(external_scores).for_each(|(to, score)| *to = *score);
    }

    /// Mix the collected scores of an event, and learn how to.
    pub fn mix(&mut self, event: &Event, lesson: &Lesson, mixed: &mut [f64]) -> f64 {
        let observed = [event.len() as f64, -self.relevance.open(event)];
        let unit = self.aggregator.unit();
        let (loss, is_late) = self.mix_row(observed, lesson, mixed);
        if lesson.is_learned() {
            if self.aggregator.is_of_two() {
                self.relevance.learn(event, mixed[0]);
            }
            let Aggregator { resting, steps, .. } = &mut *self.aggregator;
            resting.dormancy.newcomers.observe(event.attributes);
            resting.decide(*steps);
        }
        let beside_ties = self.aggregator.variance_beside_ties();
        let loss = match &mut self.recent {
            Some(recent) if !is_late => {
                let weight = self.aggregator.mean_weight.relative(lesson.weight);
                recent.step(&Lesson { weight, ..*lesson }, unit, beside_ties, mixed, loss)
            }
            _ => loss,
        };
        if self.aggregator.regression { self.correct(lesson, mixed, loss) } else { loss }
    }

    /// Correct the number that is predicted by the targets before it; returns its loss, which was `loss`.
    fn correct(&mut self, lesson: &Lesson, mixed: &mut [f64], loss: f64) -> f64 {
        let Aggregator { range, ties, absolute, .. } = &mut *self.aggregator;
        let bounded = range.bound(mixed[0], lesson.unit);
        let median = ties.better_median().filter(|_| *absolute);
        let corrected = median.map_or(bounded, |median| lesson.unit.standard(median));
        let is_other = corrected != mixed[0];
        mixed[0] = corrected;
        if lesson.is_learned() && lesson.target.is_finite() {
            range.observe(lesson.target);
            ties.observe(lesson.target, lesson.weight, lesson.unit.plain(bounded));
        }
        if is_other { (corrected - lesson.label) * (corrected - lesson.label) } else { loss }
    }

    /// Returns the loss, and whether the label came late.
    fn mix_row(&mut self, observed: Observed, lesson: &Lesson, mixed: &mut [f64]) -> (f64, bool) {
        let Self { aggregator, late, row, .. } = self;
        let expert_scores = ExpertScores { scores: row, observed };
        let &Lesson { label, weight, ticket, .. } = lesson;
        let count = |weight| Count { weight, events: lesson.events() };
        let kept = (ticket > 0 && lesson.is_labelled()).then(|| late.take(ticket)).flatten();
        let Some(kept) = kept.filter(|_| lesson.is_learned()) else {
            let loss = aggregator.step(expert_scores, label, count(weight), mixed);
            if ticket > 0 && !lesson.is_labelled() {
                late.keep(ticket, aggregator, expert_scores, mixed);
            }
            return (loss, false);
        };
        let Some(part) = late.weigh(&kept, aggregator, lesson) else {
            return (aggregator.step(expert_scores, label, count(weight), mixed), false);
        };
        let loss = aggregator.step(expert_scores, label, count(0.0), mixed);
        // A label with less weight also makes less of the past fade.
        let counts = Count { weight: weight * part, events: lesson.events() * part };
        aggregator.learn(late.expert_scores(&kept), label, counts);
        (loss, true)
    }
}

/// Let a dormant expert predict and learn those events of a segment for which its scores are wanted.
fn run_dormant(learner: &mut dyn Learner, block: &Block, lessons: &[Lesson], expert_scores: &mut [f64]) {
    let width = expert_scores.len() / lessons.len();
    for ((t, lesson), own) in lessons.iter().enumerate().zip(expert_scores.chunks_exact_mut(width)) {
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
