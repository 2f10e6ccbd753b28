//! The trees of a merged forest, and its predictions under other names, classes and units.

use super::tests::new;
use super::*;
use crate::learners::codes::MISSING;
use crate::learners::samples::{Numbers, Sample, TASKS, Task, teach};
use crate::merging::checks::{self, assert_same};
use crate::translation::DROPPED;

fn taught(base: &Forest, task: Task, seed: u64, events: usize) -> Forest {
    let mut model = base.clone();
    teach(&mut model, task, seed, events);
    model
}

fn merged(base: &Forest, parts: &[&Forest]) -> Forest {
    let all = checks::merged(base, parts);
    let mut back = base.clone();
    back.restore(&all.state(), 4, 6).unwrap();
    assert_eq!(back.state(), all.state());
    all
}

fn scores(forest: &mut Forest, event: Event) -> Vec<f64> {
    let mut scores = vec![0.0; forest.classes()];
    forest.step(event, Lesson::NONE, &mut scores);
    scores
}

/// Events, and a forest's predictions for them.
fn scored(forest: &Forest, events: usize) -> Vec<(Sample, Vec<f64>)> {
    let (mut forest, mut numbers) = (forest.clone(), Numbers::new(9));
    let samples = (0..events).map(|_| Sample::new(&mut numbers));
    samples
        .map(|sample| {
            let scores = scores(&mut forest, sample.event());
            (sample, scores)
        })
        .collect()
}

#[test]
fn merged_trees_come_from_the_parts() {
    for task in TASKS {
        let base = taught(&new(task, 0.0), task, 1, 300);
        let parts = [2, 3].map(|seed| taught(&base, task, seed, 500));
        let mut all = merged(&base, &parts.each_ref());
        assert_eq!((all.steps, all.trees.len()), (1300, 10));
        let from = |part: &Forest| {
            let is_in =
                |tree: &&Tree| part.trees.iter().any(|own| own.sums == tree.sums && own.age == tree.age);
            all.trees.iter().filter(is_in).count()
        };
        let counts = [from(&parts[0]), from(&parts[1])];
        assert!(counts[0] + counts[1] == 10 && counts[0].min(counts[1]) > 0, "{counts:?}");
        teach(&mut all, task, 4, 300);
    }
}

#[test]
fn parts_with_more_events_give_more_trees() {
    let base = new(Task::Two, 0.0);
    let part = |seed, events| taught(&base, Task::Two, seed, events);
    let mut given = 0;
    for seed in 0..20 {
        let (short, long) = (part(seed, 50), part(seed + 100, 450));
        given += merged(&base, &[&short, &long]).trees.iter().filter(|tree| tree.age == 450).count();
    }
    assert!((given as f64 / 200.0 - 0.87).abs() < 0.08, "{given}");
}

#[test]
fn merge_is_independent_of_order_and_grouping() {
    for task in TASKS {
        let base = taught(&new(task, 500.0), task, 1, 100);
        let [a, b, c] = [200, 350, 300].map(|events| taught(&base, task, events as u64, events));
        let all = merged(&base, &[&a, &b, &c]);
        assert_same(&merged(&base, &[&c, &a, &b]), &all, 0.0);
        assert_same(&merged(&base, &[&merged(&base, &[&c, &a]), &b]), &all, 0.0);
        assert_same(&merged(&base, &[&a, &merged(&base, &[&merged(&base, &[&b]), &c])]), &all, 0.0);
    }
}

#[test]
fn parts_that_learned_nothing_have_no_effect() {
    let empty = new(Task::Two, 0.0);
    let base = taught(&empty, Task::Two, 1, 200);
    let part = taught(&base, Task::Two, 2, 200);
    assert_eq!(merged(&base, &[&base, &part, &base]).state(), part.state());
    assert_eq!(merged(&base, &[&base]).state(), base.state());
    assert_eq!(merged(&empty, &[&part, &empty]).state(), part.state());
    assert!(empty.clone().merge(&[&new(Task::Regression, 0.0)]).is_err());
    assert!(empty.clone().merge(&[&new(Task::Two, 10.0)]).is_err());
}

#[test]
fn relabel_permutes_class_scores() {
    for (task, places) in
        [(Task::Two, vec![1, 0]), (Task::Many(3), vec![1, 2, 0]), (Task::Many(20), (0..20).rev().collect())]
    {
        let before = taught(&new(task, 0.0), task, 1, 1000);
        let mut after = before.clone();
        after.relabel(&places).unwrap();
        for (sample, old) in scored(&before, 20) {
            let new = scores(&mut after, sample.event());
            if task == Task::Two {
                assert_eq!(new[0], -old[0]);
            } else {
                places.iter().zip(old).for_each(|(&place, old)| assert!((new[place] - old).abs() < 1e-12));
            }
        }
        after.restore(&after.state(), 4, 6).unwrap();
        teach(&mut after, task, 2, 300);
        assert!(after.relabel(&[2, 1, 0, 3]).is_err());
    }
}

