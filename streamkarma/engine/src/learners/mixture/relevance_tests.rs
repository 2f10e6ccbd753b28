//! The measured contributions of attributes to the prediction, compared with the true ones.

use super::relevance::Relevance;
use crate::block::{Event, Evicted};
use crate::state::{Array, State};
use crate::test_random::TestRandom;
use crate::translation::{DROPPED, Translation};

/// The prediction has these weights for the values of attributes 1 to 4, each present in two of three events.
const WEIGHTS: [f64; 4] = [3.0, -2.0, 0.0, 1.0];
/// Categories of attribute 5 at coordinates 5 to 7, and the contribution of each.
const CATEGORIES: [f64; 3] = [0.5, 0.5, -1.0];

impl TestRandom {
    /// Uniform with variance 1.
    fn value(&mut self) -> f64 {
        12.0_f64.sqrt() * (self.unit() - 0.5)
    }
}

/// An event and its prediction.
struct Example {
    attributes: Vec<u32>,
    coordinates: Vec<u32>,
    values: Vec<f64>,
    prediction: f64,
}

impl Example {
    /// From attribute, coordinate and value of each item.
    fn of(items: &[(u32, u32, f64)], prediction: f64) -> Self {
        Self {
            attributes: items.iter().map(|item| item.0).collect(),
            coordinates: items.iter().map(|item| item.1).collect(),
            values: items.iter().map(|item| item.2).collect(),
            prediction,
        }
    }

    fn event(&self) -> Event<'_> {
        Event::of(&self.attributes, &self.coordinates, &self.values)
    }

    fn items(&self) -> impl Iterator<Item = (u32, u32, f64)> {
        let names = self.attributes.iter().zip(&self.coordinates);
        names.zip(&self.values).map(|((&attribute, &coordinate), &value)| (attribute, coordinate, value))
    }
}

fn stream(seed: u64, events: usize) -> Vec<Example> {
    let mut random = TestRandom(seed);
    let mut example = |_| {
        let (mut prediction, mut items) = (1.5, vec![]);
        for (k, weight) in (1..).zip(WEIGHTS) {
            let value = random.value();
            if random.unit() < 2.0 / 3.0 {
                items.push((k, k, value));
                prediction += weight * value;
            }
        }
        let category = (random.unit() * 3.0) as usize;
        items.push((5, 5 + category as u32, 1.0));
        Example::of(&items, prediction + CATEGORIES[category])
    };
    (0..events).map(&mut example).collect()
}

fn learned(from: &Relevance, stream: &[Example]) -> Relevance {
    let mut known = from.clone();
    stream.iter().for_each(|example| known.learn(&example.event(), example.prediction));
    known
}

/// What is left open if these attributes are observed.
fn open(known: &Relevance, attributes: &[u32]) -> f64 {
    known.open(&Event::of(attributes, attributes, &vec![0.0; attributes.len()]))
}

/// The true value, if there are only the attributes `all`.
fn expected(attributes: &[u32], all: &[u32]) -> f64 {
    let square = |&attribute: &u32| match attribute {
        5 => 0.5,
        _ => WEIGHTS[attribute as usize - 1].powi(2),
    };
    let sum = |some: &[u32]| some.iter().map(square).sum::<f64>();
    (1.0 - sum(attributes) / sum(all)).max(0.0).sqrt()
}

#[test]
fn missing_attributes_leave_their_relevance_open() {
    let known = learned(&Relevance::default(), &stream(3, 20_000));
    let all = [1, 2, 3, 4, 5];
    for some in [&[1][..], &[2, 3], &[4, 5], &[1, 2], &[3], &[1, 2, 4, 5]] {
        assert!((open(&known, some) - expected(some, &all)).abs() < 0.06, "{some:?} {}", open(&known, some));
    }
    assert_eq!(open(&known, &all), 0.0);
    assert_eq!(open(&known, &[]), 1.0);
    // Unknown attributes have no effect, and several values of an attribute count once.
    assert_eq!(open(&known, &[1, 1, 9, u32::MAX - 1]), open(&known, &[1]));
    assert_eq!(open(&Relevance::default(), &[1]), 0.0);
}

#[test]
fn evicted_attributes_have_no_effect() {
    let mut known = learned(&Relevance::default(), &stream(3, 2_000));
    known.forget(&Evicted { before: 0, attributes: vec![1, 40], coordinates: vec![1, 6, 40] });
    for some in [&[2][..], &[3, 5], &[2, 4]] {
        assert!((open(&known, some) - expected(some, &[2, 3, 4, 5])).abs() < 0.1);
    }
    assert_eq!(open(&known, &[1, 2]), open(&known, &[2]));
    let mut never = learned(&Relevance::default(), &stream(3, 2_000));
    never.forget(&Evicted { before: 0, attributes: vec![], coordinates: vec![6] });
    never.forget(&Evicted { before: 0, attributes: vec![1], coordinates: vec![1] });
    assert_eq!(known, never);
}

