//! Step sizes that decay with the number of events.

use crate::math::{exp, log};

/// Exponent of the decay; tuned, like the noise of the pairs, on tables with half withheld and synthetic streams.
const POWER: f64 = -0.8;
/// See [`POWER`].
const FIRST_EVENTS: f64 = 10.0;

/// Number of cached sizes.
const REMEMBERED: usize = 1 << 12;

/// Step sizes, with a cache of recent ones: coordinates reach the same count shortly after one another.
#[derive(Clone, Debug)]
pub struct StepSizes {
    /// Counts and their sizes, each at an index given by the count.
    known: Vec<(f64, f64)>,
}

impl Default for StepSizes {
    fn default() -> Self {
        // No count is NaN.
        Self { known: vec![(f64::NAN, 0.0); REMEMBERED] }
    }
}

impl StepSizes {
    /// The step size for the `events`-th event.
    pub fn of(&mut self, events: f64) -> f64 {
        let known = &mut self.known[events as usize % REMEMBERED];
        if known.0 != events {
            *known = (events, step_size(events));
        }
        known.1
    }
}

/// (events + [`FIRST_EVENTS`])^[`POWER`]; by exp and log, which cost half as much as pow.
fn step_size(events: f64) -> f64 {
    exp(POWER * log(events + FIRST_EVENTS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cached_step_sizes_are_correct() {
        let mut sizes = StepSizes::default();
        for events in [0.0, 3.0, 3.5, 3.0, 4099.0, 3.0, 1e300, 2f64.powi(60), 4099.0] {
            assert_eq!(sizes.of(events), step_size(events));
        }
    }
}
