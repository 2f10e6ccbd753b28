//! Encoded events, as the encoder outputs them.

use std::borrow::Cow;

use crate::block::{Block, Evicted, Terms};
use crate::rate_key::is_key;

/// Encoded events, stored one after another.
#[derive(Clone, Debug)]
pub struct Encoded {
    /// As in a block.
    pub starts: Vec<usize>,
    /// As in a block.
    pub attributes: Vec<u32>,
    /// As in a block.
    pub coordinates: Vec<u32>,
    /// As in a block.
    pub values: Vec<f64>,
    /// The raw values, before they were standardised.
    pub raw: Vec<f64>,
    /// As in a block.
    pub evicted: Vec<Evicted>,
    /// The positions, ascending, of what was carried over from entities. (Keys of rates are not in events either, but
    /// have no raw value.)
    pub carried: Vec<usize>,
}

impl Default for Encoded {
    fn default() -> Self {
        let (attributes, coordinates) = (Vec::new(), Vec::new());
        let (values, raw, evicted, carried) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Self { starts: vec![0], attributes, coordinates, values, raw, evicted, carried }
    }
}

impl Encoded {
    /// No events yet, with memory reserved for this many items.
    pub fn with_room(items: usize) -> Self {
        Self {
            attributes: Vec::with_capacity(items),
            coordinates: Vec::with_capacity(items),
            values: Vec::with_capacity(items),
            raw: Vec::with_capacity(items),
            ..Self::default()
        }
    }

    /// The events, as learners take them.
    pub fn block(&self) -> Block<'_> {
        Block {
            starts: &self.starts,
            attributes: &self.attributes,
            coordinates: &self.coordinates,
            values: &self.values,
            raw: &self.raw,
            terms: Terms::default(),
            evicted: &self.evicted,
        }
    }

    /// The same with the raw values.
    pub fn raw_block(&self) -> Block<'_> {
        Block { values: &self.raw, ..self.block() }
    }

    /// The same without keys, which are left for learners to replace.
    pub fn without_keys(&self) -> Cow<'_, Self> {
        if !self.values.iter().any(|&value| is_key(value)) {
            return Cow::Borrowed(self);
        }
        Cow::Owned(self.with_only(|at| !is_key(self.values[at])))
    }

    /// The same without what was carried over.
    pub fn own(&self) -> Cow<'_, Self> {
        if self.carried.is_empty() {
            return Cow::Borrowed(self);
        }
        let mut carried = self.carried.iter().copied().peekable();
        Cow::Owned(self.with_only(|at| carried.next_if_eq(&at).is_none()))
    }

    /// The same with some of the items; these are asked for in order.
    fn with_only(&self, mut is_kept: impl FnMut(usize) -> bool) -> Self {
        let mut kept = Self::default();
        for ends in self.starts.windows(2) {
            for at in (ends[0]..ends[1]).filter(|&at| is_kept(at)) {
                kept.push(self.attributes[at], self.coordinates[at], self.values[at], self.raw[at]);
            }
            kept.starts.push(kept.values.len());
        }
        kept.evicted = self.evicted.iter().map(|evicted| self.moved(evicted, &kept.starts)).collect();
        kept
    }

    /// What was evicted before an event, for events that begin at other `starts`.
    fn moved(&self, evicted: &Evicted, starts: &[usize]) -> Evicted {
        let event = self.starts.partition_point(|&start| start < evicted.before);
        Evicted { before: starts[event], ..evicted.clone() }
    }

    /// Event `t` by itself, without what has been evicted since.
    pub fn one(&self, t: usize) -> Self {
        let mut one = Self::default();
        one.copy(self, self.starts[t]..self.starts[t + 1]);
        one.starts.push(one.values.len());
        for evicted in self.evicted.iter().filter(|evicted| evicted.before > self.starts[t]) {
            one.forget(&evicted.coordinates);
        }
        one
    }

    /// Remove the items of some coordinates, which ascend, from a single event.
    pub fn forget(&mut self, coordinates: &[u32]) {
        let is_evicted = |k: &u32| coordinates.binary_search(k).is_ok();
        if !self.coordinates.iter().any(is_evicted) {
            return;
        }
        let before = std::mem::take(self);
        self.copy(&before, (0..before.values.len()).filter(|&at| !is_evicted(&before.coordinates[at])));
        self.starts.push(self.values.len());
    }

    /// Appends some items of other events to the event that is being written.
    fn copy(&mut self, other: &Self, items: impl Iterator<Item = usize>) {
        for at in items {
            if other.carried.binary_search(&at).is_ok() {
                self.carried.push(self.values.len());
            }
            self.push(other.attributes[at], other.coordinates[at], other.values[at], other.raw[at]);
        }
    }

    /// Appends other events.
    pub fn append(&mut self, other: &Self) {
        let shift = self.values.len();
        self.attributes.extend(&other.attributes);
        self.coordinates.extend(&other.coordinates);
        self.values.extend(&other.values);
        self.raw.extend(&other.raw);
        self.starts.extend(other.starts.iter().skip(1).map(|start| start + shift));
        self.carried.extend(other.carried.iter().map(|at| at + shift));
    }

    /// Removes all events, but keeps the capacity.
    pub fn clear(&mut self) {
        self.starts.truncate(1);
        self.attributes.clear();
        self.coordinates.clear();
        self.values.clear();
        self.raw.clear();
        self.evicted.clear();
        self.carried.clear();
    }

    /// Appends an item to the event that is being written.
    pub fn push(&mut self, attribute: u32, coordinate: u32, value: f64, raw: f64) {
        self.attributes.push(attribute);
        self.coordinates.push(coordinate);
        self.values.push(value);
        self.raw.push(raw);
    }
}
