//! A linear model on the bins that values lie in, and on pairs of bins: thresholds and boxes.
//!
//! A value belongs to the two bins around it, with fractions that add up to 1: what is learned about a single value
//! interpolates between [`KNOTS`] weights. (With each value in one bin only, an event costs half as much, and river's
//! generators with seed 100 give more errors: 6.1 % against 1.1 for function 0 of Agrawal, 15.3 against 5.8 for sines
//! with a drift, 14.0 against 11.3 for bananas.) A pair of values has a weight for each corner of the triangle it lies
//! in, half of the square between four pairs of bins, again with fractions that add up to 1. That takes three quarters
//! of the features that all four corners would, with no more errors.
//!
//! A missing value is in no bin. A bin for missing values would add no information, since it would be active exactly
//! when none of the others is; errors with it were the same. A category has the value 1 wherever it is present, and so
//! only one bin.

use crate::block::{Event, Evicted};
use crate::learners::expanded::{
    Expanded, Expansion, Items, UNSEEN, pair, pair_at, pair_place, pair_places, pairs_of,
};
use crate::learners::explicit::{Explicit, Set, Translated};
use crate::learners::linear::Step;
use crate::state::Refused;
use crate::translation::Translation;

/// Number of bins of a numeric value: knots at standardised values half a deviation apart around 0.
const KNOTS: u32 = 8;
const PER_DEVIATION: f64 = 2.0;
/// One more bin, for values of exactly 1, as categories have.
const BINS: u32 = KNOTS + 1;
/// Coordinates from this one on are treated as never learned.
const COORDINATES: u32 = UNSEEN / BINS;

/// AROW or AdaGrad on bins and pairs of bins.
pub type Bins = Expanded<BinFeatures>;

impl Bins {
    /// An empty learner; see [`Explicit::new`].
    ///
    /// If an event has more than `most` features, each value is put into the nearest bin only; if there are still more,
    /// pairs are left out.
    ///
    /// # Errors
    ///
    /// If `table_bits` is out of range.
    pub fn new(step: Step, table_bits: u32, most: usize) -> Result<Self, Refused> {
        Ok(Self::around(Explicit::new(1, true, step, table_bits)?, BinFeatures { most }))
    }
}

/// Bins and pairs of bins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BinFeatures {
    pub(super) most: usize,
}

/// The lower bin of a value, and the fraction of the value that belongs to the bin above.
#[derive(Clone, Copy)]
struct Bin {
    lower: u32,
    above: f64,
}

impl Bin {
    fn of(coordinate: u32, value: f64) -> Self {
        let first = if coordinate < COORDINATES { coordinate * BINS } else { UNSEEN };
        if value == 1.0 {
            return Self { lower: first + KNOTS, above: 0.0 };
        }
        let Self { lower, above } = Self::around(value);
        Self { lower: first + lower, above }
    }

    /// The bin among the knots alone.
    fn around(value: f64) -> Self {
        let last = f64::from(KNOTS - 1);
        let position = (PER_DEVIATION * value + 0.5 * last).clamp(0.0, last);
        let lower = position as u32;
        Self { lower, above: position - f64::from(lower) }
    }

    /// Put the whole value into the nearest bin.
    fn rounded(self) -> Self {
        Self { lower: self.lower + u32::from(self.above >= 0.5), above: 0.0 }
    }

    /// List the features of this bin alone: its pairs with the constant.
    fn list(self, into: &mut Items) {
        into.put_pair(0, self.lower, 1.0 - self.above);
        if self.above > 0.0 {
            into.put_pair(0, self.lower + 1, self.above);
        }
    }

    /// List the features of a pair of bins of different coordinates.
    fn list_with(self, other: Self, into: &mut Items) {
        let (high, low) = if self.lower > other.lower { (self, other) } else { (other, self) };
        let first = pair(low.lower, high.lower);
        // From the two lower bins to the two upper ones, first along the value that is closer to its upper bin.
        let (up, across) = (high.lower as usize + 1, 1);
        let (more, less, next) = if high.above > low.above {
            (high.above, low.above, up)
        } else {
            (low.above, high.above, across)
        };
        let numbers = [first, first + next, first + up + across];
        let parts = [1.0 - more, more - less, less];
        if high.lower >= UNSEEN {
            parts.into_iter().for_each(|part| into.put(UNSEEN, part));
        } else if parts[1] > 0.0 && parts[2] > 0.0 {
            into.put_pairs(numbers, parts);
        } else {
            for (number, part) in numbers.into_iter().zip(parts) {
                if part > 0.0 {
                    into.put_pairs([number], [part]);
                }
            }
        }
    }
}

