//! Merged windows against the events they should contain, and translation to other names and units.

use super::cutting_tests::turning;
use super::tests::{Sample, learner, step, stream, teach};
use super::*;
use crate::merging::checks::{self, assert_same};
use crate::translation::DROPPED;

const WINDOW: usize = 60;
/// Weights are rounded to single precision.
const SINGLE: f64 = 1e-6;

fn taught(base: &Neighbors, samples: &[Sample]) -> Neighbors {
    let mut model = base.clone();
    samples.iter().for_each(|sample| teach(&mut model, sample));
    model
}

pub(super) fn merged(base: &Neighbors, parts: &[&Neighbors]) -> Neighbors {
    let all = checks::merged(base, parts);
    let mut back = Neighbors::new(base.settings).unwrap();
    back.restore(&all.state(), 20, 20).unwrap();
    assert_eq!(back.state(), all.state());
    all
}

#[test]
fn merged_window_holds_latest_events_of_all_parts() {
    for (before, events) in [(0, [10, 25]), (20, [10, 15]), (20, [45, 8]), (90, [70, 80]), (90, [5, 2])] {
        let samples = [stream(1, before), stream(2, events[0]), stream(3, events[1])];
        let base = taught(&learner(false, WINDOW, 7), if before > 0 { &samples[0] } else { &[] });
        let parts = [1, 2].map(|m| taught(&base, &samples[m]));
        let mut all = merged(&base, &parts.each_ref());
        assert_eq!(all.steps, (before + events[0] + events[1]) as u64);
        // The latest events of the parts, side by side, then the latest of the base.
        let age = |own: &[Sample]| (0..own.len()).rev().zip(own.to_vec()).collect::<Vec<_>>();
        let mut expected = [age(&samples[1]), age(&samples[2])].concat();
        expected.sort_by_key(|(age, _)| *age);
        expected.extend(if before > 0 { age(&samples[0]) } else { Vec::new() }.into_iter().rev());
        expected.truncate(WINDOW);
        assert_eq!(all.labels.len(), expected.len());
        let weights: Vec<f64> = (1..5).map(|a| f64::from(all.columns.of(a).unwrap().weight)).collect();
        assert!((weights.iter().sum::<f64>() - 4.0).abs() < 1e-5);
        for sample in stream(4, 20) {
            step(&mut all, &sample, Lesson::NONE);
            let mut own: Vec<f64> =
                expected.iter().map(|(_, other)| sample.distance(other, &weights)).collect();
            own.sort_by(f64::total_cmp);
            for ((found, _), own) in all.nearest.found.iter().zip(own) {
                assert!((f64::from(*found) - own).abs() < 1e-5 * (1.0 + own));
            }
        }
    }
}

#[test]
fn events_dropped_by_all_parts_stay_dropped() {
    let base = taught(&learner(false, WINDOW, 5), &turning(1, 300, 300));
    let [a, b] = [2, 3].map(|seed| taught(&base, &turning(seed, 27, 0)));
    assert!([&a, &b].iter().all(|part| part.labels.len() < WINDOW));
    let all = merged(&base, &[&a, &b]);
    let oldest = a.learned_at[0].min(b.learned_at[0]);
    assert_eq!(all.learned_at.iter().filter(|at| **at <= base.steps).count() as u64, base.steps + 1 - oldest);
    assert!(all.errors.len() == 0);
    let some = merged(&base, &[&a, &taught(&base, &turning(4, 2, 0))]);
    assert_eq!(some.labels.len(), WINDOW);
}

#[test]
fn merge_is_independent_of_order_and_grouping() {
    for (before, events) in [(1, [10, 15, 20]), (40, [30, 10, 25]), (100, [50, 100, 70])] {
        let base = taught(&learner(false, WINDOW, 5), &stream(1, before));
        let [a, b, c] = [0, 1, 2].map(|m| taught(&base, &stream(7 + m as u64, events[m])));
        let all = merged(&base, &[&a, &b, &c]);
        assert_same(&merged(&base, &[&c, &a, &b]), &all, SINGLE);
        assert_same(&merged(&base, &[&merged(&base, &[&c, &a]), &b]), &all, SINGLE);
        assert_same(&merged(&base, &[&a, &merged(&base, &[&merged(&base, &[&b]), &c])]), &all, SINGLE);
    }
}

#[test]
fn parts_that_learned_nothing_have_no_effect() {
    let empty = learner(false, WINDOW, 5);
    let base = taught(&empty, &stream(1, 30));
    let part = taught(&base, &stream(2, 50));
    assert_eq!(merged(&base, &[&base, &part, &base]).state(), part.state());
    assert_eq!(merged(&base, &[&base]).state(), base.state());
    assert_eq!(merged(&empty, &[&part, &empty]).state(), part.state());
}

