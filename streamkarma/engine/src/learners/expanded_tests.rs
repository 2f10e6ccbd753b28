//! Carrying over and merging models on listed features: products, bins, plain values and logarithms.

use crate::block::Event;
use crate::learner::{Learner, Lesson};
use crate::learners::bins::{BinFeatures, Bins};
use crate::learners::expanded::{Expansion, Items};
use crate::learners::linear::Step;
use crate::learners::logarithmic::Logarithmic;
use crate::learners::products::{ProductFeatures, Products};
use crate::learners::sgd::{Settings, Sgd};
use crate::loss::Loss;
use crate::state::Array;
use crate::translation::{DROPPED, Translation};

/// Numbers between -2 and 2, the same in every run.
fn number(t: u32) -> f64 {
    f64::from(t.wrapping_mul(2_654_435_761) >> 8) / f64::from(1 << 24) * 4.0 - 2.0
}

fn step(loss: Loss) -> Step {
    Step::arow(loss, 1.0)
}

fn sgd(regression: bool) -> Sgd {
    Sgd::new(Settings { regression, eta: 0.05, half_life: 0.0, table_bits: 20 }).unwrap()
}

const KINDS: usize = 4;

/// An empty learner of each kind.
fn new(kind: usize, regression: bool, table_bits: u32) -> Box<dyn Learner> {
    let loss = if regression { Loss::Squared } else { Loss::Hinge };
    match kind {
        0 => Box::new(Products::new(step(loss), table_bits).unwrap()),
        1 => Box::new(Bins::new(step(loss), table_bits, 512).unwrap()),
        2 => Box::new(sgd(regression)),
        _ => Box::new(Logarithmic::new(Box::new(sgd(regression)))),
    }
}

/// The items of an event: a category, and three numbers, any of which may be missing.
fn items(t: u32, complete: bool) -> Vec<(u32, f64)> {
    let mut items = vec![(0, 1.0)];
    let there = |k: u32| complete || !(t + k).is_multiple_of(3);
    items.extend((1..4).filter(|&k| there(k)).map(|k| (k, number(5 * t + k))));
    items.push((4 + t % 2, 1.0));
    items
}

/// The attribute of each of these coordinates.
const OWNERS: [u32; 6] = [0, 1, 2, 3, 4, 4];

fn take(
    learner: &mut dyn Learner,
    translation: &Translation,
    items: &[(u32, f64)],
    lesson: Lesson,
) -> Vec<f64> {
    let mut items: Vec<(u32, u32, f64)> = items
        .iter()
        .map(|&(k, x)| {
            let at = k as usize;
            let owner = translation.attributes[OWNERS[at] as usize];
            (owner, translation.coordinates[at], (x - translation.shift[at]) / translation.stretch[at])
        })
        .collect();
    items.sort_by_key(|item| item.1);
    let attributes: Vec<u32> = items.iter().map(|item| item.0).collect();
    let coordinates: Vec<u32> = items.iter().map(|item| item.1).collect();
    let values: Vec<f64> = items.iter().map(|item| item.2).collect();
    let mut scores = vec![0.0; learner.classes()];
    let event = Event::of(&attributes, &coordinates, &values);
    learner.step(event, lesson, &mut scores);
    scores
}

fn none() -> Translation {
    Translation::none(5, OWNERS.to_vec())
}

fn permuted() -> Translation {
    let (attributes, coordinates) = (vec![0, 7, 3, 1, 4], vec![0, 9, 3, 1, 4, 6]);
    Translation { attributes, coordinates, attribute_count: 8, coordinate_count: 10, ..none() }
}

fn copy(kind: usize, learner: &dyn Learner) -> Box<dyn Learner> {
    let mut copy = new(kind, false, 20);
    copy.restore(&learner.state(), 10, 10).unwrap();
    copy
}

