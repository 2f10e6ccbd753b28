//! Values that are not measurements: words for missing values, sentinels, and extreme outliers.
//!
//! A *sentinel* is a number that stands for "no reading", such as -9999. Some are given; others are detected, because
//! they recur exactly and lie far from all other values: [`VOTES`] more often than other values beyond [`OUT`]
//! deviations. (These are counted by majority vote, after Boyer and Moore.) From then on the number counts as missing,
//! and the event gets a mark instead: attribute `NAME.sentinel`, a category. Where most events share one value, such as
//! the year, a sentinel must lie far from the others as well.
//!
//! A value that lies [`FAR`](crate::scale::FAR) out and does not recur does not count for its attribute, but is marked
//! as well, since a true extreme may be informative: attribute `NAME.far_high` or `NAME.far_low`.
//!
//! Marks are attributes of their own, observed only where they hold. As categories of the attribute they would make it
//! count as observed: on a low-rank stream with 5 % of -9999 the error of the mixture was .028 that way, .0105 with
//! separate marks, and .0096 with those values left out.

use std::collections::HashMap;

use crate::kinds::Kind;

/// A value beyond this many deviations may be a sentinel.
pub const OUT: f64 = 10.0;
/// How many more times than other values that far out a value must occur to be taken for a sentinel.
pub const VOTES: f64 = 5.0;
/// A scale that has seen fewer than this many values per vote was misled by the sentinel.
pub const FEW: f64 = 100.0;
/// Maximum number of sentinels of an attribute.
pub const MOST: usize = 4;

/// Rules for values that an encoder does not take for measurements.
#[derive(Clone, Debug, PartialEq)]
pub struct CleaningRules {
    /// Texts that stand for a missing value, in lower case.
    pub words: Vec<Vec<u8>>,
    /// Numbers that stand for a missing value, by attribute.
    pub sentinels: HashMap<Vec<u8>, Vec<f64>>,
    /// Whether to detect further sentinels.
    pub finds: bool,
    /// The kinds that were given for attributes.
    pub kinds: HashMap<Vec<u8>, Kind>,
}

impl Default for CleaningRules {
    /// The usual words, and detection of sentinels.
    fn default() -> Self {
        let words = ["", "na", "n/a", "null", "none", "nan", "?", "-"].map(|word| word.into());
        Self { words: words.into(), sentinels: HashMap::new(), finds: true, kinds: HashMap::new() }
    }
}

impl CleaningRules {
    /// The kind that was given for an attribute.
    pub fn kind_of(&self, name: &[u8]) -> Option<Kind> {
        if self.kinds.is_empty() { None } else { self.kinds.get(name).copied() }
    }

    /// Whether a text stands for a missing value; case and surrounding blanks are ignored.
    pub fn is_nothing(&self, text: &[u8]) -> bool {
        let text = text.trim_ascii();
        self.words.iter().any(|word| word.eq_ignore_ascii_case(text))
    }

    /// Whether a number was given as a sentinel.
    pub fn is_given(&self, name: &[u8], value: f64) -> bool {
        !self.sentinels.is_empty() && self.sentinels.get(name).is_some_and(|given| given.contains(&value))
    }
}

/// The sentinels of a coordinate.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sentinels {
    /// The outlying value that may be a sentinel, and its lead in votes.
    candidate: f64,
    lead: f64,
    /// The sentinels, `count` of them.
    found: [f64; MOST],
    count: usize,
}

/// The verdict on an outlying value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// A sentinel, just detected.
    Found,
    /// Possibly a sentinel: it has occurred before, or is the first value that far out.
    Suspect,
    /// Not a sentinel.
    Other,
}

impl Sentinels {
    /// Given sentinels, treated like detected ones.
    pub fn given(values: &[f64]) -> Self {
        let mut sentinels = Self::default();
        values.iter().all(|&value| sentinels.add(value));
        sentinels
    }

    /// Whether a value is a sentinel.
    pub fn contain(&self, value: f64) -> bool {
        self.found[..self.count].contains(&value)
    }

    /// Add a sentinel; false if there are too many.
    pub fn add(&mut self, value: f64) -> bool {
        let Some(place) = self.found.get_mut(self.count) else { return false };
        *place = value;
        self.count += 1;
        true
    }

    /// Count an outlying value.
    pub fn vote(&mut self, value: f64) -> Verdict {
        if self.count == MOST {
            return Verdict::Other;
        }
        if self.lead > 0.0 && self.candidate != value {
            self.lead -= 1.0;
            return Verdict::Other;
        }
        let is_first = self.candidate == 0.0 && self.lead == 0.0;
        let again = self.candidate == value && self.lead > 0.0;
        (self.candidate, self.lead) = (value, self.lead + 1.0);
        if self.lead < VOTES {
            return if is_first || again { Verdict::Suspect } else { Verdict::Other };
        }
        self.add(value);
        self.lead = 0.0;
        Verdict::Found
    }

    /// The sentinels of `base` and of all parts, which started from it.
    ///
    /// If there are too many, the smallest of the new ones are kept. Of the votes, the highest lead in any part counts,
    /// so that the result does not depend on the order of merging.
    pub fn merged(base: Self, parts: &[Self]) -> Self {
        let news: Vec<Self> = parts.iter().copied().filter(|part| *part != base).collect();
        if let [one] = news[..] {
            return one;
        }
        let mut merged = base;
        let mut found: Vec<f64> = news.iter().flat_map(|part| &part.found[..part.count]).copied().collect();
        found.retain(|&value| !base.contain(value));
        found.sort_unstable_by(f64::total_cmp);
        found.dedup();
        found.into_iter().all(|value| merged.add(value));
        let order =
            |one: &(f64, f64), other: &(f64, f64)| one.0.total_cmp(&other.0).then(one.1.total_cmp(&other.1));
        let votes = news.iter().map(|part| (part.lead, part.candidate));
        if let Some(most) = votes.filter(|(_, candidate)| !merged.contain(*candidate)).max_by(order) {
            (merged.lead, merged.candidate) = most;
        }
        merged
    }

