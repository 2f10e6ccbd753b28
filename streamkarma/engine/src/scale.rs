//! Running mean and deviation of a number, robust against a few outliers.
//!
//! One reading of 1e8, or a -9999 that stands for "no reading" in every twentieth event, would dominate a plain mean
//! and variance for good. Here an outlier counts as a value at the edge, [`CUT`] deviations from the mean, so that the
//! edge moves only if many values lie beyond it: more than 1 in `CUT`² of them.
//!
//! Two kinds of values would mislead this rule:
//!
//! - *The first ones*, as long as there is no deviation yet. [`START`] of them are kept, and clipped at a multiple of
//!   their median distance from their median.
//! - *A value that most events share*, such as the 0 of a counter that seldom counts. The deviation would shrink to 0,
//!   and every other value would look like an outlier. So such a value is counted separately, and the edge is that of
//!   the others. (It is found by majority vote, after Boyer and Moore.)
//!
//! If the values move for good, as after a change of units, the scale restarts: once [`RESTART`] more values lay beyond
//! the edge than within it. Repeated values are excluded from this count, since a stuck sensor tells nothing about the
//! values to come.
//!
//! If they move less far, or slowly, the older values fade until the scale has caught up: see [`moving`].
//!
//! Without outliers and as long as nothing moves, mean and deviation are those of all values (of the last `longest`
//! ones).
//!
//! A value of weight w has weight w in all sums. Where values are counted to rule out chance, a heavy one is still a
//! single value: there w counts as 1, or a threshold in values is multiplied by w.

mod merging;
#[cfg(test)]
mod merging_tests;
mod moving;
#[cfg(test)]
mod moving_tests;
mod state;
pub mod summary;
#[cfg(test)]
mod summary_tests;
#[cfg(test)]
mod tests;

pub use state::WIDTH;

use std::hint::select_unpredictable;

use self::moving::{FADING, Latest, SHORTEST};
use crate::math::{log, within};

/// Standardised values are clipped here: one broken sensor must not outweigh the others.
pub const CLIP: f64 = 5.0;
/// Raw values are clipped here, so that their squares stay finite.
pub const LARGEST: f64 = 1e100;
/// Values beyond this many deviations count as lying at that edge.
pub const CUT: f64 = 3.0;
/// Values beyond this many deviations are not measurements, and count as missing. Amounts and other skewed numbers
/// reach 20 deviations and more; mixed-up units and codes for "none" lie beyond.
pub const FAR: f64 = 50.0;
/// Number of first values that are kept until there is a deviation for the rule above.
pub const START: usize = 16;
/// A weight is far lighter than another if it is less than this fraction of it.
const LIGHT: f64 = 0.05;
/// The fraction by which each far lighter value reduces the weight of the first values.
const LIGHTER: f64 = 0.1;
/// The first values are clipped at this many median distances, 12 deviations of a Gaussian.
const START_CUT: f64 = 12.0 * 1.4826;
/// The lead in votes from which a value is counted separately; it must also exceed half of all values.
const LEAD: f64 = 8.0;
/// The scale restarts once this many more values lay beyond the edge than within it.
pub const RESTART: f64 = 100.0;
/// The running scale of a number.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Scale {
    /// Count, mean and sum of squared deviations of the ordinary values.
    ordinary: Sums,
    /// The most common value, its count if it is counted separately, and its lead in votes.
    mode: f64,
    mode_count: f64,
    lead: f64,
    /// How many more values lay beyond the edge than within it.
    beyond: f64,
    /// The position of the latest values.
    latest: Latest,
    /// How much has faded because the number moved: -1 times the logarithm of the fraction that is left.
    moved: f64,
    /// How many first values are kept; START once they are no longer used.
    kept: usize,
    /// The first values, ascending.
    first: [f64; START],
}

/// Count, mean and sum of squared deviations.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Sums {
    count: f64,
    mean: f64,
    squares: f64,
}

impl Sums {
    /// From a few sorted values, clipped by their own median distance; `count` is the sum of their weights.
    fn of_few(values: &[f64], count: f64) -> Self {
        let size = values.len();
        // Differences from the median, so that for equal values the mean is exact and the squares are 0.
        let centre = 0.5 * values[(size - 1) / 2] + 0.5 * values[size / 2];
        let edge = START_CUT * median_distance(values, centre);
        let (mut mean, mut squares) = (0.0, 0.0);
        for each in values {
            mean += within(each - centre, edge) / size as f64;
        }
        for each in values {
            let away = within(each - centre, edge) - mean;
            squares += away * away;
        }
        Self { count, mean: centre + mean, squares: squares * (count / size as f64) }
    }
}

