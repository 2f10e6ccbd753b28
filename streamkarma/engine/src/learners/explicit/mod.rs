//! KARMA in its explicit form: one weight per feature, no support vectors and no budget.
//!
//! The hypotheses are the same as with support vectors. The cost of an event is its number of features, |o|^gamma,
//! independent of the length of the stream and the total number of attributes.
//!
//! Every feature has its own weight while the table has capacity. When an event to be learned exceeds it, the table
//! becomes hashed: features that collide share one weight, which starts as the sum of theirs (for AROW's variances,
//! the minimum).

mod explaining;
mod features;
mod forgetting;
mod layout;
mod merging;
#[cfg(test)]
mod merging_tests;
mod sets;
mod state;
#[cfg(test)]
mod tests;

pub use features::{FeatureMap, Features};
pub use layout::{Layout, mix};
pub use merging::Translated;
pub use sets::Set;

use std::any::Any;

use crate::block::{Event, Evicted, room_for};
use crate::explaining::Explanation;
use crate::learner::{Fact, Learner, Lesson};
use crate::learners::linear::{LinearModel, Step};
use crate::merging::of_kind;
use crate::state::{Refused, State, ensure};
use crate::translation::Translation;

/// A linear model on the features of k_gamma, or several models that take different steps.
#[derive(Clone, Debug)]
pub struct Explicit {
    table_bits: u32,
    map: FeatureMap,
    models: Vec<LinearModel>,
    features: Features,
    /// First place of the next clear_next_part of a hashed table.
    swept: usize,
}

impl Explicit {
    /// An untrained learner.
    ///
    /// `gamma`, the order of the kernel, is 1, 2 or 3; with `normalize` every event has norm 1 in feature space.
    /// `table_bits`, log2 of the maximum number of weights over all classes, is 8 to 30. An event with more features
    /// than this maximum is expanded at a lower order.
    ///
    /// # Errors
    ///
    /// If `gamma` or `table_bits` is out of its range.
    pub fn new(gamma: usize, normalize: bool, step: Step, table_bits: u32) -> Result<Self, Refused> {
        ensure((1..=3).contains(&gamma), &format!("the explicit form has gamma 1, 2 or 3, not {gamma}"))?;
        let range = format!("table_bits must be between 8 and 30, not {table_bits}");
        ensure((8..=30).contains(&table_bits), &range)?;
        Ok(Self {
            table_bits,
            map: FeatureMap::new(gamma, normalize, 1 << table_bits),
            models: vec![LinearModel::new(step, 1, 1)],
            features: Features::default(),
            swept: 0,
        })
    }

    /// The same learner, but events with more than this many features are also expanded at a lower order.
    #[must_use]
    pub fn with_most(mut self, features: usize) -> Self {
        self.map.limit(features);
        self
    }

    /// The settings that learners with the same features share.
    fn settings(&self) -> (usize, bool, usize, u32) {
        (self.map.gamma(), self.map.normalize(), self.map.most(), self.table_bits)
    }

    /// Number of coordinates that have weights.
    pub fn coordinates(&self) -> usize {
        self.map.coordinates
    }

    /// Extend the table for the attributes and coordinates of an event; returns whether any are new.
    fn register(&mut self, event: &Event) -> bool {
        // Attributes ascend; the coordinates of one attribute are in any order.
        let attributes =
            event.attributes.last().map_or(0, |&last| last as usize + 1).max(self.map.attributes);
        let coordinates = room_for(event.coordinates).max(self.map.coordinates);
        let is_new = (attributes, coordinates) != (self.map.attributes, self.map.coordinates);
        if is_new {
            (self.map.attributes, self.map.coordinates) = (attributes, coordinates);
            self.make_room(self.classes());
        }
        is_new
    }

    /// Resize the table for all known features and this many classes; it is hashed if they do not fit.
    fn make_room(&mut self, classes: usize) {
        let (layout, bits) = self.layout(classes);
        self.relocate(layout, bits);
    }

    fn relocate(&mut self, layout: Layout, bits: u32) {
        let old = self.map.layout;
        if (layout, 1 << bits) == (old, self.models[0].places()) {
            return;
        }
        for model in &mut self.models {
            let from = model.touched();
            let to: Vec<u32> = from.iter().map(|&place| layout.moved(old, place)).collect();
            model.relocate(&from, &to, 1 << bits);
        }
        self.map.layout = layout;
    }

