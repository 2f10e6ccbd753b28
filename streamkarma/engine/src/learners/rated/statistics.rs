//! Rates, and the labels from which they are computed.

use super::gains::{mean_of_none, share};
use super::keys::Keys;
use super::labels::{Attribute, LabelsMut};
use super::table::Table;
use super::{Rated, Settings};
use crate::learner::Lesson;
use crate::math::{log, within};
use crate::rate_key::is_neighbourhood;
use crate::scale::CLIP;

/// Weights, in labels, of the attribute's average that is added to the labels of a category. Each attribute uses the
/// one by which its labels would have been predicted with the least squared error: a small one if its categories differ
/// much, a large one if hardly.
pub(super) const SHRINKS: [f64; 5] = [0.25, 1.0, 4.0, 16.0, 64.0];
/// Index of the one that is used first.
const FIRST: usize = 2;
/// Factor of log odds beside standardised numbers. (With 1, errors on two development streams of devices, whose names
/// are categories, were 1.5 and 2 % more; on 21 other streams with categories there was no difference.)
const OF_LOG_ODDS: f64 = 0.5;
/// Memory, in labels, of the statistics of a category.
const LATEST: f64 = 100.0;

/// A label as it is counted.
pub(super) struct Own<'a> {
    /// Its value for each rate.
    pub labels: &'a [f64],
    pub weight: f64,
    /// Number of labels before the event was predicted.
    pub since: u64,
}

impl Settings {
    /// The factor by which a new label decays the statistics shared by all categories.
    pub(super) fn keep(&self) -> f64 {
        1.0 - 1.0 / self.longest
    }

    /// The same for a category, or for a neighbourhood, which has many labels.
    pub(super) fn keep_of(&self, key: u64) -> f64 {
        if is_neighbourhood(key) { self.keep() } else { 1.0 - 1.0 / LATEST.min(self.longest) }
    }
}

impl Rated {
    /// The rate of that number, for the categories whose keys are given.
    pub(super) fn rate(&self, keys: &Keys, number: usize) -> f64 {
        let known = self.attributes.get(&keys.coordinates[0]);
        known.map_or(0.0, |attribute| self.rate_of_all(keys, attribute, number))
    }

    /// The value of a rate beside other numbers.
    pub(super) fn value_of(&self, rate: f64) -> f64 {
        match self.settings {
            Settings { scale: false, .. } => rate,
            Settings { regression: true, .. } => within(rate, CLIP),
            _ => within(OF_LOG_ODDS * rate, CLIP),
        }
    }

    /// The sum of each rate over the attributes with these keys, from categories only.
    fn of_categories(&self, all: &[Keys]) -> Vec<f64> {
        let mut sums = vec![0.0; self.width()];
        for keys in all.iter().filter(|keys| keys.number.is_none()) {
            if let Some(attribute) = self.attributes.get(&keys.coordinates[0]) {
                let each = sums.iter_mut().enumerate();
                each.for_each(|(number, sum)| *sum += self.rate_of_all(keys, attribute, number));
            }
        }
        sums
    }

    /// The rate for several categories of an attribute.
    fn rate_of_all(&self, keys: &Keys, attribute: &Attribute, number: usize) -> f64 {
        let found = keys.names().filter_map(|key| self.table.find(key));
        let sum: f64 = found.map(|own| self.rate_of(own, attribute, number)).sum();
        let count = keys.names().count();
        if count > 1 { sum / (count as f64).sqrt() } else { sum }
    }

    /// The rate for one category, relative to the labels of all.
    fn rate_of(&self, (count, sums): (f64, &[f64]), attribute: &Attribute, number: usize) -> f64 {
        let (all, shrink) = (&attribute.labels, attribute.shrink());
        let (sum, total) = (sums[number], all.sums[number]);
        if self.settings.regression {
            let mean = if all.count > 0.0 { total / all.count } else { 0.0 };
            return (sum + shrink * mean) / (count + shrink) - mean;
        }
        let share = (total + 1.0) / (all.count + 2.0);
        let others = ((all.count - total).max(0.0) + 1.0) / (all.count + 2.0);
        let (own, rest) = (sum + shrink * share, (count - sum).max(0.0) + shrink * others);
        log(own / rest) - log(share / others)
    }

    /// Learn the label of an event that has these keys.
    pub(super) fn learn(&mut self, all: &[Keys], lesson: &Lesson) {
        let (width, settings) = (self.width(), self.settings);
        let is_binary = self.inner.classes() == 1;
        let class = if is_binary { usize::from(lesson.label > 0.0) } else { lesson.label as usize };
        let label = |number: &usize| match settings.regression {
            true if settings.scale => within(lesson.label, CLIP),
            true => lesson.label,
            false => f64::from(u8::from(*number == class)),
        };
        let labels: Vec<f64> = self.classes.iter().map(label).collect();
        // An event without keys would not even come here if it were alone.
        let since = if all.is_empty() { None } else { self.waiting.take(lesson.ticket) };
        let since = since.unwrap_or_else(|| self.table.clock());
        let own = Own { labels: &labels, weight: lesson.weight, since };
        let take = |counted: LabelsMut, keep: f64| counted.take(&labels, lesson.weight, keep);
        let has_numbers = all.iter().any(|keys| keys.number.is_some());
        let mut others = if has_numbers { self.of_categories(all) } else { vec![] };
        for keys in all {
            let first = keys.coordinates[0];
            let attribute = self.attributes.entry(first).or_insert_with(|| Attribute::new(width));
            if let Some(number) = keys.number {
                if !attribute.watches(number) {
                    continue;
                }
                attribute.observe_gain(&self.table, number, &own, &mut others, settings);
            }
            for key in keys.names() {
                attribute.observe_errors(&self.table, key, &own, settings);
            }
            take(attribute.labels.as_mut(), settings.keep());
            for key in keys.each() {
                take(self.table.enter(key), settings.keep_of(key));
            }
        }
    }
}

impl Attribute {
    /// The weight of its average in its rates.
    pub(super) fn shrink(&self) -> f64 {
        let errors = &self.errors.sums;
        let better = |best: usize, other: usize| if errors[other] < errors[best] { other } else { best };
        SHRINKS[(0..SHRINKS.len()).fold(FIRST, better)]
    }

    /// Record the error of each of the [`SHRINKS`] in predicting a label from the earlier ones of its category, unless
    /// the category has had labels since the event was predicted: these may be the same label, which tells nothing.
    fn observe_errors(&mut self, table: &Table, key: u64, own: &Own, settings: Settings) {
        let is_old = table.last(key).is_some_and(|last| last <= own.since);
        let Some((count, sums)) = table.find(key).filter(|_| is_old) else { return };
        let mut errors = [0.0; SHRINKS.len()];
        for ((&label, &sum), &total) in own.labels.iter().zip(sums).zip(&self.labels.sums) {
            let all = share(self.labels.count, total, mean_of_none(settings), 2.0);
            for (error, shrink) in errors.iter_mut().zip(SHRINKS) {
                *error += (label - share(count, sum, all, shrink)).powi(2);
            }
        }
        self.errors.as_mut().take(&errors, own.weight.min(1.0), settings.keep_of_gains());
    }
}
