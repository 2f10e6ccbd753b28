//! Tests on a log-normal target of which one in a hundred is a thousand times too large.

use super::quantiles::{ALL, Quantiles};
use super::{Point, TransformedTarget};
use crate::block::{Block, Event, Terms};
use crate::learner::{Learner, Lesson, Unit};
use crate::learners::explicit::Explicit;
use crate::learners::linear::Step;
use crate::learners::mixture::Mixture;
use crate::loss::Loss;
use crate::math::{exp, log};
use crate::state::{Array, State};
use crate::test_random::TestRandom;

const EVENTS: usize = 1500;

impl TestRandom {
    pub fn gaussian(&mut self) -> f64 {
        (0..12).map(|_| self.unit()).sum::<f64>() - 6.0
    }
}

fn explicit(gamma: usize) -> Box<dyn Learner> {
    let step = Step::arow(Loss::Squared, 1.0);
    Box::new(Explicit::new(gamma, false, step, 10).unwrap())
}

fn learner(point: Point) -> TransformedTarget {
    let experts = vec![("one".to_owned(), explicit(1)), ("two".to_owned(), explicit(2))];
    let mixture = Mixture::new(experts, 0, true, 0.0).unwrap().without_recent();
    TransformedTarget::new(Box::new(mixture), point).unwrap()
}

/// Values of x, and lessons; some have no label, no weight, or a late label.
fn stream() -> (Vec<f64>, Vec<Lesson<'static>>) {
    let mut random = TestRandom(7);
    let mut values = Vec::new();
    let mut lessons = Vec::new();
    for t in 0..EVENTS {
        let x = random.gaussian();
        values.extend([1.0, x]);
        let wild = if random.unit() < 0.01 { 1000.0 } else { 1.0 };
        let label = if t % 11 == 0 { f64::NAN } else { wild * exp(x + 0.5 * random.gaussian()) };
        let weight = [1.0, 2.0, 0.0, 1.0][t % 4];
        let ticket = if t % 13 < 2 { t as u64 / 13 + 1 } else { 0 };
        lessons.push(Lesson { weight, ticket, ..Lesson::of(label) });
    }
    (values, lessons)
}

fn event(values: &[f64], t: usize) -> Event<'_> {
    Event::of(&[0, 1], &[0, 1], &values[2 * t..2 * t + 2])
}

/// Scores and losses, in blocks of this many events.
fn run(learner: &mut dyn Learner, values: &[f64], lessons: &[Lesson], size: usize) -> (Vec<f64>, Vec<f64>) {
    let (mut scores, mut losses) = (vec![0.0; lessons.len()], vec![0.0; lessons.len()]);
    let indices: Vec<u32> = (0..values.len() as u32).map(|i| i % 2).collect();
    for begin in (0..lessons.len()).step_by(size) {
        let end = (begin + size).min(lessons.len());
        let starts: Vec<usize> = (0..=end - begin).map(|t| 2 * t).collect();
        let part = 2 * begin..2 * end;
        let (attributes, coordinates) = (&indices[part.clone()], &indices[part.clone()]);
        let values = &values[part];
        let block = Block {
            starts: &starts,
            attributes,
            coordinates,
            values,
            raw: values,
            terms: Terms::default(),
            evicted: &[],
        };
        learner.run(&block, &lessons[begin..end], &mut scores[begin..end], &mut losses[begin..end]);
    }
    (scores, losses)
}

fn bits(numbers: &[f64]) -> Vec<u64> {
    numbers.iter().map(|number| number.to_bits()).collect()
}

#[test]
fn learns_median_and_mean_of_lognormal_target() {
    let (values, lessons) = stream();
    // The mean is higher by half of the variance, and by part of the outliers.
    for (point, truth, most) in [(Point::Median, 0.0, 0.1), (Point::Mean, 0.125, 0.2)] {
        let (scores, _) = run(&mut learner(point), &values, &lessons, EVENTS);
        let off: Vec<f64> = (EVENTS / 2..EVENTS)
            .map(|t| log(scores[t].max(1e-9)) - values[2 * t + 1] - truth)
            .filter(|off| off.abs() < 0.5)
            .collect();
        assert!(off.len() > EVENTS * 4 / 10, "{point:?}");
        let mean = off.iter().sum::<f64>() / off.len() as f64;
        assert!(mean.abs() < most, "{point:?} {mean}");
    }
}

#[test]
fn blocks_single_events_and_resumed_learners_agree_exactly() {
    let (values, lessons) = stream();
    let mut whole = learner(Point::Mean);
    let (scores, losses) = run(&mut whole, &values, &lessons, EVENTS);
    let mut one = learner(Point::Mean);
    for (t, lesson) in lessons.iter().enumerate() {
        let mut score = [0.0];
        if lesson.is_learned() {
            // As when it is predicted first and learned separately.
            one.step(event(&values, t), Lesson { weight: 0.0, ticket: 0, ..*lesson }, &mut score);
            let loss = one.learn_predicted(event(&values, t), *lesson, &mut score);
            assert_eq!(loss.to_bits(), losses[t].to_bits());
        } else {
            one.step(event(&values, t), *lesson, &mut score);
        }
        assert_eq!(score[0].to_bits(), scores[t].to_bits());
        if t % 211 == 0 {
            let mut resumed = learner(Point::Mean);
            resumed.restore(&one.state(), 2, 2).unwrap();
            one = resumed;
        }
    }
    assert_eq!(one.state(), whole.state());
    let (again, _) = run(&mut learner(Point::Mean), &values, &lessons, 97);
    assert_eq!(bits(&again), bits(&scores));
    whole.restart(0);
    assert_eq!(whole.state(), learner(Point::Mean).state());
}

