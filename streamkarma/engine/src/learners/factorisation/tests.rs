//! The score and the steps against their definition, sleep, states, and extreme numbers.

use std::collections::BTreeMap;

use super::*;
use crate::state::Array;

/// w and v of each coordinate, and the sum of squared gradients of each.
type Parameters = BTreeMap<u32, Row>;

/// Reproducible numbers (a linear congruential generator).
pub(super) struct Numbers(pub u64);

impl Numbers {
    pub fn below(&mut self, limit: u32) -> u32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 40) as u32 % limit
    }
}

pub(super) fn settings(half_life: f64) -> Settings {
    Settings { loss: Loss::Logistic, eta: 0.5, shrink: 0.01, half_life, table_bits: 18 }
}

fn learner(half_life: f64) -> FactorisationMachine {
    FactorisationMachine::new(settings(half_life)).unwrap()
}

fn lesson(label: f64) -> Lesson<'static> {
    Lesson::of(label)
}

/// An event with the constant, two categories out of 30 each, and a number.
pub(super) struct Sample {
    pub coordinates: [u32; 4],
    pub values: [f64; 4],
}

impl Sample {
    pub fn of(numbers: &mut Numbers) -> Self {
        let number = f64::from(numbers.below(400)) / 100.0 - 2.0;
        Self {
            coordinates: [0, 2 + numbers.below(30), 32 + numbers.below(30), 1],
            values: [1.0, 1.0, 1.0, number],
        }
    }

    pub fn event(&self) -> Event<'_> {
        Event::of(&[0, 1, 2, 3], &self.coordinates, &self.values)
    }

    pub fn label(&self) -> f64 {
        if (self.coordinates[1] + self.coordinates[2]).is_multiple_of(2) { 1.0 } else { -1.0 }
    }
}

/// A learner after this many events, preceded by one with the highest of all coordinates.
pub(super) fn learned(half_life: f64, events: usize) -> FactorisationMachine {
    let (mut learner, mut numbers) = (learner(half_life), Numbers(1));
    let first = Sample { coordinates: [0, 2, 61, 1], values: [1.0; 4] };
    learner.step(first.event(), lesson(1.0), &mut [0.0]);
    for _ in 0..events {
        let sample = Sample::of(&mut numbers);
        learner.step(sample.event(), lesson(sample.label()), &mut [0.0]);
    }
    learner
}

/// The score, pair by pair.
fn score(parameters: &Parameters, items: &[(u32, f64)]) -> f64 {
    let mut score = 0.0;
    for (number, (k, x)) in items.iter().enumerate() {
        score += parameters[k].moved[RANK] * x;
        for (j, other) in items[..number].iter().filter(|(j, _)| *j > 0 && *k > 0) {
            let (v, u) = (&parameters[k].moved, &parameters[j].moved);
            score += (0..RANK).map(|f| v[f] * u[f]).sum::<f64>() * x * other;
        }
    }
    score
}

#[test]
fn scores_and_steps_match_definition_and_numerical_gradient() {
    for half_life in [0.0, 4.0] {
        let (mut learner, mut numbers) = (learned(half_life, 0), Numbers(2));
        learner.restart(0);
        learner.register(&Sample { coordinates: [0, 2, 61, 1], values: [1.0; 4] }.event());
        let start = |k| rows::factors(&Row::default(), k, 1.0);
        let fresh = |k| {
            let mut row = Row::default();
            row.moved[..RANK].copy_from_slice(&start(k));
            row
        };
        let mut parameters: Parameters = (0..62).map(|k| (k, fresh(k))).collect();
        let kept: f64 = if half_life > 0.0 { 0.5f64.powf(1.0 / half_life) } else { 1.0 };
        for _ in 0..300 {
            let sample = Sample::of(&mut numbers);
            let norm = sample.values.iter().map(|x| x * x).sum::<f64>().sqrt();
            let items: Vec<(u32, f64)> =
                sample.coordinates.iter().zip(sample.values).map(|(&k, x)| (k, x / norm)).collect();
            let mut scores = [0.0];
            learner.step(sample.event(), lesson(sample.label()), &mut scores);
            let learned = items.iter().copied().filter(|(k, _)| parameters[k].moments[RANK] > 0.0);
            assert!((scores[0] - score(&parameters, &learned.collect::<Vec<_>>())).abs() < 1e-6);
            let loss =
                |parameters: &Parameters| Loss::Logistic.of(score(parameters, &items), sample.label()).0;
            let before = parameters.clone();
            for (k, row) in &mut parameters {
                let is_there = items.iter().any(|(item, _)| item == k);
                for s in 0..rows::SLOTS {
                    let begun = if s < RANK { start(*k)[s] } else { 0.0 };
                    if is_there {
                        let (mut above, mut below) = (before.clone(), before.clone());
                        above.get_mut(k).unwrap().moved[s] += 1e-5;
                        below.get_mut(k).unwrap().moved[s] -= 1e-5;
                        let gradient = (loss(&above) - loss(&below)) / 2e-5 + 0.01 * (row.moved[s] - begun);
                        row.moments[s] += gradient * gradient;
                        row.moved[s] -= 0.5 * gradient / (0.1 + row.moments[s]).sqrt();
                    }
                    row.moved[s] = begun + kept * (row.moved[s] - begun);
                    row.moments[s] *= kept;
                }
            }
        }
    }
}

