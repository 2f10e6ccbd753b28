//! What was said of events that wait for their labels.

use std::collections::{BTreeMap, HashMap};

/// Most events that are kept.
pub const MOST: usize = 10_000;
/// Most numbers that they have together: 16 MB.
pub const MOST_NUMBERS: usize = 1 << 21;
/// Bytes of an event beside its numbers: its keys in two maps.
const BYTES: usize = 96;

/// What was said of an event.
#[derive(Clone, Debug, PartialEq)]
pub struct Said {
    /// Under which number it was asked about.
    pub ticket: u64,
    /// Up to which score labels were said.
    pub threshold: f64,
    /// The prediction, or the probabilities of classes.
    pub numbers: Box<[f64]>,
}

/// Events that were asked about, the oldest first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Kept {
    places: HashMap<u64, u64>,
    said: BTreeMap<u64, Said>,
    numbers: usize,
    last: u64,
}

impl Kept {
    /// Keep what was said of an event, unless it was asked about before; the oldest give way where there is no room.
    pub fn keep(&mut self, said: Said) {
        if self.places.contains_key(&said.ticket) {
            return;
        }
        self.last += 1;
        self.places.insert(said.ticket, self.last);
        self.numbers += said.numbers.len();
        self.said.insert(self.last, said);
        while self.said.len() > MOST || self.numbers > MOST_NUMBERS {
            let Some((_, oldest)) = self.said.pop_first() else { return };
            self.places.remove(&oldest.ticket);
            self.numbers -= oldest.numbers.len();
        }
    }

    /// What was said of an event whose label has come.
    pub fn take(&mut self, ticket: u64) -> Option<Said> {
        let said = self.said.remove(&self.places.remove(&ticket)?)?;
        self.numbers -= said.numbers.len();
        Some(said)
    }

    /// All of it, the oldest first.
    pub fn all(&self) -> impl Iterator<Item = &Said> {
        self.said.values()
    }

    /// How many events there are.
    pub fn len(&self) -> usize {
        self.said.len()
    }

    /// The memory that they take.
    pub fn bytes(&self) -> usize {
        self.said.len() * (BYTES + size_of::<Said>()) + 8 * self.numbers
    }
}
