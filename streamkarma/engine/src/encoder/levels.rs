//! Numbers that are nearly always the same, whose exceptions are also categories.
//!
//! For a capital gain, which few people have, 7,298 and 15,024 tell more than that they are large: they recur, and the
//! people who have them are alike. An attribute in which one value makes up three quarters or more, with few other
//! values, therefore has one coordinate for each of these beside its numeric one. On the census of 1994 (adult, in
//! file order) the mixture's errors go from .1433 to .1302. As a rule for all recurring numbers this would cost
//! accuracy where they are uninformative: for ages, hours and ratings.
//!
//! Other recurring numbers, such as a customer number, may be names. Their labels are counted, see [`super::rates`],
//! and used where they tell more than the number's size.

use super::kinds::spell;
use super::{Encoder, Item, New, NewName};
use crate::rate_key::hash_of;
use crate::state::{Refused, ensure};

/// An attribute with more distinct values than this is a measurement.
const MOST: usize = 128;
/// With fewer it is as good as a boolean, and its number is sufficient.
const FEWEST: usize = 3;
/// Minimum mean number of occurrences per value for the values to count as few.
const TIMES: u64 = 8;
/// Maximum number of watched values of a measurement.
const SAMPLE: usize = 32;
/// Numbers with fewer distinct values are not names.
const FEWEST_NAMES: usize = 16;

/// The distinct values of a coordinate so far; of a measurement, a sample of them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Levels {
    /// Ascending, with their counts.
    values: Vec<(f64, u64)>,
    /// The most frequent value, its count, and the count of all.
    usual: f64,
    most: u64,
    count: u64,
    /// How often the sample was halved: a value is in it if its hash begins with this many zeros. Above 0 if there
    /// were too many values.
    halvings: u32,
}

impl Levels {
    /// Whether a value is one of few exceptions, judged by the previous values.
    fn has(&self, value: f64) -> bool {
        self.has_exceptions() && value != self.usual && self.find(value).is_ok()
    }

    fn has_exceptions(&self) -> bool {
        // First of all, since nearly all numbers are measurements.
        if self.is_measurement() {
            return false;
        }
        let different = self.values.len();
        let is_mostly_one = 4 * self.most >= 3 * self.count && self.count >= TIMES * different as u64;
        different >= FEWEST && is_mostly_one
    }

    /// Whether values recur without being exceptions: at least a third of them had occurred before.
    fn recur(&self) -> bool {
        let different = self.values.len();
        let has_many = different >= FEWEST_NAMES || self.is_measurement();
        has_many && 2 * self.count >= 3 * different as u64 && !self.has_exceptions()
    }

    /// The exceptions, with their counts.
    pub(super) fn exceptions(&self) -> impl Iterator<Item = (f64, u64)> {
        let all = self.values.iter().filter(|_| self.has_exceptions());
        all.filter(|(value, _)| *value != self.usual).copied()
    }

    /// The most frequent value, with its count.
    pub(super) fn usual(&self) -> Option<(f64, f64)> {
        (self.most > 0 && !self.is_measurement()).then_some((self.usual, self.most as f64))
    }

    /// Drop values that are not valid.
    pub(super) fn retain(&mut self, is_there: impl Fn(f64) -> bool) {
        let kept: Vec<_> = self.values.iter().copied().filter(|(value, _)| is_there(*value)).collect();
        *self = Self::of(self.halvings, &kept).unwrap_or_default();
    }

    fn find(&self, value: f64) -> Result<usize, usize> {
        self.values.binary_search_by(|each| each.0.total_cmp(&value))
    }

    fn add(&mut self, value: f64, times: u64) {
        if !self.is_watched(value) {
            return;
        }
        let at = self.find(value).unwrap_or_else(|at| {
            self.values.insert(at, (value, 0));
            at
        });
        self.values[at].1 += times;
        self.count += times;
        if self.values[at].1 > self.most {
            (self.usual, self.most) = self.values[at];
        }
        let most = if self.is_measurement() { SAMPLE } else { MOST };
        if self.values.len() > most {
            while self.values.len() > SAMPLE {
                self.halve(self.halvings + 1);
            }
        }
    }

    fn is_watched(&self, value: f64) -> bool {
        self.halvings == 0 || hash_of(0, &value.to_bits().to_le_bytes()).leading_zeros() >= self.halvings
    }

    /// Reduce the sample to this many halvings.
    fn halve(&mut self, halvings: u32) {
        self.halvings = halvings;
        let all = std::mem::take(&mut self.values);
        self.values = all.into_iter().filter(|(value, _)| self.is_watched(*value)).collect();
        self.count = self.values.iter().map(|(_, times)| times).sum();
    }

    /// Merge the values of `base` with those seen since by parts that started from it.
    pub(super) fn merged(base: &Self, parts: &[&Self]) -> Self {
        let mut all = base.clone();
        let halvings = parts.iter().map(|part| part.halvings).max().unwrap_or(0);
        if halvings > all.halvings {
            all.halve(halvings);
        }
        for part in parts {
            for &(value, times) in &part.values {
                let before = base.find(value).map_or(0, |at| base.values[at].1);
                if times > before {
                    all.add(value, times - before);
                }
            }
        }
        // Of equally frequent values the least is the usual one, in whatever order they were added.
        Self::of(all.halvings, &all.values).unwrap_or_default()
    }

