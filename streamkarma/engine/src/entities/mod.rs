//! What entities said before: a device, a patient, a customer, each with the last value of every attribute.
//!
//! A message often has only what has just changed; the rest is what its entity said last. Of each entity are
//! kept its last values and when they came, its labels, how often it came and when it was there last. When there
//! are too many entities, or they have too many values, those that were not seen for the longest time leave.

mod label;
mod merging;
mod past_labels;
mod state;
mod store;

pub use past_labels::{PastLabel, PastLabels};
pub use store::{Entities, Remembered};

/// So many values of an entity are kept in the mean; of a single one there may be more.
pub const MEAN_VALUES: usize = 32;

/// What becomes of what an entity said before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Carry {
    /// It is remembered, and that is all.
    Off,
    /// An attribute that is missing has the value it had last.
    #[default]
    Fill,
    /// Beside each attribute stand its last value, `NAME.last`, and how old that is, `NAME.age`.
    Last,
}

impl Carry {
    const ALL: [(&str, Self); 3] = [("off", Self::Off), ("fill", Self::Fill), ("last", Self::Last)];

    /// The one of that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(each, _)| *each == name).map(|(_, carry)| *carry)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, carry)| *carry == self).map_or("", |(name, _)| *name)
    }
}

/// Whose events are whose, and what becomes of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Rules {
    /// The attribute that says which entity it is.
    pub entity: Box<[u8]>,
    /// Whether it is an attribute beside that.
    pub is_attribute: bool,
    /// What says when an event happened, and is no attribute; without it events are counted.
    pub time: Option<Box<[u8]>>,
    /// See [`Carry`].
    pub carry: Carry,
    /// Whether the labels that an entity had are remembered and carried as well.
    pub labels: bool,
    /// Values that are older, in seconds or events, count as missing.
    pub longest: f64,
    /// Most entities.
    pub most: usize,
}
