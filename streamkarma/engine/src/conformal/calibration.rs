//! The quantile of scores that yields the requested coverage.

use super::window::Window;

/// Window size in events: a smaller window follows a change sooner, a larger one estimates the quantile better. Chosen
/// on ten development streams, six of which change: with twice as many events, coverage on one in which the unit of
/// the target changes is off by three points instead of two; intervals are one part in a hundred wider than with
/// those.
const EVENTS: usize = 250;
/// The window is large enough for this many expected misses, up to `MOST_EVENTS`.
const LEAST_MISSED: f64 = 2.0;
const MOST_EVENTS: usize = 4000;
/// How far a miss moves the allowed miss rate, and the maximum step relative to the requested rate. On 114 development
/// streams, 72 of which change their unit half-way, the coverage of any 2,000 consecutive events after the first 2,000
/// is within two points of the requested one (.8, .9, .95 and .98); with two thirds of this step it is within 2.4, and
/// intervals are 0.3 % narrower.
const STEP: f64 = 0.015;
const MOST_STEP: f64 = 0.15;

/// Scores of the latest events, and the allowed miss rate.
#[derive(Clone, Debug, PartialEq)]
pub struct Calibration {
    /// The requested miss rate: 1 less the coverage.
    pub(super) asked: f64,
    step: f64,
    pub(super) share: f64,
    pub(super) window: Window,
}

impl Calibration {
    /// For a coverage between 0 and 1, both excluded.
    pub fn new(coverage: f64) -> Self {
        let asked = 1.0 - coverage;
        let step = STEP.min(MOST_STEP * asked);
        Self { asked, step, share: asked, window: Window::new(Self::events(coverage)) }
    }

    /// The number of events in the window.
    pub fn events(coverage: f64) -> usize {
        let needed = (LEAST_MISSED / (1.0 - coverage)).min(MOST_EVENTS as f64);
        EVENTS.max(needed as usize)
    }

    /// Labels with scores up to this are in the prediction; infinity before the first score, and below 0 for no label.
    ///
    /// If there are too few scores for the quantile, the threshold is as far beyond the greatest as the greatest is
    /// beyond the median.
    pub fn threshold(&self) -> f64 {
        let sorted = self.window.sorted();
        let Some(&greatest) = sorted.last() else { return f64::INFINITY };
        let rank = ((sorted.len() + 1) as f64 * (1.0 - self.share)).ceil();
        if rank < 1.0 {
            -1.0
        } else if rank <= sorted.len() as f64 {
            sorted[rank as usize - 1]
        } else {
            2.0 * greatest - sorted[sorted.len() / 2]
        }
    }

    /// The number of labels learned.
    pub fn labels(&self) -> u64 {
        self.window.count()
    }

    /// Learn the score (finite and 0 or more) of a label, given the threshold, and the number of labels learned, when
    /// it was predicted.
    ///
    /// Nothing can be corrected between a prediction and its label, so the labels that arrive in that time move the
    /// allowed miss rate as far as one would: otherwise it overshoots, and oscillates. A prediction made before any
    /// label says little about later ones, so its score is replaced as soon as there is another.
    pub fn learn(&mut self, score: f64, threshold: f64, labels: u64) {
        if threshold < f64::INFINITY {
            let missed = if score <= threshold { 0.0 } else { 1.0 };
            let late = self.labels().saturating_sub(labels) as f64;
            self.share += self.step / (1.0 + late) * (self.asked - missed);
        }
        if labels > 0 {
            self.window.push(score);
        } else {
            self.window.push_provisional(score);
        }
    }

    /// Memory used, in bytes.
    pub fn bytes(&self) -> usize {
        size_of::<Self>() + self.window.bytes()
    }
}
