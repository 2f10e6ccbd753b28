//! The events that trees of merged models are fitted to, and predictions under other names, classes and units.

use super::tests::{all, new};
use super::*;
use crate::learner::Unit;
use crate::learners::samples::{Numbers, Sample, Task, teach};
use crate::merging::checks::{assert_same, merged};
use crate::translation::DROPPED;

fn taught(base: &RefittedTrees, task: Task, seed: u64, events: usize) -> RefittedTrees {
    let mut model = base.clone();
    teach(&mut model, task, seed, events);
    model
}

#[test]
fn merged_trees_fit_latest_events_of_all_parts() {
    for (task, fresh) in all(0.0) {
        let base = taught(&fresh, task, 1, 100);
        let parts = [2, 3].map(|seed| taught(&base, task, seed, 150));
        let mut all = merged(&base, &parts.each_ref());
        assert_eq!((all.refits.steps, all.refits.latest.events.len()), (400, 400));
        let mut labels: Vec<f64> = all.refits.latest.events.iter().map(|event| event.label).collect();
        let mut each: Vec<f64> = base.refits.latest.events.iter().map(|event| event.label).collect();
        parts.iter().for_each(|part| {
            each.extend(part.refits.latest.events.iter().skip(100).map(|event| event.label))
        });
        labels.sort_by(f64::total_cmp);
        each.sort_by(f64::total_cmp);
        assert_eq!(labels, each);
        let mut back = base.clone();
        back.restore(&all.state(), 4, 6).unwrap();
        assert_eq!(back.state(), all.state());
        // The first prediction fits them, also if it is of an event that is not learned.
        let mut predicting = all.clone();
        let sample = Sample::new(&mut Numbers::new(5));
        predicting.step(sample.event(), Lesson::NONE, &mut vec![0.0; all.classes()]);
        assert!(all.ensemble.roots.is_empty() && !predicting.ensemble.roots.is_empty());
        assert_eq!(teach(&mut all, task, 4, 100), teach(&mut predicting, task, 4, 100));
        assert_eq!(all.state(), predicting.state());
    }
}

#[test]
fn merge_is_independent_of_order_and_grouping() {
    // Many classes take long, and are merged as three are.
    for (task, fresh) in all(0.0).into_iter().filter(|each| each.0 != Task::Many(20)) {
        let base = taught(&fresh, task, 1, 100);
        let [one, two, three] =
            [(2, 250), (3, 150), (4, 200)].map(|(seed, events)| taught(&base, task, seed, events));
        let all = merged(&base, &[&one, &two, &three]);
        assert_same(&merged(&base, &[&three, &one, &two]), &all, 0.0);
        assert_same(&merged(&base, &[&merged(&base, &[&one, &two]), &three]), &all, 0.0);
        // A part that has learned nothing adds nothing, and a single part stays as it was.
        assert_same(&merged(&base, &[&one, &base]), &one, 0.0);
    }
}

#[test]
fn translation_preserves_scores_until_next_fit() {
    for (task, fresh) in all(0.0) {
        let mut before = taught(&fresh, task, 5, 400);
        let mut after = before.clone();
        let mut translation = Translation::none(4, vec![0, 1, 2, 3, 3, 3]);
        (translation.attributes, translation.coordinates) = (vec![0, 2, 4, 5], vec![0, 2, 3, 6, 7, 8]);
        (translation.attribute_count, translation.coordinate_count) = (6, 9);
        if task == Task::Regression {
            translation.target = (-3.0, 4.0);
        }
        after.translate(&translation).unwrap();
        let places: &[usize] = match task {
            Task::Two => &[1, 0],
            Task::Many(classes) => {
                &std::array::from_fn::<usize, 20, _>(|class| (class + 2) % classes)[..classes]
            }
            Task::Regression => &[],
        };
        if !places.is_empty() {
            after.relabel(places).unwrap();
        }
        let (mut numbers, width) = (Numbers::new(6), before.classes());
        let (mut one, mut two) = (vec![0.0; width], vec![0.0; width]);
        // A fit to flipped labels may round differently, and so split differently.
        assert!(before.refits.due > before.refits.steps + 100);
        for _ in 0..100 {
            let mut sample = Sample::new(&mut numbers);
            let label = sample.label(task);
            before.step(sample.event(), Lesson::of(label), &mut one);
            sample.attributes.iter_mut().for_each(|own| *own = translation.attribute(*own).unwrap());
            sample.coordinates.iter_mut().for_each(|own| *own = translation.coordinate(*own).unwrap());
            let other = match task {
                Task::Two => -label,
                Task::Many(_) => places[label as usize] as f64,
                Task::Regression => (label + 3.0) / 4.0,
            };
            let unit = if task == Task::Regression { Unit { centre: -3.0, spread: 4.0 } } else { Unit::NONE };
            after.step(sample.event(), Lesson { target: label, unit, ..Lesson::of(other) }, &mut two);
            let same = match task {
                Task::Two => (one[0] + two[0]).abs() < 1e-9,
                Task::Many(_) => {
                    places.iter().zip(&one).all(|(&place, score)| (two[place] - score).abs() < 1e-9)
                }
                Task::Regression => (4.0 * two[0] - 3.0 - one[0]).abs() < 1e-9,
            };
            assert!(same, "{task:?} {one:?} {two:?}");
        }
    }
}

#[test]
fn value_units_do_not_affect_state() {
    let model = taught(&new(Task::Two, 0.0), Task::Two, 7, 500);
    let mut moved = model.clone();
    let mut translation = Translation::none(4, vec![0, 1, 2, 3, 3, 3]);
    (translation.shift[1], translation.stretch[1]) = (0.2, -1.5);
    moved.translate(&translation).unwrap();
    assert_eq!(moved.state(), model.state());
}

#[test]
fn dropped_coordinates_count_as_missing() {
    let mut model = taught(&new(Task::Two, 0.0), Task::Two, 9, 500);
    let mut translation = Translation::none(4, vec![0, 1, 2, 3, 3, 3]);
    (translation.attributes[2], translation.coordinates[2]) = (DROPPED, DROPPED);
    model.translate(&translation).unwrap();
    assert!(model.refits.latest.events.iter().all(|event| !event.coordinates.contains(&2)));
    assert!(model.ensemble.nodes.iter().all(|node| node.coordinate != 2));
    teach(&mut model, Task::Two, 10, 300);
}