/// The statistics that [`Scale::observe`] returns for a value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Seen {
    /// The mean of the values so far, this one included.
    pub mean: f64,
    /// The standard deviation of these.
    pub deviation: f64,
    /// Whether the value is too far out to be a measurement.
    pub is_far: bool,
}

impl Seen {
    fn standardised(self, value: f64) -> Standardised {
        if self.deviation > 0.0 && !self.is_far {
            let z = (value - self.mean) / self.deviation;
            return Standardised { value: within(z, CLIP), distance: z.abs() };
        }
        Standardised { value: 0.0, distance: if self.is_far { FAR } else { 0.0 } }
    }
}

/// The result of [`Scale::standardise`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Standardised {
    /// Within ±[`CLIP`]; 0 if all values are equal, and if the value is too far out.
    pub value: f64,
    /// Its distance from the mean in deviations; [`FAR`] if that is too far for a measurement.
    pub distance: f64,
}

impl Scale {
    /// Observe a finite number within ±[`LARGEST`], with a weight above 0.
    ///
    /// Once `longest` values have been observed, the older ones fade, each time by 1 / `longest`.
    #[inline(always)] // With a constant weight, half of the comparisons are known.
    pub fn observe(&mut self, value: f64, weight: f64, longest: f64) -> Seen {
        if self.count() < LIGHT * weight {
            *self = Self::default(); // what was seen so far has hardly any weight
        }
        self.fade(weight, longest);
        let repeats = self.lead > 0.0 && value == self.mode;
        // The sensor may be stuck. Only earlier votes decide this, and they are unrelated to a value that is not stuck,
        // so that the values left out of the latest are like the others.
        let is_stuck = self.mode_count == 0.0 && self.lead >= LEAD * weight.max(1.0);
        if self.votes_for(value, weight, repeats) {
            self.mode_count += weight;
        } else if self.kept < START {
            self.begin(value, weight);
        } else {
            let away = self.advance(value, weight, repeats);
            if !is_stuck {
                self.follow(away, weight);
            }
        }
        if self.beyond >= RESTART {
            *self = Self { kept: 1, mode: value, lead: weight, ..Self::default() };
            self.ordinary = Sums { count: weight, mean: value, squares: 0.0 };
            self.first[0] = value;
        }
        self.classify(value)
    }

    /// Judge a value by those observed so far.
    fn classify(&self, value: f64) -> Seen {
        let unit = self.unit().sqrt();
        let is_far = (value - self.ordinary.mean).abs() > FAR * unit;
        if self.mode_count == 0.0 {
            return Seen { mean: self.ordinary.mean, deviation: unit, is_far };
        }
        let (mean, deviation) = self.mean_and_deviation();
        Seen { mean, deviation, is_far }
    }

    /// Standardise a value by the running mean and deviation, itself included. With weight 0 it leaves no trace, and
    /// gets the result that it would have if it counted once.
    pub fn standardise(&mut self, value: f64, weight: f64, longest: f64) -> Standardised {
        let value = within(value, LARGEST);
        let seen = if weight == 1.0 {
            self.observe(value, 1.0, longest)
        } else if weight > 0.0 {
            self.observe(value, weight, longest)
        } else {
            { *self }.observe(value, 1.0, longest)
        };
        seen.standardised(value)
    }

    /// Standardise by the values observed so far, without this one.
    pub fn measure(&self, value: f64) -> Standardised {
        let value = within(value, LARGEST);
        let seen = self.classify(value);
        // If all values were equal, no other one can be called far out.
        Seen { is_far: seen.is_far && seen.deviation > 0.0, ..seen }.standardised(value)
    }

    /// Number of values it is based on: the sum of their weights, as far as they have not faded.
    pub fn count(&self) -> f64 {
        self.ordinary.count + self.mode_count
    }

    /// Whether a value is also more than this many deviations away from the other values, if the most common one is
    /// counted separately; at least [`START`] others must have been observed.
    pub fn is_beyond_others(&self, value: f64, deviations: f64) -> bool {
        let away = (within(value, LARGEST) - self.ordinary.mean).abs();
        let are_known = self.ordinary.count >= START as f64;
        self.mode_count == 0.0 || (are_known && away > deviations * self.unit().sqrt())
    }

    /// Mean and standard deviation of the values observed so far; 0 and 0 if there are none.
    pub fn mean_and_deviation(&self) -> (f64, f64) {
        let Sums { count, mean, squares } = self.joined();
        (mean, if count > 0.0 { (squares / count).sqrt() } else { 0.0 })
    }

    fn fade(&mut self, weight: f64, longest: f64) {
        let (total, most) = (self.count(), longest * weight.max(1.0));
        if total + weight > most {
            self.shrink((most - weight) / total);
        }
    }