fn taught(kind: usize, base: &dyn Learner, events: std::ops::Range<u32>) -> Box<dyn Learner> {
    let mut learner = copy(kind, base);
    for t in events {
        let label = match learner.classes() {
            1 => (number(5 * t + 1) * number(5 * t + 2)).signum(),
            classes => f64::from(t % classes as u32),
        };
        take(&mut *learner, &none(), &items(t, false), Lesson::of(label));
    }
    learner
}

fn merged(kind: usize, base: &dyn Learner, parts: &[&dyn Learner]) -> Box<dyn Learner> {
    let mut merged = copy(kind, base);
    merged.merge(parts).unwrap();
    merged
}

fn translated(kind: usize, learner: &dyn Learner, translation: &Translation) -> Box<dyn Learner> {
    let mut translated = copy(kind, learner);
    translated.translate(translation).unwrap();
    translated
}

fn assert_same(one: &dyn Learner, other: &dyn Learner) {
    for ((name, one), other) in one.state().0.iter().zip(other.state().0.values()) {
        match (one, other) {
            (Array::F64(one, shape), Array::F64(other, other_shape)) => {
                assert_eq!(shape, other_shape);
                let near = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-12 * (1.0 + a.abs());
                assert!(one.iter().zip(other).all(near), "{name}");
            }
            _ => assert_eq!(one, other),
        }
    }
}

#[test]
fn renumbering_and_merge_order_do_not_matter() {
    for (kind, classes) in (0..KINDS).flat_map(|kind| [(kind, 1), (kind, 3)]) {
        let mut base = new(kind, false, 20);
        if classes > 1 {
            base.widen(classes);
        }
        let base = taught(kind, &*base, 0..30);
        let [a, b, c] = [30..60, 60..90, 90..97].map(|events| taught(kind, &*base, events));
        let all = merged(kind, &*base, &[&*a, &*b, &*c]);
        assert_same(&*all, &*merged(kind, &*base, &[&*c, &*merged(kind, &*base, &[&*b, &*a])]));
        assert_same(&*a, &*merged(kind, &*base, &[&*base, &*a]));
        assert_eq!(translated(kind, &*a, &none()).state(), a.state());
        let moved = [&base, &a, &b, &c].map(|each| translated(kind, &**each, &permuted()));
        let mut then = merged(kind, &*moved[0], &[&*moved[1], &*moved[2], &*moved[3]]);
        assert_same(&*then, &*translated(kind, &*all, &permuted()));
        let mut all = all;
        for t in 0..30 {
            let before = take(&mut *all, &none(), &items(t, false), Lesson::NONE);
            let after = take(&mut *then, &permuted(), &items(t, false), Lesson::NONE);
            assert!(before.iter().zip(&after).all(|(a, b)| (a - b).abs() < 1e-12));
        }
        // The labels permuted.
        let places = if classes == 1 { vec![1, 0] } else { vec![1, 2, 0] };
        then.relabel(&places).unwrap();
        let (before, after) = (
            take(&mut *all, &none(), &items(3, false), Lesson::NONE),
            take(&mut *then, &permuted(), &items(3, false), Lesson::NONE),
        );
        let expected = if classes == 1 { -before[0] } else { before[0] };
        assert!((after[if classes == 1 { 0 } else { 1 }] - expected).abs() < 1e-12);
    }
}

/// The norm of an event's features after a translation.
fn norm(kind: usize, translation: &Translation, event: &[(u32, f64)]) -> f64 {
    let values: Vec<f64> = event
        .iter()
        .map(|&(k, x)| (x - translation.shift[k as usize]) / translation.stretch[k as usize])
        .collect();
    let places: Vec<u32> = event.iter().map(|item| item.0).collect();
    let event = Event::of(&places, &places, &values);
    let mut items = Items::default();
    match kind {
        0 => ProductFeatures { most: 512 }.expand(&event, &mut items),
        1 => BinFeatures { most: 512 }.expand(&event, &mut items),
        _ => return 1.0,
    }
    items.values.iter().map(|x| x * x).sum::<f64>().sqrt()
}

