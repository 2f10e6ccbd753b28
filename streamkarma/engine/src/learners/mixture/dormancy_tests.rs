//! Experts that have been of no use for long: which fall asleep and wake up, and when.

use std::sync::OnceLock;

use super::Mixture;
use super::dormancy::{Dormancy, LONG, NAP, PERIOD};
use super::echo_experts::{Stream, asked, fact};
use super::resting::{Rest, Rester, SEGMENT};
use super::tests::{KINDS, Kind};
use crate::block::Evicted;
use crate::learner::{Fact, Learner};
use crate::state::Array;

/// Every tenth event has no label.
const FIRST_NAP: usize = LONG as usize * 10 / 9;
const TURN: usize = FIRST_NAP + 8_000;
const EVENTS: usize = TURN + 3_000;

/// A stream whose second expert first falls asleep soon after the event `FIRST_NAP - 10`, and a mixture that has learned
/// the events before it, which takes so long that it is done once for each kind.
fn nearly_asleep(kind: Kind) -> (Stream, Mixture) {
    static LEARNED: [OnceLock<Mixture>; 3] = [const { OnceLock::new() }; 3];
    let stream = Stream::new(kind, 2, TURN, EVENTS);
    let learned = LEARNED[kind as usize].get_or_init(|| {
        let mut model = stream.mixture(false);
        stream.run(&mut model, 0, FIRST_NAP - 10);
        model
    });
    (stream, learned.clone())
}

fn rests(model: &Mixture) -> Vec<Rest> {
    model.aggregator.resting.experts.iter().map(|each| each.rest).collect()
}

#[test]
fn useless_experts_sleep_until_the_distribution_changes() {
    let learning = [(Kind::Two, false), (Kind::Two, true), (Kind::Several, true), (Kind::Numbers, false)];
    for (kind, learns_unasked) in learning {
        let (stream, mut model) = nearly_asleep(kind);
        if learns_unasked {
            model = stream.mixture(true);
            stream.run(&mut model, 0, FIRST_NAP - 10);
        }
        assert_ne!(rests(&model), [Rest::Dormant]);
        stream.run(&mut model, FIRST_NAP - 10, FIRST_NAP + 10);
        assert_eq!(rests(&model), [Rest::Dormant], "{kind:?} {learns_unasked}");
        let before = asked(&model, 1);
        stream.run(&mut model, FIRST_NAP + 10, TURN);
        let share = (asked(&model, 1) - before) as f64 / (TURN - FIRST_NAP - 10) as f64;
        assert!((0.9..1.1).contains(&(share * PERIOD as f64)), "asked about {share}");
        stream.run(&mut model, TURN, EVENTS);
        assert_eq!(rests(&model), [Rest::Awake], "{kind:?} {learns_unasked}");
    }
}

#[test]
fn experts_fall_asleep_one_by_one_except_the_first() {
    let stream = Stream::new(Kind::Two, 3, usize::MAX, FIRST_NAP + 12_000);
    let mut model = stream.mixture(false);
    let nap = NAP as usize * 10 / 9;
    let mut begin = 0;
    for asleep in 0..=2 {
        let end = FIRST_NAP - nap / 2 + asleep * nap;
        stream.run(&mut model, begin, end);
        assert_eq!(rests(&model).iter().filter(|rest| **rest == Rest::Dormant).count(), asleep);
        assert!(model.summary().contains(&("dormant_experts", Fact::Count(asleep as u64))));
        begin = end;
    }
    stream.run(&mut model, begin, begin + 1_000);
    assert_eq!(asked(&model, 0), begin + 1_000);
}

#[test]
fn blocks_restores_and_threads_do_not_affect_dormancy() {
    for kind in KINDS {
        Stream::new(kind, 3, TURN, EVENTS).assert_that_cuts_do_not_show(false, FIRST_NAP - 700);
    }
}