impl Expansion for BinFeatures {
    fn expand(&self, event: &Event, into: &mut Items) {
        let values = || event.coordinates.iter().zip(event.values).skip(1);
        let bins = || values().map(|(&own, &value)| Bin::of(own, value));
        into.put_pair(0, 0, 1.0);
        let pairs = event.len() * event.len() / 2;
        let bins: Vec<Bin> =
            if 3 * pairs > self.most { bins().map(Bin::rounded).collect() } else { bins().collect() };
        for (j, bin) in bins.iter().enumerate() {
            bin.list(into);
            if pairs <= self.most {
                bins[..j].iter().for_each(|other| bin.list_with(*other, into));
            }
        }
    }

    fn places(&self, _attributes: usize, coordinates: usize) -> usize {
        pair_places(coordinates.saturating_mul(BINS as usize))
    }

    /// The new weight of a knot is the old prediction at its value, since weights interpolate. This is approximate
    /// beyond the outermost knots and between other knots, and for pairs, which interpolate in both values.
    fn translator<'a>(&'a self, translation: &'a Translation) -> impl FnMut(u32, &mut Vec<Translated>) + 'a {
        // Each bin occurs in many pairs.
        let mut known: Vec<Vec<(u32, f64)>> = Vec::new();
        move |place, into| {
            let (low, high) = pair_at(place);
            while known.len() <= high as usize {
                known.push(translated(known.len() as u32, translation));
            }
            for &(one, part) in &known[low as usize] {
                for &(other, other_part) in &known[high as usize] {
                    let (factor, place) = (part * other_part, pair_place(one, other));
                    into.extend(place.map(|place| Translated {
                        information: factor,
                        ..Translated::shifted(place, factor)
                    }));
                }
            }
        }
    }

    /// A value has two fractions, a pair three: their sums of squares are 2/3 and 1/2 on average.
    fn typical_square(&self, observed: f64) -> f64 {
        let others = (observed - 1.0).max(0.0);
        1.0 + 2.0 / 3.0 * others + 0.25 * others * (others - 1.0).max(0.0)
    }

    fn speaks_of(&self, place: u32, owner: impl Fn(u32) -> Set) -> Set {
        let (low, high) = pair_at(place);
        owner(low / BINS).joined(owner(high / BINS))
    }

    fn places_of(&self, evicted: &Evicted, linear: &Explicit) -> Vec<u32> {
        let first = evicted.coordinates.iter().map(|&own| own.saturating_mul(BINS));
        let bins: Vec<u32> =
            first.flat_map(|first| (0..BINS).map(move |bin| first.saturating_add(bin))).collect();
        pairs_of(&bins, linear)
    }
}

