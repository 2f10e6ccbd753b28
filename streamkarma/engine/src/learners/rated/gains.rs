//! Whether numbers are names: whether labels depend on which number it is, beyond its size.
//!
//! Each label is predicted twice: from the labels of the number's neighbourhood, an eighth of a deviation wide, and
//! from those of the number itself, shrunk towards the former. The second gains nothing on an age and much on a
//! customer number. Numbers are names as long as the gain, in nats or squared deviations, is beyond chance.
//!
//! Where a customer is identified by a name, the exact age is another name, and so is every number that is carried
//! forward from the last message of a device. So both predictions include what the event's other names predict: its
//! categories, and the preceding numbers that are names. As in naive Bayes this is added, in log odds or in
//! deviations. A name that repeats the same information then makes the prediction overconfident, and gains nothing.

use super::labels::{Attribute, Labels};
use super::statistics::Own;
use super::table::Table;
use super::{Rated, Settings};
use crate::math::{log, logistic};

/// Memory of the gain, in labels.
const LONGEST: f64 = 5000.0;
/// After this many labels without evidence of names, only one number in `WATCHED` is watched, to save time.
const ENOUGH: u64 = 2000;
const WATCHED: u64 = 8;
/// The gain is beyond chance above this plus so many deviations.
const LEAST: f64 = 4.0;
const DEVIATIONS: f64 = 3.0;
/// Weight, in labels, of the neighbourhood's average beside those of the number.
const SHRINK: f64 = 5.0;
/// Lower bound on the probability of a label.
const LEAST_CHANCE: f64 = 1e-6;

impl Settings {
    /// The factor by which a new gain decays the previous ones.
    pub(super) fn keep_of_gains(&self) -> f64 {
        1.0 - 1.0 / LONGEST.min(self.longest)
    }
}

impl Rated {
    /// Whether the numbers of an attribute are names; the attribute is given by the first coordinate of its rates.
    pub(super) fn has_names(&self, coordinate: u32) -> bool {
        self.attributes.get(&coordinate).is_some_and(|attribute| are_beyond_chance(&attribute.gains))
    }
}

impl Attribute {
    /// Whether the labels of a number are counted.
    pub(super) fn watches(&self, [name, _]: [u64; 2]) -> bool {
        self.gains.seen < ENOUGH || (name >> 32).is_multiple_of(WATCHED) || are_beyond_chance(&self.gains)
    }

    /// Record the gain of a number's key over that of its neighbourhood in predicting a label, in addition to
    /// `others`, unless the key has had labels since the event was predicted. The contribution of a name is added to
    /// the others.
    pub(super) fn observe_gain(
        &mut self,
        table: &Table,
        [name, around]: [u64; 2],
        own: &Own,
        others: &mut [f64],
        settings: Settings,
    ) {
        let is_old = table.last(name).is_some_and(|last| last <= own.since);
        let mut gain = 0.0;
        if let (true, Some(known), Some(near)) = (is_old, table.find(name), table.find(around)) {
            let are_names = are_beyond_chance(&self.gains);
            for (number, (&label, others)) in own.labels.iter().zip(others).enumerate() {
                let all = share(self.labels.count, self.labels.sums[number], mean_of_none(settings), 2.0);
                let around = share(near.0, near.1[number], all, 1.0);
                let exact = share(known.0, known.1[number], around, SHRINK);
                let (around, exact) = (expected(around, settings), expected(exact, settings));
                gain += loss(*others + around, label, settings) - loss(*others + exact, label, settings);
                if are_names {
                    *others += exact - around;
                }
            }
        }
        let weight = own.weight.min(1.0);
        self.gains.as_mut().take(&[gain, gain * gain], weight, settings.keep_of_gains());
    }
}

/// The mean of some labels, together with `beside` other labels whose mean is `prior`.
pub(super) fn share(count: f64, sum: f64, prior: f64, beside: f64) -> f64 {
    (sum + beside * prior) / (count + beside)
}

/// The expected label before the first one.
pub(super) fn mean_of_none(settings: Settings) -> f64 {
    if settings.regression { 0.0 } else { 0.5 }
}