#[test]
fn rescaling_changes_scores_only_by_the_norm() {
    for (kind, within) in [(0, 1e-20), (1, 0.1), (2, 1e-20), (3, 0.1)] {
        let mut learner = new(kind, true, 20);
        for t in 0..400 {
            let event = items(t, kind != 2);
            take(&mut *learner, &none(), &event, Lesson::of(event[1].1.sin()));
        }
        let mut translation = permuted();
        (translation.shift[1], translation.stretch[1]) = (0.2, 0.8);
        (translation.shift[3], translation.stretch[3]) = (-0.1, 1.3);
        translation.target = (0.25, 2.0);
        // A shift of the target is carried by the constant, whose value depends on the norm.
        translation.target.0 *= if kind < 2 { 0.0 } else { 1.0 };
        let mut after = new(kind, true, 20);
        after.restore(&learner.state(), 10, 10).unwrap();
        after.translate(&translation).unwrap();
        let (mut off, mut all) = (0.0, 0.0);
        for t in 0..100 {
            let event = items(t, kind != 2);
            let before = take(&mut *learner, &none(), &event, Lesson::NONE)[0] * norm(kind, &none(), &event);
            let after =
                take(&mut *after, &translation, &event, Lesson::NONE)[0] * norm(kind, &translation, &event);
            off += (before - (translation.target.0 + translation.target.1 * after)).powi(2);
            all += before * before;
        }
        assert!(off < within * all, "{kind} {}", off / all);
    }
}

#[test]
fn weights_of_bins_interpolate() {
    // A line learned within the outermost knots is the same line on the other scale, too.
    let mut learner = Bins::new(Step { r: 0.01, ..step(Loss::Squared) }, 20, 512).unwrap();
    for t in 0..3000 {
        let event = [(0, 1.0), (1, number(t))];
        take(&mut learner, &none(), &event, Lesson::of(number(t) / norm(1, &none(), &event)));
    }
    let mut translation = none();
    (translation.shift[1], translation.stretch[1]) = (0.1, 0.9);
    let mut after = learner.clone();
    after.translate(&translation).unwrap();
    for x in [-1.2, -0.5, 0.0, 0.7, 1.3] {
        let event = [(0, 1.0), (1, x)];
        let before = take(&mut learner, &none(), &event, Lesson::NONE)[0] * norm(1, &none(), &event);
        let after = take(&mut after, &translation, &event, Lesson::NONE)[0] * norm(1, &translation, &event);
        assert!((before - after).abs() < 0.03, "{x} {before} {after}");
    }
}

#[test]
fn dropped_coordinates_are_forgotten_and_hashed_tables_kept() {
    for kind in 0..KINDS {
        let learner = taught(kind, &*new(kind, false, 20), 0..60);
        let mut translation = none();
        (translation.attributes[2], translation.coordinates[2], translation.owners[2]) =
            (DROPPED, DROPPED, DROPPED);
        let (mut cleared, mut translated) =
            (copy(kind, &*learner), translated(kind, &*learner, &translation));
        cleared.forget(&crate::block::Evicted { before: 0, attributes: vec![2], coordinates: vec![2] });
        for t in 0..20 {
            let [one, other] = [&mut cleared, &mut translated]
                .map(|each| take(&mut **each, &none(), &items(t, false), Lesson::NONE));
            assert_eq!(one, other);
        }
    }
    let mut hashed = new(1, false, 8);
    for t in 0..30 {
        take(&mut *hashed, &none(), &items(t, false), Lesson::of(1.0));
    }
    let before = hashed.state();
    assert!(hashed.translate(&permuted()).unwrap_err().contains("hashed"));
    hashed.translate(&Translation { stretch: vec![2.0; 6], ..none() }).unwrap();
    assert_eq!(hashed.state(), before);
    assert!(new(0, false, 20).merge(&[&*new(1, false, 20)]).unwrap_err().contains("different learners"));
    assert!(new(0, false, 20).merge(&[&*new(0, false, 19)]).unwrap_err().contains("settings"));
}
