//! Translation to other names and scales, and merging, checked by the scores of the same events.

use std::ops::Range;

use super::tests::{ALL, Items, items, step, take};
use super::*;
use crate::learners::linear::Update;
use crate::loss::Loss;
use crate::state::Array;
use crate::translation::DROPPED;

/// Maximum number of attributes of an event here; a third of them are sets of tags.
const MOST: u32 = 9;
const COORDINATES: usize = 2 * MOST as usize + 2;

fn begin(gamma: usize, normalize: bool, update: Update, table_bits: u32) -> Explicit {
    Explicit::new(gamma, normalize, Step { half_life: 0.0, ..step(update) }, table_bits).unwrap()
}

fn label(classes: usize, t: u64) -> f64 {
    match classes {
        1 => 1.0 - 2.0 * (t % 2) as f64,
        classes => (t % classes as u64) as f64,
    }
}

fn taught(mut learner: Explicit, events: Range<u64>) -> Explicit {
    for t in events {
        let label = label(learner.classes(), t);
        take(&mut learner, &items(t, MOST), label, 1.0);
    }
    learner
}

fn merged(base: &Explicit, parts: &[&Explicit]) -> Explicit {
    let parts: Vec<&dyn Learner> = parts.iter().map(|&part| part as &dyn Learner).collect();
    let mut merged = base.clone();
    merged.merge(&parts).unwrap();
    merged
}

fn translated(learner: &Explicit, translation: &Translation) -> Explicit {
    let mut translated = learner.clone();
    translated.translate(translation).unwrap();
    translated
}

fn assert_same(one: &Explicit, other: &Explicit, within: f64) {
    // Merging with nothing removes the global factors.
    let (one, other) = (merged(one, &[]).state(), merged(other, &[]).state());
    assert!(one.0.keys().eq(other.0.keys()));
    for (name, (one, other)) in one.0.iter().zip(other.0.values()).map(|((name, a), b)| (name, (a, b))) {
        match (one, other) {
            (Array::F64(one, shape), Array::F64(other, other_shape)) => {
                assert_eq!(shape, other_shape, "{name}");
                let near = |(a, b): (&f64, &f64)| (a - b).abs() <= within * (1.0 + a.abs());
                assert!(one.iter().zip(other).all(near), "{name}");
            }
            _ => assert_eq!(one, other, "{name}"),
        }
    }
}

/// The identity, with the owners of the coordinates of [`items`].
fn none() -> Translation {
    let mut owners: Vec<u32> = (0..COORDINATES as u32).collect();
    for attribute in (3..=MOST).step_by(3) {
        owners[attribute as usize] = DROPPED;
        (0..2).for_each(|tag| owners[(MOST + attribute + tag) as usize] = attribute);
    }
    owners
        .iter_mut()
        .skip(MOST as usize + 1)
        .filter(|owner| **owner > MOST)
        .for_each(|owner| *owner = DROPPED);
    Translation::none(MOST as usize + 1, owners)
}

/// All names in reverse order, with free ones in between.
fn permuted() -> Translation {
    let mut translation = none();
    let count = COORDINATES as u32;
    translation.attributes = (0..=MOST).map(|old| if old == 0 { 0 } else { 2 * (MOST + 1 - old) }).collect();
    translation.coordinates = (0..count).map(|old| if old == 0 { 0 } else { 2 * (count - old) }).collect();
    (translation.attribute_count, translation.coordinate_count) = (2 * MOST as usize + 1, 2 * COORDINATES);
    translation
}

/// An event as expressed after a translation.
fn expressed(event: &Items, translation: &Translation) -> Items {
    let item = |&(attribute, coordinate, x): &(u32, u32, f64)| {
        let (shift, stretch) =
            (translation.shift[coordinate as usize], translation.stretch[coordinate as usize]);
        (
            translation.attributes[attribute as usize],
            translation.coordinates[coordinate as usize],
            (x - shift) / stretch,
        )
    };
    let mut items: Items = event.iter().map(item).collect();
    items.sort_by_key(|item| (item.0, item.1));
    items
}

fn assert_scores_stay(learner: &Explicit, translation: &Translation, events: &[Items]) {
    let (mut before, mut after) = (learner.clone(), translated(learner, translation));
    for event in events {
        let (one, other) = (
            take(&mut before, event, f64::NAN, 1.0),
            take(&mut after, &expressed(event, translation), f64::NAN, 1.0),
        );
        let near = |(a, b): (&f64, &f64)| (a - b).abs() < 1e-10 * (1.0 + a.abs());
        assert!(one.iter().zip(&other).all(near), "{one:?} {other:?}");
    }
}

