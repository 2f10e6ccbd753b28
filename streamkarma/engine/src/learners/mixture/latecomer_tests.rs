//! Mixtures with an expert that has no weight before its first prediction.

use super::Mixture;
use crate::block::{Event, Term};
use crate::learner::{Fact, Learner, Lesson};
use crate::learners::naive_bayes::NaiveBayes;
use crate::learners::sgd::{Settings, Sgd};
use crate::merging::checks::merged;
use crate::test_random::TestRandom;

const NAMES: [&str; 3] = ["slow", "fast", "naive bayes"];

/// Two linear experts and naive Bayes, in that order, up to so many of them.
fn mixture(experts: usize) -> Mixture {
    let sgd = |eta| Settings { regression: false, eta, half_life: 0.0, table_bits: 8 };
    let all: [Box<dyn Learner>; 3] = [
        Box::new(Sgd::new(sgd(0.01)).unwrap()),
        Box::new(Sgd::new(sgd(0.1)).unwrap()),
        Box::new(NaiveBayes::new(0.0)),
    ];
    let named = NAMES.into_iter().map(str::to_owned).zip(all);
    Mixture::new(named.take(experts).collect(), 0, false, 0.0).unwrap()
}

/// Learn events, with terms that depend on their classes if `has_terms`; returns the scores.
fn learn(model: &mut Mixture, seed: u64, events: usize, has_terms: bool) -> Vec<f64> {
    let mut random = TestRandom(seed);
    let mut all = Vec::new();
    for _ in 0..events {
        let class = random.below(model.classes().max(2));
        let x = random.unit() + class as f64 / 2.0;
        let label = if model.classes() == 1 { 2.0 * class as f64 - 1.0 } else { class as f64 };
        let terms = [Term { attribute: 1, key: 1 + (2 * class + random.below(3)) as u64 }];
        let terms = if has_terms { &terms[..] } else { &[] };
        let values = [1.0, x];
        let event = Event { terms, ..Event::of(&[0, 1], &[0, 1], &values) };
        let mut scores = vec![0.0; model.classes()];
        model.step(event, Lesson::of(label), &mut scores);
        all.extend(scores);
    }
    all
}

fn experts(model: &Mixture) -> Vec<String> {
    let facts = model.summary();
    let of = |(name, fact): &(&str, Fact)| match fact {
        Fact::Numbers(weights) if *name == "experts" => {
            Some(weights.iter().map(|(name, _)| name.clone()).collect())
        }
        _ => None,
    };
    facts.iter().find_map(of).unwrap()
}

fn assert_near(one: &[f64], other: &[f64]) {
    assert!(one.iter().zip(other).all(|(a, b)| (a - b).abs() < 1e-12 * (1.0 + b.abs())));
}

fn restored(model: &Mixture) -> Mixture {
    let mut again = mixture(3);
    again.restore(&model.state(), 2, 2).unwrap();
    again
}

#[test]
fn makes_no_difference_before_its_first_prediction() {
    for classes in [2, 3] {
        let (mut three, mut two) = (mixture(3), mixture(2));
        for model in [&mut three, &mut two] {
            if classes > 2 {
                model.widen(classes);
            }
        }
        assert_near(&learn(&mut three, 1, 600, false), &learn(&mut two, 1, 600, false));
        assert_eq!(experts(&three), ["slow", "fast", "blend"]);
        let mut again = restored(&three);
        assert_eq!(again.state(), three.state());
        // Neither does an event that is only predicted.
        let terms = [Term { attribute: 1, key: 7 }];
        let event = Event { terms: &terms, ..Event::of(&[0, 1], &[0, 1], &[1.0, 0.5]) };
        again.step(event, Lesson::NONE, &mut vec![0.0; again.classes()]);
        assert_eq!(learn(&mut again, 2, 50, true), learn(&mut three, 2, 50, true));
        assert_eq!(again.state(), three.state());
        assert_eq!(experts(&three), ["slow", "fast", "naive bayes", "blend"]);
    }
}

#[test]
fn counts_as_the_others_from_then_on() {
    let mut model = mixture(3);
    learn(&mut model, 1, 1, true);
    assert!(model.aggregator.weights().iter().all(|&weight| weight == 0.25));
    assert!(model.aggregator.blend.mix.iter().all(|&share| (share - 1.0 / 3.0).abs() < 1e-12));
    learn(&mut model, 2, 600, true);
    let weight = model.aggregator.mean_weights()[2];
    assert!(weight > model.aggregator.mean_weights()[0]);
    assert_eq!(restored(&model).state(), model.state());
    model.restart(0);
    assert_eq!(model.aggregator.weights()[2], 0.0);
}

#[test]
fn merging_admits_what_a_part_has_admitted() {
    let mut base = mixture(3);
    learn(&mut base, 1, 50, false);
    let part = |seed, has_terms| {
        let mut part = base.clone();
        learn(&mut part, seed, 100, has_terms);
        part
    };
    let [without, other, with] = [part(2, false), part(3, false), part(4, true)];
    assert_eq!(merged(&base, &[&without, &other]).aggregator.weights()[2], 0.0);
    let all = merged(&base, &[&without, &with]);
    assert!(all.aggregator.weights()[2] > 0.01);
    assert!((all.aggregator.weights().iter().sum::<f64>() - 1.0).abs() < 1e-12);
    for model in [&merged(&base, &[&without, &other]), &all] {
        assert_eq!(restored(model).state(), model.state());
    }
}

#[test]
fn states_with_a_missing_weight_are_refused() {
    let mut model = mixture(3);
    learn(&mut model, 1, 20, false);
    let state = model.state();
    for (name, at, value) in [("shares", 0, 0.0), ("mix", 2, 0.1)] {
        let mut broken = state.clone();
        let (mut values, shape) =
            broken.f64s(name).map(|(all, shape)| (all.to_vec(), shape.to_vec())).unwrap();
        let moved = values[at] - value;
        values[at] = value;
        if name == "shares" {
            values[1] += moved;
        }
        broken.put_f64s(name, values, &shape);
        assert!(mixture(3).restore(&broken, 2, 2).is_err(), "{name}");
    }
}
