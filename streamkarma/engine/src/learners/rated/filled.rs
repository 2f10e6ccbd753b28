//! Events with their rates.

use std::ops::Range;

use crate::block::{Block, Event, Term, Terms};

/// Events with their rates.
#[derive(Clone, Debug, Default)]
pub struct Filled {
    pub starts: Vec<usize>,
    attributes: Vec<u32>,
    coordinates: Vec<u32>,
    pub values: Vec<f64>,
    raw: Vec<f64>,
    /// As in a block.
    term_starts: Vec<usize>,
    terms: Vec<Term>,
}

impl Filled {
    /// Remove all events.
    pub fn clear(&mut self) {
        self.starts.clear();
        self.starts.push(0);
        self.attributes.clear();
        self.coordinates.clear();
        self.values.clear();
        self.raw.clear();
        self.term_starts.clear();
        self.term_starts.push(0);
        self.terms.clear();
    }

    /// Append an item to the event that is being written; `raw` is its value before it was standardised.
    pub fn push(&mut self, attribute: u32, coordinate: u32, value: f64, raw: f64) {
        self.attributes.push(attribute);
        self.coordinates.push(coordinate);
        self.values.push(value);
        self.raw.push(raw);
    }

    /// Append items of another event to the event that is being written.
    pub fn extend(&mut self, event: &Event, items: Range<usize>) {
        self.attributes.extend_from_slice(&event.attributes[items.clone()]);
        self.coordinates.extend_from_slice(&event.coordinates[items.clone()]);
        self.values.extend_from_slice(&event.values[items.clone()]);
        self.raw.extend_from_slice(&event.raw[items]);
    }

    /// Append a term to the event that is being written.
    pub fn push_term(&mut self, attribute: u32, key: u64) {
        self.terms.push(Term { attribute, key });
    }

    /// End the event that is being written.
    pub fn end_event(&mut self) {
        self.starts.push(self.values.len());
        self.term_starts.push(self.terms.len());
    }

    /// As a block for the learner.
    pub fn block(&self) -> Block<'_> {
        let Self { starts, attributes, coordinates, values, raw, term_starts, terms } = self;
        let terms = Terms { starts: term_starts, all: terms };
        Block { starts, attributes, coordinates, values, raw, terms, evicted: &[] }
    }
}
