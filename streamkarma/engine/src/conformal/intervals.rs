//! Intervals around predicted numbers.

use super::calibration::Calibration;
use super::pending::{PendingPredictions, Prediction};

/// Intervals that hold the target with the requested coverage; see the parent module.
#[derive(Clone, Debug, PartialEq)]
pub struct Intervals {
    pub(super) calibration: Calibration,
    pub(super) pending: PendingPredictions,
}

impl Intervals {
    /// For a coverage between 0 and 1, both excluded.
    pub fn new(coverage: f64) -> Self {
        Self { calibration: Calibration::new(coverage), pending: PendingPredictions::default() }
    }

    /// The ends of the interval around a prediction; infinite before the first score.
    pub fn around(&self, prediction: f64) -> [f64; 2] {
        let radius = self.calibration.threshold().max(0.0);
        [prediction - radius, prediction + radius]
    }

    /// The interval of an event, which is then learned, or kept under its ticket until its target arrives.
    ///
    /// `target` is NaN if there is none; `learned` is whether a target is learned from, and `ticket` is 0 for none, as
    /// in [`Lesson`](crate::learner::Lesson).
    pub fn step(&mut self, prediction: f64, target: f64, learned: bool, ticket: u64) -> [f64; 2] {
        let interval = self.around(prediction);
        if target.is_nan() {
            if ticket > 0 && prediction.is_finite() {
                let (threshold, labels) = (self.calibration.threshold(), self.calibration.labels());
                self.pending.keep(Prediction { ticket, threshold, labels, numbers: Box::new([prediction]) });
            }
        } else if learned {
            self.learn(prediction, target, ticket);
        }
        interval
    }

    fn learn(&mut self, prediction: f64, target: f64, ticket: u64) {
        let (prediction, threshold, labels) = match self.pending.take(ticket) {
            Some(before) => (before.numbers[0], before.threshold, before.labels),
            None => (prediction, self.calibration.threshold(), self.calibration.labels()),
        };
        let score = (target - prediction).abs();
        if score.is_finite() {
            self.calibration.learn(score, threshold, labels);
        }
    }

    /// Memory used, in bytes.
    pub fn bytes(&self) -> usize {
        self.calibration.bytes() + self.pending.bytes()
    }
}