#[test]
fn renaming_and_rescaling_preserve_relevance() {
    let (begin, end) = (stream(3, 1_000), stream(5, 1_000));
    let mut known = learned(&Relevance::default(), &begin);
    let plain = learned(&known, &end);
    let mut translation = Translation::none(6, vec![0, 1, 2, 3, 4, 5, 5, 5]);
    (translation.attributes[1], translation.attributes[4]) = (4, 1);
    (translation.coordinates[1], translation.coordinates[4]) = (4, 1);
    translation.stretch[2] = -1.0;
    known.translate(&translation);
    for example in &end {
        let moved = example.items().map(|(attribute, coordinate, value)| {
            let [attribute, place] = [attribute as usize, coordinate as usize];
            (
                translation.attributes[attribute],
                translation.coordinates[place],
                value / translation.stretch[place],
            )
        });
        let mut items: Vec<_> = moved.collect();
        items.sort_by_key(|item| item.0);
        let moved = Example::of(&items, example.prediction);
        known.learn(&moved.event(), moved.prediction);
    }
    for (mine, theirs) in [(&[4][..], &[1][..]), (&[2], &[2]), (&[1, 3, 5], &[3, 4, 5])] {
        assert!((open(&known, mine) - open(&plain, theirs)).abs() < 1e-12);
    }
    (translation.attributes[2], translation.coordinates[2]) = (DROPPED, DROPPED);
    let mut fewer = plain.clone();
    fewer.translate(&translation);
    assert_eq!(open(&fewer, &[2]), 1.0);
}

#[test]
fn prediction_signs_do_not_matter() {
    let (begin, end) = (stream(3, 500), stream(5, 500));
    let mut turned = learned(&Relevance::default(), &begin);
    turned.turn();
    end.iter().for_each(|example| turned.learn(&example.event(), -example.prediction));
    let plain = learned(&learned(&Relevance::default(), &begin), &end);
    for some in [&[1][..], &[2, 3], &[4, 5]] {
        assert_eq!(open(&turned, some), open(&plain, some));
    }
}

#[test]
fn merging_weights_parts_by_events_in_any_order() {
    let base = learned(&Relevance::default(), &stream(3, 300));
    let parts: Vec<Relevance> =
        (5..8).map(|seed| learned(&base, &stream(seed, 100 * seed as usize))).collect();
    let merged = |parts: &[&Relevance]| {
        let mut merged = base.clone();
        merged.merge(parts);
        merged
    };
    let at_once = merged(&[&parts[0], &parts[1], &parts[2]]);
    let tree = merged(&[&parts[2], &merged(&[&parts[0], &parts[1]])]);
    for some in [&[1][..], &[2, 3], &[4, 5]] {
        assert!((open(&at_once, some) - open(&tree, some)).abs() < 1e-12);
        assert!((open(&at_once, some) - expected(some, &[1, 2, 3, 4, 5])).abs() < 0.1);
    }
    assert_eq!(merged(&[&base]), base);
    assert_eq!(merged(&[&base, &parts[0]]).state().0["said"], parts[0].state().0["said"]);
}

#[test]
fn state_round_trip_and_broken_states_refused() {
    let known = learned(&Relevance::default(), &stream(3, 300));
    let good = known.state();
    assert_eq!(Relevance::restored(&good, 6, 8).unwrap(), known);
    assert!(Relevance::restored(&good, 5, 8).is_err() && Relevance::restored(&good, 6, 7).is_err());
    let refused = |name: &str, array: Array| {
        let mut broken = good.clone();
        broken.0.insert(name.to_owned(), array);
        assert!(Relevance::restored(&broken, 6, 8).is_err(), "{name}");
    };
    for name in good.0.keys() {
        let mut fewer = good.clone();
        fewer.0.remove(name);
        assert!(Relevance::restored(&fewer, 6, 8).is_err(), "no {name}");
        refused(name, Array::F64(vec![f64::NAN; 6], vec![6]));
    }
    refused("squares", Array::F64(vec![-1.0; 6], vec![6]));
    refused("products_events", Array::I64(vec![1; 7], vec![7]));
    refused("said_events", Array::I64(vec![-1], vec![1]));
    refused("more", Array::I64(vec![1], vec![1]));
    assert!(Relevance::restored(&State::default(), 6, 8).is_err());
}
