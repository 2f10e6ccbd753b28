//! Placeholders for rates in an event.

use crate::block::Event;
use crate::rate_key::{from_value, is_neighbourhood, is_rate};

/// The keys of one attribute in an event.
pub struct Keys<'a> {
    /// The coordinates of the rates.
    pub coordinates: &'a [u32],
    /// Each key once per coordinate, but that of a neighbourhood only once.
    pub values: &'a [f64],
    /// The key of a number and that of its neighbourhood; None for categories.
    pub number: Option<[u64; 2]>,
}

impl<'a> Keys<'a> {
    /// The keys that begin at an item of an event; None if that is a value or a term.
    pub fn at(event: &Event<'a>, at: usize) -> Option<Self> {
        let (attributes, coordinates) = (&event.attributes[at..], &event.coordinates[at..]);
        let values = &event.values[at..];
        if !is_rate(*values.first()?) {
            return None;
        }
        let is_other = |(attribute, value): (&u32, &f64)| *attribute != attributes[0] || !is_rate(*value);
        let count = attributes.iter().zip(values).position(is_other).unwrap_or(values.len());
        let again = coordinates[1..count].iter().position(|&other| other == coordinates[0]);
        let width = again.map_or(count, |before| before + 1);
        let around = from_value(values[count - 1]).filter(|&key| is_neighbourhood(key));
        let number = around.and_then(|around| Some([from_value(values[0])?, around]));
        Some(Self { coordinates: &coordinates[..width], values: &values[..count], number })
    }

    /// Each of them once.
    pub fn each(&self) -> impl Iterator<Item = u64> {
        self.values.iter().step_by(self.coordinates.len()).filter_map(|&value| from_value(value))
    }

    /// Each key of a name.
    pub fn names(&self) -> impl Iterator<Item = u64> {
        self.each().filter(|&key| !is_neighbourhood(key))
    }
}
