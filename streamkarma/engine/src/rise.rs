//! Whether recent errors have risen by more than chance explains, as after an abrupt change.
//!
//! The mean of the latest errors is compared with that of many, relative to its scatter around it: the scatter by
//! chance or, if errors come in bursts, the observed one. This is less reliable than [`crate::adwin`], but cheap enough
//! to run for each of many models at every event, and callers lose little by a false alarm.

use crate::math::exp;
use crate::state::{Refused, ensure};

/// Window of the means, in events.
const WINDOW: f64 = 2000.0;
/// Window of the mean of the latest errors.
const LATEST: f64 = 32.0;
/// No rise is reported before this many events.
const PROBATION: f64 = 200.0;
/// Errors have risen if the mean of the latest exceeds that of all by this many of its standard deviations.
const DEVIATIONS: f64 = 4.0;
/// In addition, it must exceed it by this much: where errors are rare, a few prove nothing.
const MARGIN: f64 = 0.02;

/// Means of errors, which are between 0 and 1: of all errors, of their squares, of the latest errors, and of the
/// squared distance between the latter and the first.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Rise {
    events: f64,
    mean: f64,
    square: f64,
    latest: f64,
    scatter: f64,
}

impl Rise {
    /// Observe the loss (0 or more) of an event. Losses enter as 1 - exp(-loss), so that there are no outliers.
    pub fn observe(&mut self, loss: f64, weight: f64) {
        let (error, weight) = (1.0 - exp(-loss.max(0.0)), weight.min(1.0));
        self.events += weight;
        let rate = |window: f64| weight / self.events.clamp(1.0, window);
        let (slow, fast) = (rate(WINDOW), rate(LATEST));
        self.mean += slow * (error - self.mean);
        self.square += slow * (error * error - self.square);
        self.latest += fast * (error - self.latest);
        let apart = self.latest - self.mean;
        self.scatter += slow * (apart * apart - self.scatter);
    }

    /// Whether the latest errors are above the mean by more than chance.
    pub fn is_seen(&self) -> bool {
        // The variance of an exponential mean is half that of a plain mean over as many events.
        let by_chance = 0.5 * (self.square - self.mean * self.mean) / LATEST;
        let deviation = by_chance.max(self.scatter).sqrt();
        self.events >= PROBATION && self.latest - self.mean > DEVIATIONS * deviation + MARGIN
    }

    /// The state, for a file.
    pub fn numbers(&self) -> [f64; 5] {
        [self.events, self.mean, self.square, self.latest, self.scatter]
    }

    /// Restore what [`Self::numbers`] returned.
    ///
    /// # Errors
    ///
    /// If a number is out of its range, or there are too many or too few.
    pub fn restored(numbers: &[f64]) -> Result<Self, Refused> {
        let why = "the means of errors contradict each other";
        let &[events, mean, square, latest, scatter] = numbers else { return Err(why.to_owned()) };
        ensure(events.is_finite() && events >= 0.0, why)?;
        ensure([mean, square, latest, scatter].iter().all(|each| (0.0..=1.0).contains(each)), why)?;
        Ok(Self { events, mean, square, latest, scatter })
    }

    /// The mean of several, each weighted by its share.
    pub fn mean(parts: impl Iterator<Item = (Self, f64)>) -> Self {
        let mut sums = [0.0; 5];
        for (part, share) in parts {
            sums.iter_mut().zip(part.numbers()).for_each(|(sum, number)| *sum += share * number);
        }
        let [events, mean, square, latest, scatter] = sums;
        Self {
            events,
            mean: mean.min(1.0),
            square: square.min(1.0),
            latest: latest.min(1.0),
            scatter: scatter.min(1.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_random::TestRandom;

    #[test]
    fn rises_are_detected_soon_with_few_false_alarms() {
        for rate in [0.0, 0.01, 0.1, 0.3] {
            let (mut rise, mut numbers) = (Rise::default(), TestRandom(3));
            let mut lose = |rise: &mut Rise, rate: f64| {
                rise.observe(if numbers.unit() < rate { 1.5 } else { 0.05 }, 1.0);
                rise.is_seen()
            };
            let false_alarms = (0..10_000).filter(|_| lose(&mut rise, rate)).count();
            assert!(false_alarms <= 10, "{rate}: {false_alarms}");
            assert!((0..50).any(|_| lose(&mut rise, rate + 0.5)), "{rate}");
        }
    }

    #[test]
    fn state_round_trips_and_invalid_numbers_are_refused() {
        let mut rise = Rise::default();
        (0..300).for_each(|t| rise.observe(f64::from(t % 7), 0.5));
        assert_eq!(Rise::restored(&rise.numbers()).unwrap(), rise);
        for broken in
            [vec![1.0; 4], vec![-1.0, 0.0, 0.0, 0.0, 0.0], vec![1.0, 2.0, 0.0, 0.0, 0.0], vec![f64::NAN; 5]]
        {
            assert!(Rise::restored(&broken).is_err());
        }
    }
}
