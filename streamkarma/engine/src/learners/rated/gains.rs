//! Whether numbers are names: whether labels depend on which number it is, beyond how large it is.
//!
//! Each label is predicted twice: by the labels of the number's neighbourhood, an eighth of a deviation wide, and by those
//! of the number itself, which the former stand beside as all labels do in a rate. The second gains nothing on an age and
//! much on the number of a customer. Numbers are names as long as the gain, in nats or squared deviations, is beyond
//! chance.

use super::labels::{Attribute, Labels};
use super::statistics::SHRINK;
use super::table::Table;
use super::{Rated, Settings};
use crate::math::log;

/// The gain counts over about so many labels.
const LONGEST: f64 = 5000.0;
/// After so many labels that show no names, only one number in so many is watched, to save time.
const ENOUGH: u64 = 2000;
const WATCHED: u64 = 8;
/// It is beyond chance above this, and so many deviations.
const LEAST: f64 = 4.0;
const DEVIATIONS: f64 = 3.0;
/// No label is less likely.
const LEAST_CHANCE: f64 = 1e-6;

impl Settings {
    /// What is left of the gains before once there is another.
    pub(super) fn keep_of_gains(&self) -> f64 {
        1.0 - 1.0 / LONGEST.min(self.longest)
    }
}

impl Rated {
    /// Whether the numbers of an attribute are names, by the first coordinate of its rates.
    pub(super) fn has_names(&self, coordinate: u32) -> bool {
        self.attributes.get(&coordinate).is_some_and(|attribute| are_beyond_chance(&attribute.gains))
    }
}

impl Attribute {
    /// Whether labels of a number are counted.
    pub(super) fn watches(&self, [name, _]: [u64; 2]) -> bool {
        self.gains.seen < ENOUGH || (name >> 32).is_multiple_of(WATCHED) || are_beyond_chance(&self.gains)
    }

    /// Take note of what the key of a number told of a label, beside that of its neighbourhood, unless it has had labels
    /// since the event was asked about, after `since` of them.
    pub(super) fn observe_gain(
        &mut self,
        table: &Table,
        [name, around]: [u64; 2],
        own: &[f64],
        weight: f64,
        since: u64,
        settings: Settings,
    ) {
        let is_old = table.last(name).is_some_and(|last| last <= since);
        let gain = match (table.find(name), table.find(around)) {
            (Some(known), Some(near)) if is_old => {
                let gains = own.iter().enumerate().map(|(number, &label)| {
                    let all = share(self.labels.count, self.labels.sums[number], mean_of_none(settings), 2.0);
                    let around = share(near.0, near.1[number], all, 1.0);
                    let exact = share(known.0, known.1[number], around, SHRINK);
                    loss(around, label, settings) - loss(exact, label, settings)
                });
                gains.sum()
            }
            _ => 0.0,
        };
        self.gains.as_mut().take(&[gain, gain * gain], weight.min(1.0), settings.keep_of_gains());
    }
}

/// The mean of some labels, beside which so many others with a mean of `prior` stand.
fn share(count: f64, sum: f64, prior: f64, beside: f64) -> f64 {
    (sum + beside * prior) / (count + beside)
}

/// What is expected of labels before the first.
fn mean_of_none(settings: Settings) -> f64 {
    if settings.regression { 0.0 } else { 0.5 }
}

/// Of what was expected of a label.
fn loss(expected: f64, label: f64, settings: Settings) -> f64 {
    if settings.regression {
        return (label - expected).powi(2);
    }
    let chance = if label > 0.5 { expected } else { 1.0 - expected };
    -log(chance.max(LEAST_CHANCE))
}

fn are_beyond_chance(gains: &Labels) -> bool {
    let [gain, square] = gains.sums[..] else { return false };
    gain > LEAST + DEVIATIONS * square.sqrt()
}

#[cfg(test)]
mod tests {
    use super::super::labels::LabelsMut;
    use super::*;
    use crate::random::Random;
    use crate::rate_key::KEYS;

    const BINARY: Settings = Settings { rates: 1, regression: false, scale: true, longest: f64::INFINITY };

    /// What 4,000 labels say of 400 numbers, forty of which are neighbours: labels by `label`.
    fn gains(settings: Settings, label: impl Fn(usize, f64) -> f64) -> Labels {
        let (mut attribute, mut table, mut random) = (Attribute::new(1), Table::new(1), Random(5));
        for _ in 0..4000 {
            let number = random.below(400);
            let keys = [1 + number as u64, KEYS + 1 + number as u64 / 40];
            let own = [label(number, random.unit())];
            attribute.observe_gain(&table, keys, &own, 1.0, table.clock(), settings);
            let take = |labels: LabelsMut| labels.take(&own, 1.0, 1.0);
            take(attribute.labels.as_mut());
            keys.into_iter().for_each(|key| take(table.enter(key)));
        }
        attribute.gains
    }

    #[test]
    fn numbers_are_names_where_labels_depend_on_which_it_is() {
        let bit = |is_one: bool| f64::from(u8::from(is_one));
        let scattered = |number: usize| number * 7919 % 400;
        // Each has its own share, the share grows with the number, and the share is the same for all.
        let by_name = |number, chance| bit(chance < if scattered(number) < 200 { 0.2 } else { 0.8 });
        let by_size = |number, chance| bit(chance < number as f64 / 400.0);
        let by_chance = |_, chance| bit(chance < 0.3);
        assert!(are_beyond_chance(&gains(BINARY, by_name)));
        assert!(!are_beyond_chance(&gains(BINARY, by_size)));
        assert!(!are_beyond_chance(&gains(BINARY, by_chance)));
        let targets = Settings { regression: true, ..BINARY };
        let target = |number: usize, chance: f64| number as f64 / 200.0 + chance - 1.5;
        assert!(are_beyond_chance(&gains(targets, |number, chance| target(scattered(number), chance))));
        assert!(!are_beyond_chance(&gains(targets, target)));
    }
}
