//! Merges the neighbours of models trained separately into one window of the latest events of all of them, as long as
//! the longest.
//!
//! Events keep the step in which they were learned, counted back from the end of their part: the latest of each part
//! are the latest of all, as if the parts had learned side by side. The base's events are older than those learned
//! since and are told apart by their steps, so that they occur once. Ties between equally old events are broken by
//! their content. So the result depends neither on the order of the parts nor on whether some were merged before; but
//! of more attributes than there are columns, those present in fewer events are dropped.
//!
//! Events of the base that every part has dropped since, as after a change, do not come back. Monitoring of errors
//! restarts, since they were of other windows.
//!
//! Weights in distances are averaged, weighted by the events learned since the base, with the initial 1 for an
//! attribute that a part has not seen; their mean remains 1. They have single precision.

use std::cmp::Ordering;

use super::Neighbors;
use super::column::{ABSENT, Kind, LEAST_WEIGHT};
use super::columns::{Columns, MOST};
use super::cutting::BATCH;
use super::moments::Moments;
use crate::learner::Learner;
use crate::learners::errors::Errors;
use crate::learners::linear::LARGEST;
use crate::merging::{Mean, counted_together, learned_since};
use crate::state::{Refused, ensure};
use crate::translation::Translation;

/// An event of a window.
#[derive(Clone, Copy)]
struct WindowEvent<'a> {
    of: &'a Neighbors,
    slot: usize,
    learned_at: u64,
}

impl WindowEvent<'_> {
    /// Compare by label, weight and values.
    fn compare(&self, other: &Self, attributes: &[u32]) -> Ordering {
        let value =
            |of: &Self, attribute| of.of.columns.of(attribute).map_or(ABSENT, |column| column.get(of.slot));
        let (label, weight) = (self.of.labels[self.slot], self.of.weights[self.slot]);
        let values = attributes.iter().map(|&a| value(self, a).total_cmp(&value(other, a)));
        label
            .total_cmp(&other.of.labels[other.slot])
            .then(weight.total_cmp(&other.of.weights[other.slot]))
            .then_with(|| values.into_iter().find(|order| order.is_ne()).unwrap_or(Ordering::Equal))
    }
}

impl Neighbors {
    /// Renumber the classes; see [`Learner::relabel`].
    pub(super) fn renumber(&mut self, places: &[usize]) -> Result<(), Refused> {
        ensure(
            places.len() == self.counts.len(),
            "the number of new class indices differs from the number of classes",
        )?;
        for label in &mut self.labels {
            *label = places[*label as usize] as f64;
        }
        self.recount();
        Ok(())
    }

    /// Translate to the names and units of a merged model; see [`Learner::translate`].
    pub(super) fn translate_all(&mut self, translation: &Translation) {
        if translation.is_none() {
            return;
        }
        self.columns.translate(translation);
        let (shift, stretch) = translation.target;
        let scaled = |target: f64| ((target - shift) / stretch).clamp(-LARGEST, LARGEST);
        if self.settings.regression && translation.target != (0.0, 1.0) {
            self.labels.iter_mut().for_each(|label| *label = scaled(*label) + 0.0);
            self.target.mean = scaled(self.target.mean);
            self.target.variance = (self.target.variance / (stretch * stretch)).min(LARGEST * LARGEST);
        }
    }

    /// Merge what parts have learned; see [`Learner::merge`].
    pub(super) fn merge_parts(&mut self, parts: &[&dyn Learner]) -> Result<(), Refused> {
        let learned = learned_since(self, parts, |part| part.settings == self.settings)?;
        if let [(only, _)] = learned[..] {
            *self = only.clone();
        } else if !learned.is_empty() {
            *self = self.with(&learned);
        }
        Ok(())
    }

    /// This learner merged with what each part has learned since, in so many events.
    fn with(&self, learned: &[(&Self, u64)]) -> Self {
        let mut new = self.clone();
        new.steps = counted_together(self.steps, learned.iter().map(|(part, _)| part.steps));
        new.room = learned.iter().map(|(part, _)| part.room).max().unwrap_or(self.room);
        new.target = self.target_with(learned, new.room);
        let mut attributes: Vec<u32> = self.columns.attributes().collect();
        learned.iter().for_each(|(part, _)| attributes.extend(part.columns.attributes()));
        attributes.sort_unstable();
        attributes.dedup();
        let mut window = self.latest(learned, new.steps, &attributes);
        window.drain(..window.len().saturating_sub(new.room));
        new.labels = window.iter().map(|kept| kept.of.labels[kept.slot]).collect();
        new.weights = window.iter().map(|kept| kept.of.weights[kept.slot]).collect();
        new.learned_at = window.iter().map(|kept| kept.learned_at).collect();
        new.asked = window.iter().map(|kept| kept.of.asked[kept.slot]).collect();
        new.next = window.len() % new.room;
        new.compare_anew();
        new.errors = Errors::new(BATCH);
        new.recount();
        new.columns = self.columns_of(&window, learned, attributes);
        new
    }