#[test]
fn merge_ignores_order_of_names_and_parts() {
    for (gamma, update) in [1, 2, 3].into_iter().flat_map(|gamma| ALL.map(|update| (gamma, update))) {
        for classes in if gamma == 2 { vec![1, 3] } else { vec![1] } {
            let mut base = begin(gamma, true, update, 20);
            if classes > 1 {
                base.widen(classes);
            }
            let base = taught(base, 0..20);
            let [a, b, c] = [20..50, 50..110, 110..117].map(|events| taught(base.clone(), events));
            let all = merged(&base, &[&a, &b, &c]);
            assert_same(&all, &merged(&base, &[&c, &a, &b]), 1e-12);
            assert_same(&all, &merged(&base, &[&merged(&base, &[&b, &c]), &a]), 1e-12);
            assert_same(&a, &merged(&base, &[&base, &a]), 1e-12);
            assert_eq!(translated(&a, &none()).state(), a.state());
            let events: Vec<Items> = (0..20).map(|t| items(t, MOST)).collect();
            assert_scores_stay(&all, &permuted(), &events);
            let moved = [&base, &a, &b, &c].map(|each| translated(each, &permuted()));
            let then = merged(&moved[0], &[&moved[1], &moved[2], &moved[3]]);
            assert_same(&then, &translated(&all, &permuted()), 1e-12);
        }
    }
}

#[test]
fn parts_with_few_or_no_features_merge_with_larger_ones() {
    for gamma in [1, 2, 3] {
        let empty = begin(gamma, true, Update::Arow, 20);
        let mut few = empty.clone();
        (0..30).for_each(|t| drop(take(&mut few, &items(t, 2), label(1, t), 1.0)));
        let many = taught(empty.clone(), 0..60);
        let both = merged(&empty, &[&few, &many]);
        assert_same(&both, &merged(&empty, &[&many, &empty, &few]), 1e-12);
        assert_same(&many, &merged(&empty, &[&many, &empty]), 1e-12);
        assert_eq!((both.steps(), both.map.coordinates), (90, many.map.coordinates));
        let mut back = empty.clone();
        back.restore(&both.state(), MOST as usize + 1, COORDINATES).unwrap();
        assert_eq!(back.state(), both.state());
    }
}

#[test]
fn merged_precisions_match_one_pass() {
    for gamma in [1, 2, 3] {
        let settings = Step { loss: Loss::Squared, half_life: 0.0, ..step(Update::Arow) };
        let base = Explicit::new(gamma, true, settings, 20).unwrap();
        let (a, b) = (taught(base.clone(), 0..50), taught(base.clone(), 50..90));
        let (both, one_pass) = (merged(&base, &[&a, &b]).state(), taught(base, 0..90).state());
        assert_eq!(both.0["index"], one_pass.0["index"]);
        let (both, one_pass) = (both.f64s("spread").unwrap().0, one_pass.f64s("spread").unwrap().0);
        assert!(both.iter().zip(one_pass).all(|(one, other)| (one / other - 1.0).abs() < 1e-10));
    }
}

#[test]
fn rescaling_preserves_scores_where_formulas_are_exact() {
    let mut translation = permuted();
    translation.stretch[2] = 0.5;
    translation.stretch[4] = 3.0;
    let all: Vec<Items> = (0..30).map(|t| items(t, MOST)).collect();
    for (gamma, update) in [1, 2, 3].into_iter().flat_map(|gamma| ALL.map(|update| (gamma, update))) {
        let mut learner = begin(gamma, false, update, 20);
        for (t, event) in all.iter().enumerate() {
            take(&mut learner, event, label(1, t as u64), 1.0);
        }
        assert_scores_stay(&learner, &translation, &all);
        // Shifts are exact where there is a feature for them, in events with fewer attributes than gamma, and where no
        // value is missing.
        let mut shifted = translation.clone();
        (shifted.shift[1], shifted.shift[2], shifted.shift[4]) = (0.3, -0.4, 2.0);
        let complete = |t: u64, width: usize| -> Items {
            let value = |k: u32| (t * 7 + u64::from(k) * 5) as f64 % 11.0 / 4.0 - 1.0;
            [1, 2, 4].iter().take(width).fold(vec![(0, 0, 1.0)], |mut items, &k| {
                items.push((k, k, value(k)));
                items
            })
        };
        for (width, others) in [(3, vec![]), (gamma - 1, all.clone())] {
            let mut learner = begin(gamma, false, update, 20);
            for t in 0..40 {
                take(&mut learner, &complete(t, width), label(1, t), 1.0);
            }
            let events = if width == 3 { (0..20).map(|t| complete(t, 3)).collect() } else { others };
            assert_scores_stay(&learner, &shifted, &events);
        }
    }
}

