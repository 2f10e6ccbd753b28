//! Every learner forgets evicted names.

use super::bins::Bins;
use super::explicit::Explicit;
use super::factorisation::{self, FactorisationMachine};
use super::forest::{self, Forest};
use super::linear::{Step, Update};
use super::logarithmic::Logarithmic;
use super::mixture::{Calibrated, Mixture};
use super::neighbors::{self, Neighbors};
use super::products::Products;
use super::sgd::{self, Sgd};
use super::subspace::{self, Subspace};
use super::support_vectors::pruning::Pruning;
use super::support_vectors::{Rule, SupportVectors};
use crate::block::{Event, Evicted};
use crate::encoded::Encoded;
use crate::learner::{Learner, Lesson};
use crate::loss::Loss;
use crate::test_random::TestRandom;

/// Numbers at attributes 1 to 5 and coordinates of the same index, each present in half of the events, and attribute 6,
/// a category at coordinate 6 or 7.
const NUMBERS: u32 = 5;
const KIND: u32 = 6;
/// An attribute and a coordinate that were never learned.
const NEW: u32 = 9;
const EVENTS: usize = 300;

fn step(update: Update) -> Step {
    let loss = if update == Update::Arow { Loss::Hinge } else { Loss::Logistic };
    Step { update, loss, r: 1.0, eta: 0.2, rho: 0.01, steepness: 0.0, half_life: 500.0, restarts: false }
}

fn explicit(gamma: usize, update: Update, table_bits: u32) -> Explicit {
    Explicit::new(gamma, true, step(update), table_bits).unwrap()
}

fn factorisation() -> FactorisationMachine {
    let (loss, eta, shrink, half_life) = (Loss::Logistic, 0.1, 1e-6, 0.0);
    let settings = factorisation::Settings { loss, eta, shrink, half_life, table_bits: 18 };
    let mut learner = FactorisationMachine::new(settings).unwrap();
    // So many coordinates activate it.
    let event = Event::of(&[0, KIND], &[0, 60], &[1.0, 1.0]);
    learner.step(event, Lesson::of(1.0), &mut [0.0]);
    learner
}

fn sgd() -> Sgd {
    Sgd::new(sgd::Settings { regression: false, eta: 0.1, half_life: 500.0, table_bits: 18 }).unwrap()
}

fn forest() -> Forest {
    Forest::new(forest::Settings { regression: false, trees: 5, half_life: 0.0 }).unwrap()
}

fn of_subspace(max_pairwise_coordinates: usize) -> Subspace {
    let (regression, r, indicators, shrink, half_life, weights_half_life) = (false, 3.0, true, 5.0, 0.0, 0.0);
    let rank = 3;
    Subspace::new(subspace::Settings {
        regression,
        r,
        indicators,
        shrink,
        half_life,
        weights_half_life,
        max_pairwise_coordinates,
        rank,
    })
}

fn support_vectors(average: bool) -> SupportVectors {
    let (loss, pruning) = (Loss::Logistic, Pruning::Merge);
    let (gamma, normalize, rho, eta, steepness) = (2, true, 0.01, 0.0, 0.0);
    let longest = f64::INFINITY;
    let rule = Rule { gamma, normalize, rho, eta, loss, steepness, budget: 0, pruning, longest };
    SupportVectors::new(rule, average)
}

fn window_of_neighbors() -> Neighbors {
    Neighbors::new(neighbors::Settings { regression: false, window: 200, grows: false, neighbors: 10 })
        .unwrap()
}

