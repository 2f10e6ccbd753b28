//! Encoded events, one after another.

use crate::vocabulary::PASSING;

/// One event: what it observes, attributes ascending, values finite.
///
/// An attribute with several values at once, such as a set of tags, has as many items, side by side.
///
/// Attribute 0 and coordinate 0 are the constant. An attribute or a coordinate that a learner has not
/// learned yet may be anything below 2^31: it is observed, and counts as such in the kernel, but the
/// learner knows nothing of it.
#[derive(Clone, Copy, Debug)]
pub struct Event<'a> {
    /// What is observed: the attribute of each item.
    pub attributes: &'a [u32],
    /// Where each value sits.
    pub coordinates: &'a [u32],
    /// The values, as many as coordinates.
    pub values: &'a [f64],
}

impl Event<'_> {
    /// How many items it has.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// The attributes, each once; `room` is for them where the items will not do.
    pub fn observed<'r>(&'r self, room: &'r mut Vec<u32>) -> &'r [u32] {
        if self.attributes.is_sorted_by(|one, other| one < other) {
            return self.attributes;
        }
        room.clear();
        room.extend_from_slice(self.attributes);
        room.dedup();
        room
    }

    /// Whether all it has is known to the encoder, as it is of events that were encoded to be learned.
    pub fn is_known(&self) -> bool {
        self.coordinates.iter().all(|&coordinate| coordinate < PASSING)
    }

    /// Whether nothing is observed.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }
}

/// Events one after another: event `t` has the items from `starts[t]` to `starts[t + 1]`.
#[derive(Clone, Copy, Debug)]
pub struct Block<'a> {
    /// Ascending, one more than there are events; the first need not be 0.
    pub starts: &'a [usize],
    /// See [`Event`].
    pub attributes: &'a [u32],
    /// See [`Event`].
    pub coordinates: &'a [u32],
    /// See [`Event`].
    pub values: &'a [f64],
}

impl<'a> Block<'a> {
    /// One event alone; `starts` are 0 and how many items it has.
    pub fn of(event: &Event<'a>, starts: &'a [usize; 2]) -> Self {
        let Event { attributes, coordinates, values } = *event;
        Self { starts, attributes, coordinates, values }
    }

    /// How many events there are.
    pub fn len(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    /// Whether there is no event.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Some events in a row.
    pub fn part(&self, begin: usize, events: usize) -> Self {
        Self { starts: &self.starts[begin..=begin + events], ..*self }
    }

    /// Event `t`.
    pub fn event(&self, t: usize) -> Event<'a> {
        let items = self.starts[t]..self.starts[t + 1];
        Event {
            attributes: &self.attributes[items.clone()],
            coordinates: &self.coordinates[items.clone()],
            values: &self.values[items],
        }
    }
}
