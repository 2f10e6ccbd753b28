//! Events from which new leaves learn once more.

use std::collections::VecDeque;

use super::tests::new;
use super::*;
use crate::learners::latest::WIDEST;
use crate::learners::samples::{Numbers, Sample, TASKS, Task, teach};
use crate::translation::DROPPED;

/// The weight of the events that a tree has drawn since it began, if all of these are kept.
fn drawn_by(forest: &Forest, number: usize) -> f64 {
    let begun = forest.steps - forest.trees[number].age;
    let own = forest.replays.events.iter().filter(|event| event.step > begun);
    own.map(|event| drawn(&forest.poisson, number, event.step).0 * event.weight).sum()
}

#[test]
fn leaf_weights_sum_to_drawn_events() {
    for task in TASKS {
        let mut forest = new(task, 0.0);
        teach(&mut forest, task, 1, KEPT - 100);
        for (number, tree) in forest.trees.iter().enumerate() {
            let leaves = tree.nodes.iter().filter_map(|node| node.leaf.as_ref());
            let all: f64 = leaves.map(|leaf| leaf.weight).sum();
            let drawn = drawn_by(&forest, number);
            assert!(tree.nodes.len() > 1 && (all - drawn).abs() < 1e-6 * drawn, "{task:?}: {all} {drawn}");
        }
    }
}

#[test]
fn latest_events_are_kept_unless_wide() {
    let mut forest = new(Task::Two, 0.0);
    teach(&mut forest, Task::Two, 2, KEPT + 300);
    let steps: Vec<u64> = forest.replays.events.iter().map(|event| event.step).collect();
    assert_eq!(steps, (301..=KEPT as u64 + 300).collect::<Vec<_>>());
    // Wide events are not.
    for (width, is_kept) in [(WIDEST as u32 + 1, true), (WIDEST as u32 + 2, false)] {
        let places: Vec<u32> = (0..width).collect();
        let values = vec![0.5; places.len()];
        let event = Event::of(&places, &places, &values);
        forest.step(event, Lesson::of(1.0), &mut [0.0]);
        assert_eq!(forest.replays.events.back().unwrap().step == forest.steps, is_kept);
    }
}

#[test]
fn light_events_are_sampled_and_reweighted() {
    let (mut forest, mut numbers) = (new(Task::Two, 0.0), Numbers::new(9));
    for _ in 0..KEPT {
        let sample = Sample::new(&mut numbers);
        let lesson = Lesson { weight: 1.0 / 40.0, ..Lesson::of(sample.label(Task::Two)) };
        forest.step(sample.event(), lesson, &mut [0.0]);
    }
    let kept = &forest.replays.events;
    assert!(
        (20..=30).contains(&kept.len()) && kept.iter().all(|event| event.weight == 1.0),
        "{}",
        kept.len()
    );
    let mut again = new(Task::Two, 0.0);
    again.restore(&forest.state(), 4, 6).unwrap();
    assert_eq!(again.state(), forest.state());
}

#[test]
fn evicted_coordinates_are_not_replayed() {
    let mut forest = new(Task::Two, 0.0);
    teach(&mut forest, Task::Two, 3, 400);
    for round in 0..3 {
        forest.forget(&Evicted { before: 0, attributes: vec![2], coordinates: vec![2] });
        let kept = || forest.replays.events.iter();
        assert!(kept().all(|event| forest.replays.items(event).all(|(coordinate, _)| coordinate != 2)));
        let mut again = new(Task::Two, 0.0);
        again.restore(&forest.state(), 4, 6).unwrap();
        let leaves = |forest: &Forest| -> Vec<VecDeque<u32>> {
            forest.trees.iter().map(|tree| tree.leaves.clone()).collect()
        };
        assert_eq!(leaves(&again), leaves(&forest));
        // The coordinate comes back with another meaning.
        assert_eq!(
            teach(&mut forest, Task::Two, 4 + round, 300),
            teach(&mut again, Task::Two, 4 + round, 300)
        );
        assert_eq!(again.state(), forest.state());
    }
}

#[test]
fn state_round_trip_after_trees_restart() {
    let mut forest = new(Task::Two, 0.0);
    teach(&mut forest, Task::Two, 8, 2000);
    let (mut numbers, mut begun) = (Numbers::new(9), 0);
    for _ in 0..600 {
        let sample = Sample::new(&mut numbers);
        forest.step(sample.event(), Lesson::of(-sample.label(Task::Two)), &mut [0.0]);
        let is_new = |tree: &&Tree| tree.age < 50;
        if forest.trees.iter().filter(is_new).count() > begun {
            begun += 1;
            let mut again = new(Task::Two, 0.0);
            again.restore(&forest.state(), 4, 6).unwrap();
            assert_eq!(again.state(), forest.state());
            let mut on = forest.clone();
            assert_eq!(teach(&mut on, Task::Two, 10, 500), teach(&mut again, Task::Two, 10, 500));
            assert_eq!(again.state(), on.state());
        }
    }
    assert!(begun > 0);
}

#[test]
fn translation_and_relabelling_preserve_learning() {
    let mut before = new(Task::Many(3), 0.0);
    teach(&mut before, Task::Many(3), 4, 200);
    let mut after = before.clone();
    let mut translation = Translation::none(4, vec![0, 1, 2, 3, 3, 3]);
    // The order of attributes stays the same, since leaves pick by it.
    (translation.attributes, translation.coordinates) = (vec![0, 2, 4, 5], vec![0, 2, 3, 6, 7, 8]);
    (translation.attribute_count, translation.coordinate_count) = (6, 9);
    after.translate(&translation).unwrap();
    after.relabel(&[2, 0, 1]).unwrap();
    let (mut numbers, mut one, mut two) = (Numbers::new(5), [0.0; 3], [0.0; 3]);
    for _ in 0..300 {
        let mut sample = Sample::new(&mut numbers);
        let label = sample.label(Task::Many(3));
        before.step(sample.event(), Lesson::of(label), &mut one);
        sample.attributes.iter_mut().for_each(|own| *own = translation.attribute(*own).unwrap());
        sample.coordinates.iter_mut().for_each(|own| *own = translation.coordinate(*own).unwrap());
        after.step(sample.event(), Lesson::of([2.0, 0.0, 1.0][label as usize]), &mut two);
        assert!([2, 0, 1].iter().zip(one).all(|(&place, score)| (two[place] - score).abs() < 1e-9));
    }
}

#[test]
fn dropped_attributes_are_not_replayed() {
    let mut forest = new(Task::Two, 0.0);
    teach(&mut forest, Task::Two, 6, 300);
    let mut translation = Translation::none(4, vec![0, 1, 2, 3, 3, 3]);
    translation.attributes[2] = DROPPED;
    forest.translate(&translation).unwrap();
    assert!(forest.replays.events.iter().all(|event| !event.coordinates.contains(&2)));
    teach(&mut forest, Task::Two, 7, 300);
}
