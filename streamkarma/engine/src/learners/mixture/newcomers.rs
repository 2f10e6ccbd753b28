//! Attributes that appear late in a stream.
//!
//! What they tell may be of use to experts that were of no use without them, but errors only fall, which happens all the
//! time, and an expert that learns few events takes long to show it.

use super::resting::SEGMENT;

/// New attributes matter if at least one event in this many has one.
const RARE: u64 = 20;

/// Which attributes are new. They are numbered in the order of their appearance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Newcomers {
    /// The greatest number of an attribute that is not new.
    pub known: u32,
    /// The greatest number so far.
    pub greatest: u32,
    /// The number of events since the last decision that have a new attribute.
    pub events: u64,
}

impl Newcomers {
    /// Record an event, given the numbers of its attributes in ascending order.
    pub fn observe(&mut self, attributes: &[u32]) {
        let greatest = attributes.last().copied().unwrap_or_default();
        self.greatest = self.greatest.max(greatest);
        self.events += u64::from(greatest > self.known);
    }

    /// Whether new attributes matter, after a segment. Then, and while it is `too_early` to ask, they are no longer new.
    pub fn matter(&mut self, too_early: bool) -> bool {
        let matter = !too_early && self.events * RARE >= SEGMENT;
        if matter || too_early {
            self.known = self.greatest;
        }
        self.events = 0;
        matter
    }
}
