//! Late labels compared with their definition.

use std::collections::BTreeMap;

use super::aggregator::{Aggregator, Count, ExpertScores};
use super::completeness::Observed;
use super::late::{HALVES, Late, MOST};
use super::relevance::Relevance;
use super::tests::{EVENTS, KINDS, Kind, Stream, mixture, run};
use crate::learner::Learner;

/// For an event: the number of residuals by then, the experts' scores and how much was observed, and the prediction of
/// the mixture.
type Asked = (usize, (Vec<f64>, Observed), Vec<f64>);

/// The weight of a label, from the list of residuals and that of the products and squares of late ones.
fn weight_of(residual: &[f64], all: &[Vec<f64>], since: usize, late: &mut Vec<(f64, f64)>) -> f64 {
    let dot = |one: &[f64], other: &[f64]| one.iter().zip(other).map(|(a, b)| a * b).sum::<f64>();
    let back = all[since..].iter().rev().zip(1..);
    let product: f64 = back.map(|(other, k)| (63.0_f64 / 64.0).powi(k) * dot(residual, other)).sum();
    late.push((product, dot(residual, residual)));
    let faded = |of: fn(&(f64, f64)) -> f64| {
        late.iter().rev().zip(0..).map(|(each, k)| 0.999_f64.powi(k) * of(each)).sum::<f64>()
    };
    1.0 / (1.0 + 2.0 * faded(|each| each.0) / faded(|each| each.1)).max(1.0)
}

#[test]
fn late_labels_use_kept_predictions_and_dependence_weights() {
    for kind in KINDS {
        let (stream, mut model) = (Stream::new(kind), mixture(kind, 1).without_recent());
        let classes = model.classes();
        let mut alone = Aggregator::new(4, kind == Kind::Numbers, 0.0);
        alone.widen(classes);
        let mut relevance = Relevance::default();
        let (mut asked, mut all, mut late) = (BTreeMap::<u64, Asked>::new(), Vec::new(), Vec::new());
        let bits = run(&mut model, &stream, 0, EVENTS);
        for (t, lesson) in stream.lessons().iter().enumerate() {
            let mut mixed = vec![0.0; classes];
            let mut then = (stream.scores(t, classes), stream.observed(t, &relevance));
            let expert_scores = ExpertScores { scores: &then.0, observed: then.1 };
            alone.step(expert_scores, lesson.label, Count::of(0.0), &mut mixed);
            for (found, expected) in bits[t * classes..].iter().zip(&mixed) {
                assert!((f64::from_bits(*found) - expected).abs() < 1e-9);
            }
            if !lesson.is_labelled() {
                // A prediction made before any event was learned does not count.
                if alone.steps() > 0 {
                    let prediction = mixed.iter().map(|&each| alone.prediction(each)).collect();
                    asked.insert(lesson.ticket, (all.len(), then, prediction));
                }
            } else if lesson.is_learned() {
                let mut weight = lesson.weight;
                if kind == Kind::Two {
                    relevance.learn(&stream.block(t, t + 1).event(0), mixed[0]);
                }
                if let Some((since, before, prediction)) = asked.remove(&lesson.ticket) {
                    let mut residual = Vec::new();
                    alone.residual(&prediction, lesson.label, &mut residual);
                    weight *= weight_of(&residual, &all, since, &mut late);
                    then = before;
                    all.push(residual);
                }
                let expert_scores = ExpertScores { scores: &then.0, observed: then.1 };
                alone.step(expert_scores, lesson.label, Count::of(weight), &mut mixed);
            }
        }
        assert!(all.len() > 30);
    }
}

/// Keep predictions of events with these tickets.
fn keep(late: &mut Late, aggregator: &mut Aggregator, tickets: std::ops::Range<u64>) {
    for ticket in tickets {
        let mut mixed = vec![0.0; aggregator.classes()];
        let scores = vec![ticket as f64; 2 * aggregator.classes()];
        let expert_scores = ExpertScores::of(&scores);
        aggregator.step(expert_scores, f64::NAN, Count::of(0.0), &mut mixed);
        late.keep(ticket, aggregator, expert_scores, &mixed);
    }
}

#[test]
fn oldest_predictions_are_dropped_beyond_the_bounds() {
    let (mut late, mut aggregator) = (Late::new(2, 1), Aggregator::new(2, false, 0.0));
    keep(&mut late, &mut aggregator, 1..MOST as u64 + 3);
    keep(&mut late, &mut aggregator, 5..6);
    assert!(late.take(2).is_none() && late.take(5).is_some() && late.take(5).is_none());
    let one = late.take(3).unwrap();
    assert_eq!(late.expert_scores(&one).scores, [3.0, 3.0]);
    // Four numbers per class and two more, two million in all.
    late.widen(1 << 10);
    assert_eq!(late.bytes(), 8 * 1027 + 511 * (96 + 8 * 4098));
    assert!(late.take(MOST as u64 + 2).is_some() && late.take(MOST as u64 - 600).is_none());
}

#[test]
fn widening_translates_kept_predictions() {
    let (mut late, mut aggregator) = (Late::new(2, 1), Aggregator::new(2, false, 0.0));
    keep(&mut late, &mut aggregator, 1..3);
    let mut wide = late.clone();
    wide.widen(3);
    let (two, three) = (late.take(2).unwrap(), wide.take(2).unwrap());
    assert_eq!(wide.expert_scores(&three).scores, [-1.0, 1.0, 0.0, -1.0, 1.0, 0.0]);
    let prediction = two.numbers[4];
    assert_eq!(three.numbers[8..11], [1.0 - prediction, prediction, 0.0]);
    // Residuals have the same length as before.
    let (mut one, mut several) = (Vec::new(), Vec::new());
    aggregator.residual(&[prediction], -1.0, &mut one);
    aggregator.widen(3);
    aggregator.residual(&three.numbers[8..11], 0.0, &mut several);
    let expected = [HALVES[0] * one[0], HALVES[1] * one[0], 0.0];
    several.iter().zip(expected).for_each(|(found, each)| assert!((found - each).abs() < 1e-12));
}

#[test]
fn impossible_states_are_refused() {
    let (mut late, mut aggregator) = (Late::new(2, 1), Aggregator::new(2, false, 0.0));
    keep(&mut late, &mut aggregator, 1..4);
    let good = late.state();
    let fresh = || Late::new(2, 1);
    assert_eq!(fresh().restored(&good, 0).unwrap().state(), good);
    for tickets in [vec![1, 2, 2], vec![0, 1, 2], vec![1, 2]] {
        let mut state = good.clone();
        state.put_u64s("tickets", tickets.clone(), &[tickets.len()]);
        assert!(fresh().restored(&state, 0).is_err(), "{tickets:?}");
    }
    for (at, mark) in [(0, 1), (0, -1), (1, 1), (6, -1), (6, 1 << 53)] {
        let (mut state, mut marks) = (good.clone(), vec![0; 7]);
        marks[at] = mark;
        state.put_i64s("marks", marks, &[7]);
        assert!(fresh().restored(&state, 0).is_err(), "{at} {mark}");
    }
    for sums in [vec![0.0, 0.0, 0.0], vec![0.0, f64::NAN, 1.0], vec![0.0, 1.0]] {
        let mut state = good.clone();
        state.put_f64s("sums", sums.clone(), &[sums.len()]);
        assert!(fresh().restored(&state, 0).is_err(), "{sums:?}");
    }
}
