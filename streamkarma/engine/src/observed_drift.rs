//! In what share of events each attribute is there, and whether that changes: a window of ADWIN for each.
//!
//! Only what events say themselves is there: with what their entities said before, nobody would miss a sensor that
//! died.

use crate::adwin::{Adwin, Drift};
use crate::encoded::Encoded;

/// How changes are looked for.
#[derive(Clone, Copy, Debug)]
pub struct Watching {
    /// The probability of an alarm by chance, each time, see [`Adwin::new`].
    pub delta: f64,
    /// Events that are taken in together: single ones would take many times as long.
    pub batch: usize,
    /// Changes of an attribute within so many events count as one: windows shrink step by step.
    pub apart: u64,
    /// Attributes that are watched: those known first.
    pub most: usize,
}

/// A change: an attribute is there more or less often.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Change {
    /// The number of the event at which it was found.
    pub event: u64,
    /// Which attribute.
    pub attribute: usize,
    /// In what share of the events it was there.
    pub before: f64,
    /// In what share it is there now.
    pub after: f64,
}

/// Watches which attributes events have.
#[derive(Clone, Debug)]
pub struct ObservedDrift {
    how: Watching,
    /// By attribute, the constant apart.
    watches: Vec<Watch>,
    /// In how many events of this batch each attribute was, and how many events it has so far.
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
    /// One that has seen nothing.
    pub fn new(how: Watching) -> Self {
        Self { how, watches: Vec::new(), counts: Vec::new(), count: 0 }
    }

    /// Add events in turn, and return the changes found; `first` is the number of the first of them.
    pub fn add(&mut self, events: &Encoded, first: u64) -> Vec<Change> {
        let mut found = Vec::new();
        let block = events.block();
        // Places ascend here as there.
        let mut derived = events.derived.iter().copied().peekable();
        for (t, number) in (0..block.len()).zip(first..) {
            if let Some(gone) = block.gone_before(t) {
                self.forget(&gone.attributes);
            }
            let mut place = block.starts[t];
            // An attribute may have several items, side by side.
            for items in block.event(t).attributes.chunk_by(|one, next| one == next) {
                let attribute = items[0] as usize;
                while derived.next_if(|&at| at < place).is_some() {}
                let is_derived = derived.peek() == Some(&place);
                place += items.len();
                if attribute == 0 || attribute > self.how.most || is_derived {
                    continue;
                }
                if attribute > self.counts.len() {
                    self.counts.resize(attribute, 0);
                }
                self.counts[attribute - 1] += 1;
            }
            self.count += 1;
            if self.count == self.how.batch {
                self.finish(number, &mut found);
            }
        }
        found
    }

    /// Attributes were given up, whose indices may be those of others from now on.
    fn forget(&mut self, attributes: &[u32]) {
        for attribute in attributes.iter().filter(|&&attribute| attribute > 0) {
            let at = *attribute as usize - 1;
            if let Some(count) = self.counts.get_mut(at) {
                *count = 0;
            }
            if let Some(watch) = self.watches.get_mut(at) {
                *watch = Watch { adwin: Adwin::new(self.how.delta), last: None };
            }
        }
    }

    /// In what share of the events since its last change each attribute is there, that has been there at all.
    pub fn shares(&self) -> impl Iterator<Item = (usize, f64)> + '_ {
        let known = (1..).zip(&self.watches).filter(|(_, watch)| !watch.adwin.is_empty());
        known.map(|(attribute, watch)| (attribute, watch.adwin.mean()))
    }

    fn finish(&mut self, event: u64, found: &mut Vec<Change>) {
        let Watching { delta, batch, apart, .. } = self.how;
        self.watches.resize_with(self.counts.len(), || Watch { adwin: Adwin::new(delta), last: None });
        for (attribute, (watch, count)) in (1..).zip(self.watches.iter_mut().zip(&mut self.counts)) {
            // Of zeros and ones the squares are the numbers themselves.
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