#[test]
fn target_unit_hardly_affects_predictions() {
    let (values, lessons) = stream();
    let (scores, _) = run(&mut learner(Point::Median), &values, &lessons, EVENTS);
    let larger = |lesson: &Lesson<'static>| {
        let target = 1024.0 * lesson.target;
        Lesson { label: target, target, ..*lesson }
    };
    let moved: Vec<Lesson> = lessons.iter().map(larger).collect();
    let (others, _) = run(&mut learner(Point::Median), &values, &moved, EVENTS);
    // The first 32 targets are not transformed.
    let both = || scores.iter().zip(&others).skip(EVENTS / 2);
    let off: f64 = both().map(|(one, other)| (1024.0 * one - other).abs()).sum();
    assert!(off < 0.15 * both().map(|(one, _)| (1024.0 * one).abs()).sum::<f64>());
}

#[test]
fn score_unit_has_no_effect_with_bent_logarithms() {
    let (values, lessons) = stream();
    let unit = |t: usize| Unit { centre: -4.0, spread: if t < 400 { 1.0 } else { 1.0 + t as f64 } };
    let in_units = |(t, lesson): (usize, &Lesson<'static>)| {
        let label = if t < 400 { lesson.label } else { unit(t).standard(lesson.label) };
        Lesson { label, unit: unit(t), ..*lesson }
    };
    let told: Vec<Lesson> = lessons.iter().enumerate().map(in_units).collect();
    let (mut one, mut other) = (learner(Point::Mean), learner(Point::Mean));
    let (scores, _) = run(&mut one, &values, &lessons, EVENTS);
    let (others, _) = run(&mut other, &values, &told, EVENTS);
    for t in 400..EVENTS {
        let (score, again) = (scores[t], unit(t).plain(others[t]));
        assert!((score - again).abs() < 1e-9 * score.abs().max(1.0), "{t} {score} {again}");
    }
}

#[test]
fn extreme_targets_and_weights_give_finite_scores() {
    for labels in [[0.0, 1e6, -1e6, 1e-300, 5.0], [1e-300, 1e6, 5.0, 1e90, 5e-324]] {
        for point in [Point::Mean, Point::Median] {
            let (mut learner, mut score) = (learner(point), [0.0]);
            for t in 0..2000 {
                let lesson = Lesson { weight: [1.0, 1e100, 1e-100][t % 3], ..Lesson::of(labels[t * t % 5]) };
                learner.step(event(&[1.0, 0.3], 0), lesson, &mut score);
                assert!(score[0].is_finite(), "{t}");
            }
            let mut back = self::learner(point);
            back.restore(&learner.state(), 2, 2).unwrap();
            assert_eq!(back.state(), learner.state());
        }
    }
}

#[test]
fn invalid_states_are_refused() {
    let (values, lessons) = stream();
    let mut known = learner(Point::Mean);
    run(&mut known, &values, &lessons, EVENTS);
    let with = |name: &str, array: Array| {
        let mut state = known.state();
        state.0.insert(name.to_owned(), array);
        state
    };
    let numbers = |values: Vec<f64>| {
        let count = values.len();
        Array::F64(values, vec![count])
    };
    let wrong: Vec<State> = vec![
        State::default(),
        with("variance", numbers(vec![f64::NAN])),
        with("variance", numbers(vec![])),
        with("bending.quantiles", numbers(vec![0.0; 4])),
        with("bending.quantiles", numbers(vec![0.0, 2.0, 1.0, 3.0])),
        with("bending.quantiles", numbers(vec![0.0, 1.0, f64::INFINITY, f64::INFINITY])),
        with("bending.recent", numbers(vec![0.0; 512])),
        with("bending.recent", numbers(vec![f64::NAN])),
        with("bending.looks", Array::I64(vec![-1], vec![1])),
        with("bending.logarithms.quantiles", numbers(vec![0.0; 4])),
        with("inner.steps", Array::I64(vec![-1], vec![1])),
    ];
    for state in wrong {
        let mut other = learner(Point::Mean);
        assert!(other.restore(&state, 2, 2).is_err());
        assert_eq!(other.state(), learner(Point::Mean).state());
    }
}

#[test]
fn negligible_weights_do_not_move_quantiles_or_variance() {
    let (mut quantiles, mut plain, mut random) = (Quantiles::default(), Quantiles::default(), TestRandom(3));
    for t in 0..16 * ALL {
        let target = random.gaussian();
        if t % 10 < 3 {
            quantiles.observe(100.0 + target, 1e-9);
        } else {
            quantiles.observe(target, 2.0);
            plain.observe(target, 1.0);
        }
    }
    let off = quantiles.now.iter().zip(plain.now).map(|(one, other)| (one - other).abs());
    assert!(off.fold(0.0, f64::max) < 0.15, "{quantiles:?} {plain:?}");
    let (values, lessons) = stream();
    let mut learner = learner(Point::Mean);
    run(&mut learner, &values, &lessons, EVENTS);
    let variance = learner.variance;
    learner.step(event(&values, 0), Lesson { weight: 1e-9, ..Lesson::of(1e6) }, &mut [0.0]);
    assert!((learner.variance - variance).abs() < 1e-6);
}

#[test]
fn quantiles_of_mostly_equal_targets_stay_ordered() {
    for share in [3, 5, 9] {
        let mut quantiles = Quantiles::default();
        let mut seed: u64 = share;
        for t in 0..4 * ALL as u64 {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let large = 0.1 + (seed >> 33) as f64 / f64::from(1 << 22);
            quantiles.observe(if t % 10 < share { 0.1 } else { large * large }, 1.0);
            Quantiles::restored(&quantiles.state()).unwrap();
        }
    }
}
