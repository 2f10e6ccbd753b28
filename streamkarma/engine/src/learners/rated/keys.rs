//! What an event has in place of rates.

use crate::block::Event;
use crate::rate_key::{from_value, is_key, is_neighbourhood};

/// The keys that an event has of one attribute.
pub struct Keys<'a> {
    /// Where rates are to be.
    pub coordinates: &'a [u32],
    /// Each key as often as there are coordinates, but that of a neighbourhood once.
    pub values: &'a [f64],
}

impl<'a> Keys<'a> {
    /// Those whose first is an item of an event; None if that is a value.
    pub fn at(event: &Event<'a>, at: usize) -> Option<Self> {
        if !is_key(event.values[at]) {
            return None;
        }
        let items = event.attributes.iter().zip(event.values).skip(at);
        let count = items.take_while(|(own, value)| **own == event.attributes[at] && is_key(**value)).count();
        let coordinates = &event.coordinates[at..at + count];
        let again = coordinates.iter().skip(1).position(|&other| other == coordinates[0]);
        let coordinates = &coordinates[..again.map_or(count, |before| before + 1)];
        Some(Self { coordinates, values: &event.values[at..at + count] })
    }

    /// Each of them once.
    pub fn each(&self) -> impl Iterator<Item = u64> {
        self.values.iter().step_by(self.coordinates.len()).filter_map(|&value| from_value(value))
    }

    /// Each that is a name.
    pub fn names(&self) -> impl Iterator<Item = u64> {
        self.each().filter(|&key| !is_neighbourhood(key))
    }

    /// The key of a number and that of its neighbourhood; None of categories.
    pub fn number(&self) -> Option<[u64; 2]> {
        let around = from_value(*self.values.last()?).filter(|&key| is_neighbourhood(key))?;
        Some([from_value(self.values[0])?, around])
    }
}