/// Learners for which the numbering of coordinates makes no difference.
fn plain() -> Vec<Box<dyn Learner>> {
    let experts: Vec<(String, Box<dyn Learner>)> = vec![
        ("one".to_owned(), Box::new(explicit(1, Update::Arow, 18))),
        ("two".to_owned(), Box::new(explicit(2, Update::Arow, 18))),
        ("vectors".to_owned(), Box::new(support_vectors(false))),
    ];
    vec![
        Box::new(explicit(1, Update::Sgd, 18)),
        Box::new(explicit(2, Update::Arow, 18)),
        Box::new(explicit(3, Update::Adagrad, 18)),
        Box::new(Products::new(step(Update::Arow), 18).unwrap()),
        Box::new(Bins::new(step(Update::Arow), 18, 512).unwrap()),
        Box::new(sgd()),
        Box::new(Logarithmic::new(Box::new(explicit(2, Update::Arow, 18)))),
        Box::new(support_vectors(false)),
        Box::new(support_vectors(true)),
        Box::new(window_of_neighbors()),
        Box::new(of_subspace(64)),
        Box::new(Calibrated::new(Box::new(explicit(2, Update::Arow, 18)), 0.0).unwrap()),
        Box::new(Mixture::new(experts, 0, false, 0.0).unwrap()),
    ]
}

fn all() -> Vec<Box<dyn Learner>> {
    let mut all = plain();
    all.push(Box::new(of_subspace(1)));
    all.push(Box::new(of_subspace(6)));
    all
}

fn every() -> Vec<Box<dyn Learner>> {
    let mut every = all();
    every.push(Box::new(factorisation()));
    every.push(Box::new(forest()));
    every
}

/// Random events, in which attribute and coordinate `from` are renamed to `to`.
fn stream(seed: u64, events: usize, from: [u32; 2], to: [u32; 2]) -> (Encoded, Vec<f64>) {
    let (mut random, mut out, mut labels) = (TestRandom(seed), Encoded::default(), Vec::new());
    for _ in 0..events {
        let mut items = vec![(0, 0, 1.0)];
        for a in 1..=NUMBERS {
            let value = 2.0 * random.unit() - 1.0;
            if random.unit() < 0.5 {
                items.push((a, a, value));
            }
        }
        items.push((KIND, if random.unit() < 0.5 { KIND } else { KIND + 1 }, 1.0));
        let score = items.iter().map(|(_, k, x)| x * (f64::from(*k) - 3.5)).sum::<f64>();
        labels.push((score + random.unit() - 0.5).signum());
        for (a, k, _) in &mut items {
            *a = if *a == from[0] && *k == from[1] { to[0] } else { *a };
            *k = if *k == from[1] { to[1] } else { *k };
        }
        items.sort_by_key(|item| item.0);
        items.iter().for_each(|&(a, k, x)| out.push(a, k, x, x));
        out.starts.push(out.values.len());
    }
    (out, labels)
}

fn teach(learner: &mut dyn Learner, (events, labels): &(Encoded, Vec<f64>)) -> Vec<f64> {
    let lessons: Vec<Lesson> = labels.iter().map(|&label| Lesson::of(label)).collect();
    let (mut scores, mut losses) = (vec![0.0; labels.len()], vec![0.0; labels.len()]);
    learner.run(&events.block(), &lessons, &mut scores, &mut losses);
    scores
}

fn near(one: &[f64], other: &[f64], by: f64) -> bool {
    one.iter().zip(other).all(|(one, other)| (one - other).abs() <= by * one.abs().max(1.0))
}

const CATEGORY: Evicted = Evicted { before: 0, attributes: Vec::new(), coordinates: Vec::new() };

/// The eviction of the second category, and of an attribute with its number.
fn cases() -> [(Evicted, [u32; 2], [u32; 2]); 2] {
    let category = Evicted { coordinates: vec![KIND + 1], ..CATEGORY };
    let attribute = Evicted { attributes: vec![5], coordinates: vec![5], ..CATEGORY };
    [(category, [KIND, KIND + 1], [KIND, 8]), (attribute, [5, 5], [7, 8])]
}

#[test]
fn reused_coordinates_start_afresh() {
    for (evicted, own, new) in cases() {
        for (number, (mut one, mut other)) in plain().into_iter().zip(plain()).enumerate() {
            let first = stream(1, EVENTS, own, own);
            for learner in [&mut one, &mut other] {
                teach(&mut **learner, &first);
                learner.forget(&evicted);
            }
            let again = teach(&mut *one, &stream(2, EVENTS, own, own));
            let elsewhere = teach(&mut *other, &stream(2, EVENTS, own, new));
            assert!(near(&again, &elsewhere, 1e-8), "learner {number}: {evicted:?}");
        }
    }
}