    /// As a row of a model file.
    pub fn row(&self) -> [f64; WIDTH] {
        let [a, b, c, d] = self.found;
        [self.candidate, self.lead, self.count as f64, a, b, c, d]
    }

    /// From a row of a model file; None if no sequence of values yields such a row.
    pub fn from_row(row: &[f64]) -> Option<Self> {
        let &[candidate, lead, count, ref found @ ..] = row else { return None };
        let found: [f64; MOST] = found.try_into().ok()?;
        let finite = row.iter().all(|number| number.is_finite());
        let counted = (0.0..=VOTES).contains(&lead) && (0..=MOST).any(|most| most as f64 == count);
        (finite && counted).then_some(Self { candidate, lead, found, count: count as usize })
    }
}

/// How many numbers are stored per coordinate.
pub const WIDTH: usize = 3 + MOST;

/// Counts of what happened to the values of an attribute.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Values that were learned.
    pub values: u64,
    /// Texts that spell numbers.
    pub spelled: u64,
    /// Words for missing values.
    pub nothing: u64,
    /// Sentinels.
    pub sentinels: u64,
    /// Values too far out to be measurements.
    pub far: u64,
    /// Values clipped at the largest standardised value.
    pub clipped: u64,
    /// Categories, words and tags that have no coordinate of their own yet.
    pub rare: u64,
    /// Texts that are prose.
    pub prose: u64,
    /// Sets of tags.
    pub tags: u64,
    /// The two latest of its different points in time, in milliseconds since 1970, with 0 for none: the later one, and
    /// the one before. Those of events that were only predicted count as well.
    pub times: [u64; 2],
}

impl Tally {
    /// How many numbers these are.
    pub const WIDTH: usize = 11;

    /// In the order of the fields.
    pub fn row(&self) -> [u64; Self::WIDTH] {
        [
            self.values,
            self.spelled,
            self.nothing,
            self.sentinels,
            self.far,
            self.clipped,
            self.rare,
            self.prose,
            self.tags,
            self.times[0],
            self.times[1],
        ]
    }

    /// The counts of `base`, plus those that parts which started from it have added.
    pub fn merged(base: Self, parts: &[Self]) -> Self {
        let mut row = base.row();
        for part in parts {
            for ((sum, count), before) in row.iter_mut().zip(part.row()).zip(base.row()) {
                *sum = sum.saturating_add(count.saturating_sub(before));
            }
        }
        let mut merged = Self { times: base.times, ..Self::from_row(row) };
        parts.iter().flat_map(|part| part.times).for_each(|time| merged.add_time(time));
        merged
    }

    /// From such a row.
    pub fn from_row(row: [u64; Self::WIDTH]) -> Self {
        let [values, spelled, nothing, sentinels, far, clipped, rare, prose, tags, times @ ..] = row;
        Self { values, spelled, nothing, sentinels, far, clipped, rare, prose, tags, times }
    }

    /// Remember a point in time.
    pub fn add_time(&mut self, time: u64) {
        let [latest, before] = &mut self.times;
        if time > *latest {
            (*latest, *before) = (time, *latest);
        } else if time < *latest {
            *before = time.max(*before);
        }
    }

    /// Remember the point in time of an event that is only predicted: not a late one, which may be predicted again, and
    /// must then follow the same time as before.
    pub fn add_predicted_time(&mut self, time: u64) {
        if time > self.times[0] {
            self.add_time(time);
        }
    }

    /// The latest point in time before another one; None if there is none, or it is no longer known.
    pub fn time_before(&self, time: u64) -> Option<u64> {
        self.times.into_iter().find(|&earlier| 0 < earlier && earlier < time)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_recurring_values_become_sentinels() {
        let mut sentinels = Sentinels::default();
        assert!((0..100).all(|i| sentinels.vote(1e6 + f64::from(i)) != Verdict::Found));
        let verdicts: Vec<_> = (0..5).map(|_| sentinels.vote(-9999.0)).collect();
        assert_eq!(verdicts[1..], [Verdict::Suspect, Verdict::Suspect, Verdict::Suspect, Verdict::Found]);
        assert!(sentinels.contain(-9999.0) && !sentinels.contain(1e6));
        assert_eq!(Sentinels::from_row(&sentinels.row()), Some(sentinels));
    }

    #[test]
    fn two_latest_times_are_known() {
        let mut tally = Tally::default();
        for time in [5, 9, 9, 2, 7] {
            tally.add_time(time);
        }
        assert_eq!(
            [5, 7, 8, 9, 10].map(|time| tally.time_before(time)),
            [None, None, Some(7), Some(7), Some(9)]
        );
        tally.add_predicted_time(8);
        assert_eq!(tally.times, [9, 7]);
        assert_eq!(Tally::merged(tally, &[Tally { times: [12, 8], ..tally }, tally]).times, [12, 9]);
    }

    #[test]
    fn words_for_missing_values_ignore_case() {
        let rules = CleaningRules::default();
        assert!(
            ["", " ", "N/A", "NaN", "None", "?", "-"].iter().all(|word| rules.is_nothing(word.as_bytes()))
        );
        assert!(!["no", "nap", "--", "0"].iter().any(|word| rules.is_nothing(word.as_bytes())));
    }
}
