//! The past of entities: the last value of every attribute of a device, a patient or a customer.
//!
//! A message often contains only what has just changed; the rest is as in the entity's earlier messages. For each
//! entity, the store keeps the last values and when they came, its labels, its number of events and when it was last
//! seen. If there are too many entities, or they have too many values, those that were not seen for the longest time
//! are evicted.

mod label;
mod merging;
mod past_labels;
mod state;
mod store;

pub use past_labels::{PastLabel, PastLabels};
pub use store::{Entities, Remembered};

/// Mean number of values kept per entity; a single entity may have more.
pub const MEAN_VALUES: usize = 32;

/// How the past values of an entity are used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Carry {
    /// They are remembered, but not used.
    Off,
    /// A missing attribute has its last value.
    #[default]
    Fill,
    /// Next to each attribute there are its last value, `NAME.last`, and the age of that, `NAME.age`.
    Last,
}

impl Carry {
    const ALL: [(&str, Self); 3] = [("off", Self::Off), ("fill", Self::Fill), ("last", Self::Last)];

    /// The variant with that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(each, _)| *each == name).map(|(_, carry)| *carry)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, carry)| *carry == self).map_or("", |(name, _)| *name)
    }
}

/// How events are assigned to entities, and how past values are used.
#[derive(Clone, Debug, PartialEq)]
pub struct EntityRules {
    /// The attribute that identifies the entity.
    pub entity: Box<[u8]>,
    /// Whether it is also a regular attribute.
    pub is_attribute: bool,
    /// The field with the time of an event, which is not an attribute; without it, time is counted in events.
    pub time: Option<Box<[u8]>>,
    /// See [`Carry`].
    pub carry: Carry,
    /// Whether the past labels of an entity are remembered and carried as well.
    pub labels: bool,
    /// Older values, in seconds or events, count as missing.
    pub longest: f64,
    /// Maximum number of entities.
    pub most: usize,
}