/// The score of an event that has a value at a coordinate of an attribute, among others.
fn score_at(learner: &mut dyn Learner, attribute: u32, coordinate: u32) -> f64 {
    let mut score = [f64::NAN];
    let (attributes, coordinates) = ([0, 2, 3, attribute], [0, 2, 3, coordinate]);
    let event = Event::of(&attributes, &coordinates, &[1.0, 0.5, -0.7, 1.0]);
    learner.step(event, Lesson::NONE, &mut score);
    score[0]
}

#[test]
fn evicted_coordinates_score_like_unseen_ones() {
    for (number, mut learner) in all().into_iter().enumerate() {
        teach(&mut *learner, &stream(3, EVENTS, [0, 0], [0, 0]));
        let (there, apart) = (score_at(&mut *learner, KIND, KIND + 1), score_at(&mut *learner, KIND, NEW));
        assert!((there - apart).abs() > 1e-6);
        learner.forget(&cases()[0].0);
        let (there, apart) = (score_at(&mut *learner, KIND, KIND + 1), score_at(&mut *learner, KIND, NEW));
        assert!((there - apart).abs() < 1e-12, "learner {number}: {there} {apart}");
        learner.forget(&cases()[1].0);
        let (there, apart) = (score_at(&mut *learner, 5, 5), score_at(&mut *learner, NEW, NEW));
        assert!((there - apart).abs() < 1e-12, "learner {number}: {there} {apart}");
    }
}

#[test]
fn eviction_leaves_other_scores_unchanged() {
    let linear: [Box<dyn Learner>; 7] = [
        Box::new(explicit(3, Update::Arow, 18)),
        Box::new(Bins::new(step(Update::Arow), 18, 512).unwrap()),
        Box::new(sgd()),
        Box::new(Products::new(step(Update::Arow), 18).unwrap()),
        Box::new(support_vectors(true)),
        Box::new(factorisation()),
        Box::new(of_subspace(1)),
    ];
    for mut learner in linear {
        teach(&mut *learner, &stream(4, EVENTS, [0, 0], [0, 0]));
        let before: Vec<f64> = (1..=KIND).map(|a| score_at(&mut *learner, a.max(4), a.max(4))).collect();
        learner.forget(&cases()[0].0);
        let after: Vec<f64> = (1..=KIND).map(|a| score_at(&mut *learner, a.max(4), a.max(4))).collect();
        assert!(near(&before, &after, 1e-12));
    }
}

#[test]
fn blocks_equal_single_events_and_state_round_trip() {
    let (mut first, labels) = stream(5, EVENTS, [0, 0], [0, 0]);
    for (t, (evicted, ..)) in [(90, cases()[0].clone()), (91, cases()[1].clone()), (200, cases()[0].clone())]
    {
        first.evicted.push(Evicted { before: first.starts[t], ..evicted });
    }
    let stream = (first, labels);
    for (mut whole, mut single) in every().into_iter().zip(every()) {
        let scores = teach(&mut *whole, &stream);
        let block = stream.0.block();
        for (t, expected) in scores.iter().enumerate() {
            let mut score = [0.0];
            let part = block.part(t, 1);
            assert_eq!(part.evicted.len(), usize::from([90, 91, 200].contains(&t)));
            single.run(&part, &[Lesson::of(stream.1[t])], &mut score, &mut [0.0]);
            assert_eq!(score[0].to_bits(), expected.to_bits());
        }
        assert_eq!(whole.state(), single.state());
    }
    for (mut learner, mut back) in every().into_iter().zip(every()) {
        teach(&mut *learner, &stream);
        learner.forget(&cases()[1].0);
        back.restore(&learner.state(), 64, 64).unwrap();
        assert_eq!(back.state(), learner.state());
        let next = self::stream(6, EVENTS, [5, 5], [5, 8]);
        assert_eq!(teach(&mut *back, &next), teach(&mut *learner, &next));
        assert_eq!(back.state(), learner.state());
    }
}

