//! The linear models on one completion.
//!
//! Models that differ only in their features and in how fast they learn complete an event alike, so this is done once
//! for all of them.

use std::any::Any;

use super::replay::Replayed;
use super::{Settings, Subspace};
use crate::learner::{Learner, Lesson};
use crate::learners::linear::LinearModel;

/// A linear model on completed events.
#[derive(Clone, Debug)]
pub struct Head {
    /// Whether indicators of the observed attributes are features, too.
    pub indicators: bool,
    /// The weights.
    pub model: LinearModel,
    /// The weights that also learn by replay, from the first event without a label on.
    pub replayed: Option<Replayed>,
}

impl Head {
    /// A head with untrained weights.
    pub fn new(settings: &Settings) -> Self {
        let model = LinearModel::new(settings.step(), 1, settings.rank);
        Self { indicators: settings.indicators, model, replayed: None }
    }

    /// The weights used for predictions.
    pub(super) fn trusted(&self) -> &LinearModel {
        let replayed = self.replayed.as_ref().filter(|replayed| replayed.is_trusted());
        replayed.map_or(&self.model, |replayed| &replayed.model)
    }

    /// Its linear models.
    pub fn models_mut(&mut self) -> impl Iterator<Item = &mut LinearModel> {
        std::iter::once(&mut self.model).chain(self.replayed.as_mut().map(|each| &mut each.model))
    }

    /// Learn by replay, too, from now on.
    pub fn begin_replay(&mut self) {
        self.replayed.get_or_insert_with(|| Replayed::new(self.model.clone(), [0.0; 2]));
    }

    fn learn(&mut self, index: &[u32], phi: &[f64], scores: &[f64], lesson: &Lesson) -> f64 {
        match &mut self.replayed {
            Some(replayed) => replayed.learn(&mut self.model, index, phi, scores, lesson),
            None => self.model.learn(index, phi, scores, lesson),
        }
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

    /// All linear models, including those that learn by replay.
    pub(super) fn models(&self) -> impl Iterator<Item = &LinearModel> {
        self.heads.iter().flat_map(|Head { model, replayed, .. }| {
            std::iter::once(model).chain(replayed.as_ref().map(|each| &each.model))
        })
    }

    /// See [`Self::models`].
    pub(super) fn models_mut(&mut self) -> impl Iterator<Item = &mut LinearModel> {
        self.heads.iter_mut().flat_map(Head::models_mut)
    }

    /// Grow the weights to a place for every latent, value and indicator, and some to spare.
    pub(super) fn make_room_for_weights(&mut self) {
        let room = self.room_for_weights();
        for model in self.models_mut().filter(|model| room > model.places()) {
            model.resize(room);
        }
    }

    /// The number of places, see [`Self::make_room_for_weights`].
    pub(super) fn room_for_weights(&self) -> usize {
        let most = self.known.len().max(self.owners.len());
        let spare = if most > 0 { most.next_power_of_two().max(8) } else { 0 };
        self.settings.rank + 2 * spare
    }

    /// Write the scores of every head for the event whose features were written.
    pub(super) fn predict_heads(&self, scores: &mut [f64]) {
        for (head, scores) in self.heads.iter().zip(scores.chunks_exact_mut(self.classes())) {
            let features = if head.indicators { self.index.len() } else { self.values };
            head.trusted().predict(&self.index[..features], &self.phi[..features], scores);
        }
    }

    /// Let every head learn that event; returns the loss of the first head.
    pub(super) fn learn_heads(&mut self, lesson: &Lesson, scores: &[f64]) -> f64 {
        let classes = self.classes();
        let (index, phi) = (&self.index, &self.phi);
        let heads = self.heads.iter_mut().zip(scores.chunks_exact(classes));
        let losses = heads.map(|(head, scores)| {
            let features = if head.indicators { index.len() } else { self.values };
            head.learn(&index[..features], &phi[..features], scores, lesson)
        });
        losses.reduce(|first, _| first).unwrap_or(f64::NAN)
    }
}