/// The identity for the samples.
fn unchanged() -> Translation {
    Translation::none(4, vec![0, 1, 2, 3, 3, 3])
}

#[test]
fn names_are_translated() {
    let before = taught(&new(Task::Two, 0.0), Task::Two, 1, 2000);
    let mut after = before.clone();
    after.translate(&unchanged()).unwrap();
    assert_eq!(after.state(), before.state());
    let mut translation = unchanged();
    translation.attributes = vec![0, 5, 2, 1];
    translation.coordinates = vec![0, 7, 1, 3, 8, 2];
    (translation.attribute_count, translation.coordinate_count) = (6, 9);
    after.translate(&translation).unwrap();
    after.clone().restore(&after.state(), 6, 9).unwrap();
    for (mut sample, old) in scored(&before, 50) {
        sample.attributes.iter_mut().for_each(|own| *own = translation.attribute(*own).unwrap());
        sample.coordinates.iter_mut().for_each(|own| *own = translation.coordinate(*own).unwrap());
        assert_eq!(scores(&mut after, sample.event()), old);
    }
    (translation.attributes[1], translation.coordinates[1], translation.coordinates[5]) =
        (DROPPED, DROPPED, DROPPED);
    let mut less = before.clone();
    less.translate(&translation).unwrap();
    less.clone().restore(&less.state(), 6, 9).unwrap();
    let mut forgot = before;
    forgot.forget(&Evicted { before: 0, attributes: vec![1], coordinates: vec![1, 5] });
    assert!(forgot.trees.iter().zip(&less.trees).all(|(one, other)| one.sums == other.sums));
}

#[test]
fn negated_coordinates_are_forgotten() {
    for task in TASKS {
        let before = taught(&new(task, 0.0), task, 1, 500);
        let (mut turned, mut forgot) = (before.clone(), before);
        let mut translation = unchanged();
        translation.stretch[1] = -1.0;
        turned.translate(&translation).unwrap();
        forgot.forget(&Evicted { before: 0, attributes: Vec::new(), coordinates: vec![1] });
        assert_eq!(turned.state(), forgot.state());
    }
}

#[test]
fn units_are_translated() {
    for task in TASKS {
        let before = taught(&new(task, 0.0), task, 1, 2000);
        let mut translation = unchanged();
        (translation.shift[1], translation.stretch[1], translation.shift[2], translation.stretch[2]) =
            (0.3, 0.8, -0.2, 1.5);
        let mut after = before.clone();
        after.translate(&translation).unwrap();
        after.clone().restore(&after.state(), 4, 6).unwrap();
        let (mut same, mut all) = (0, 0);
        for (mut sample, old) in scored(&before, 300) {
            for (&k, value) in sample.coordinates.iter().zip(&mut sample.values) {
                *value = (*value - translation.shift[k as usize]) / translation.stretch[k as usize];
            }
            let new = scores(&mut after, sample.event());
            all += 1;
            same += usize::from(
                old.iter().zip(new).all(|(old, new)| (old - new).abs() < 0.1 * (1.0 + old.abs())),
            );
        }
        assert!(same * 10 > all * 9, "{task:?}: {same} of {all}");
        // Histograms have the same events, in the bins where these are now.
        for (old, new) in before.trees.iter().zip(&after.trees) {
            for (old, new) in old.nodes.iter().zip(&new.nodes) {
                let weight = |leaf: &leaf::Leaf| leaf.cells.iter().map(|&cell| f64::from(cell)).sum::<f64>();
                if let (Some(old), Some(new)) = (&old.leaf, &new.leaf) {
                    assert!((weight(old) - weight(new)).abs() < 1e-3 * (1.0 + weight(old).abs()));
                }
                assert!(old.cut == new.cut || old.coordinate <= 2 && new.cut < MISSING - 1);
            }
        }
        teach(&mut after, task, 2, 500);
    }
}

#[test]
fn targets_are_translated() {
    let before = taught(&new(Task::Regression, 0.0), Task::Regression, 1, 2000);
    let mut after = before.clone();
    after.translate(&Translation { target: (1.0, 2.0), ..unchanged() }).unwrap();
    after.clone().restore(&after.state(), 4, 6).unwrap();
    for (sample, old) in scored(&before, 100) {
        // Nodes are shrunk towards 0, wherever that is.
        let new = scores(&mut after, sample.event())[0];
        assert!((new - (old[0] - 1.0) / 2.0).abs() < 0.3, "{new} {old:?}");
    }
}
