//! Events with their rates.

use crate::block::Block;

/// Events with their rates.
#[derive(Clone, Debug, Default)]
pub struct Filled {
    pub starts: Vec<usize>,
    attributes: Vec<u32>,
    coordinates: Vec<u32>,
    pub values: Vec<f64>,
}

impl Filled {
    /// No events.
    pub fn clear(&mut self) {
        self.starts.clear();
        self.starts.push(0);
        self.attributes.clear();
        self.coordinates.clear();
        self.values.clear();
    }

    /// Put an item behind the event that is being written.
    pub fn push(&mut self, attribute: u32, coordinate: u32, value: f64) {
        self.attributes.push(attribute);
        self.coordinates.push(coordinate);
        self.values.push(value);
    }

    /// As the learner takes them.
    pub fn block(&self) -> Block<'_> {
        let Self { starts, attributes, coordinates, values } = self;
        Block { starts, attributes, coordinates, values, gone: &[] }
    }
}
