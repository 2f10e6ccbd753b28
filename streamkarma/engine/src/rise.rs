//! Whether errors have risen of late, by more than chance explains: what an abrupt change looks like.
//!
//! The mean of the latest errors is compared with that of many, and with how far it scatters around it: by chance, or,
//! where errors come in bunches, as it was seen to. This is less certain than [`crate::adwin`], but it is cheap enough
//! for each of many models at every event, and whoever asks loses little by a false alarm.

use crate::math::exp;
use crate::state::{Refused, ensure};

/// Means are over about so many events.
const WINDOW: f64 = 2000.0;
/// And the mean of the latest errors over so many.
const LATEST: f64 = 32.0;
/// Before so many events nothing is told.
const PROBATION: f64 = 200.0;
/// Errors have risen when the latest are above the mean by so many deviations of theirs.
const DEVIATIONS: f64 = 4.0;
/// And by this much more: where there are hardly any errors, a few do not tell.
const MARGIN: f64 = 0.02;

/// Means of errors, which are between 0 and 1: of all, of their squares, of the latest, and of the squared distance
/// between the latter and the first.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Rise {
    events: f64,
    mean: f64,
    square: f64,
    latest: f64,
    scatter: f64,
}

impl Rise {
    /// Take note of the loss, 0 or more, of an event of some weight. Losses count as 1 - exp(-loss): none is far out.
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

    /// Whether the latest errors are above the mean, beyond chance.
    pub fn is_seen(&self) -> bool {
        // Of an exponential mean, half of what it is of a plain one over as many.
        let by_chance = 0.5 * (self.square - self.mean * self.mean) / LATEST;
        let deviation = by_chance.max(self.scatter).sqrt();
        self.events >= PROBATION && self.latest - self.mean > DEVIATIONS * deviation + MARGIN
    }

    /// All that is known, for a file.
    pub fn numbers(&self) -> [f64; 5] {
        [self.events, self.mean, self.square, self.latest, self.scatter]
    }

    /// What [`Self::numbers`] gave.
    ///
    /// # Errors
    ///
    /// If a number is out of its range, or there are more or fewer.
    pub fn restored(numbers: &[f64]) -> Result<Self, Refused> {
        let why = "the means of errors contradict each other";
        let &[events, mean, square, latest, scatter] = numbers else { return Err(why.to_owned()) };
        ensure(events.is_finite() && events >= 0.0, why)?;
        ensure([mean, square, latest, scatter].iter().all(|each| (0.0..=1.0).contains(each)), why)?;
        Ok(Self { events, mean, square, latest, scatter })
    }

    /// The mean of what several know, each with its share.
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
    use crate::random::Random;

    #[test]
    fn a_rise_is_told_within_some_dozen_events_and_chance_tells_none() {
        for rate in [0.0, 0.01, 0.1, 0.3] {
            let (mut rise, mut numbers) = (Rise::default(), Random(3));
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
    fn numbers_give_it_back_and_nonsense_is_refused() {
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
