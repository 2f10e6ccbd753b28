//! The mean weight of events, by which larger ones are divided.
//!
//! Members are judged and calibrated by events of weight w as by w events. If all weights were 100, chance in single
//! events would decide between the members. So weights whose mean is above 1 are divided by it, here but not in the
//! experts, and equal weights of 1 or more make no difference. Weights below 1 on average are left as they are: they say
//! that an event tells less than a whole one.

/// Window of the mean, in events.
const WINDOW: f64 = 1000.0;
/// Larger weights are reduced to this one.
const HEAVIEST: f64 = 1e100;
/// The largest mean in a state: that of the largest weights, and what rounding adds.
const MOST_MEAN: f64 = 1.001 * HEAVIEST;

/// The running mean of the weights of learned events.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MeanWeight {
    mean: f64,
    /// Number of events, at most [`WINDOW`].
    events: f64,
}

impl MeanWeight {
    /// Take in the weight of an event that is learned.
    pub fn observe(&mut self, weight: f64) {
        self.events = (self.events + 1.0).min(WINDOW);
        self.mean += (weight.min(HEAVIEST) - self.mean) / self.events;
    }

    /// A weight as members are judged by it.
    pub fn relative(&self, weight: f64) -> f64 {
        weight.min(HEAVIEST) / self.mean.max(1.0)
    }

    /// The mean of several parts, each with its share.
    pub fn merged(parts: impl Iterator<Item = (Self, f64)>) -> Self {
        parts.fold(Self::default(), |all, (part, share)| Self {
            mean: all.mean + share * part.mean,
            events: all.events.max(part.events),
        })
    }

    /// As numbers of a state.
    pub fn numbers(&self) -> [f64; 2] {
        [self.mean, self.events]
    }

    /// From the numbers of a state; None if no run could have produced them.
    pub fn restored(numbers: &[f64]) -> Option<Self> {
        let &[mean, events] = numbers else { return None };
        let is_sound = (0.0..=MOST_MEAN).contains(&mean) && (0.0..=WINDOW).contains(&events);
        is_sound.then_some(Self { mean, events })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_weights_are_1_unless_they_are_smaller() {
        for (weight, expected) in [(0.03, 0.03), (1.0, 1.0), (7.0, 1.0), (1e300, 1.0)] {
            let mut known = MeanWeight::default();
            for _ in 0..1500 {
                known.observe(weight);
                assert!((known.relative(weight) / expected - 1.0).abs() < 1e-9);
            }
            assert_eq!(MeanWeight::restored(&known.numbers()), Some(known));
        }
    }

    #[test]
    fn ratios_of_weights_stay() {
        let mut known = MeanWeight::default();
        (0..2000).for_each(|t| known.observe(if t % 2 == 0 { 1.0 } else { 99.0 }));
        assert!((known.relative(99.0) / known.relative(1.0) - 99.0).abs() < 1e-9);
        assert!((known.relative(50.0) - 1.0).abs() < 0.05);
    }

    #[test]
    fn what_no_run_produces_is_refused() {
        let wrong = [[-1.0, 3.0], [f64::NAN, 3.0], [1e101, 3.0], [1.0, 1001.0]];
        assert!(wrong.iter().all(|numbers| MeanWeight::restored(numbers).is_none()));
    }
}
