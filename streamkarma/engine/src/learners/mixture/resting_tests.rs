//! Experts that hardly help: when they predict, and how their silence is handled.

use super::aggregator::{Aggregator, Count, ExpertScores};
use super::echo_experts::{Stream, asked};
use super::fixed_share::SHARE;
use super::resting::Rest;
use super::tests::{KINDS, Kind};

const TURN: usize = 3_000;
const EVENTS: usize = 5_000;

#[test]
fn uninformative_experts_rarely_predict_until_they_improve() {
    for kind in KINDS {
        let stream = Stream::new(kind, 2, TURN, EVENTS);
        let mut model = stream.mixture(true);
        stream.run(&mut model, 0, TURN / 2);
        let before = asked(&model, 1);
        stream.run(&mut model, TURN / 2, TURN);
        let rested = asked(&model, 1) - before;
        assert!(rested < TURN / 2 / (Rest::Unasked.period() as usize - 1), "asked {rested} times");
        stream.run(&mut model, TURN, EVENTS - 1_000);
        let before = asked(&model, 1);
        stream.run(&mut model, EVENTS - 1_000, EVENTS);
        assert_eq!(asked(&model, 1) - before, 1_000);
    }
}

#[test]
fn no_expert_rests_while_errors_are_far_above_the_mean() {
    let mut resting = Stream::new(Kind::Two, 2, 0, 0).mixture(true).aggregator.resting.clone();
    let mut observe = |loss: f64, begin: u64, end: u64| {
        (begin..=end).for_each(|_| resting.observe_loss(loss, 1.0));
        resting.decide_for_unasked();
        resting.rest_of(1) == Rest::Unasked
    };
    assert!(observe(0.1, 1, 4_000));
    // About thirty events after a change, and until the new loss is usual.
    assert!(!observe(1.0, 4_001, 4_032));
    assert!(!observe(1.0, 4_033, 4_500));
    assert!(observe(1.0, 4_501, 8_000));
}

#[test]
fn events_sharing_a_label_count_once_before_resting() {
    let mut resting = Stream::new(Kind::Two, 2, 0, 0).mixture(true).aggregator.resting.clone();
    let mut observe = |events: u64| {
        (0..events).for_each(|_| resting.observe_loss(0.1, 1.0 / 64.0));
        resting.decide_for_unasked();
        resting.rest_of(1)
    };
    assert_eq!(observe(1_000 * 64), Rest::Awake);
    assert_eq!(observe(24 * 64), Rest::Unasked);
}

#[test]
fn blocks_and_restores_do_not_affect_resting() {
    for kind in KINDS {
        Stream::new(kind, 2, TURN, EVENTS).assert_that_cuts_do_not_show(true, 0);
    }
}

#[test]
fn predicting_first_changes_nothing() {
    for kind in KINDS {
        let stream = Stream::new(kind, 2, TURN, EVENTS);
        let mut model = stream.mixture(true);
        stream.run(&mut model, 0, TURN);
        stream.assert_learned_as_if_at_once(model, TURN..TURN + 20);
    }
}

#[test]
fn silent_experts_keep_their_weight() {
    for kind in KINDS {
        let (mut model, classes) = (Aggregator::new(3, kind == Kind::Numbers, 0.0), 3);
        let classes = if kind == Kind::Several { classes } else { 1 };
        model.widen(classes);
        let label = 1.0;
        let mut scores: Vec<f64> = (0..3 * classes).map(|place| f64::from(place as u32 % 4) / 4.0).collect();
        let mut mixed = vec![0.0; classes];
        (0..20).for_each(|_| _ = model.step(ExpertScores::of(&scores), label, Count::of(1.0), &mut mixed));
        let (before, state) = (model.weights()[1], model.state());
        scores[classes] = f64::NAN;
        model.step(ExpertScores::of(&scores), label, Count::of(1.0), &mut mixed);
        let moved = (model.weights()[1] - before).abs();
        assert!(moved <= SHARE, "{moved}");
        let after = model.state();
        let (parameters, old) = (after.f64s("parameters").unwrap().0, state.f64s("parameters").unwrap().0);
        let size = parameters.len() / 3;
        assert_eq!(parameters[size..2 * size], old[size..2 * size]);
        assert_ne!(parameters[..size], old[..size]);
        // Whatever its prediction would have been.
        let mut same = mixed.clone();
        model.step(ExpertScores::of(&scores), f64::NAN, Count::of(0.0), &mut mixed);
        scores[classes..2 * classes].iter_mut().skip(1).for_each(|score| *score = 1e9);
        model.step(ExpertScores::of(&scores), f64::NAN, Count::of(0.0), &mut same);
        assert_eq!(mixed, same);
    }
}
