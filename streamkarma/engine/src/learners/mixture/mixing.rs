//! Mixing the experts' predictions of a stage, event by event.

use super::aggregator::{Aggregator, Count, ExpertScores};
use super::completeness::Observed;
use super::late::Late;
use super::recent::Recent;
use super::relevance::Relevance;
use super::running::Stage;
use crate::block::Event;
use crate::learner::Lesson;

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
}

impl Mixing<'_> {
    /// Mix the scores of a stage, and learn how to; `expert_scores` are those of each learner.
    pub fn run(
        &mut self,
        stage: &Stage,
        expert_scores: &[&mut [f64]],
        scores: &mut [f64],
        losses: &mut [f64],
    ) {
        for (t, mixed) in scores.chunks_exact_mut(self.aggregator.classes()).enumerate() {
            self.gather(t, expert_scores, stage.lessons[t].external_scores);
            if let Some(evicted) = stage.block.evicted_before(t) {
                self.relevance.forget(evicted);
            }
            losses[t] = self.mix(&stage.block.event(t), &stage.lessons[t], mixed);
        }
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
        let succession = self.aggregator.succession;
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
        match self.aggregator {
            Aggregator { regression: true, .. } => self.correct(lesson, mixed, loss),
            Aggregator { classes: 1, .. } => succession.bound(&mut mixed[0], lesson.label, loss),
            _ => loss,
        }
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
