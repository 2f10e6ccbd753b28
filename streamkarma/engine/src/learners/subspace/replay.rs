//! Labelled events learned again, completed with what has been learned since.
//!
//! Where only some events have a label, the weights have few steps to learn from, and take most of them on poor
//! completions, while the subspace goes on learning from all events. So each event without a label allows one more step
//! on a recent labelled event, in turn, which is completed again. This is experience replay [L]. Where all events have
//! a label, nothing is kept or replayed.
//!
//! A repeated event carries no new information, so its step moves the weights and leaves their variances unchanged, and
//! it is a tenth of a step: see [`LinearModel::repeat`]. On synthetic low-rank streams with one label in 50 (seeds 200
//! to 204), the errors of such steps, full ones, steps of AdaGrad, and steps that shrink the variances were 0.023,
//! 0.022, 0.021 and 0.025; without replay 0.031. With one label in 500, a tenth of them wrong, they were 0.211, 0.227,
//! 0.217 and 0.217, and 0.214 without replay.
//!
//! An event whose label comes later also allows a step when it arrives. With labels 100 events late, one in 50 of which
//! came at all (`lowrank`, 20,000 events, seeds 200 to 202), the error was .050 with that and .072 without; where all
//! labels came, .0099 and .0100 (seed 200).
//!
//! Old labels can do harm, and two things limit it. Once the store holds only a fraction of all labelled events, only
//! that fraction of the events without a label replays one: otherwise a model with many labels would be pulled towards
//! its last thousand. And each head also learns without replay, and predicts with whichever had less loss recently, see
//! [`Replayed`]: after a drift the examples are of the past.
//!
//! [L] Lin: Self-Improving Reactive Agents Based On Reinforcement Learning, Planning and Teaching, 1992.

use super::Subspace;
use super::heads::Head;
use super::linear::{LARGEST, LinearModel};
use crate::block::Event;
use crate::learner::Lesson;

/// Fraction of a step for a repeated event.
pub const PART: f64 = 0.1;

/// Decay of a loss with each later label.
pub const DECAY: f64 = 0.98;
/// Replay is trusted up to this many times the loss without it. With 1 it was abandoned on noisy labels though it made
/// fewer errors, because its scores are larger; with 1.2 a slow drift cost twice as much.
pub const WORST: f64 = 1.1;

/// The weights of a head that learn by replay, and whether they are trusted.
#[derive(Clone, Debug)]
pub struct Replayed {
    pub model: LinearModel,
    /// Recent losses without replay and with it.
    pub losses: [f64; 2],
    scores: Vec<f64>,
}

impl Replayed {
    pub fn new(model: LinearModel, losses: [f64; 2]) -> Self {
        Self { model, losses, scores: Vec::new() }
    }

    pub fn is_trusted(&self) -> bool {
        self.losses[1] <= WORST * self.losses[0]
    }

    /// Learn an event, as `plain` does; `scores` are those of the trusted one of the two.
    pub fn learn(
        &mut self,
        plain: &mut LinearModel,
        index: &[u32],
        phi: &[f64],
        scores: &[f64],
        lesson: &Lesson,
    ) -> f64 {
        let is_trusted = self.is_trusted();
        let (trusted, other) = if is_trusted { (&mut self.model, plain) } else { (plain, &mut self.model) };
        let loss = trusted.learn(index, phi, scores, lesson);
        if lesson.is_learned() {
            self.scores.resize(scores.len(), 0.0);
            let other = other.step(index, phi, lesson, &mut self.scores);
            let both = if is_trusted { [other, loss] } else { [loss, other] };
            for (sum, loss) in self.losses.iter_mut().zip(both) {
                *sum = (DECAY * *sum + lesson.weight * loss).min(LARGEST);
            }
        }
        loss
    }

    fn repeat(&mut self, index: &[u32], phi: &[f64], lesson: &Lesson) {
        self.scores.resize(self.model.classes(), 0.0);
        self.model.predict(index, phi, &mut self.scores);
        self.model.repeat(index, phi, &self.scores, lesson, PART);
    }
}

impl Subspace {
    /// Whether there has been an event without a label.
    pub(super) fn is_replaying(&self) -> bool {
        self.heads[0].replayed.is_some()
    }

    /// Keep an event that was learned with its label.
    pub(super) fn keep(&mut self, event: &Event, lesson: &Lesson) {
        if self.is_replaying() {
            self.examples.keep(event, lesson);
        }
    }

    /// After an event without a label: repeat the next example, if one is due.
    pub(super) fn replay(&mut self) {
        self.heads.iter_mut().for_each(Head::begin_replay);
        let (kept, labelled) = (self.examples.all.len() as f64, self.heads[0].model.steps() as f64);
        if kept == 0.0 {
            return;
        }
        self.examples.due += (kept / labelled.min(self.settings.memory())).min(1.0);
        if self.examples.due >= 1.0 {
            self.examples.due -= 1.0;
            self.repeat_next();
        }
    }

    fn repeat_next(&mut self) {
        let at = self.examples.next % self.examples.all.len();
        self.examples.next = at + 1;
        let example = std::mem::take(&mut self.examples.all[at]);
        self.write_features(&example.event());
        let lesson = Lesson { weight: example.weight, ..Lesson::of(example.label) };
        for head in &mut self.heads {
            let features = if head.indicators { self.index.len() } else { self.values };
            if let Some(replayed) = &mut head.replayed {
                replayed.repeat(&self.index[..features], &self.phi[..features], &lesson);
            }
        }
        self.examples.all[at] = example;
    }
}
