use std::ops::Range;

use super::tests::{SETTINGS, Stream, in_each_form, low_rank};
use super::translating_tests::renamed;
use super::*;
use crate::state::Array;

pub fn taught(settings: Settings, stream: &Stream, events: Range<usize>) -> Subspace {
    let mut model = Subspace::new(settings);
    stream.teach(&mut model, events);
    model
}

fn merged(base: &Subspace, parts: &[&Subspace]) -> Subspace {
    let mut merged = base.clone();
    merged.merge(&parts.iter().map(|part| *part as &dyn Learner).collect::<Vec<_>>()).unwrap();
    merged
}

/// Parts that learned so many events each, one after another, from a base that had learned as many.
fn parts(settings: Settings, stream: &Stream, count: usize, events: usize) -> (Subspace, Vec<Subspace>) {
    let base = taught(settings, stream, 0..events);
    let part = |i: usize| {
        let mut part = base.clone();
        stream.teach(&mut part, (i + 1) * events..(i + 2) * events);
        part
    };
    let parts = (0..count).map(part).collect();
    (base, parts)
}

fn assert_close(one: &Subspace, other: &Subspace, names: &[&str], tolerance: f64) {
    let (one, other) = (one.state(), other.state());
    for (name, array) in one.0.iter().filter(|(name, _)| names.is_empty() || names.contains(&name.as_str())) {
        match (array, &other.0[name]) {
            (Array::F64(left, shape), Array::F64(right, other_shape)) => {
                assert_eq!(shape, other_shape, "{name}");
                let largest = left.iter().fold(1.0, |most: f64, x| most.max(x.abs()));
                let apart = left.iter().zip(right).fold(0.0, |most: f64, (x, y)| most.max((x - y).abs()));
                assert!(apart <= tolerance * largest, "{name}: {apart} of {largest}");
            }
            (left, right) => assert_eq!(left, right, "{name}"),
        }
    }
}

#[test]
fn merged_moments_match_a_single_pass() {
    let stream = low_rank(600, 10);
    let (names, settings) = (["sums", "counts", "observed", "listed", "totals", "owners"], SETTINGS);
    let whole = taught(settings, &stream, 0..600);
    let (base, parts) = parts(settings, &stream, 5, 100);
    assert_close(&merged(&base, &parts.iter().collect::<Vec<_>>()), &whole, &names, 1e-10);
    let apart: Vec<Subspace> = (0..6).map(|i| taught(settings, &stream, 100 * i..100 * (i + 1))).collect();
    let merged = merged(&Subspace::new(settings), &apart.iter().collect::<Vec<_>>());
    assert_close(&merged, &whole, &names, 1e-10);
    assert_eq!((merged.events, merged.steps()), (600.0, 600));
}

#[test]
fn merge_is_independent_of_order_and_grouping() {
    let stream = low_rank(1000, 10);
    for (max_pairwise_coordinates, half_life) in [(64, 0.0), (64, 70.0), (12, 0.0), (1, 0.0), (1, 70.0)] {
        let settings = Settings { max_pairwise_coordinates, half_life, ..SETTINGS };
        let (base, parts) = parts(settings, &stream, 3, 200);
        let [a, b, c] = &parts[..] else { unreachable!() };
        let all = merged(&base, &[a, b, c]);
        assert_close(&merged(&base, &[c, b, a]), &all, &[], 1e-12);
        assert_close(&merged(&base, &[&merged(&base, &[a, b]), c]), &all, &[], 1e-12);
        assert_close(&merged(&base, &[b, &merged(&base, &[c, &base, a])]), &all, &[], 1e-12);
        let base = Subspace::new(settings);
        let parts: Vec<Subspace> =
            (0..3).map(|i| taught(settings, &stream, 300 * i..300 * (i + 1))).collect();
        let [a, b, c] = &parts[..] else { unreachable!() };
        let all = merged(&base, &[a, b, c]);
        assert_close(&merged(&base, &[b, c, a]), &all, &[], 1e-12);
        assert_close(&merged(&base, &[&merged(&base, &[a, b]), c]), &all, &[], 1e-9);
    }
}

