//! Merging in any order, changes of names and scales, and the benefit of merging.

use super::rows::factors;
use super::tests::{Numbers, Sample, learned, settings};
use super::*;

/// The number of coordinates of samples.
const COORDINATES: u32 = 62;

fn begin(half_life: f64, classes: usize) -> FactorisationMachine {
    let mut machine = FactorisationMachine::new(settings(half_life)).unwrap();
    if classes > 1 {
        machine.widen(classes);
    }
    machine
}

/// Three reproducible numbers of a coordinate.
fn latent(k: u32) -> [f64; 3] {
    let mut numbers = Numbers(u64::from(k) * 77 + 5);
    (0..5).for_each(|_| assert!(numbers.below(7) < 7));
    std::array::from_fn(|_| f64::from(numbers.below(1000)) / 500.0 - 1.0)
}

/// The interaction of two categories has rank 3.
fn label(sample: &Sample) -> f64 {
    dot(&latent(sample.coordinates[1]), &latent(sample.coordinates[2])).signum()
}

/// The machine after this many events, named as after a change.
fn taught(
    mut machine: FactorisationMachine,
    seed: u64,
    events: u64,
    names: &Translation,
) -> FactorisationMachine {
    let (mut numbers, mut scores) = (Numbers(seed), vec![0.0; machine.classes()]);
    for t in 0..events {
        let mut sample = Sample::of(&mut numbers);
        let label = if scores.len() > 1 { (t % 3) as f64 } else { label(&sample) };
        sample.coordinates = sample.coordinates.map(|k| names.coordinates[k as usize]);
        machine.step(sample.event(), Lesson::of(label), &mut scores);
    }
    machine
}

fn merged(base: &FactorisationMachine, parts: &[&FactorisationMachine]) -> FactorisationMachine {
    let parts: Vec<&dyn Learner> = parts.iter().map(|&part| part as &dyn Learner).collect();
    let mut merged = base.clone();
    merged.merge(&parts).unwrap();
    merged
}

fn translated(machine: &FactorisationMachine, translation: &Translation) -> FactorisationMachine {
    let mut translated = machine.clone();
    translated.translate(translation).unwrap();
    translated
}

/// The number has coordinate 1, categories those from 2 and from 32 on.
fn none() -> Translation {
    Translation::none(4, (0..COORDINATES).map(|k| if k < 2 { k } else { 2 + u32::from(k > 31) }).collect())
}

/// All names in reverse order.
fn permuted() -> Translation {
    let coordinates = (0..COORDINATES).map(|k| if k == 0 { 0 } else { COORDINATES - k }).collect();
    Translation { attributes: vec![0, 3, 2, 1], coordinates, ..none() }
}

fn assert_same(one: &FactorisationMachine, other: &FactorisationMachine, within: f64) {
    let known = |each: &FactorisationMachine| (each.steps, each.attributes, each.coordinates, each.awake);
    assert_eq!(known(one), known(other));
    let numbers = |each: &FactorisationMachine| {
        let mut rows = each.rows.clone();
        rows.rescale();
        rows.rows.iter().flat_map(|row| row.moved.into_iter().chain(row.moments)).collect::<Vec<f64>>()
    };
    let (one, other) = (numbers(one), numbers(other));
    assert!(one.len() == other.len());
    assert!(one.iter().zip(other).all(|(a, b)| (a - b).abs() <= within * (1.0 + a.abs())));
}

/// The number of wrong predictions of 2,000 labels.
fn errors(machine: &FactorisationMachine) -> usize {
    let (mut machine, mut numbers) = (machine.clone(), Numbers(99));
    let wrong = (0..2000).filter(|_| {
        let (sample, mut scores) = (Sample::of(&mut numbers), [0.0]);
        machine.step(sample.event(), Lesson::NONE, &mut scores);
        scores[0] * label(&sample) <= 0.0
    });
    wrong.count()
}

#[test]
fn merge_ignores_order_and_grouping() {
    for (half_life, classes, begun) in
        [(0.0, 1, 0), (0.0, 1, 300), (200.0, 1, 0), (200.0, 3, 300), (0.0, 3, 0)]
    {
        let base = taught(begin(half_life, classes), 9, begun, &none());
        let parts = [(1, 400), (2, 300), (3, 50), (4, 600)];
        let [a, b, c, d] = parts.map(|(seed, events)| taught(base.clone(), seed, events, &none()));
        let all = merged(&base, &[&a, &b, &c, &d]);
        assert_same(&all, &merged(&base, &[&d, &b, &a, &c]), 1e-12);
        assert_same(&all, &merged(&base, &[&merged(&base, &[&c, &a]), &merged(&base, &[&b, &d])]), 1e-11);
        assert_same(&a, &merged(&base, &[&base, &a, &base]), 1e-12);
        assert_same(&base, &merged(&base, &[&base, &base]), 1e-12);
        assert_eq!(translated(&a, &none()).state(), a.state());
    }
}

