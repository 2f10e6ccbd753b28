//! The event that was predicted last: it need not be predicted again if it is learned next.

use crate::block::Event;

/// An event and its scores, or none.
#[derive(Default)]
pub struct Predicted {
    is_there: bool,
    attributes: Vec<u32>,
    coordinates: Vec<u32>,
    values: Vec<f64>,
    /// Events with different outliers may have the same standardised values.
    raw: Vec<f64>,
    scores: Vec<f64>,
}

impl Predicted {
    /// Keep an event and its scores.
    pub fn put(&mut self, event: &Event, scores: &[f64]) {
        self.is_there = true;
        self.attributes.clear();
        self.coordinates.clear();
        self.values.clear();
        self.raw.clear();
        self.scores.clear();
        self.attributes.extend_from_slice(event.attributes);
        self.coordinates.extend_from_slice(event.coordinates);
        self.values.extend_from_slice(event.values);
        self.raw.extend_from_slice(event.raw);
        self.scores.extend_from_slice(scores);
    }

    /// The scores of the event, if it is exactly the one kept; none is kept from now on.
    pub fn take(&mut self, event: &Event) -> Option<Vec<f64>> {
        // Compare bits, since zeros may have signs.
        let bits = |value: &f64| value.to_bits();
        let is_same = std::mem::take(&mut self.is_there)
            && self.attributes == event.attributes
            && self.coordinates == event.coordinates
            && self.values.iter().map(bits).eq(event.values.iter().map(bits))
            && self.raw.iter().map(bits).eq(event.raw.iter().map(bits));
        is_same.then(|| self.scores.clone())
    }

    /// Keep none.
    pub fn clear(&mut self) {
        self.is_there = false;
    }
}