#[test]
fn predicting_first_changes_nothing() {
    for kind in KINDS {
        let (stream, mut model) = nearly_asleep(kind);
        stream.run(&mut model, FIRST_NAP - 10, FIRST_NAP + 10);
        stream.assert_learned_as_if_at_once(model, FIRST_NAP + 10..FIRST_NAP + 40);
    }
}

#[test]
fn evictions_reach_dormant_experts() {
    let (mut stream, mut model) = nearly_asleep(Kind::Two);
    let evicted = |t: usize| Evicted { before: stream.starts[t], attributes: vec![1], coordinates: vec![1] };
    stream.evicted = (0..100).map(|i| evicted(FIRST_NAP + 20 + 7 * i)).collect();
    stream.run(&mut model, FIRST_NAP - 10, TURN);
    assert_eq!(fact(&model, 1, "forgotten"), 100);
}

#[test]
fn only_helpful_experts_wake_up() {
    let mut experts = [1..2, 2..4].map(|own| Rester { rest: Rest::Dormant, ..Rester::new(own, false) });
    let mut dormancy = Dormancy { loss: 0.1, ..Dormancy::default() };
    // Too small, and so variable that it may be by chance.
    for (gain, square) in [(9e-4, 1e-6), (3e-3, 1.0)] {
        (experts[1].long_gain, experts[1].long_square) = (gain, square);
        dormancy.decide(&mut experts, LONG as u64, LONG);
        assert_eq!(experts[1].rest, Rest::Dormant);
    }
    (experts[1].long_gain, experts[1].long_square) = (1.1e-3, 1.3e-6);
    dormancy.decide(&mut experts, LONG as u64, LONG);
    assert_eq!(experts.map(|each| each.rest), [Rest::Dormant, Rest::Awake]);
    assert_eq!(dormancy.earliest, 2.0 * LONG);
}

#[test]
fn falling_errors_wake_no_experts() {
    let mut experts = [];
    let mut dormancy = Dormancy::default();
    let mut segments = |loss: f64, from: u64, to: u64| {
        for segment in from..to {
            for t in 1..=SEGMENT {
                dormancy.observe_loss(loss, 1.0, (segment * SEGMENT + t) as f64);
            }
            let events = (segment + 1) * SEGMENT;
            dormancy.decide(&mut experts, events, events as f64);
        }
        dormancy.earliest
    };
    assert_eq!(segments(0.5, 0, 40), LONG);
    assert_eq!(segments(0.1, 40, 80), LONG);
    assert_eq!(segments(0.5, 80, 81), 81.0 * SEGMENT as f64 + LONG);
    assert!((dormancy.loss - 0.3).abs() < 0.1);
}

#[test]
fn experts_wake_up_when_new_attributes_are_frequent() {
    let mut experts = [Rester { rest: Rest::Dormant, ..Rester::new(1..2, false) }];
    let mut dormancy = Dormancy { earliest: 0.0, loss: 0.1, ..Dormancy::default() };
    let mut rest_after = |newest: u32, one_in: u64, seen: f64| {
        for t in 0..SEGMENT {
            let last = if t.is_multiple_of(one_in) { newest } else { 2 };
            dormancy.newcomers.observe(&[0, 1, last]);
        }
        dormancy.decide(&mut experts, 0, seen);
        let rest = experts[0].rest;
        experts[0].rest = Rest::Dormant;
        (rest, dormancy.earliest)
    };
    assert_eq!(rest_after(3, 1, 1.0), (Rest::Awake, 1.0 + LONG));
    // Whatever appears before any expert may fall asleep is known.
    assert_eq!(rest_after(7, 1, 2.0), (Rest::Dormant, 1.0 + LONG));
    let later = 2.0 * LONG;
    assert_eq!(rest_after(7, 1, later), (Rest::Dormant, 1.0 + LONG));
    assert_eq!(rest_after(8, 22, later), (Rest::Dormant, 1.0 + LONG));
    assert_eq!(rest_after(9, 20, later), (Rest::Awake, later + LONG));
}