#[test]
fn renaming_preserves_scores_and_merging_reduces_errors() {
    let parts: Vec<FactorisationMachine> = (1..5)
        .map(|seed| {
            let names = if seed % 2 == 0 { none() } else { permuted() };
            let part = taught(begin(0.0, 1), seed, 4000, &names);
            let moved = translated(&part, &names);
            let (mut sample, mut scores, mut after) = (Sample::of(&mut Numbers(seed)), [0.0], [0.0]);
            moved.clone().step(sample.event(), Lesson::NONE, &mut after);
            sample.coordinates = sample.coordinates.map(|k| names.coordinates[k as usize]);
            part.clone().step(sample.event(), Lesson::NONE, &mut scores);
            assert!((scores[0] - after[0]).abs() < 1e-12);
            moved
        })
        .collect();
    let all = merged(&begin(0.0, 1), &parts.iter().collect::<Vec<_>>());
    assert!(parts.iter().all(|part| errors(&all) < errors(part)), "{}", errors(&all));
    let mut back = begin(0.0, 1);
    back.restore(&all.state(), 4, COORDINATES as usize).unwrap();
    assert_eq!(back.state(), all.state());
}

#[test]
fn rescaling_preserves_scores_without_missing_values() {
    let machine = taught(begin(0.0, 1), 3, 500, &none());
    let mut translation = permuted();
    (translation.shift[1], translation.stretch[1]) = (0.4, 0.7);
    (translation.shift[5], translation.stretch[5]) = (-0.3, 1.5);
    let after = translated(&machine, &translation);
    // Without the norm, which differs between scales.
    let items: [(u32, f64); 4] = [(0, 1.0), (1, 0.8), (5, -0.6), (40, 1.0)];
    let expressed = items.map(|(k, x)| {
        let k = k as usize;
        (translation.coordinates[k], (x - translation.shift[k]) / translation.stretch[k])
    });
    // All other coordinates are cleared, so that what was learned of them causes no shift.
    let mut alone = machine.clone();
    for k in (0..COORDINATES).filter(|k| !items.iter().any(|item| item.0 == *k)) {
        alone.rows.clear(k, alone.coordinates);
    }
    let alone_after = translated(&alone, &translation);
    assert!((alone.rows.score(0, &items).0 - alone_after.rows.score(0, &expressed).0).abs() < 1e-12);
    assert_same(&translated(&machine, &translation), &after, 0.0);
    let mut scaled = machine.clone();
    scaled.translate(&Translation { target: (0.25, 3.0), ..none() }).unwrap();
    let typical = items.map(|(k, x)| (k, x / 2.0)); // four attributes, all of them always present
    let expected = 0.25 + 3.0 * scaled.rows.score(0, &typical).0;
    assert!((machine.rows.score(0, &typical).0 - expected).abs() < 1e-12);
}

#[test]
fn relabelling_keeps_binary_weights_and_multiclass_factors() {
    let machine = taught(begin(0.0, 1), 3, 500, &none());
    let mut turned = machine.clone();
    turned.relabel(&[1, 0]).unwrap();
    for (before, after) in machine.rows.rows.iter().zip(&turned.rows.rows) {
        assert_eq!((before.moved[RANK], before.moments[RANK]), (-after.moved[RANK], after.moments[RANK]));
        assert_eq!(after.moved[..RANK], [0.0; RANK]);
    }
    // Of two parts, the factors of the other one are kept.
    let other = taught(begin(0.0, 1), 4, 500, &none());
    let both = merged(&begin(0.0, 1), &[&turned, &other]);
    for (place, (row, expected)) in both.rows.rows.iter().zip(&other.rows.rows).enumerate() {
        let [row, expected] = [row, expected].map(|row| factors(row, place as u32, 1.0));
        assert!(row.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12));
    }
    let machine = taught(begin(0.0, 3), 3, 500, &none());
    let mut moved = machine.clone();
    moved.relabel(&[2, 0, 1]).unwrap();
    let items = [(0, 0.5), (7, 0.5), (40, 0.5)];
    for (class, place) in [2, 0, 1].into_iter().enumerate() {
        assert_eq!(machine.rows.score(class, &items), moved.rows.score(place, &items));
    }
}

#[test]
fn other_settings_are_refused_and_extreme_states_merge() {
    let machine = learned(0.0, 50);
    assert!(machine.clone().merge(&[&learned(9.0, 50)]).unwrap_err().contains("settings"));
    let small = Settings { table_bits: 8, ..settings(0.0) };
    let mut hashed = taught(FactorisationMachine::new(small).unwrap(), 1, 50, &none());
    assert!(hashed.translate(&permuted()).unwrap_err().contains("hashed"));
    let two = [taught(hashed.clone(), 1, 60, &none()), taught(hashed.clone(), 2, 60, &none())];
    assert_same(&merged(&hashed, &[&two[0], &two[1]]), &merged(&hashed, &[&two[1], &two[0]]), 1e-12);
    let mut wild = machine.clone();
    for row in &mut wild.rows.rows {
        *row = Row { moved: [LARGEST; RANK + 1], moments: [f64::MAX; RANK + 1] };
    }
    let mut translation = permuted();
    translation.shift.fill(1.0);
    translation.stretch.fill(0.0);
    merged(&machine, &[&translated(&wild, &translation), &wild, &learned(0.0, 0)]);
    // Nothing is learned during sleep, but events are counted.
    let mut asleep = begin(0.0, 1);
    asleep.step(Event::of(&[0], &[0], &[1.0]), Lesson::of(1.0), &mut [0.0]);
    let both = merged(&begin(0.0, 1), &[&asleep, &machine]);
    assert_eq!((both.steps, both.awake), (machine.steps + 1, true));
}