/// The bins that receive what was learned for a bin, with the fraction for each.
fn translated(bin: u32, translation: &Translation) -> Vec<(u32, f64)> {
    let (coordinate, knot) = (bin / BINS, bin % BINS);
    let Some(moved) = translation.coordinate(coordinate) else { return Vec::new() };
    let first = moved.saturating_mul(BINS);
    let (shift, stretch) = (translation.shift[coordinate as usize], translation.stretch[coordinate as usize]);
    if knot == KNOTS || (shift, stretch) == (0.0, 1.0) {
        return vec![(first.saturating_add(knot), 1.0)];
    }
    let part = |to: u32| {
        let value = (f64::from(to) - 0.5 * f64::from(KNOTS - 1)) / PER_DEVIATION;
        let before = Bin::around(shift + stretch * value);
        match knot.checked_sub(before.lower) {
            Some(0) => 1.0 - before.above,
            Some(1) => before.above,
            _ => 0.0,
        }
    };
    let parts = (0..KNOTS).map(|to| (first.saturating_add(to), part(to)));
    parts.filter(|(_, part)| *part > 0.0).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learner::{Learner, Lesson};
    use crate::loss::Loss;

    fn learner() -> Bins {
        Bins::new(Step::arow(Loss::Hinge, 1.0), 18, 512).unwrap()
    }

    fn features(most: usize, coordinates: &[u32], values: &[f64]) -> Vec<(u32, f64)> {
        let mut items = Items::default();
        BinFeatures { most }.expand(&Event::of(coordinates, coordinates, values), &mut items);
        items.coordinates.into_iter().zip(items.values).collect()
    }

    /// Numbers between -3 and 3, the same in every run.
    fn number(t: u32) -> f64 {
        f64::from(t.wrapping_mul(2_654_435_761) >> 8) / f64::from(1 << 24) * 6.0 - 3.0
    }

    #[test]
    fn features_sum_to_one_and_preserve_values() {
        for t in 0..500 {
            let (a, b) = (number(2 * t), number(2 * t + 1));
            let all = features(512, &[0, 1, 2], &[1.0, a, b]);
            // The constant, both values, and their pair.
            assert!((all.iter().map(|feature| feature.1).sum::<f64>() - 4.0).abs() < 1e-12);
            assert!(all.iter().all(|feature| feature.1 >= 0.0) && all.len() <= 8);
            // The mean of the bins' knots is the value.
            let own: Vec<_> = features(512, &[0, 1], &[1.0, a]).split_off(1);
            let first = features(512, &[0, 1], &[1.0, -9.0])[1].0;
            let knot = |place: u32| {
                (0..KNOTS).find(|&bin| {
                    let value = (f64::from(bin) - 0.5 * f64::from(KNOTS - 1)) / PER_DEVIATION;
                    features(512, &[0, 1], &[1.0, value])[1].0 == place
                })
            };
            assert!(own[0].0 >= first);
            let mean: f64 = own.iter().map(|&(place, part)| part * f64::from(knot(place).unwrap())).sum();
            let mean = (mean - 0.5 * f64::from(KNOTS - 1)) / PER_DEVIATION;
            assert!((mean - a.clamp(-1.75, 1.75)).abs() < 1e-9);
        }
    }

    #[test]
    fn pair_features_are_continuous() {
        let at = |a: f64, b: f64| {
            let mut row = vec![0.0; 1000];
            features(512, &[0, 1, 2], &[1.0, a, b])
                .iter()
                .for_each(|&(place, part)| row[place as usize] += part);
            row
        };
        for t in 0..500 {
            let (a, b) = (number(2 * t), number(2 * t + 1));
            let moved = at(a, b).iter().zip(at(a + 1e-6, b - 1e-6)).map(|(x, y)| (x - y).abs()).sum::<f64>();
            assert!(moved < 1e-4);
        }
    }

    #[test]
    fn many_values_get_hard_bins_and_more_get_no_pairs() {
        let (coordinates, values) = ([0, 1, 2, 3], [1.0, 0.1, -0.2, 0.3]);
        assert_eq!(features(24, &coordinates, &values).len(), 1 + 6 + 9);
        let rounded = features(8, &coordinates, &values);
        assert_eq!(rounded.len(), 1 + 3 + 3);
        assert!(rounded.iter().all(|feature| feature.1 == 1.0));
        assert_eq!(features(7, &coordinates, &values).len(), 1 + 3);
    }

    #[test]
    fn learns_a_box_and_state_round_trip() {
        let (mut learner, mut score, mut errors) = (learner(), [0.0], 0);
        for t in 0..3000 {
            let (a, b) = (number(2 * t), number(2 * t + 1));
            let label = if a.abs() < 1.0 && b.abs() < 1.5 { 1.0 } else { -1.0 };
            let values = [1.0, a, b];
            let event = Event::of(&[0, 1, 2], &[0, 1, 2], &values);
            learner.step(event, Lesson::of(label), &mut score);
            errors += i32::from(t >= 1000 && score[0] * label <= 0.0);
        }
        assert!(errors < 140, "{errors}");
        let mut back = self::learner();
        back.restore(&learner.state(), 3, 3).unwrap();
        assert_eq!(back.state(), learner.state());
        assert!(self::learner().restore(&learner.state(), 3, 2).is_err());
    }

    #[test]
    fn unknown_names_have_no_effect() {
        let (mut learner, mut score) = (learner(), [0.0]);
        let attributes = [0, 1, u32::MAX >> 1];
        let known = Event::of(&[0, 1], &[0, 1], &[1.0, 1.0]);
        learner.step(known, Lesson::of(1.0), &mut score);
        let before = learner.state();
        for value in [1.0, 0.3, -5.0] {
            let values = &[1.0, 1.0, value];
            let (unseen, listed): (Vec<_>, Vec<_>) =
                features(512, &attributes, values).into_iter().partition(|feature| feature.0 == UNSEEN);
            assert_eq!(listed, features(512, &attributes[..2], &values[..2]));
            // They contribute to the norm like the features of the next name that is learned.
            let squares = |all: &[(u32, f64)]| all.iter().map(|each| each.1 * each.1).sum::<f64>();
            let learned = squares(&features(512, &[0, 1, 2], values));
            assert!((squares(&unseen) + squares(&listed) - learned).abs() < 1e-12);
            let event = Event::of(&attributes, &attributes, values);
            learner.step(event, Lesson::NONE, &mut score);
            assert_eq!(learner.state(), before);
            learner.step(event, Lesson { weight: 1e100, ..Lesson::of(-1.0) }, &mut score);
            learner.step(known, Lesson::of(-1.0), &mut score);
            assert!(score[0].is_finite());
            learner.restore(&before, 2, 2).unwrap();
        }
    }
}