#[test]
fn merged_experts_sleep_only_if_all_parts_do() {
    let (stream, awake) = nearly_asleep(Kind::Two);
    let base = stream.mixture(false);
    let mut asleep = awake.clone();
    stream.run(&mut asleep, FIRST_NAP - 10, FIRST_NAP + 10);
    for (parts, rest) in [([&asleep, &asleep], Rest::Dormant), ([&asleep, &awake], Rest::Awake)] {
        let mut merged = base.clone();
        merged.merge(&parts.map(|part| part as &dyn Learner)).unwrap();
        assert_eq!(rests(&merged), [rest]);
    }
}

#[test]
fn merged_models_can_be_saved_after_some_more_segments() {
    let stream = Stream::new(Kind::Two, 2, TURN, EVENTS);
    let base = stream.mixture(false);
    let mut part = base.clone();
    stream.run(&mut part, 0, 300);
    let mut merged = base.clone();
    merged.merge(&[&part, &part].map(|part| part as &dyn Learner)).unwrap();
    stream.run(&mut merged, 300, 1500);
    assert!(stream.mixture(false).restore(&merged.state(), 16, 16).is_ok());
}

#[test]
fn probabilities_rounded_above_one_keep_states_valid() {
    let stream = Stream::new(Kind::Several, 2, TURN, EVENTS);
    let mut model = stream.mixture(false);
    stream.run(&mut model, 0, 10);
    model.aggregator.resting = model.aggregator.resting.restarted();
    model.aggregator.resting.observe_loss(-f64::EPSILON, 1.0);
    assert!(stream.mixture(false).restore(&model.state(), 16, 16).is_ok());
}

#[test]
fn broken_states_are_refused() {
    let stream = Stream::new(Kind::Two, 2, TURN, EVENTS);
    let mut model = stream.mixture(false);
    stream.run(&mut model, 0, 1_000);
    let numbers = |numbers: &[f64]| Array::F64(numbers.to_vec(), vec![numbers.len()]);
    let whole = |numbers: &[i64]| Array::I64(numbers.to_vec(), vec![numbers.len()]);
    for (name, array) in [
        ("rests", whole(&[1])),
        ("rests", whole(&[3])),
        ("rests", whole(&[-1])),
        ("rests", whole(&[])),
        ("gains", numbers(&[0.0, 0.0])),
        ("long_gains", numbers(&[f64::NAN])),
        ("long_gains", numbers(&[])),
        ("long_squares", numbers(&[-1.0])),
        ("long_squares", numbers(&[])),
        ("mean_losses", numbers(&[0.0])),
        ("mean_losses", numbers(&[0.0, -1.0])),
        ("rise", numbers(&[0.0, 0.0, 0.0, 0.0, 2.0])),
        ("seen", numbers(&[0.0, 0.0])),
        ("seen", numbers(&[-1.0, 0.0, 0.0])),
        ("seen", numbers(&[0.0, f64::NAN, 0.0])),
        ("seen", numbers(&[0.0, 0.0, 1e300])),
        ("seen", whole(&[0, 0, 0])),
        ("batch", numbers(&[1.5, 0.0, 0.0])),
        ("batch", numbers(&[1e300, 0.0, 0.0])),
        ("batch", numbers(&[1.0, 2.0, 1.0])),
        ("batch", numbers(&[1.0, 0.5])),
        ("errors_all", numbers(&[1.0, 2.0, 1.0])),
    ] {
        let mut broken = model.state();
        assert!(broken.0.insert(name.to_owned(), array.clone()).is_some(), "{name}");
        assert!(stream.mixture(false).restore(&broken, 16, 16).is_err(), "{name} {array:?}");
    }
    assert!(stream.mixture(false).restore(&model.state(), 16, 16).is_ok());
}
