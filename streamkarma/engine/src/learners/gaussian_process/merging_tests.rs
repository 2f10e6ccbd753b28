//! Tests of merging and of renaming coordinates.

use super::tests::new;
use super::*;
use crate::learners::samples::{Numbers, Sample as Drawn, Task, teach};
use crate::merging::checks::{assert_same, merged};
use crate::translation::DROPPED;

fn taught(base: &GaussianProcess, seed: u64, events: usize) -> GaussianProcess {
    let mut model = base.clone();
    teach(&mut model, Task::Regression, seed, events);
    model
}

#[test]
fn merge_ignores_order_and_grouping() {
    let base = taught(&new(0.0), 1, 70);
    let [one, two, three] = [(2, 70), (3, 80), (4, 90)].map(|(seed, events)| taught(&base, seed, events));
    let all = merged(&base, &[&one, &two, &three]);
    assert_eq!((all.steps(), all.refits.latest.events.len()), (310, 60));
    assert_same(&merged(&base, &[&three, &one, &two]), &all, 0.0);
    assert_same(&merged(&base, &[&merged(&base, &[&one, &two]), &three]), &all, 0.0);
    // A part that has learned nothing changes nothing, and a single other part is kept as it is.
    assert_same(&merged(&base, &[&one, &base]), &one, 0.0);
    let mut back = base;
    back.restore(&all.state(), 4, 6).unwrap();
    assert_eq!(back.state(), all.state());
}

#[test]
fn merging_works_for_targets_of_any_magnitude() {
    for size in [1e-20, 1e18] {
        let taught = |base: &GaussianProcess, seed: u64| {
            let (mut model, mut numbers, mut error) = (base.clone(), Numbers::new(seed), 0.0);
            for t in 0..100 {
                let sample = Drawn::new(&mut numbers);
                let target = size * (2.0 + sample.values[1]);
                let unit = Unit { centre: 2.0 * size, spread: size };
                let lesson = Lesson { target, unit, ..Lesson::of(unit.standard(target)) };
                let mut score = [0.0];
                model.step(sample.event(), lesson, &mut score);
                error += if t < 40 { (score[0] - sample.values[1]).abs() / 40.0 } else { 0.0 };
            }
            (model, error)
        };
        let base = taught(&new(0.0), 1).0;
        let parts = [2, 3].map(|seed| taught(&base, seed).0);
        let (_, error) = taught(&merged(&base, &parts.each_ref()), 4);
        assert!(error < 0.01, "{size} {error}");
    }
}

#[test]
fn translation_preserves_predictions_until_the_next_fit() {
    let mut before = taught(&new(0.0), 5, 550);
    let mut after = before.clone();
    let mut translation = Translation::none(4, vec![0, 1, 2, 3, 3, 3]);
    (translation.attributes, translation.coordinates) = (vec![0, 2, 4, 5], vec![0, 2, 3, 6, 7, 8]);
    (translation.attribute_count, translation.coordinate_count) = (6, 9);
    translation.target = (-3.0, 4.0);
    after.translate(&translation).unwrap();
    let (mut numbers, mut one, mut two) = (Numbers::new(6), [0.0], [0.0]);
    assert!(before.refits.due > before.refits.steps + 50);
    for _ in 0..50 {
        let mut sample = Drawn::new(&mut numbers);
        let label = sample.label(Task::Regression);
        before.step(sample.event(), Lesson::of(label), &mut one);
        sample.attributes.iter_mut().for_each(|own| *own = translation.attribute(*own).unwrap());
        sample.coordinates.iter_mut().for_each(|own| *own = translation.coordinate(*own).unwrap());
        let unit = Unit { centre: -3.0, spread: 4.0 };
        let lesson = Lesson { target: label, unit, ..Lesson::of((label + 3.0) / 4.0) };
        after.step(sample.event(), lesson, &mut two);
        assert!((4.0 * two[0] - 3.0 - one[0]).abs() < 1e-9, "{one:?} {two:?}");
    }
}

#[test]
fn dropped_coordinates_are_removed_from_inputs() {
    let mut model = taught(&new(0.0), 9, 100);
    let mut translation = Translation::none(4, vec![0, 1, 2, 3, 3, 3]);
    (translation.attributes[2], translation.coordinates[2]) = (DROPPED, DROPPED);
    model.translate(&translation).unwrap();
    assert!(model.fitted.as_ref().unwrap().inputs.0.iter().all(|input| input.coordinate != 2));
    teach(&mut model, Task::Regression, 10, 100);
}