#[test]
fn learns_interaction_of_two_categories() {
    let (mut learner, mut numbers) = (learned(0.0, 4000), Numbers(3));
    let right = (0..500).filter(|_| {
        let (sample, mut scores) = (Sample::of(&mut numbers), [0.0]);
        learner.step(sample.event(), Lesson::NONE, &mut scores);
        scores[0] * sample.label() > 0.0
    });
    assert!(right.count() > 475);
}

#[test]
fn sleeps_until_there_are_enough_coordinates() {
    let mut learner = learner(0.0);
    let mut take = |coordinates: &[u32], label: f64| {
        let attributes: Vec<u32> = (0..coordinates.len() as u32).collect();
        let values = vec![1.0; coordinates.len()];
        let (event, mut scores) = (Event::of(&attributes, coordinates, &values), [9.0]);
        let loss = learner.step(event, lesson(label), &mut scores);
        (scores[0], loss, learner.awake, learner.rows.len())
    };
    assert_eq!(take(&[0, 22], 1.0), (0.0, 2f64.ln(), false, 0)); // 23 coordinates
    assert!(take(&[0, 5_000], f64::NAN).1.is_nan()); // predicted only
    let (score, loss, awake, places) = take(&[0, 23], 1.0);
    assert_eq!((score, loss, awake, places), (0.0, 2f64.ln(), true, 32)); // 24 of 2 attributes
}

#[test]
fn predict_then_learn_is_a_step_and_predicting_has_no_effect() {
    let (mut one, mut two, mut numbers) = (learned(50.0, 100), learned(50.0, 100), Numbers(4));
    for _ in 0..100 {
        let (sample, mut scores) = (Sample::of(&mut numbers), [[0.0]; 2]);
        one.step(sample.event(), lesson(sample.label()), &mut scores[0]);
        two.step(sample.event(), Lesson::NONE, &mut scores[1]);
        two.learn_predicted(sample.event(), lesson(sample.label()), &mut scores[1]);
        assert_eq!(scores[0], scores[1]);
    }
    let before = one.state();
    let coordinates = [0, 4, u32::MAX >> 1];
    let unknown = Event::of(&[0, 2, 9], &coordinates, &[1.0, 1.0, 5.0]);
    one.step(unknown, Lesson::NONE, &mut [0.0]);
    one.step(unknown, Lesson { weight: 0.0, ..lesson(1.0) }, &mut [0.0]);
    assert_eq!((one.state(), two.state()), (before.clone(), before));
}

#[test]
fn new_coordinates_do_not_affect_their_first_score() {
    let mut learner = learned(0.0, 300);
    let cleared = Evicted { coordinates: vec![40], ..Evicted::default() };
    for new in [200, 40] {
        learner.forget(&cleared);
        let mut scores = [[0.0]; 3];
        for (score, (coordinate, lesson)) in
            scores.iter_mut().zip([(u32::MAX >> 1, Lesson::NONE), (new, Lesson::NONE), (new, lesson(1.0))])
        {
            let coordinates = [0, 5, coordinate, 1];
            let event = Event::of(&[0, 1, 2, 3], &coordinates, &[1.0, 1.0, 1.0, 0.5]);
            learner.step(event, lesson, score);
        }
        assert_eq!(scores, [scores[0]; 3]);
        assert!(learner.is_learned(new));
    }
}