#[test]
fn numbers_win_over_categories() {
    let empty = learner(false, WINDOW, 1);
    let ones = [Sample::of(&[(1, 1, 1.0)], 1.0), Sample::of(&[(1, 2, 1.0)], -1.0)];
    let (category, number) = (taught(&empty, &ones), taught(&empty, &[Sample::of(&[(1, 1, 0.5)], 1.0)]));
    let all = merged(&empty, &[&category, &number]);
    let column = all.columns.of(1).unwrap();
    assert_eq!(column.kind, column::Kind::Number(1));
    let mut values: Vec<f32> = (0..3).map(|slot| column.get(slot)).collect();
    values.sort_by(f32::total_cmp);
    assert_eq!(values, [0.5, 1.0, column::ABSENT]);
}

#[test]
fn most_frequent_attributes_get_columns() {
    let empty = learner(false, WINDOW, 1);
    let with = |from: u32, times: usize| {
        let items: Vec<(u32, u32, f64)> = (from..from + 30).map(|a| (a, a, 0.5)).collect();
        taught(&empty, &vec![Sample::of(&items, 1.0); times])
    };
    let mut all = empty.clone();
    all.merge(&[&with(1, 2), &with(31, 1), &with(61, 3)]).unwrap();
    let expected: Vec<u32> = (1..35).chain(61..91).collect();
    assert_eq!(all.columns.attributes().collect::<Vec<_>>(), expected);
    learner(false, WINDOW, 1).restore(&all.state(), 100, 100).unwrap();
}

#[test]
fn relabel_permutes_class_scores() {
    let sample = &stream(5, 2)[1];
    let mut model = taught(&learner(false, WINDOW, 5), &stream(1, 50));
    let before = step(&mut model.clone(), sample, Lesson::NONE);
    let mut turned = model.clone();
    turned.relabel(&[1, 0]).unwrap();
    assert!((step(&mut turned, sample, Lesson::NONE) + before).abs() < 1e-12);
    model.widen(3);
    let (mut old, mut new) = ([0.0; 3], [0.0; 3]);
    model.step(sample.event(), Lesson::NONE, &mut old);
    model.relabel(&[2, 0, 1]).unwrap();
    model.step(sample.event(), Lesson::NONE, &mut new);
    assert_eq!([new[2], new[0], new[1]], old);
    assert!(model.relabel(&[1, 0]).is_err());
}

/// The identity for the samples, whose categories have the coordinates 10 and 11.
fn unchanged() -> Translation {
    let owners = (0..12).map(|k| if k >= 10 { 4 } else { k.min(5) }).collect();
    Translation::none(6, owners)
}

#[test]
fn names_and_units_are_translated() {
    let before = taught(&learner(false, WINDOW, 5), &stream(1, 50));
    let mut after = before.clone();
    after.translate(&unchanged()).unwrap();
    assert_eq!(after.state(), before.state());
    let mut translation = unchanged();
    translation.attributes = vec![0, 4, DROPPED, 7, 1, DROPPED];
    translation.coordinates = vec![0, 9, DROPPED, 2, DROPPED, DROPPED, DROPPED, 8, 1, 3, 5, DROPPED];
    (translation.shift[1], translation.stretch[1]) = (0.25, 2.0);
    after.translate(&translation).unwrap();
    learner(false, WINDOW, 5).restore(&after.state(), 8, 10).unwrap();
    for slot in 0..50 {
        let old = |attribute| before.columns.of(attribute).unwrap().get(slot);
        let new = |attribute| after.columns.of(attribute).unwrap().get(slot);
        let scaled = |value: f32| if value == column::ABSENT { value } else { (value - 0.25) / 2.0 };
        assert_eq!((new(4), new(7)), (scaled(old(1)), old(3)));
        assert_eq!(new(1), if old(4) == 10.0 { 5.0 } else { column::ABSENT });
    }
    assert!(after.columns.attributes().eq([1, 4, 7]));
}

#[test]
fn targets_are_merged_and_translated() {
    let numbered = |seed, events| {
        let mut samples = stream(seed, events);
        samples.iter_mut().zip(0..).for_each(|(sample, t)| sample.label = f64::from(t % 7) - 2.0);
        samples
    };
    let base = taught(&learner(true, WINDOW, 5), &numbered(1, 20));
    let parts = [1, 2].map(|m| taught(&base, &numbered(m + 1, 30)));
    let mut all = merged(&base, &parts.each_ref());
    let Moments { mean, variance, .. } = all.target;
    let sample = &stream(5, 2)[1];
    let before = step(&mut all, sample, Lesson::NONE);
    all.translate(&Translation { target: (0.5, 2.0), ..unchanged() }).unwrap();
    assert!((step(&mut all, sample, Lesson::NONE) - (before - 0.5) / 2.0).abs() < 1e-12);
    assert!((all.target.mean - (mean - 0.5) / 2.0).abs() < 1e-12);
    assert!((all.target.variance - variance / 4.0).abs() < 1e-12);
    assert!(learner(false, WINDOW, 5).merge(&[&all]).is_err());
}