    /// The layout for all known features and this many classes, and log2 of the number of places per class.
    fn layout(&self, classes: usize) -> (Layout, u32) {
        self.grown(self.map.layout, classes)
    }

    /// The same, as the successor of an earlier layout.
    fn grown(&self, earlier: Layout, classes: usize) -> (Layout, u32) {
        let class_bits = usize::BITS - classes.saturating_sub(1).leading_zeros();
        let most = self.table_bits.saturating_sub(class_bits).max(1);
        earlier.grown(self.map.gamma(), self.map.attributes, self.map.coordinates, most)
    }
}

impl Learner for Explicit {
    fn classes(&self) -> usize {
        self.models[0].classes()
    }

    fn steps(&self) -> u64 {
        self.models[0].steps()
    }

    fn models(&self) -> usize {
        self.models.len()
    }

    fn join(&mut self, other: &dyn Learner) -> bool {
        let Some(other) = (other as &dyn Any).downcast_ref::<Self>() else { return false };
        let begun = [&*self, other].iter().any(|each| each.steps() > 0 || each.map.attributes > 0);
        let joins = self.settings() == other.settings() && !begun;
        if joins {
            self.models.extend_from_slice(&other.models);
        }
        joins
    }

    fn step(&mut self, event: Event, lesson: Lesson, scores: &mut [f64]) -> f64 {
        if lesson.is_learned() {
            self.register(&event);
        }
        self.map.expand(&event, &mut self.features);
        let (Features { index, phi }, classes) = (&self.features, self.classes());
        let models = self.models.iter_mut().zip(scores.chunks_exact_mut(classes));
        let losses = models.map(|(model, scores)| model.step(index, phi, &lesson, scores));
        losses.reduce(|first, _| first).unwrap_or(f64::NAN)
    }

    fn learn_predicted(&mut self, event: Event, lesson: Lesson, scores: &mut [f64]) -> f64 {
        if !lesson.is_learned() || self.register(&event) {
            return self.step(event, lesson, scores);
        }
        let (Features { index, phi }, classes) = (&self.features, self.classes());
        let models = self.models.iter_mut().zip(scores.chunks_exact(classes));
        let losses = models.map(|(model, scores)| model.learn(index, phi, scores, &lesson));
        losses.reduce(|first, _| first).unwrap_or(f64::NAN)
    }

    fn explain(&mut self, event: Event, into: &mut Explanation) {
        self.explain_items(&event, |item| Set::of_one(event.attributes[item]), into);
    }

    fn forget(&mut self, evicted: &Evicted) {
        self.clear(evicted);
    }

    fn widen(&mut self, classes: usize) {
        let classes = classes.max(self.classes()).max(2);
        // Reduce the places before adding classes, so that the table never exceeds its maximum size.
        self.make_room(classes);
        self.models.iter_mut().for_each(|model| model.widen(classes));
    }

    fn restart(&mut self, steps: u64) {
        (self.map.attributes, self.map.coordinates, self.swept) = (0, 0, 0);
        self.map.layout = Layout::Plain { set_bits: 0 };
        self.models.iter_mut().for_each(|model| model.restart(steps, 1, 1));
    }

    fn summary(&self) -> Vec<(&'static str, Fact)> {
        let weights = self.models.iter().map(|model| model.classes() * model.places());
        vec![
            ("weights", Fact::Count(weights.sum::<usize>() as u64)),
            ("hashed", Fact::Count(self.map.layout.is_hashed().into())),
            ("bytes", Fact::Count(self.models.iter().map(LinearModel::bytes).sum())),
        ]
    }

    fn state(&self) -> State {
        self.to_state()
    }

    fn restore(&mut self, state: &State, attributes: usize, coordinates: usize) -> Result<(), Refused> {
        *self = self.restored(state, attributes, coordinates)?;
        Ok(())
    }

    fn relabel(&mut self, places: &[usize]) -> Result<(), Refused> {
        self.models.iter_mut().for_each(|model| model.relabel(places));
        Ok(())
    }

    fn is_hashed(&self) -> bool {
        self.map.layout.is_hashed()
    }

    fn translate(&mut self, translation: &Translation) -> Result<(), Refused> {
        self.translate_features(translation)
    }

    fn merge(&mut self, parts: &[&dyn Learner]) -> Result<(), Refused> {
        self.merge_parts(&of_kind(parts)?)
    }
}
