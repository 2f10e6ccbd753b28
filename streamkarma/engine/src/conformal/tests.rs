//! Tests of intervals and sets on random streams that change.

use super::{Intervals, Sets};
use crate::state::{Array, State};
use crate::test_random::TestRandom;

const EVENTS: usize = 6000;

/// Noise whose size differs in each third.
fn noise() -> Vec<f64> {
    let mut random = TestRandom(3);
    (0..EVENTS).map(|t| [1.0, 30.0, 0.3][3 * t / EVENTS] * (random.unit() - 0.5)).collect()
}

/// Scores of three classes, the last of which appears later, and classes that fit them more or less.
fn classes() -> (Vec<[f64; 3]>, Vec<usize>) {
    let mut random = TestRandom(5);
    let scores: Vec<[f64; 3]> = (0..EVENTS).map(|_| [0; 3].map(|_| 3.0 * random.unit())).collect();
    let best = |own: &[f64; 3]| {
        let noisy = own.map(|score| score + random.unit());
        (0..3).fold(0, |best, class| if noisy[class] > noisy[best] { class } else { best })
    };
    let classes = scores.iter().map(best).collect();
    (scores, classes)
}

fn share(held: &[bool]) -> f64 {
    held.iter().filter(|&&each| each).count() as f64 / held.len() as f64
}

#[test]
fn intervals_reach_their_coverage_in_every_window() {
    for coverage in [0.8, 0.9, 0.98] {
        let mut intervals = Intervals::new(coverage);
        let held: Vec<bool> = noise()
            .into_iter()
            .map(|target| {
                let [low, high] = intervals.step(0.0, target, true, 0);
                low <= target && target <= high
            })
            .collect();
        for stretch in held.windows(2000) {
            assert!((share(stretch) - coverage).abs() < 0.02, "{coverage} {}", share(stretch));
        }
    }
}

#[test]
fn sets_reach_their_coverage() {
    let (scores, labels) = classes();
    for coverage in [0.6, 0.9] {
        let mut sets = Sets::new(coverage);
        let (mut held, mut size) = (Vec::new(), 0);
        for (own, &class) in scores.iter().zip(&labels) {
            let mut members = [false; 3];
            sets.step((own, 3), Some(class), true, 0, &mut members);
            held.push(members[class]);
            size += members.iter().filter(|&&each| each).count();
        }
        assert!((share(&held) - coverage).abs() < 0.01);
        assert!(size < 2 * EVENTS);
    }
}

#[test]
fn quantile_is_taken_over_the_latest_scores() {
    let mut intervals = Intervals::new(0.75);
    let targets: Vec<f64> = noise().into_iter().take(900).collect();
    let mut share = 0.25;
    for t in 0..targets.len() {
        // The first prediction, which knows of no target, only counts until there is another.
        let first = usize::from(t > 1).max(t.saturating_sub(250));
        let mut latest: Vec<f64> = targets[first..t].iter().map(|each| each.abs()).collect();
        latest.sort_by(f64::total_cmp);
        let rank = ((latest.len() + 1) as f64 * (1.0 - share)).ceil() as usize;
        let [low, high] = intervals.step(1.0, 1.0 + targets[t], true, 0);
        if latest.is_empty() {
            assert_eq!(high, f64::INFINITY);
            continue;
        }
        if (1..=latest.len()).contains(&rank) {
            assert!((high - 1.0 - latest[rank - 1]).abs() < 1e-9 && (high + low - 2.0).abs() < 1e-9);
        }
        let missed = !(low..=high).contains(&(1.0 + targets[t]));
        share += 0.015 * (0.25 - f64::from(u8::from(missed)));
    }
}

#[test]
fn late_label_is_scored_against_its_prediction() {
    let (mut late, mut prompt) = (Intervals::new(0.9), Intervals::new(0.9));
    for (t, target) in noise().into_iter().take(500).enumerate() {
        let ticket = t as u64 + 1;
        assert_eq!(late.step(0.0, f64::NAN, true, ticket), prompt.step(0.0, target, true, 0));
        // The prediction at this point does not matter; a repeated ticket keeps its first prediction.
        late.step(1e6, f64::NAN, true, ticket);
        late.step(1e9, target, true, ticket);
        assert_eq!(late.calibration, prompt.calibration);
    }
    let (scores, labels) = classes();
    let (mut late, mut prompt, mut members) = (Sets::new(0.9), Sets::new(0.9), [false; 3]);
    for (t, (own, &class)) in scores.iter().zip(&labels).take(500).enumerate() {
        prompt.step((own, 2), Some(class), true, 0, &mut members);
        late.step((own, 2), None, true, t as u64 + 1, &mut members);
        late.step((&[0.0; 3], 3), Some(class), true, t as u64 + 1, &mut members);
        assert_eq!(late.calibration, prompt.calibration);
    }
}

