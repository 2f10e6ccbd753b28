//! Drops the events from before a change at once.
//!
//! After a change, half of a full window is from the old distribution until as many new events have arrived as it
//! holds. So the neighbours' own errors are monitored, see [`crate::learners::errors`]: once they increase, all events
//! older than the errors that the detector keeps are dropped, as in [B]. Decreasing errors are no reason to drop
//! anything.
//!
//! The error of an event is 1 minus the probability of its class, which reveals a change sooner than right or wrong
//! does; or the deviation of its target, as a fraction of the sum of that and the standard deviation. Neighbours that
//! rest in a mixture do not predict most events; only events that they predicted are judged and counted.
//!
//! [B] Bifet, Pfahringer, Read, Holmes: Efficient Data Stream Classification via Probabilistic Adaptive Windows, SAC
//! 2013 (k nearest neighbours with ADWIN).

use super::Neighbors;
use crate::learners::errors::ROUNDING;

/// Number of errors processed at a time: one at a time would make an event cost a tenth more.
pub const BATCH: u32 = 8;

impl Neighbors {
    /// The error of the neighbours' prediction, between 0 and 1; None if they made none, or if there are no neighbours.
    pub(super) fn error(&self, label: f64, scores: &[f64]) -> Option<f64> {
        if self.nearest.found.is_empty() {
            return None;
        }
        if self.settings.regression {
            let away = (label - scores[0]).abs();
            return Some(if away > 0.0 { away / (away + self.target.variance.sqrt()) } else { 0.0 });
        }
        // The slope of the log loss is just that.
        Some(self.slopes[if self.slopes.len() > 1 { label as usize } else { 0 }].abs().min(1.0))
    }

    /// Process the error of the event learned last, and drop the events from before a change.
    pub(super) fn watch(&mut self, error: f64, weight: f64) {
        if let Some(newer) = self.errors.observe(error, weight) {
            self.cut(newer);
        }
    }

    /// Drop all events older than the latest ones that the neighbours predicted, of total weight `newer`.
    fn cut(&mut self, newer: f64) {
        let events = self.labels.len();
        let (mut slots, mut left) = (Vec::new(), newer);
        for age in 1..=events {
            let slot = (self.next + events - age) % events;
            slots.push(slot);
            left -= if self.asked[slot] { self.weights[slot].min(1.0) } else { 0.0 };
            if left <= ROUNDING {
                break;
            }
        }
        if slots.len() < events {
            slots.reverse();
            self.begin_anew(&slots);
        }
    }

    /// Keep only the events of some slots, the oldest first.
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