/// A mean of labels on an additive scale: for a fraction, the log odds.
fn expected(mean: f64, settings: Settings) -> f64 {
    if settings.regression {
        return mean;
    }
    let chance = mean.clamp(LEAST_CHANCE, 1.0 - LEAST_CHANCE);
    log(chance / (1.0 - chance))
}

/// The loss of an expectation on a label.
fn loss(expected: f64, label: f64, settings: Settings) -> f64 {
    if settings.regression {
        return (label - expected).powi(2);
    }
    let chance = logistic(if label > 0.5 { expected } else { -expected });
    -log(chance.max(LEAST_CHANCE))
}

fn are_beyond_chance(gains: &Labels) -> bool {
    let [gain, square] = gains.sums[..] else { return false };
    gain > LEAST && gain > LEAST + DEVIATIONS * square.sqrt()
}

#[cfg(test)]
mod tests {
    use super::super::labels::LabelsMut;
    use super::*;
    use crate::rate_key::KEYS;
    use crate::test_random::TestRandom;

    const BINARY: Settings = Settings { rates: 1, regression: false, scale: true, longest: f64::INFINITY };

    /// Gains from 4,000 labels of 400 numbers, forty of which are neighbours; labels are given by `label`. With
    /// `others`, the event has more such numbers, each of which is determined by the first.
    fn gains(settings: Settings, others: usize, label: impl Fn(usize, f64) -> f64) -> Vec<Labels> {
        let mut attributes = vec![(Attribute::new(1), Table::new(1)); 1 + others];
        let mut random = TestRandom(5);
        for _ in 0..4000 {
            let number = random.below(400);
            let labels = [label(number, random.unit())];
            let mut score = [0.0];
            for (at, (attribute, table)) in attributes.iter_mut().enumerate() {
                let other = (number + 7 * at) % 400;
                let keys = [1 + other as u64, KEYS + 1 + other as u64 / 40];
                let own = Own { labels: &labels, weight: 1.0, since: table.clock() };
                attribute.observe_gain(table, keys, &own, &mut score, settings);
                let take = |counted: LabelsMut| counted.take(&labels, 1.0, 1.0);
                take(attribute.labels.as_mut());
                keys.into_iter().for_each(|key| take(table.enter(key)));
            }
        }
        attributes.into_iter().map(|(attribute, _)| attribute.gains).collect()
    }

    fn bit(is_one: bool) -> f64 {
        f64::from(u8::from(is_one))
    }

    fn scattered(number: usize) -> usize {
        number * 7919 % 400
    }

    /// Each number has its own probability.
    fn by_name(number: usize, chance: f64) -> f64 {
        bit(chance < if scattered(number) < 200 { 0.2 } else { 0.8 })
    }

    #[test]
    fn numbers_are_names_where_labels_depend_on_identity() {
        let are_names =
            |settings, label: &dyn Fn(usize, f64) -> f64| are_beyond_chance(&gains(settings, 0, label)[0]);
        assert!(are_names(BINARY, &by_name));
        // The probability grows with the number, or is the same for all.
        assert!(!are_names(BINARY, &|number, chance| bit(chance < number as f64 / 400.0)));
        assert!(!are_names(BINARY, &|_, chance| bit(chance < 0.3)));
        let targets = Settings { regression: true, ..BINARY };
        let target = |number: usize, chance: f64| number as f64 / 200.0 + chance - 1.5;
        assert!(are_names(targets, &|number, chance| target(scattered(number), chance)));
        assert!(!are_names(targets, &target));
    }

    #[test]
    fn redundant_names_add_little_gain() {
        let targets = Settings { regression: true, ..BINARY };
        let target = |number, chance| scattered(number) as f64 / 200.0 + chance - 1.5;
        let are_names = |all: Vec<Labels>| all.iter().map(are_beyond_chance).collect::<Vec<_>>();
        assert_eq!(are_names(gains(BINARY, 3, by_name)), [true, false, false, false]);
        // The second supplies what shrinkage takes from the first.
        assert_eq!(are_names(gains(targets, 3, target)), [true, true, false, false]);
    }
}
