//! Events from before a change leave the window at once.
//!
//! Half of a full window is of the old world until as many new events have come as it holds. So the neighbours' own
//! errors are watched, see [`crate::learners::errors`]: once these have become more than they were, what is older than
//! the errors that it keeps is dropped, as in [B]. Errors that become fewer are no reason to drop anything.
//!
//! The error of an event is what was missing to a probability of 1 for its class, which tells sooner than right or
//! wrong does; or how far its target was off, as a part of that and the standard deviation. Neighbours that rest in a
//! mixture say nothing of most events; only those that they were asked about are judged and counted.
//!
//! [B] Bifet, Pfahringer, Read, Holmes: Efficient Data Stream Classification via Probabilistic Adaptive Windows, SAC
//! 2013 (k nearest neighbours with ADWIN).

use super::Neighbors;
use crate::learners::errors::ROUNDING;

/// So many errors are taken in at a time: single ones would make an event take a tenth longer.
pub const BATCH: u32 = 8;

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

    /// Take in the error of the event that was learned last, and drop what is from before a change.
    pub(super) fn watch(&mut self, error: f64, weight: f64) {
        if let Some(newer) = self.errors.observe(error, weight) {
            self.cut(newer);
        }
    }

    /// Drop all that is older than the latest events that the neighbours were asked about, of so much weight.
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
