use super::merging_tests::{ATTRIBUTES, event, model, predict, taught};
use super::tests::*;
use super::*;
use crate::test_random::TestRandom;
use crate::translation::DROPPED;

/// The identity for the events here, in which attribute a has the coordinates 2a and 2a + 1.
pub(super) fn unchanged() -> Translation {
    Translation::none(ATTRIBUTES, (0..2 * ATTRIBUTES as u32).map(|k| k / 2).collect())
}

#[test]
fn names_are_translated() {
    let before = taught(&model(RULE, 1, true), 4, 80);
    let mut after = before.clone();
    after.translate(&unchanged()).unwrap();
    assert_eq!(after.state(), before.state());
    let mut translation = unchanged();
    translation.attributes = vec![0, 9, 3, 2, DROPPED, 8, 1];
    translation.coordinates = vec![0, 1, 18, 19, 6, 7, 4, 5, DROPPED, DROPPED, 16, 17, 2, DROPPED];
    (translation.attribute_count, translation.coordinate_count) = (10, 20);
    after.translate(&translation).unwrap();
    after.clone().restore(&after.state(), 10, 20).unwrap();
    let mut random = TestRandom(6);
    for _ in 0..30 {
        let old = event(&mut random);
        if old.0.contains(&4) || old.1.contains(&13) {
            continue; // something in this event has been dropped
        }
        let mut items: Vec<(u32, u32, f64)> = Vec::new();
        for ((a, k), value) in old.0.iter().zip(&old.1).zip(&old.2) {
            items.push((translation.attribute(*a).unwrap(), translation.coordinate(*k).unwrap(), *value));
        }
        items.sort_by_key(|item| item.1);
        let new = Owned(
            items.iter().map(|item| item.0).collect(),
            items.iter().map(|item| item.1).collect(),
            items.iter().map(|item| item.2).collect(),
        );
        assert_close(&predict(&after, &new), &predict(&before, &old));
    }
}

#[test]
fn value_and_target_units_are_translated() {
    let rule = Rule { normalize: false, rho: 10.0, loss: Loss::Squared, ..RULE };
    let mut random = TestRandom(6);
    // Events that have all attributes, so that a shift affects only the constant.
    let mut full = || {
        let values = (0..4).map(|k| if k == 0 { 1.0 } else { random.unit() });
        Owned(vec![0, 1, 2, 3], vec![0, 1, 2, 3], values.collect())
    };
    for average in [false, true] {
        let mut before = model(rule, 1, average);
        (0..50).for_each(|t| drop(learn(&mut before, &full(), f64::from(t % 3), 1.0)));
        let mut translation = Translation::none(4, (0..4).collect());
        (translation.shift, translation.stretch) = (vec![0.0, 0.3, -0.5, 0.0], vec![1.0, 2.0, 0.7, 1.0]);
        translation.target = (0.4, 3.0);
        let mut after = before.clone();
        after.translate(&translation).unwrap();
        for _ in 0..20 {
            let new = full();
            let mut old = new.clone();
            for k in 0..4 {
                old.2[k] = translation.shift[k] + translation.stretch[k] * new.2[k];
            }
            let expected = (predict(&before, &old)[0] - 0.4) / 3.0;
            assert_close(&predict(&after, &new), &[expected]);
        }
    }
}

#[test]
fn target_shift_is_nearly_uniform() {
    let rule = Rule { loss: Loss::Squared, rho: 0.5, ..RULE };
    let before = taught(&model(rule, 1, false), 4, 300);
    let mut after = before.clone();
    after.translate(&Translation { target: (0.5, 1.0), ..unchanged() }).unwrap();
    let mut random = TestRandom(6);
    let away: Vec<f64> = (0..50)
        .map(|_| {
            let event = event(&mut random);
            predict(&before, &event)[0] - predict(&after, &event)[0]
        })
        .collect();
    assert!((away.iter().sum::<f64>() / 50.0 - 0.5).abs() < 0.1);
    assert!(away.iter().all(|away| (0.2..1.0).contains(away)));
}