#[test]
fn dropped_names_are_forgotten() {
    let mut translation = none();
    (translation.attributes[2], translation.coordinates[2], translation.owners[2]) =
        (DROPPED, DROPPED, DROPPED);
    for gamma in [1, 2, 3] {
        let learner = taught(begin(gamma, false, Update::Arow, 20), 0..60);
        let mut cleared = learner.clone();
        cleared.clear(&Evicted { attributes: vec![2], coordinates: vec![2], ..Evicted::default() });
        assert_same(&translated(&learner, &translation), &cleared, 0.0);
    }
}

#[test]
fn rescaled_targets_preserve_predictions() {
    for (gamma, normalize) in [1, 2, 3].into_iter().flat_map(|gamma| [(gamma, false), (gamma, true)]) {
        let settings = Step { loss: Loss::Squared, ..step(Update::Arow) };
        let learner = taught(Explicit::new(gamma, normalize, settings, 20).unwrap(), 0..60);
        let mut translation = none();
        translation.target = (0.25, 2.0);
        let (mut before, mut after) = (learner.clone(), translated(&learner, &translation));
        // If events are normalised, the result is exact for one with the typical norm.
        let event: Items = (0..=MOST).map(|k| (k, k, 1.0)).collect();
        let [one, other] = [&mut before, &mut after].map(|each| take(each, &event, f64::NAN, 1.0)[0]);
        assert!((one - (0.25 + 2.0 * other)).abs() < 1e-10);
    }
}

#[test]
fn hashed_tables_merge_only_under_the_same_names() {
    for (gamma, update) in [2, 3].into_iter().flat_map(|gamma| ALL.map(|update| (gamma, update))) {
        let base = begin(gamma, true, update, 8);
        let [a, b, c] = [20..50, 50..110, 110..117].map(|events| taught(base.clone(), events));
        assert!(a.map.layout.is_hashed());
        let all = merged(&base, &[&a, &b, &c]);
        assert_same(&all, &merged(&base, &[&c, &merged(&base, &[&b, &a])]), 1e-12);
        assert_same(&a, &merged(&base, &[&a, &base]), 1e-12);
        assert!(a.clone().translate(&permuted()).unwrap_err().contains("hashed"));
        assert_eq!(translated(&a, &none()).state(), a.state());
        // A table that no longer fits becomes hashed.
        let mut translation = permuted();
        translation.coordinates[1] = 1 << 20;
        assert!(
            translated(&taught(begin(gamma, true, update, 20), 0..9), &translation).map.layout.is_hashed()
        );
    }
}

#[test]
fn other_settings_are_refused_and_extreme_states_merge() {
    let base = begin(2, true, Update::Arow, 20);
    for other in [
        begin(3, true, Update::Arow, 20),
        begin(2, false, Update::Arow, 20),
        begin(2, true, Update::Sgd, 20),
        begin(2, true, Update::Arow, 19),
        begin(2, true, Update::Arow, 20).with_most(9),
    ] {
        assert!(base.clone().merge(&[&other]).unwrap_err().contains("settings"));
    }
    for gamma in [1, 2, 3] {
        // Weights at every place, including those of unknown features.
        let mut state = taught(begin(gamma, true, Update::Arow, 20), 0..30).state();
        let places = taught(begin(gamma, true, Update::Arow, 20), 0..30).models[0].places();
        state.put_i64s("index", (0..places as i64).collect(), &[places]);
        state.put_f64s("weights", vec![1.0; places], &[1, places]);
        state.put_f64s("spread", vec![0.0; places], &[1, places]);
        let mut full = begin(gamma, true, Update::Arow, 20);
        full.restore(&state, MOST as usize + 1, COORDINATES).unwrap();
        let mut translation = permuted();
        translation.shift.fill(0.5);
        merged(&translated(&full, &translation), &[&full, &full]);
    }
}