    /// Reduce the weight of what was observed by a factor.
    fn shrink(&mut self, keep: f64) {
        self.ordinary.count *= keep;
        self.ordinary.squares *= keep;
        self.mode_count *= keep;
        self.lead *= keep;
        self.kept = START;
    }

    /// Count the vote of a value; returns whether it is the most common one and counted separately.
    fn votes_for(&mut self, value: f64, weight: f64, repeats: bool) -> bool {
        if repeats {
            self.lead += weight;
            let least = LEAD * weight.max(1.0);
            return self.mode_count > 0.0 || (self.lead >= least && 2.0 * self.lead > self.ordinary.count);
        }
        let loses = self.lead <= 0.0;
        if loses && self.mode_count > 0.0 {
            self.ordinary = self.joined();
            self.latest = Latest::default();
            self.mode_count = 0.0;
            self.kept = START;
        }
        // If all values differ, every second one replaces the one before: a branch that cannot be predicted.
        self.mode = select_unpredictable(loses, value, self.mode);
        self.lead = select_unpredictable(loses, weight, (self.lead - weight).max(0.0));
        false
    }

    /// Add one of the first values. Their weights are not kept, so they count equally. One that is far lighter is left
    /// out, and the weight of those before is reduced by [`LIGHTER`]: if all values are that light now, they are soon
    /// let in.
    fn begin(&mut self, value: f64, weight: f64) {
        if self.kept > 0 && weight < LIGHT * (self.ordinary.count / self.kept as f64) {
            self.ordinary.count *= 1.0 - LIGHTER;
            self.ordinary.squares *= 1.0 - LIGHTER;
            return;
        }
        let size = self.kept + 1;
        let mut place = self.kept;
        while place > 0 && self.first[place - 1] > value {
            self.first[place] = self.first[place - 1];
            place -= 1;
        }
        self.first[place] = value;
        self.kept = size;
        self.ordinary = Sums::of_few(&self.first[..size], self.ordinary.count + weight);
    }

    /// Add an ordinary value; returns its distance from the mean, clipped at the edge.
    fn advance(&mut self, value: f64, weight: f64, repeats: bool) -> f64 {
        let unit = self.unit();
        let away = value - self.ordinary.mean;
        // A value within the edge does not cost a square root.
        let is_beyond = unit > 0.0 && away * away > CUT * CUT * unit;
        let away = if is_beyond { within(away, CUT * unit.sqrt()) } else { away };
        if !repeats {
            let vote = weight.min(1.0);
            self.beyond = (self.beyond + if is_beyond { vote } else { -vote }).max(0.0);
        }
        let ordinary = &mut self.ordinary;
        ordinary.count += weight;
        let step = weight * away / ordinary.count;
        ordinary.mean += step;
        ordinary.squares += weight * (away * (away - step));
        away
    }

    /// Forget faster if the number has moved.
    fn follow(&mut self, away: f64, weight: f64) {
        let Sums { count, squares, .. } = self.ordinary;
        let (variance, shortest) = (squares / count, SHORTEST * weight.max(1.0));
        self.latest.observe(away, variance, weight.min(1.0));
        if count > shortest && self.latest.have_moved(variance, CUT * CUT * self.unit_of(variance)) {
            let keep = (1.0 - FADING * weight.min(1.0)).max(shortest / count);
            self.shrink(keep);
            self.moved -= log(keep);
        }
    }

    /// The ordinary values and the most common one combined (Chan et al.).
    fn joined(&self) -> Sums {
        let Sums { count, mean, squares } = self.ordinary;
        if self.mode_count == 0.0 {
            return self.ordinary;
        }
        let (total, gap) = (count + self.mode_count, self.mode - mean);
        Sums {
            count: total,
            mean: mean + gap * self.mode_count / total,
            squares: squares + gap * gap * count * self.mode_count / total,
        }
    }

    /// The squared unit in which the distance of ordinary values is measured.
    fn unit(&self) -> f64 {
        let Sums { count, squares, .. } = self.ordinary;
        if count == 0.0 { 0.0 } else { self.unit_of(squares / count) }
    }

    /// The same, given the variance of the ordinary values.
    fn unit_of(&self, variance: f64) -> f64 {
        let gap = if self.mode_count > 0.0 { self.mode - self.ordinary.mean } else { 0.0 };
        variance + gap * gap
    }
}

/// The median distance from `centre` of the values that differ from it; 0 if there are none.
///
/// For an even number of values, the greater of the two in the middle: the gap between two of four values may be tiny.
fn median_distance(values: &[f64], centre: f64) -> f64 {
    let others = values.iter().filter(|&&each| each != centre);
    let mut distances: Vec<f64> = others.map(|each| (each - centre).abs()).collect();
    distances.sort_unstable_by(f64::total_cmp);
    distances.get(distances.len() / 2).copied().unwrap_or(0.0)
}
