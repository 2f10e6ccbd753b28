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
    /// The values as they came, before they were standardised: for learners that compare events over a long time, in
    /// which the running scale moves.
    pub raw: &'a [f64],
}

impl<'a> Event<'a> {
    /// One whose values are as they came.
    pub fn of(attributes: &'a [u32], coordinates: &'a [u32], values: &'a [f64]) -> Self {
        Self { attributes, coordinates, values, raw: values }
    }

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

/// Attributes and coordinates that were given up before an event, to be used again for others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Gone {
    /// Where the items of that event begin.
    pub before: usize,
    /// Attributes, ascending.
    pub attributes: Vec<u32>,
    /// Coordinates, ascending, those of the attributes among them.
    pub coordinates: Vec<u32>,
}

/// How many indices there are up to the highest of some.
pub fn room_for(indices: &[u32]) -> usize {
    // Beginning with 0, since a fold over options takes several times as long.
    let highest = indices.iter().fold(0, |highest, &each| highest.max(each));
    if indices.is_empty() { 0 } else { highest as usize + 1 }
}

/// Of ascending indices those below a count.
pub fn below(indices: &[u32], count: usize) -> &[u32] {
    &indices[..indices.partition_point(|&each| (each as usize) < count)]
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
    /// See [`Event`].
    pub raw: &'a [f64],
    /// What was given up on the way, in the order of the events.
    pub gone: &'a [Gone],
}

impl<'a> Block<'a> {
    /// One event alone; `starts` are 0 and how many items it has.
    pub fn of(event: &Event<'a>, starts: &'a [usize; 2]) -> Self {
        let Event { attributes, coordinates, values, raw } = *event;
        Self { starts, attributes, coordinates, values, raw, gone: &[] }
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
        let starts = &self.starts[begin..=begin + events];
        let first = |start: usize| self.gone.partition_point(|gone| gone.before < start);
        let gone = &self.gone[first(starts[0])..first(starts[events])];
        Self { starts, gone, ..*self }
    }

    /// What was given up before event `t`.
    pub fn gone_before(&self, t: usize) -> Option<&'a Gone> {
        if self.gone.is_empty() {
            return None;
        }
        let found = self.gone.binary_search_by_key(&self.starts[t], |gone| gone.before);
        found.ok().map(|at| &self.gone[at])
    }

    /// Event `t`.
    pub fn event(&self, t: usize) -> Event<'a> {
        let items = self.starts[t]..self.starts[t + 1];
        Event {
            attributes: &self.attributes[items.clone()],
            coordinates: &self.coordinates[items.clone()],
            values: &self.values[items.clone()],
            raw: &self.raw[items],
        }
    }
}
