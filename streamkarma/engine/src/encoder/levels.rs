//! Numbers that are nearly always the same, whose exceptions are categories, too.
//!
//! Of a capital gain, which few people have, 7,298 and 15,024 say more than that they are large: they come
//! back, and those who have them are alike. An attribute of which one value makes up three quarters or more and
//! which has few others therefore has, beside its numeric coordinate, one for each of these. On the census
//! of 1994 (adult, in the order of the file) the mixture's errors go from .1433 to .1302. As a rule for all
//! numbers that come back it would cost where they tell nothing: of ages, of hours, of ratings.

use super::kinds::spell;
use super::{Encoder, Item, New, NewName};
use crate::state::{Refused, ensure};

/// With more different values than this an attribute is a measurement.
const MOST: usize = 128;
/// With fewer it is as good as a boolean, of which its number tells all.
const FEWEST: usize = 3;
/// A value comes this often in the mean before it counts as one of few.
const TIMES: u64 = 8;

/// The different values of a coordinate so far.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Levels {
    /// Ascending, and how often each was there.
    values: Vec<(f64, u64)>,
    /// The one that was there most often, and all of them.
    usual: f64,
    most: u64,
    count: u64,
    /// Whether there were too many.
    is_measurement: bool,
}

impl Levels {
    /// Whether a value is one of few exceptions, by the values before.
    fn has(&self, value: f64) -> bool {
        self.has_exceptions() && value != self.usual && self.find(value).is_ok()
    }

    fn has_exceptions(&self) -> bool {
        let different = self.values.len();
        different >= FEWEST && 4 * self.most >= 3 * self.count && self.count >= TIMES * different as u64
    }

    /// The exceptions, and how often each came.
    pub(super) fn exceptions(&self) -> impl Iterator<Item = (f64, u64)> {
        let all = self.values.iter().filter(|_| self.has_exceptions());
        all.filter(|(value, _)| *value != self.usual).copied()
    }

    /// The value that came most often, and how often.
    pub(super) fn usual(&self) -> Option<(f64, f64)> {
        (self.most > 0).then_some((self.usual, self.most as f64))
    }

    /// Drop values that are none.
    pub(super) fn retain(&mut self, is_there: impl Fn(f64) -> bool) {
        let kept: Vec<_> = self.values.iter().copied().filter(|(value, _)| is_there(*value)).collect();
        *self = Self::of(self.is_measurement, &kept).unwrap_or_default();
    }

    fn find(&self, value: f64) -> Result<usize, usize> {
        self.values.binary_search_by(|each| each.0.total_cmp(&value))
    }

    fn add(&mut self, value: f64, times: u64) {
        let at = self.find(value).unwrap_or_else(|at| {
            self.values.insert(at, (value, 0));
            at
        });
        self.values[at].1 += times;
        self.count += times;
        if self.values[at].1 > self.most {
            (self.usual, self.most) = self.values[at];
        }
        if self.values.len() > MOST {
            *self = Self { is_measurement: true, ..Self::default() };
        }
    }

    /// What came in `base`, and since then in parts that began as it is.
    pub(super) fn merged(base: &Self, parts: &[&Self]) -> Self {
        let mut all = base.clone();
        for part in parts {
            for &(value, times) in &part.values {
                let before = base.find(value).map_or(0, |at| base.values[at].1);
                if times > before && !all.is_measurement {
                    all.add(value, times - before);
                }
            }
        }
        let is_measurement = all.is_measurement || parts.iter().any(|part| part.is_measurement);
        // Of values that came equally often the least is the usual one, in whatever order they were added.
        let values = if is_measurement { &[][..] } else { &all.values };
        Self::of(is_measurement, values).unwrap_or_default()
    }

    /// Whether there were too many different values.
    pub fn is_measurement(&self) -> bool {
        self.is_measurement
    }

    /// The different values, and how often each was there.
    pub fn values(&self) -> &[(f64, u64)] {
        &self.values
    }

    /// Of a measurement, or from such values.
    ///
    /// # Errors
    ///
    /// If no values leave such levels.
    pub fn of(is_measurement: bool, values: &[(f64, u64)]) -> Result<Self, Refused> {
        let sorted = values.is_sorted_by(|one, other| one.0 < other.0);
        let each = values.iter().all(|&(value, times)| value.is_finite() && times > 0 && times < 1 << 53);
        let fits = values.len() <= MOST && (values.is_empty() || !is_measurement);
        ensure(sorted && each && fits, "the values that came contradict each other")?;
        let mut levels = Self { is_measurement, ..Self::default() };
        values.iter().for_each(|&(value, times)| levels.add(value, times));
        Ok(levels)
    }
}

impl Encoder {
    /// Have numbers that are one of few observed as categories, too.
    pub(super) fn add_levels(&mut self, learned: bool) {
        for at in 0..self.items.len() {
            let Item { attribute, coordinate, is_number, value, .. } = self.items[at];
            let levels = match self.levels.get_mut(coordinate as usize) {
                Some(levels) if is_number && !levels.is_measurement => levels,
                _ => continue,
            };
            let is_level = levels.has(value) && self.survey.is_none();
            if learned {
                levels.add(value, 1);
                self.watched -= usize::from(levels.is_measurement);
            }
            if is_level {
                self.add_level(attribute, value);
            }
        }
    }

    /// Take note of the first value of a coordinate.
    pub(super) fn watch(&mut self, coordinate: u32, value: f64) {
        self.levels[coordinate as usize].add(value, 1);
        self.watched += 1;
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
