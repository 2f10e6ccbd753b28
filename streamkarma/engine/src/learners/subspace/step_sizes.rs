//! The sizes of steps that get smaller, by how many events there were.

use crate::math::{exp, log};

/// How fast steps get smaller; found, as the noise of pairs was, on tables with half withheld and synthetic streams.
const POWER: f64 = -0.8;
/// See [`POWER`].
const FIRST_EVENTS: f64 = 10.0;

/// So many sizes are remembered.
const REMEMBERED: usize = 1 << 12;

/// Sizes, and those of late: coordinates come to the same count one soon after the other.
#[derive(Clone, Debug)]
pub struct StepSizes {
    /// Each count and its size, in the place that the count has.
    known: Vec<(f64, f64)>,
}

impl Default for StepSizes {
    fn default() -> Self {
        // No count is NaN.
        Self { known: vec![(f64::NAN, 0.0); REMEMBERED] }
    }
}

impl StepSizes {
    /// The step of the `events`-th event.
    pub fn of(&mut self, events: f64) -> f64 {
        let known = &mut self.known[events as usize % REMEMBERED];
        if known.0 != events {
            *known = (events, step_size(events));
        }
        known.1
    }
}

/// (events + [`FIRST_EVENTS`])^[`POWER`]; by exp and log, which take half as long as pow.
fn step_size(events: f64) -> f64 {
    exp(POWER * log(events + FIRST_EVENTS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_remembered_is_what_it_was() {
        let mut sizes = StepSizes::default();
        for events in [0.0, 3.0, 3.5, 3.0, 4099.0, 3.0, 1e300, 2f64.powi(60), 4099.0] {
            assert_eq!(sizes.of(events), step_size(events));
        }
    }
}
