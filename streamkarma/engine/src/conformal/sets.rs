//! Sets of classes.

use super::calibration::Calibration;
use super::pending::{PendingPredictions, Prediction};
use crate::math::{exp, logistic};

/// Sets that hold the class with the requested coverage; see the parent module.
#[derive(Clone, Debug, PartialEq)]
pub struct Sets {
    pub(super) calibration: Calibration,
    pub(super) pending: PendingPredictions,
    /// Class probabilities of the current event.
    chances: Vec<f64>,
}

impl Sets {
    /// For a coverage between 0 and 1, both excluded.
    pub fn new(coverage: f64) -> Self {
        Self {
            calibration: Calibration::new(coverage),
            pending: PendingPredictions::default(),
            chances: Vec::new(),
        }
    }

    /// Mark the classes that are in the set of an event.
    ///
    /// `scores` are a learner's, one or one per class; `known` is the number of classes when it was predicted.
    /// `members` may have room for more classes or fewer. All classes are in the set before the first score.
    pub fn mark(&mut self, scores: &[f64], known: usize, members: &mut [bool]) {
        self.predict(scores, known);
        let threshold = self.calibration.threshold();
        members.fill(false);
        for (member, chance) in members.iter_mut().zip(&self.chances) {
            *member = 1.0 - chance <= threshold;
        }
    }

    /// The set of an event as by `mark`, which is then learned, or kept under its ticket until its label arrives.
    ///
    /// `class` is the index of the label; `learned` and `ticket` are as in [`Intervals`](super::Intervals).
    pub fn step(
        &mut self,
        (scores, known): (&[f64], usize),
        class: Option<usize>,
        learned: bool,
        ticket: u64,
        members: &mut [bool],
    ) {
        self.mark(scores, known, members);
        let (threshold, labels) = (self.calibration.threshold(), self.calibration.labels());
        match class {
            None if ticket > 0 => {
                let numbers = self.chances.as_slice().into();
                self.pending.keep(Prediction { ticket, threshold, labels, numbers });
            }
            Some(class) if learned => {
                let before = self.pending.take(ticket);
                let (threshold, labels, chances) = match &before {
                    Some(before) => (before.threshold, before.labels, &*before.numbers),
                    None => (threshold, labels, self.chances.as_slice()),
                };
                // A class that was unknown then had probability zero.
                let score = 1.0 - chances.get(class).unwrap_or(&0.0);
                self.calibration.learn(score, threshold, labels);
            }
            _ => {}
        }
    }

    /// Compute the probabilities of the known classes.
    fn predict(&mut self, scores: &[f64], known: usize) {
        let chances = &mut self.chances;
        chances.clear();
        if known == 1 {
            chances.push(1.0);
        } else if known == 2 {
            // One score, or those of a block in which more classes appear: bit for bit the same.
            let score = if let &[first, second, ..] = scores { second - first } else { scores[0] };
            let second = if score.is_nan() { 0.5 } else { logistic(score) };
            chances.extend([1.0 - second, second]);
        } else {
            let sound = scores.iter().take(known).map(|&score| if score.is_nan() { 0.0 } else { score });
            chances.extend(sound.map(|score| score.clamp(-1e300, 1e300)));
            let greatest = chances.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            chances.iter_mut().for_each(|chance| *chance = exp(*chance - greatest));
            let total: f64 = chances.iter().sum();
            chances.iter_mut().for_each(|chance| *chance /= total);
        }
    }

    /// Memory used, in bytes.
    pub fn bytes(&self) -> usize {
        self.calibration.bytes() + self.pending.bytes()
    }
}