    /// The latest events, the oldest first; of those of the base, only those that a part still has.
    fn latest<'a>(
        &'a self,
        learned: &[(&'a Self, u64)],
        steps: u64,
        attributes: &[u32],
    ) -> Vec<WindowEvent<'a>> {
        let oldest = learned.iter().filter_map(|(part, _)| part.learned_at.iter().min()).min();
        let own =
            self.learned_at.iter().enumerate().filter(|(_, at)| oldest.is_some_and(|oldest| *at >= oldest));
        let mut all: Vec<WindowEvent> =
            own.map(|(slot, &learned_at)| WindowEvent { of: self, slot, learned_at }).collect();
        for &(of, _) in learned {
            let since = of.learned_at.iter().enumerate().filter(|(_, at)| **at > self.steps);
            all.extend(since.map(|(slot, at)| WindowEvent { of, slot, learned_at: steps - (of.steps - at) }));
        }
        let ages = |one: &WindowEvent, other: &WindowEvent| one.learned_at.cmp(&other.learned_at);
        all.sort_by(|one, other| ages(one, other).then_with(|| one.compare(other, attributes)));
        all
    }

    /// The columns of the window's events; if there are too many attributes, those that most events have.
    fn columns_of(&self, window: &[WindowEvent], learned: &[(&Self, u64)], attributes: Vec<u32>) -> Columns {
        let has = |kept: &&WindowEvent, attribute| {
            kept.of.columns.of(attribute).is_some_and(|column| column.get(kept.slot) != ABSENT)
        };
        let mut wanted = attributes;
        if wanted.len() > MOST {
            let observed = |attribute: &u32| window.iter().filter(|kept| has(kept, *attribute)).count();
            wanted.sort_by_cached_key(|attribute| std::cmp::Reverse(observed(attribute)));
            wanted.truncate(MOST);
            wanted.sort_unstable();
        }
        let mut columns = Columns::new(window.len());
        for (place, attribute) in wanted.into_iter().enumerate() {
            let everyone = || learned.iter().map(|&(part, _)| part).chain([self]);
            let kinds = || everyone().filter_map(|model| Some(model.columns.of(attribute)?.kind));
            // Numbers if any model has seen one, at the lowest of their coordinates.
            let numbers =
                kinds().filter_map(|kind| if let Kind::Number(own) = kind { Some(own) } else { None });
            let kind = numbers.min().map_or(Kind::Category, Kind::Number);
            let mut mean = Mean::default();
            for &(part, events) in learned {
                let weight = part.columns.of(attribute).map_or(1.0, |column| column.weight);
                mean.put(events as f64, f64::from(weight));
            }
            let mut column = columns.empty(attribute, kind, (mean.value() as f32).max(LEAST_WEIGHT));
            for (slot, kept) in window.iter().enumerate() {
                if let Some(own) = kept.of.columns.of(attribute) {
                    column.set(slot, own.get_as(kind, kept.slot));
                }
            }
            columns.places.push(None);
            columns.take(place, column);
        }
        columns
    }

    /// Mean and variance of the parts' targets, weighted by the events learned.
    fn target_with(&self, learned: &[(&Self, u64)], room: usize) -> Moments {
        let (mut mean, mut square) = (Mean::default(), Mean::default());
        for &(part, events) in learned {
            let target = part.target;
            mean.put(events as f64, target.mean);
            square.put(events as f64, target.variance + target.mean * target.mean);
        }
        let own = self.target.count;
        let since = learned.iter().map(|(part, _)| (part.target.count - own).max(0.0));
        let count = (own + since.sum::<f64>()).min(room as f64);
        let mean = mean.value();
        let variance = (square.value() - mean * mean).clamp(0.0, 4.0 * LARGEST * LARGEST);
        Moments { count, mean, variance }
    }

    /// Recompute the weights of the classes in the window.
    pub(super) fn recount(&mut self) {
        self.counts.fill(0);
        for slot in 0..self.labels.len() {
            self.count(slot, u128::saturating_add);
        }
    }
}
