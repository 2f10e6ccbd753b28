//! Events from before a change leave the window at once.
//!
//! Half of a full window is of the old world until as many new events have come as it holds. So the neighbours' own
//! errors are watched by ADWIN, see [`crate::adwin`]: once these have become more than they were, what is older than
//! the errors that it keeps is dropped, as in [B]. Errors that become fewer are no reason to drop anything.
//!
//! The error of an event is what was missing to a probability of 1 for its class, which tells sooner than right or
//! wrong does; or how far its target was off, as a part of that and the standard deviation. Neighbours that rest in a
//! mixture say nothing of most events; only those that they were asked about are judged and counted.
//!
//! [B] Bifet, Pfahringer, Read, Holmes: Efficient Data Stream Classification via Probabilistic Adaptive Windows, SAC
//! 2013 (k nearest neighbours with ADWIN).

use super::Neighbors;

/// The chance of an alarm where nothing changes, each time. On six streams with a change (mixed and sine; 0, 30 and
/// 50 % missing; seeds 11 to 16) anything between 1e-2 and 1e-7 made as many errors afterwards.
pub const DELTA: f64 = 1e-4;

/// So many errors are taken in at a time: single ones would make an event take a tenth longer.
pub const BATCH: usize = 8;

impl Neighbors {
    /// Between 0 and 1 how wrong it was what the neighbours said; None if they were not asked, or there are none.
    pub(super) fn error(&self, label: f64, scores: &[f64]) -> Option<f64> {
        if self.nearest.found.is_empty() {
            return None;
        }
        if self.settings.regression {
            let away = (label - scores[0]).abs();
            return Some(if away > 0.0 { away / (away + self.target.variance.sqrt()) } else { 0.0 });
        }
        // The slope of the log loss is that much.
        Some(self.slopes[if self.slopes.len() > 1 { label as usize } else { 0 }].abs().min(1.0))
    }

    /// Take in the error of the event that was put into the window last, and drop what is from before a change.
    pub(super) fn watch(&mut self, error: f64) {
        self.batch.push(error);
        if self.batch.len() < BATCH {
            return;
        }
        let squares = self.batch.iter().map(|error| error * error).sum();
        let drift = self.errors.update(BATCH as u64, self.batch.iter().sum(), squares);
        self.batch.clear();
        if let Some(drift) = drift
            && drift.after > drift.before
        {
            self.cut(drift.length);
        }
    }

    /// Drop all that is older than so many events that the neighbours were asked about.
    fn cut(&mut self, asked: u64) {
        let events = self.labels.len();
        let (mut slots, mut left) = (Vec::new(), asked);
        for age in 1..=events {
            let slot = (self.next + events - age) % events;
            slots.push(slot);
            left -= u64::from(self.asked[slot]);
            if left == 0 {
                break;
            }
        }
        if slots.len() < events {
            slots.reverse();
            self.begin_anew(&slots);
        }
    }

    /// Go on with the events of some slots, the oldest first.
    pub(super) fn retain(&mut self, slots: &[usize]) {
        self.columns.retain(slots);
        self.labels = slots.iter().map(|&slot| self.labels[slot]).collect();
        self.weights = slots.iter().map(|&slot| self.weights[slot]).collect();
        self.learned_at = slots.iter().map(|&slot| self.learned_at[slot]).collect();
        self.asked = slots.iter().map(|&slot| self.asked[slot]).collect();
        self.next = slots.len() % self.room;
        let weight: f64 = self.weights.iter().sum();
        self.target.count = self.target.count.min(weight).min(self.room as f64);
        self.recount();
    }
}