#[test]
fn parts_that_learned_nothing_have_no_effect() {
    let stream = low_rank(400, 10);
    in_each_form(|settings| {
        let (base, parts) = parts(settings, &stream, 1, 200);
        assert_eq!(merged(&base, &[&base, &base]).state(), base.state());
        assert_eq!(merged(&base, &[&base, &parts[0], &base]).state(), parts[0].state());
        let empty = Subspace::new(settings);
        assert_eq!(merged(&empty, &[&parts[0], &empty]).state(), parts[0].state());
        assert_eq!(merged(&empty, &[]).state(), empty.state());
    });
}

#[test]
fn merged_models_round_trip_and_keep_learning() {
    let stream = low_rank(1000, 10);
    for half_life in [0.0, 50.0] {
        in_each_form(|settings| {
            let (base, parts) = parts(Settings { half_life, ..settings }, &stream, 3, 200);
            let mut merged = merged(&base, &parts.iter().collect::<Vec<_>>());
            let mut resumed = Subspace::new(merged.settings);
            resumed.restore(&merged.state(), 11, 11).unwrap();
            assert_eq!(resumed.state(), merged.state());
            assert_eq!(stream.teach(&mut merged, 800..1000), stream.teach(&mut resumed, 800..1000));
            assert_eq!(resumed.state(), merged.state());
        });
    }
}

#[test]
fn translated_parts_merge_like_a_single_pass() {
    let stream = low_rank(400, 10);
    let change = renamed(0.0, 1.0);
    let mut whole = taught(SETTINGS, &stream, 0..400);
    let mut parts = [taught(SETTINGS, &stream, 0..200), taught(SETTINGS, &stream, 200..400)];
    for model in parts.iter_mut().chain([&mut whole]) {
        model.translate(&change).unwrap();
    }
    let merged = merged(&Subspace::new(SETTINGS), &parts.iter().collect::<Vec<_>>());
    assert_close(&merged, &whole, &["sums", "counts", "observed", "listed", "totals", "owners"], 1e-10);
}

#[test]
fn half_life_decays_shared_base_once() {
    let stream = low_rank(300, 10);
    let settings = Settings { half_life: 40.0, ..SETTINGS };
    let (base, parts) = parts(settings, &stream, 2, 100);
    let merged = merged(&base, &[&parts[0], &parts[1]]);
    let count = |model: &Subspace| {
        let Form::Pairs(pairs) = &model.form else { unreachable!() };
        pairs.observed[0] / model.growth
    };
    let fade = 0.5f64.powf(100.0 / 40.0);
    let expected = count(&parts[0]) + count(&parts[1]) - (2.0 * fade - fade * fade) * count(&base);
    assert!((count(&merged) - expected).abs() < 1e-9);
}

#[test]
fn relabel_permutes_class_scores() {
    let stream = low_rank(300, 10);
    in_each_form(|settings| {
        let mut model = taught(settings, &stream, 0..200);
        let mut turned = model.clone();
        turned.relabel(&[1, 0]).unwrap();
        let (mut one, mut other) = ([0.0], [0.0]);
        model.step(stream.block().event(200), Lesson::NONE, &mut one);
        turned.step(stream.block().event(200), Lesson::NONE, &mut other);
        assert_eq!(one[0], -other[0]);
        model.widen(3);
        for t in 200..300 {
            model.step(stream.block().event(t), Lesson::of((t % 3) as f64), &mut [0.0; 3]);
        }
        turned = model.clone();
        turned.relabel(&[2, 0, 1]).unwrap();
        let (mut one, mut other) = ([0.0; 3], [0.0; 3]);
        model.step(stream.block().event(200), Lesson::NONE, &mut one);
        turned.step(stream.block().event(200), Lesson::NONE, &mut other);
        assert_eq!(one, [other[2], other[0], other[1]]);
        let merged = merged(&Subspace::new(settings), &[]);
        assert_eq!(merged.classes(), 1);
    });
}

