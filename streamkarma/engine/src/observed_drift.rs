//! The fraction of events in which each attribute is present, and whether it changes: one ADWIN window per attribute.
//!
//! Only values from the event itself count as present: with values carried over from earlier events of its entity, a
//! dead sensor would go unnoticed.

use crate::adwin::{Adwin, Drift};
use crate::encoded::Encoded;

/// How to look for changes.
#[derive(Clone, Copy, Debug)]
pub struct DriftSettings {
    /// Probability of a false alarm per test, see [`Adwin::new`].
    pub delta: f64,
    /// Events per batch: adding them one by one would take many times as long.
    pub batch: usize,
    /// Changes of an attribute within this many events count as one, since windows shrink step by step.
    pub apart: u64,
    /// Maximum number of attributes that are watched: those known first.
    pub most: usize,
}

/// A change: an attribute is present more or less often.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Change {
    /// The number of the event at which it was found.
    pub event: u64,
    /// The attribute.
    pub attribute: usize,
    /// The fraction of events in which it was present.
    pub before: f64,
    /// The fraction in which it is present now.
    pub after: f64,
}

/// Detects changes in how often attributes are present.
#[derive(Clone, Debug)]
pub struct ObservedDrift {
    settings: DriftSettings,
    /// By attribute, without the constant.
    watches: Vec<Watch>,
    /// How many events of this batch each attribute was present in, and how many events the batch has so far.
    counts: Vec<u64>,
    count: usize,
}

#[derive(Clone, Debug)]
struct Watch {
    adwin: Adwin,
    /// The event at which a change was last found.
    last: Option<u64>,
}

impl ObservedDrift {
    /// Create a detector that has seen no events.
    pub fn new(settings: DriftSettings) -> Self {
        Self { settings, watches: Vec::new(), counts: Vec::new(), count: 0 }
    }

    /// Add events in order and return the changes found; `first` is the number of the first event.
    pub fn add(&mut self, events: &Encoded, first: u64) -> Vec<Change> {
        let mut found = Vec::new();
        let block = events.block();
        // Both these and the positions below ascend.
        let mut carried = events.carried.iter().copied().peekable();
        for (t, number) in (0..block.len()).zip(first..) {
            if let Some(evicted) = block.evicted_before(t) {
                self.forget(&evicted.attributes);
            }
            // The constant is left out, and an attribute may have several adjacent items.
            let mut last = 0;
            for (place, &attribute) in (block.starts[t]..).zip(block.event(t).attributes) {
                let attribute = attribute as usize;
                if attribute == std::mem::replace(&mut last, attribute) || attribute > self.settings.most {
                    continue;
                }
                while carried.next_if(|&at| at < place).is_some() {}
                // Keys of rates have no raw value.
                if carried.peek() == Some(&place) || block.raw[place].is_nan() {
                    continue;
                }
                if attribute > self.counts.len() {
                    self.counts.resize(attribute, 0);
                }
                self.counts[attribute - 1] += 1;
            }
            self.count += 1;
            if self.count == self.settings.batch {
                self.finish(number, &mut found);
            }
        }
        found
    }

    /// Forget evicted attributes, since other attributes may reuse their indices from now on.
    fn forget(&mut self, attributes: &[u32]) {
        for attribute in attributes.iter().filter(|&&attribute| attribute > 0) {
            let at = *attribute as usize - 1;
            if let Some(count) = self.counts.get_mut(at) {
                *count = 0;
            }
            if let Some(watch) = self.watches.get_mut(at) {
                *watch = Watch { adwin: Adwin::new(self.settings.delta), last: None };
            }
        }
    }

    /// Each attribute observed so far, with the fraction of events since its last change in which it was present.
    pub fn shares(&self) -> impl Iterator<Item = (usize, f64)> + '_ {
        let known = (1..).zip(&self.watches).filter(|(_, watch)| !watch.adwin.is_empty());
        known.map(|(attribute, watch)| (attribute, watch.adwin.mean()))
    }

    fn finish(&mut self, event: u64, found: &mut Vec<Change>) {
        let DriftSettings { delta, batch, apart, .. } = self.settings;
        self.watches.resize_with(self.counts.len(), || Watch { adwin: Adwin::new(delta), last: None });
        for (attribute, (watch, count)) in (1..).zip(self.watches.iter_mut().zip(&mut self.counts)) {
            // The squares of zeros and ones are the numbers themselves.
            let there = std::mem::take(count) as f64;
            if let Some(Drift { before, after, .. }) = watch.adwin.update(batch as u64, there, there) {
                if watch.last.is_none_or(|last| event >= last + apart) {
                    found.push(Change { event, attribute, before, after });
                }
                watch.last = Some(event);
            }
        }
        self.count = 0;
    }
}
