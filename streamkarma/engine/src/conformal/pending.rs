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
    /// The number of labels that had been learned by then.
    pub labels: u64,
    /// The prediction, or the probabilities of classes.
    pub numbers: Box<[f64]>,
}

/// Events predicted before their labels arrived, the oldest first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PendingPredictions {
    places: HashMap<u64, u64>,
    predictions: BTreeMap<u64, Prediction>,
    numbers: usize,
    last: u64,
}

impl PendingPredictions {
    /// Keep the prediction for an event, unless its ticket is already present; the oldest are evicted if there are too
    /// many.
    pub fn keep(&mut self, prediction: Prediction) {
        if self.places.contains_key(&prediction.ticket) {
            return;
        }
        self.last += 1;
        self.places.insert(prediction.ticket, self.last);
        self.numbers += prediction.numbers.len();
        self.predictions.insert(self.last, prediction);
        while self.predictions.len() > MOST || self.numbers > MOST_NUMBERS {
            let Some((_, oldest)) = self.predictions.pop_first() else { return };
            self.places.remove(&oldest.ticket);
            self.numbers -= oldest.numbers.len();
        }
    }

    /// The prediction for an event whose label has arrived.
    pub fn take(&mut self, ticket: u64) -> Option<Prediction> {
        let prediction = self.predictions.remove(&self.places.remove(&ticket)?)?;
        self.numbers -= prediction.numbers.len();
        Some(prediction)
    }

    /// All predictions, the oldest first.
    pub fn all(&self) -> impl Iterator<Item = &Prediction> {
        self.predictions.values()
    }

    /// The number of events.
    pub fn len(&self) -> usize {
        self.predictions.len()
    }

    /// Memory used, in bytes.
    pub fn bytes(&self) -> usize {
        self.predictions.len() * (BYTES + size_of::<Prediction>()) + 8 * self.numbers
    }
}