#[test]
fn merged_examples_do_not_depend_on_order() {
    let stream = low_rank(4000, 10);
    let unlabelled = |model: &mut Subspace, t: usize| {
        model.step(stream.block().event(t), Lesson::of(f64::NAN), &mut [0.0]);
    };
    let mut base = taught(SETTINGS, &stream, 0..20);
    unlabelled(&mut base, 20);
    stream.teach(&mut base, 21..60);
    let part = |events: Range<usize>| {
        let mut part = base.clone();
        for t in events {
            if t % 7 == 0 { unlabelled(&mut part, t) } else { _ = stream.teach(&mut part, t..t + 1) }
        }
        part
    };
    let (a, b, c) = (part(100..500), part(1000..1900), part(2000..3000));
    let all = merged(&base, &[&a, &b, &c]);
    assert_eq!(all.examples.all.len(), examples::MOST);
    assert_close(&all, &merged(&base, &[&merged(&base, &[&c, &a]), &b]), &[], 1e-12);
    assert_eq!(all.examples.all, merged(&base, &[&merged(&base, &[&c, &a]), &b]).examples.all);
    let few = merged(&base, &[&part(60..65), &part(65..71)]);
    assert_eq!(few.examples.all.len(), 39 + 9);
    Subspace::new(SETTINGS).restore(&all.state(), 11, 11).unwrap();
}

#[test]
fn other_settings_are_refused() {
    let model = Subspace::new(SETTINGS);
    for settings in [
        Settings { rank: 5, ..SETTINGS },
        Settings { indicators: false, ..SETTINGS },
        Settings { max_pairwise_coordinates: 32, ..SETTINGS },
        Settings { r: 3.0, ..SETTINGS },
    ] {
        let other = Subspace::new(settings);
        assert!(model.clone().merge(&[&other]).unwrap_err().contains("settings"));
    }
}

#[test]
fn merge_with_few_slots_is_no_worse_than_parts() {
    let stream = low_rank(2500, 30);
    let settings = Settings { indicators: false, max_pairwise_coordinates: 12, ..SETTINGS };
    let parts: Vec<Subspace> = (0..4).map(|i| taught(settings, &stream, 500 * i..500 * (i + 1))).collect();
    let wrong = |model: &Subspace| {
        let late = (2000..2500).filter(|&t| {
            let mut score = [0.0];
            model.clone().step(stream.block().event(t), Lesson::NONE, &mut score);
            score[0] * stream.labels[t] <= 0.0
        });
        late.count()
    };
    let merged = merged(&Subspace::new(settings), &parts.iter().collect::<Vec<_>>());
    let mean = parts.iter().map(wrong).sum::<usize>() / 4;
    assert!(wrong(&merged) <= mean, "{} {mean}", wrong(&merged));
}

#[test]
fn merging_malicious_states_does_not_panic() {
    let stream = low_rank(60, 10);
    in_each_form(|settings| {
        let healthy = taught(settings, &stream, 30..60);
        let mut model = taught(settings, &stream, 0..10);
        model.step(stream.block().event(10), Lesson::of(f64::NAN), &mut [0.0]);
        stream.teach(&mut model, 11..30);
        let state = model.state();
        for (name, number) in state.0.keys().flat_map(|name| [(name, 1e300), (name, -7.0), (name, 3.0)]) {
            for at in [0, 1, 4, 30] {
                let mut forged = state.clone();
                match forged.0.get_mut(name) {
                    Some(Array::F64(values, _)) => values.get_mut(at).into_iter().for_each(|x| *x = number),
                    Some(Array::I32(values, _)) => {
                        values.get_mut(at).into_iter().for_each(|x| *x = number as i32)
                    }
                    Some(Array::Bool(values, _)) => values.get_mut(at).into_iter().for_each(|x| *x = !*x),
                    _ => unreachable!(),
                }
                let mut other = Subspace::new(settings);
                if other.restore(&forged, 11, 11).is_ok() {
                    merged(&other, &[&healthy, &model]);
                    let mut merged = merged(&healthy, &[&other, &model]);
                    stream.teach(&mut merged, 0..5);
                    other.relabel(&[1, 0]).unwrap();
                    other.translate(&renamed(0.1, 2.0)).unwrap();
                }
            }
        }
    });
}
