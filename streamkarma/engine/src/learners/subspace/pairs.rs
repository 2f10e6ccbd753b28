//! Pairwise moments of the coordinates that have a slot.
//!
//! While there are no more coordinates than slots, each has the slot of its own number, and while there are no more
//! than half as many, all of them are *active*: they complete events. Beyond half the slots, only those that prove
//! worthwhile are active; beyond all slots, attributes take turns, see [`super::selection`], and those on trial are
//! only counted. A coordinate that is not active is an ordinary feature of the linear model, and keeps its weight there
//! when it becomes active.
//!
//! An attribute enters and leaves with its coordinates, so that the zeros of a category are counted in the same events
//! as its ones.

use super::NOBODY;
use super::pairwise_moments::{Local, PairwiseMoments};
use super::selection::FIRST_TURN;
use super::slots::Slots;
use crate::block::Event;

/// Pairwise moments, and the coordinates they belong to.
#[derive(Clone, Debug)]
pub struct Pairs {
    /// Maximum number of slots.
    pub most: usize,
    /// Moments, by slot.
    pub moments: PairwiseMoments,
    pub attributes: Slots,
    pub coordinates: Slots,
    /// By slot of a coordinate: the slot of its attribute, or [`NOBODY`].
    pub owners: Vec<u32>,
    /// Number of events that observed each attribute, with or without a slot.
    pub observed: Vec<f64>,
    /// Number of events in which each coordinate had a value, and the sum of these values.
    pub value_counts: Vec<f64>,
    pub sums: Vec<f64>,
    /// Whether the active coordinates explain each coordinate.
    pub is_redundant: Vec<bool>,
    /// Number of turns that each attribute has had.
    pub turns: Vec<f64>,
    /// Number of events at which the next attributes take their turn.
    pub next_turn: f64,
    /// The part of an event that has slots.
    local: Local,
}

impl Pairs {
    /// Without any data.
    pub fn new(most: usize) -> Self {
        Self {
            most,
            moments: PairwiseMoments::default(),
            attributes: Slots::default(),
            coordinates: Slots::default(),
            owners: Vec::new(),
            observed: Vec::new(),
            value_counts: Vec::new(),
            sums: Vec::new(),
            is_redundant: Vec::new(),
            turns: Vec::new(),
            next_turn: FIRST_TURN,
            local: Local::default(),
        }
    }

    /// Whether there are so many coordinates that those uncorrelated with others do harm: more than half as many as
    /// slots. Up to then all are active.
    pub fn is_crowded(&self) -> bool {
        2 * self.value_counts.len() > self.most
    }

    /// Whether there are more coordinates than slots.
    pub fn is_wide(&self) -> bool {
        self.value_counts.len() > self.most
    }

    /// Grow to so many attributes and coordinates.
    pub fn grow(&mut self, attributes: usize, coordinates: usize) {
        self.attributes.grow(attributes, self.most);
        self.coordinates.grow(coordinates, self.most);
        self.owners.resize(self.coordinates.items().len(), NOBODY);
        for row in [&mut self.observed, &mut self.turns] {
            row.resize(attributes.max(row.len()), 0.0);
        }
        self.value_counts.resize(coordinates, 0.0);
        self.sums.resize(coordinates, 0.0);
        self.is_redundant.resize(coordinates, false);
        self.moments.grow(self.attributes.items().len(), self.owners.len(), self.most);
    }

    /// Give a coordinate of an attribute a slot, if there is one.
    ///
    /// A new category enters beside its siblings: it was an observed 0 for as long as they have been counted.
    pub fn assign_slot(&mut self, attribute: u32, coordinate: u32) {
        if let Some(slot) = self.coordinates.of(coordinate) {
            // The coordinate belonged to another attribute.
            self.vacate(slot);
        }
        let Some(slot) = self.coordinates.take(coordinate) else { return };
        // There are as many slots for attributes, and each attribute with one has a coordinate with one.
        let home = self.attributes.of(attribute).or_else(|| self.attributes.take(attribute));
        self.owners[slot] = home.map_or(NOBODY, |home| home as u32);
        self.is_redundant[coordinate as usize] = false;
        self.moments.active[slot] = !self.is_wide() || coordinate == 0;
    }

    /// Free the slot of a coordinate, and that of its attribute if this was its last coordinate with a slot.
    pub fn vacate(&mut self, slot: usize) {
        let home = std::mem::replace(&mut self.owners[slot], NOBODY);
        self.coordinates.release(slot);
        self.moments.clear(slot);
        if !self.owners.contains(&home) {
            self.attributes.release(home as usize);
            self.moments.clear_counts(home as usize);
        }
    }

    /// Add one event with weight `amount`; there must be capacity for its names.
    pub fn count(&mut self, event: &Event, amount: f64) {
        let items = event.attributes.iter().zip(event.coordinates).zip(event.values);
        let mut last = None;
        for ((&attribute, &coordinate), value) in items {
            if last != Some(attribute) {
                self.observed[attribute as usize] += amount;
                last = Some(attribute);
            }
            self.value_counts[coordinate as usize] += amount;
            self.sums[coordinate as usize] += amount * value;
        }
        self.localise(event);
        self.moments.count(&self.local, amount);
    }

    /// Fill `completed`, by slot, from one event.
    pub fn complete(&mut self, noise: f64, event: &Event, completed: &mut Vec<f64>) {
        completed.resize(self.owners.len(), 0.0);
        self.localise(event);
        self.moments.complete(&self.owners, noise, &self.local, completed);
    }

    /// Whether a coordinate is a feature as observed instead of completed.
    pub fn is_plain(&self, coordinate: u32) -> bool {
        let slot = self.coordinates.of(coordinate);
        slot.map_or(!self.is_redundant[coordinate as usize], |slot| !self.moments.active[slot])
    }

    /// The mean of a coordinate where its attribute is observed; 0 if it never was.
    pub fn mean(&self, attribute: u32, coordinate: usize) -> f64 {
        let observed = self.observed[attribute as usize];
        if observed > 0.0 { self.sums[coordinate] / observed } else { 0.0 }
    }

    /// Find the slots of an event's items.
    fn localise(&mut self, event: &Event) {
        let local = &mut self.local;
        local.clear();
        let items = event.attributes.iter().zip(event.coordinates).zip(event.values);
        for ((&attribute, &coordinate), value) in items {
            let Some(home) = self.attributes.of(attribute) else { continue };
            local.observe(home as u32);
            let slot = self.coordinates.of(coordinate).filter(|&slot| self.owners[slot] == home as u32);
            if let Some(slot) = slot {
                local.push(slot as u32, *value);
            }
        }
    }
}
