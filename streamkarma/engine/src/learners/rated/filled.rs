//! Events with their rates.

use crate::block::Block;

/// Events with their rates.
#[derive(Clone, Debug, Default)]
pub struct Filled {
    pub starts: Vec<usize>,
    attributes: Vec<u32>,
    coordinates: Vec<u32>,
    pub values: Vec<f64>,
    raw: Vec<f64>,
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
    }

    /// Append an item to the event that is being written; `raw` is its value before it was standardised.
    pub fn push(&mut self, attribute: u32, coordinate: u32, value: f64, raw: f64) {
        self.attributes.push(attribute);
        self.coordinates.push(coordinate);
        self.values.push(value);
        self.raw.push(raw);
    }

    /// As a block for the learner.
    pub fn block(&self) -> Block<'_> {
        let Self { starts, attributes, coordinates, values, raw } = self;
        Block { starts, attributes, coordinates, values, raw, evicted: &[] }
    }
}
