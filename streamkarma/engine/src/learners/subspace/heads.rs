//! The linear models on one completion.
//!
//! Those that differ only in what they weigh and how fast they learn complete an event alike: it is then done
//! once for all of them.

use std::any::Any;

use super::{Settings, Subspace};
use crate::learner::{Learner, Lesson};
use crate::learners::linear::LinearModel;

/// A linear model on completed events.
#[derive(Clone, Debug)]
pub struct Head {
    /// Whether it weighs which attributes are observed, too.
    pub indicators: bool,
    /// The weights.
    pub model: LinearModel,
}

impl Head {
    /// With weights that have learned nothing.
    pub fn new(settings: &Settings) -> Self {
        let model = LinearModel::new(settings.step(), 1, settings.rank);
        Self { indicators: settings.indicators, model }
    }
}

impl Settings {
    /// Without what is a head's own.
    fn of_completion(self) -> Self {
        Self { r: 0.0, indicators: false, ..self }
    }
}

impl Subspace {
    pub(super) fn join_heads(&mut self, other: &dyn Learner) -> bool {
        let Some(other) = (other as &dyn Any).downcast_ref::<Self>() else { return false };
        let alike = self.settings.of_completion() == other.settings.of_completion();
        let begun = [&*self, other].iter().any(|each| each.steps() > 0 || each.coordinates() > 0);
        if alike && !begun {
            self.heads.extend_from_slice(&other.heads);
        }
        alike && !begun
    }

    /// A place for every latent, value and indicator, and some to spare.
    pub(super) fn make_room_for_weights(&mut self) {
        let (rank, most) = (self.settings.rank, self.known.len().max(self.owners.len()));
        let room = rank + 2 * most.next_power_of_two().max(8);
        for Head { model, .. } in &mut self.heads {
            if most > 0 && room > model.places() {
                model.resize(room);
            }
        }
    }

    /// The scores of every head for the event whose features were written.
    pub(super) fn predict_heads(&self, scores: &mut [f64]) {
        for (head, scores) in self.heads.iter().zip(scores.chunks_exact_mut(self.classes())) {
            let features = if head.indicators { self.index.len() } else { self.values };
            head.model.predict(&self.index[..features], &self.phi[..features], scores);
        }
    }

    /// Let every head learn that event; returns the loss of the first.
    pub(super) fn learn_heads(&mut self, lesson: &Lesson, scores: &[f64]) -> f64 {
        let classes = self.classes();
        let (index, phi) = (&self.index, &self.phi);
        let heads = self.heads.iter_mut().zip(scores.chunks_exact(classes));
        let losses = heads.map(|(head, scores)| {
            let features = if head.indicators { index.len() } else { self.values };
            head.model.learn(&index[..features], &phi[..features], scores, lesson)
        });
        losses.reduce(|first, _| first).unwrap_or(f64::NAN)
    }
}