#[test]
fn unlearned_events_have_no_effect_and_states_round_trip() {
    let (scores, labels) = classes();
    let (mut intervals, mut sets, mut members) = (Intervals::new(0.8), Sets::new(0.8), [false; 3]);
    for (t, target) in noise().into_iter().take(600).enumerate() {
        let before = (intervals.state(), sets.state());
        intervals.step(0.5, target, false, 0);
        sets.step((&scores[t], 3), Some(labels[t]), false, 0, &mut members);
        assert_eq!(before, (intervals.state(), sets.state()));
        let ticket = if t % 5 == 0 { t as u64 + 1 } else { 0 };
        let target = if t % 5 == 0 { f64::NAN } else { target };
        intervals.step(0.5, target, true, ticket);
        sets.step((&scores[t], 3), (t % 5 > 0).then_some(labels[t]), true, ticket, &mut members);
        if t % 50 == 7 {
            let (mut others, mut other_sets) = (Intervals::new(0.8), Sets::new(0.8));
            others.restore(&intervals.state()).unwrap();
            other_sets.restore(&sets.state()).unwrap();
            assert_eq!((others.state(), other_sets.state()), (intervals.state(), sets.state()));
            (intervals, sets) = (others, other_sets);
        }
    }
    assert!(intervals.bytes() > 120 * 100);
}

#[test]
fn binary_scores_match_their_multiclass_form() {
    let (mut one, mut several) = (Sets::new(0.7), Sets::new(0.7));
    for (own, class) in classes().0.into_iter().zip(classes().1) {
        let mut members = [[false; 3]; 2];
        one.step((&own[..1], 2), Some(class), true, 0, &mut members[0]);
        several.step((&[-own[0] / 2.0, own[0] / 2.0, 0.0], 2), Some(class), true, 0, &mut members[1]);
        assert_eq!(members[0], members[1]);
    }
    assert_eq!(one.state(), several.state());
}

#[test]
fn impossible_states_are_refused() {
    let mut known = Sets::new(0.9);
    let mut members = [false; 2];
    for t in 0..9 {
        known.step((&[0.3], 2), (t % 2 > 0).then_some(1), true, t + 1, &mut members);
    }
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
        with("share", numbers(vec![f64::NAN])),
        with("share", numbers(vec![])),
        with("scores", numbers(vec![0.5; 251])),
        with("scores", numbers(vec![-1.0])),
        with("scores", numbers(vec![2.0])),
        with("numbers", numbers(vec![0.5; 3])),
        with("numbers", numbers(vec![f64::INFINITY; 10])),
        with("thresholds", numbers(vec![])),
        with("labels", Array::I64(vec![0; 4], vec![4])),
        with("labels", Array::I64(vec![9; 5], vec![5])),
        with("tickets", Array::U64(vec![7; 5], vec![5])),
        with("tickets", Array::U64(vec![0, 1, 2, 3, 4], vec![5])),
        with("sizes", Array::I64(vec![-1, 1, 2, 3, 5], vec![5])),
        with("sizes", Array::I64(vec![1 << 40, 1, 2, 3, 5], vec![5])),
    ];
    for (i, state) in wrong.iter().enumerate() {
        let mut other = Sets::new(0.9);
        assert!(other.restore(state).is_err(), "{i}");
        assert_eq!(other, Sets::new(0.9));
    }
    assert!(Sets::new(0.9).restore(&known.state()).is_ok());
    // Probabilities of several classes are not predicted numbers.
    assert!(Intervals::new(0.9).restore(&known.state()).is_err());
}

#[test]
fn extreme_predictions_do_not_overflow() {
    let mut intervals = Intervals::new(0.9);
    for prediction in [f64::NAN, f64::INFINITY, -1e308, 1e308, 0.0] {
        intervals.step(prediction, 1e100, true, 0);
        intervals.step(prediction, f64::NAN, true, 1);
        assert!(intervals.around(0.0)[1] >= 0.0);
    }
    let (mut sets, mut members) = (Sets::new(0.9), [false; 4]);
    for known in 0..5 {
        for score in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e308] {
            sets.step((&[score, 0.0, -score, score], known), Some(3), true, 0, &mut members);
            assert!(members[known..].iter().all(|member| !member));
        }
    }
    assert!(Sets::new(0.9).restore(&sets.state()).is_ok());
}