#[test]
fn eviction_removes_factors() {
    let mut learner = factorisation();
    teach(&mut learner, &stream(7, EVENTS, [0, 0], [0, 0]));
    let before = learner.state();
    learner.forget(&cases()[0].0);
    let after = learner.state();
    let (index, left) = (before.i64s("index").unwrap().0, after.i64s("index").unwrap().0);
    let at = index.iter().position(|&place| place == i64::from(KIND + 1)).unwrap();
    assert_eq!(left, [&index[..at], &index[at + 1..]].concat());
    let width = before.f64s("moved").unwrap().0.len() / index.len();
    let mut rows = before.f64s("moved").unwrap().0.to_vec();
    rows.drain(at * width..(at + 1) * width);
    assert_eq!(after.f64s("moved").unwrap().0, rows);
}

#[test]
fn hashed_tables_clear_values_alone_in_evictions_that_are_too_large() {
    let mut learner = explicit(2, Update::Arow, 8);
    for coordinate in 0..60 {
        let coordinates = [0, coordinate];
        let event = Event::of(&[0, 9], &coordinates, &[1.0, 1.0]);
        learner.step(event, Lesson::of(1.0), &mut [0.0]);
    }
    assert!(learner.can_clear(16) && !learner.can_clear(17));
    let mut bins = explicit(1, Update::Arow, 8);
    for coordinate in 0..600 {
        bins.step(Event::of(&[9], &[coordinate], &[1.0]), Lesson::of(1.0), &mut [0.0]);
    }
    let evicted = Evicted { coordinates: (1..60).collect(), ..Evicted::default() };
    for learner in [&mut learner, &mut bins] {
        let before = learner.state();
        learner.forget(&evicted);
        assert_ne!(learner.state(), before);
    }
    let score = |learner: &mut Explicit, coordinate: u32| {
        let mut score = [0.0];
        learner.step(Event::of(&[9], &[coordinate], &[1.0]), Lesson::NONE, &mut score);
        score[0]
    };
    assert!((1..60).all(|coordinate| score(&mut bins, coordinate) == 0.0));
    assert!((60..600).filter(|&coordinate| score(&mut bins, coordinate) != 0.0).count() > 400);
}

#[test]
fn hashed_tables_clear_large_evictions_part_by_part() {
    let mut learner = explicit(2, Update::Arow, 10);
    for t in 0..200 {
        let (one, other) = (1 + t % 60, 1 + (t * 7 + 3) % 60);
        let both = [0, one.min(other), one.max(other)];
        let both = if one == other { &both[..2] } else { &both[..] };
        let event = Event::of(both, both, &[1.0, 0.5, -1.0][..both.len()]);
        learner.step(event, Lesson::of(if t % 3 == 0 { 1.0 } else { -1.0 }), &mut [0.0]);
    }
    let alone = |learner: &mut Explicit, k: u32| {
        let (mut score, places) = ([0.0], [0, k]);
        let event = Event::of(&places, &places, &[1.0, 1.0]);
        learner.step(event, Lesson::NONE, &mut score);
        score[0]
    };
    let before: Vec<f64> = (1..=60).map(|k| alone(&mut learner, k)).collect();
    for turn in 1..=17 {
        learner.forget(&Evicted { coordinates: vec![7, 8, 9], ..Evicted::default() });
        assert_eq!(learner.state().i64s("known").unwrap().0[2], turn % 16);
    }
    let after: Vec<f64> = (1..=60).map(|k| alone(&mut learner, k)).collect();
    let kept = before.iter().zip(&after).filter(|(before, after)| before == after).count();
    // One or two of the others may share a slot with those.
    assert!((54..60).contains(&kept));
    assert_ne!(before[6], after[6]);
    let mut back = explicit(2, Update::Arow, 10);
    back.restore(&learner.state(), 61, 61).unwrap();
    assert_eq!(back.state(), learner.state());
}