#[test]
fn widening_keeps_score_differences_and_the_table_bound() {
    let mut learner = learned(0.0, 300);
    let (sample, mut one, mut four) = (Sample::of(&mut Numbers(5)), [0.0], [0.0; 4]);
    learner.step(sample.event(), Lesson::NONE, &mut one);
    learner.widen(4);
    learner.step(sample.event(), Lesson::NONE, &mut four);
    let begun = 8.0 * 0.01; // for each pair, whose x_j x_k add up to at most 1 / 2
    assert!((four[1] - four[0] - one[0]).abs() < begun);
    assert!(four[2] == four[3] && four[2].abs() < begun);
    for _ in 0..50 {
        learner.step(sample.event(), lesson(3.0), &mut four);
    }
    assert!(four[3] > four[0].max(four[1]).max(four[2]) + 1.0);
    learner.widen(1000);
    assert_eq!((learner.classes(), learner.rows.len()), (1000, 16_000));
    let mut many = vec![0.0; 1000];
    learner.step(sample.event(), lesson(999.0), &mut many);
    assert!(many.iter().all(|score| score.is_finite()));
}

#[test]
fn coordinates_past_the_table_share_rows() {
    let mut learner = FactorisationMachine::new(Settings { table_bits: 8, ..settings(0.0) }).unwrap();
    for label in [1.0, -1.0] {
        let event = Event::of(&[0, 1], &[0, 70_000], &[1.0, 1.0]);
        learner.step(event, lesson(label), &mut [0.0]);
    }
    assert_eq!(learner.rows.len(), 16);
}

#[test]
fn extreme_input_stays_finite() {
    for loss in [Loss::Logistic, Loss::Squared] {
        let mut learner = FactorisationMachine::new(Settings { loss, ..settings(1.0) }).unwrap();
        let mut scores = [0.0];
        for (t, huge) in [1e300, -1e300, 1e-300, 0.0, f64::MAX, 1.0].iter().cycle().take(600).enumerate() {
            let label = if loss == Loss::Logistic { huge.signum() } else { *huge };
            let (coordinates, values) = ([0, 1 + t as u32 % 3, 40], [1.0, *huge, -huge]);
            let event = Event::of(&[0, 1, 2], &coordinates, &values);
            learner.step(event, Lesson { weight: 1e300, ..lesson(label) }, &mut scores);
            assert!(scores[0].is_finite());
        }
        let mut back = FactorisationMachine::new(learner.rows.settings).unwrap();
        back.restore(&learner.state(), 3, 41).unwrap();
    }
}

#[test]
fn states_round_trip_exactly() {
    for classes in [1, 3] {
        let (mut model, mut numbers) = (learned(20.0, 200), Numbers(6));
        if classes > 1 {
            model.widen(classes);
        }
        let mut back = learner(20.0);
        back.restore(&model.state(), 4, 62).unwrap();
        assert_eq!(back.state(), model.state());
        for label in [0.0, 1.0, 1.0] {
            let (sample, mut one, mut two) =
                (Sample::of(&mut numbers), vec![0.0; classes], vec![0.0; classes]);
            model.step(sample.event(), lesson(label), &mut one);
            back.step(sample.event(), lesson(label), &mut two);
            assert_eq!(one, two);
        }
        assert_eq!(back.state(), model.state());
        assert!(learner(20.0).restore(&model.state(), 4, 61).is_err());
        assert!(learner(20.0).restore(&model.state(), 3, 62).is_err());
    }
}

#[test]
fn broken_states_are_refused() {
    let model = learned(20.0, 200);
    let touched = model.state().i64s("index").unwrap().0.len();
    let shape = vec![1, touched, rows::SLOTS];
    let size = touched * rows::SLOTS;
    for (name, array) in [
        ("known", Array::I64(vec![4, -1], vec![2])),
        ("known", Array::I64(vec![4], vec![1])),
        ("awake", Array::Bool(vec![false], vec![1])),
        ("clock", Array::F64(vec![0.5, 1.0], vec![2])),
        ("clock", Array::F64(vec![1.0, 0.5], vec![2])),
        ("clock", Array::F64(vec![1.0], vec![1])),
        ("index", Array::I64((1..=touched as i64).rev().collect(), vec![touched])),
        ("index", Array::I64((100..100 + touched as i64).collect(), vec![touched])),
        ("moved", Array::F64(vec![f64::NAN; size], shape.clone())),
        ("moved", Array::F64(vec![1e200; size], shape.clone())),
        ("moved", Array::F64(vec![], vec![1 << 60, 0, rows::SLOTS])),
        ("moments", Array::F64(vec![-1.0; size], shape)),
        ("other", Array::F64(vec![], vec![0])),
    ] {
        let mut broken = model.state();
        broken.0.insert(name.to_owned(), array);
        let mut back = learner(20.0);
        assert!(back.restore(&broken, 4, 62).is_err(), "{name}");
        assert_eq!(back.state(), learner(20.0).state());
    }
}
