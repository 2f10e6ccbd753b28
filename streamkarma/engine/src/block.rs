//! Encoded events, stored one after another.

use crate::vocabulary::PASSING;

/// A word of a text, a pair of neighbouring words, or a tag, which need not have a coordinate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Term {
    /// The attribute that it is explained by.
    pub attribute: u32,
    /// A hash of the attribute's name and the term, above 0 and below [`KEYS`](crate::rate_key::KEYS).
    pub key: u64,
}

/// One event: its observed items, with attributes ascending and values finite.
///
/// An attribute with several values at once, such as a set of tags, has that many items, side by side.
///
/// Attribute 0 and coordinate 0 are the constant. Attributes and coordinates that a learner has not learned yet may
/// have any index below 2^31: they are observed, and count as such in the kernel, but the learner has learned nothing
/// about them.
#[derive(Clone, Copy, Debug)]
pub struct Event<'a> {
    /// The attribute of each item.
    pub attributes: &'a [u32],
    /// The coordinate of each item.
    pub coordinates: &'a [u32],
    /// The values, as many as coordinates.
    pub values: &'a [f64],
    /// The raw values, before they were standardised: for learners that compare events over a long time, during which
    /// the running scale moves.
    pub raw: &'a [f64],
    /// The terms of all its texts and tags.
    pub terms: &'a [Term],
}

impl<'a> Event<'a> {
    /// An event without terms, whose values are raw.
    pub fn of(attributes: &'a [u32], coordinates: &'a [u32], values: &'a [f64]) -> Self {
        Self { attributes, coordinates, values, raw: values, terms: &[] }
    }

    /// The number of items.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// The attributes, each once; `room` is a buffer for them, used if the items repeat one.
    pub fn observed<'r>(&'r self, room: &'r mut Vec<u32>) -> &'r [u32] {
        if self.attributes.is_sorted_by(|one, other| one < other) {
            return self.attributes;
        }
        room.clear();
        room.extend_from_slice(self.attributes);
        room.dedup();
        room
    }

    /// Whether all its coordinates are known to the encoder, as is true of events that were encoded to be learned.
    pub fn is_known(&self) -> bool {
        self.coordinates.iter().all(|&coordinate| coordinate < PASSING)
    }

    /// Whether nothing is observed.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }
}

/// Attributes and coordinates that were evicted before an event; their indices are used again for others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Evicted {
    /// Where the items of that event begin.
    pub before: usize,
    /// Attributes, ascending.
    pub attributes: Vec<u32>,
    /// Coordinates, ascending, including those of the attributes.
    pub coordinates: Vec<u32>,
}

/// The number of indices up to the highest of these.
pub fn room_for(indices: &[u32]) -> usize {
    // The fold starts from 0, since one over options takes several times as long.
    let highest = indices.iter().fold(0, |highest, &each| highest.max(each));
    if indices.is_empty() { 0 } else { highest as usize + 1 }
}

/// Those of ascending indices that are below a count.
pub fn below(indices: &[u32], count: usize) -> &[u32] {
    &indices[..indices.partition_point(|&each| (each as usize) < count)]
}

/// The terms of consecutive events.
#[derive(Clone, Copy, Debug, Default)]
pub struct Terms<'a> {
    /// Ascending, one more than there are events; empty if no event has any.
    pub starts: &'a [usize],
    /// Those of one event after another.
    pub all: &'a [Term],
}

impl<'a> Terms<'a> {
    /// Those of event `t`.
    fn of(&self, t: usize) -> &'a [Term] {
        if self.starts.is_empty() { &[] } else { &self.all[self.starts[t]..self.starts[t + 1]] }
    }

    /// Those of a range of consecutive events.
    fn part(&self, begin: usize, events: usize) -> Self {
        if self.starts.is_empty() {
            *self
        } else {
            Self { starts: &self.starts[begin..=begin + events], ..*self }
        }
    }
}

/// Consecutive events: event `t` has the items from `starts[t]` to `starts[t + 1]`.
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
    /// See [`Event`].
    pub terms: Terms<'a>,
    /// What was evicted along the way, in the order of the events.
    pub evicted: &'a [Evicted],
}

impl<'a> Block<'a> {
    /// A single event without terms; `starts` are 0 and its number of items.
    pub fn of(event: &Event<'a>, starts: &'a [usize; 2]) -> Self {
        let Event { attributes, coordinates, values, raw, .. } = *event;
        Self { starts, attributes, coordinates, values, raw, terms: Terms::default(), evicted: &[] }
    }

    /// A single event; `starts` are 0 and its number of items, and `terms` those of its terms.
    pub fn whole(event: &Event<'a>, starts: &'a [usize; 2], terms: &'a [usize; 2]) -> Self {
        Self { terms: Terms { starts: terms, all: event.terms }, ..Self::of(event, starts) }
    }

    /// The number of events.
    pub fn len(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    /// Whether there are no events.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// A range of consecutive events.
    pub fn part(&self, begin: usize, events: usize) -> Self {
        let starts = &self.starts[begin..=begin + events];
        let first = |start: usize| self.evicted.partition_point(|evicted| evicted.before < start);
        let evicted = &self.evicted[first(starts[0])..first(starts[events])];
        Self { starts, evicted, terms: self.terms.part(begin, events), ..*self }
    }

    /// What was evicted before event `t`.
    pub fn evicted_before(&self, t: usize) -> Option<&'a Evicted> {
        if self.evicted.is_empty() {
            return None;
        }
        let found = self.evicted.binary_search_by_key(&self.starts[t], |evicted| evicted.before);
        found.ok().map(|at| &self.evicted[at])
    }

    /// Event `t`.
    #[inline]
    pub fn event(&self, t: usize) -> Event<'a> {
        let items = self.starts[t]..self.starts[t + 1];
        Event {
            attributes: &self.attributes[items.clone()],
            coordinates: &self.coordinates[items.clone()],
            values: &self.values[items.clone()],
            raw: &self.raw[items],
            terms: self.terms.of(t),
        }
    }
}