    /// Whether there were too many distinct values.
    pub fn is_measurement(&self) -> bool {
        self.halvings > 0
    }

    /// How often the sample was halved.
    pub fn halvings(&self) -> u32 {
        self.halvings
    }

    /// The distinct values, or a sample of them, with their counts.
    pub fn values(&self) -> &[(f64, u64)] {
        &self.values
    }

    /// Build from such values, after this many halvings.
    ///
    /// # Errors
    ///
    /// If the values are invalid.
    pub fn of(halvings: u32, values: &[(f64, u64)]) -> Result<Self, Refused> {
        let mut levels = Self { halvings, ..Self::default() };
        let sorted = values.is_sorted_by(|one, other| one.0 < other.0);
        let may_be = |value: f64| value.is_finite() && levels.is_watched(value);
        let each = values.iter().all(|&(value, times)| may_be(value) && times > 0 && times < 1 << 53);
        let fits = values.len() <= if halvings > 0 { SAMPLE } else { MOST };
        ensure(sorted && each && fits, "the counts of values are inconsistent")?;
        values.iter().for_each(|&(value, times)| levels.add(value, times));
        Ok(levels)
    }
}

impl Encoder {
    /// Observe numbers that are exceptions as categories as well, and recurring ones as names.
    pub(super) fn add_levels(&mut self, learned: bool) {
        for at in 0..self.items.len() {
            let Item { attribute, coordinate, is_number, value, scaled } = self.items[at];
            let levels = match self.levels.get_mut(coordinate as usize) {
                Some(levels) if is_number => levels,
                _ => continue,
            };
            let (is_level, may_be_name) = (levels.has(value), levels.recur());
            if learned {
                levels.add(value, 1);
            }
            if self.survey.is_some() {
                continue;
            }
            if is_level {
                self.add_level(attribute, value);
            } else if may_be_name && self.scale {
                self.note_number(attribute, coordinate, value, scaled);
            }
        }
        if learned && !self.unrated.is_empty() {
            self.rate_numbers();
        }
    }

    /// Record the first value of a coordinate.
    pub(super) fn watch(&mut self, coordinate: u32, value: f64) {
        self.levels[coordinate as usize].add(value, 1);
    }

    fn add_level(&mut self, attribute: u32, value: f64) {
        let category = spell(value);
        self.note_category(attribute, category.as_bytes());
        match self.vocabulary.coordinate(attribute, Some(category.as_bytes())) {
            Some(coordinate) => {
                let (value, scaled) = (1.0, 1.0);
                self.items.push(Item { attribute, coordinate, is_number: false, value, scaled });
            }
            None => {
                let category = Some(self.keep(category.as_bytes()));
                self.new.push(New { name: NewName::Known(attribute), category, value: 1.0 });
            }
        }
        self.has_several = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_random::TestRandom;

    fn added(values: &[f64]) -> Levels {
        let mut levels = Levels::default();
        values.iter().for_each(|&value| levels.add(value, 1));
        levels
    }

    /// Whole numbers below `different`.
    fn drawn(count: usize, different: usize) -> Vec<f64> {
        let mut random = TestRandom(7);
        (0..count).map(|_| random.below(different) as f64).collect()
    }

    #[test]
    fn sample_is_independent_of_order_and_split() {
        for different in [10, 100, 130, 3000] {
            let values = drawn(4000, different);
            let whole = added(&values);
            assert_eq!(whole.is_measurement(), different > MOST);
            assert!(different <= MOST || whole.values.len() <= SAMPLE);
            let back: Vec<f64> = values.iter().rev().copied().collect();
            assert_eq!(added(&back).values, whole.values);
            let base = added(&values[..500]);
            let parts: Vec<Levels> = [500..900, 900..4000]
                .map(|part| {
                    let mut levels = base.clone();
                    values[part].iter().for_each(|&value| levels.add(value, 1));
                    levels
                })
                .into();
            let merged = Levels::merged(&base, &parts.iter().collect::<Vec<_>>());
            assert_eq!((merged.halvings, merged.values), (whole.halvings, whole.values.clone()));
            assert_eq!(Levels::of(whole.halvings, &whole.values).unwrap(), whole);
        }
    }

    #[test]
    fn recurring_values_are_told_from_unique_ones_and_exceptions() {
        assert!(added(&drawn(4000, 100)).recur());
        assert!(added(&drawn(9000, 3000)).recur());
        assert!(!added(&drawn(4000, 1 << 40)).recur());
        // Few different values, and one that is nearly always the same.
        assert!(!added(&drawn(4000, FEWEST_NAMES - 1)).recur());
        let mostly = drawn(4000, 80).iter().map(|value| (value - 60.0).max(0.0)).collect::<Vec<_>>();
        assert!(added(&mostly).has_exceptions() && !added(&mostly).recur());
    }
}
