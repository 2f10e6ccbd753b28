//! Predictions for events that await their labels.

use std::collections::{BTreeMap, HashMap};

/// Maximum number of events kept.
pub const MOST: usize = 10_000;
/// Maximum total of their numbers: 16 MB.
pub const MOST_NUMBERS: usize = 1 << 21;
/// Bytes per event in addition to its numbers: its keys in two maps.
const BYTES: usize = 96;

/// The prediction for an event.
#[derive(Clone, Debug, PartialEq)]
pub struct Prediction {
    /// The ticket under which it was predicted.
    pub ticket: u64,
    /// Labels with scores up to this were in the prediction.
    pub threshold: f64,
    /// The prediction, or the probabilities of classes.
    pub numbers: Box<[f64]>,
}

/// Events predicted before their labels arrived, the oldest first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Kept {
    places: HashMap<u64, u64>,
    said: BTreeMap<u64, Prediction>,
    numbers: usize,
    last: u64,
}

impl Kept {
    /// Keep the prediction for an event, unless its ticket is already present; the oldest are evicted if there are too
    /// many.
    pub fn keep(&mut self, said: Prediction) {
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

    /// The prediction for an event whose label has arrived.
    pub fn take(&mut self, ticket: u64) -> Option<Prediction> {
        let said = self.said.remove(&self.places.remove(&ticket)?)?;
        self.numbers -= said.numbers.len();
        Some(said)
    }

    /// All predictions, the oldest first.
    pub fn all(&self) -> impl Iterator<Item = &Prediction> {
        self.said.values()
    }

    /// The number of events.
    pub fn len(&self) -> usize {
        self.said.len()
    }

    /// Memory used, in bytes.
    pub fn bytes(&self) -> usize {
        self.said.len() * (BYTES + size_of::<Prediction>()) + 8 * self.numbers
    }
}
