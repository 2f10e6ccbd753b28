//! Tests of `merging`.

use std::ops::Range;

use super::labels::{Labels, LabelsMut};
use super::lines::Lines;
use super::table::Table;
use super::{Rated, Settings};
use crate::block::Event;
use crate::learner::{Learner, Lesson};
use crate::rate_key::{as_value, key_of};
use crate::state::{Array, State};
use crate::translation::{DROPPED, Translation};

const TWO: Settings = Settings { rates: 3, regression: false, scale: true, longest: f64::INFINITY };
const NUMBERS: Settings = Settings { rates: 1, regression: true, ..TWO };
const COORDINATES: usize = 10;

fn rated(settings: Settings, classes: usize) -> Rated {
    let mut made = Rated::new(Box::new(Lines::new()), settings);
    if classes > 1 {
        made.widen(classes);
    }
    made
}

fn copied(model: &Rated) -> Rated {
    let mut made = rated(model.settings, 1);
    made.restore(&model.state(), 99, 99).unwrap();
    made
}

/// The category, the value and the label of an event; the label depends on the category.
fn event(t: u64, model: &Rated) -> (u64, f64, f64) {
    let mut seed = t.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut random = || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        seed >> 33
    };
    let (category, value) = (random() % 40, (random() % 100) as f64 / 50.0 - 1.0);
    let class = if random() % 4 == 0 { random() % 5 } else { category % 5 };
    let label = match model.classes() {
        _ if model.settings.regression => class as f64 - 2.0 + value,
        1 => {
            if class < 2 {
                1.0
            } else {
                -1.0
            }
        }
        classes => (class % classes as u64) as f64,
    };
    (category, value, label)
}

/// The scores of an event whose rates are at three coordinates or at one, and which is learned.
fn step(model: &mut Rated, places: &[u32], (category, value): (u64, f64), lesson: Lesson) -> Vec<f64> {
    let key = as_value(key_of(5, &category.to_le_bytes()));
    let places = &places[..model.settings.rates];
    let (attributes, coordinates) =
        ([&[0, 1], &vec![2; places.len()][..]].concat(), [&[0, 1], places].concat());
    let values = [&[1.0, value], &vec![key; places.len()][..]].concat();
    let mut scores = vec![0.0; model.classes()];
    let event = Event::of(&attributes, &coordinates, &values);
    model.step(event, lesson, &mut scores);
    scores
}

const PLACES: [u32; 3] = [4, 5, 7];

/// A model that continues from another, on events whose labels are mapped by `turned`.
fn trained_further(from: &Rated, events: Range<u64>, turned: impl Fn(f64) -> f64) -> Rated {
    let mut made = copied(from);
    for t in events {
        let (category, value, label) = event(t, &made);
        let weight = [1.0, 1.0, 2.5][t as usize % 3];
        step(&mut made, &PLACES, (category, value), Lesson { weight, ..Lesson::of(turned(label)) });
    }
    made
}

fn same_names(settings: Settings) -> Translation {
    let mut owners = vec![DROPPED; COORDINATES];
    (owners[0], owners[1]) = (0, 1);
    PLACES[..settings.rates].iter().for_each(|&place| owners[place as usize] = 2);
    Translation::none(3, owners)
}

/// The merged parts, all with the same names.
fn merged(base: &Rated, parts: &[&Rated]) -> Rated {
    let mut models: Vec<Rated> = std::iter::once(&base).chain(parts).map(|each| copied(each)).collect();
    let translations = vec![same_names(base.settings); models.len()];
    models
        .iter_mut()
        .zip(&translations)
        .for_each(|(model, translation)| model.translate(translation).unwrap());
    let (base, parts) = models.split_first_mut().unwrap();
    base.merge(&parts.iter().map(|part| part as &dyn Learner).collect::<Vec<_>>()).unwrap();
    let again = copied(base);
    assert_eq!(again.state(), base.state());
    again
}

fn assert_near(one: &Rated, other: &Rated, tolerance: f64) {
    let (one, other) = (one.state(), other.state());
    assert!(one.0.keys().eq(other.0.keys()));
    for (name, array) in &one.0 {
        match (array, &other.0[name]) {
            (Array::F64(one, _), Array::F64(other, _)) if one.len() == other.len() => {
                one.iter().zip(other).for_each(|(a, b)| {
                    assert!((a - b).abs() <= tolerance * b.abs().max(1.0), "{name}: {a} {b}");
                });
            }
            (one, other) => assert_eq!(one, other, "{name}"),
        }
    }
}

#[test]
fn merge_ignores_order_and_grouping_and_counts_base_once() {
    let always = f64::INFINITY;
    for (settings, classes, first, longest) in
        [(TWO, 1, 0, always), (TWO, 3, 60, always), (TWO, 5, 60, 80.0), (NUMBERS, 1, 60, 80.0)]
    {
        let none = rated(Settings { longest, ..settings }, classes);
        let base = trained_further(&none, 0..first, |label| label);
        let [a, b, c] = [60..200, 200..230, 230..400].map(|part| trained_further(&base, part, |label| label));
        let all = merged(&base, &[&a, &b, &c]);
        assert_near(&merged(&base, &[&c, &a, &b]), &all, 1e-11);
        assert_near(&merged(&base, &[&a, &merged(&base, &[&b, &c])]), &all, 1e-11);
        assert_near(&merged(&base, &[&base, &a, &base]), &a, 1e-12);
        assert_near(&merged(&base, &[&base, &base]), &base, 1e-12);
    }
}

#[test]
fn merged_labels_match_one_pass() {
    let base = trained_further(&rated(TWO, 3), 0..60, |label| label);
    let parts = [60..200, 200..400].map(|part| trained_further(&base, part, |label| label));
    let one = trained_further(&base, 60..400, |label| label).attributes[&4].labels.clone();
    let all = merged(&base, &[&parts[0], &parts[1]]).attributes[&4].labels.clone();
    assert!((one.count - all.count).abs() < 1e-9 && one.seen == all.seen);
    assert!(one.sums.iter().zip(&all.sums).all(|(one, all)| (one - all).abs() < 1e-9));
}

#[test]
fn class_order_does_not_affect_merging() {
    for (classes, places) in [(1, &[1, 0][..]), (3, &[2, 0, 1])] {
        let turned = |label: f64| {
            let back = |label: f64| places.iter().position(|&place| place as f64 == label).unwrap() as f64;
            if classes == 1 { -label } else { back(label) }
        };
        let none = rated(TWO, classes);
        let parts = [0..200, 200..330].map(|part| trained_further(&none, part, |label| label));
        let mut other = trained_further(&none, 200..330, turned);
        let score = |model: &mut Rated| step(model, &PLACES, (7, 0.3), Lesson::NONE);
        let before = score(&mut other);
        other.relabel(places).unwrap();
        let (after, again) = (score(&mut other), score(&mut copied(&other)));
        let place = |class: usize| if classes == 1 { -after[0] } else { after[places[class]] };
        assert!(after == again && (0..classes).all(|class| (before[class] - place(class)).abs() < 1e-12));
        let expected = merged(&none, &[&parts[0], &parts[1]]);
        assert_near(&merged(&none, &[&parts[0], &other]), &expected, 1e-9);
        assert_near(&merged(&none, &[&other]), &parts[1], 1e-9);
    }
}

#[test]
fn classes_without_rates_share_the_remaining_labels() {
    let none = rated(TWO, 5);
    let mut model = trained_further(&none, 0..300, |label| label);
    model.relabel(&[4, 1, 0, 3, 2]).unwrap();
    let Labels { count, sums, .. } = model.attributes[&4].labels.clone();
    let found = merged(&none, &[&model]).attributes[&4].labels.clone();
    // The rates now belong to classes 1, 4 and 0, and become those of 1, 0 and 2; there are no data on the class that
    // is 2 now.
    assert_eq!((found.sums[0], found.sums[1]), (sums[0], sums[2]));
    assert!((found.sums[2] - (count - sums.iter().sum::<f64>()) / 2.0).abs() < 1e-9);
}

#[test]
fn translated_names_and_targets_preserve_scores() {
    for (settings, classes) in [(TWO, 1), (TWO, 3), (NUMBERS, 1)] {
        let mut model = trained_further(&rated(settings, classes), 0..200, |label| label);
        let (mut translated, same) = (copied(&model), same_names(settings));
        translated.translate(&same).unwrap();
        assert_eq!(translated.own_state(), model.own_state());
        let (shift, stretch) = if settings.regression { (0.4, 1.7) } else { (0.0, 1.0) };
        // The coordinates of the rates are permuted, and the rates are again numbered in ascending order of them.
        let coordinates = vec![0, 3, DROPPED, DROPPED, 8, 2, DROPPED, 6, DROPPED, DROPPED];
        translated.translate(&Translation { coordinates, target: (shift, stretch), ..same }).unwrap();
        let places = if settings.rates == 1 { [8, 0, 0] } else { [2, 6, 8] };
        for t in 200..300 {
            let (category, value, label) = event(t, &model);
            // Numbers in another unit take other steps.
            let is_learned = t % 2 == 0 && !settings.regression;
            let lesson = |label| Lesson { weight: f64::from(u8::from(is_learned)), ..Lesson::of(label) };
            let before = step(&mut model, &PLACES, (category, value), lesson(label));
            // The value's coordinate is now 3, and its item can come last.
            let after =
                step_at(&mut translated, &places, (category, value), lesson((label - shift) / stretch));
            before.iter().zip(&after).for_each(|(a, b)| assert!((a - (shift + stretch * b)).abs() < 1e-9));
        }
        // What is learned from then on adds up in the new unit as it would have in the old one.
        for t in 300..400 {
            let (category, value, label) = event(t, &model);
            step(&mut model, &PLACES, (category, value), Lesson::of(label));
            let lesson = Lesson::of((label - shift) / stretch);
            step_at(&mut translated, &places, (category, value), lesson);
        }
        for category in 0..40_u64 {
            let key = key_of(5, &category.to_le_bytes());
            let (Some((count, sums)), Some((again, new))) =
                (model.table.find(key), translated.table.find(key))
            else {
                panic!("a category without labels")
            };
            assert!((count - again).abs() < 1e-9);
            let are_near = |old: f64, new: f64| (old - (shift * count + stretch * new)).abs() < 1e-9;
            assert!(sums.iter().zip(new).all(|(&old, &new)| are_near(old, new)));
        }
    }
}

/// Like `step`, with the value after the rates.
fn step_at(model: &mut Rated, places: &[u32], (category, value): (u64, f64), lesson: Lesson) -> Vec<f64> {
    let key = as_value(key_of(5, &category.to_le_bytes()));
    let places = &places[..model.settings.rates];
    let (attributes, coordinates) =
        ([&[0], &vec![1; places.len()][..], &[2]].concat(), [&[0], places, &[3]].concat());
    let values = [&[1.0], &vec![key; places.len()][..], &[value]].concat();
    let mut scores = vec![0.0; model.classes()];
    let event = Event::of(&attributes, &coordinates, &values);
    model.step(event, lesson, &mut scores);
    scores
}

#[test]
fn merged_table_keeps_keys_with_most_labels() {
    // All of them collide.
    let key = |number: u64| 5 + (number << 13);
    let table = |keys: Range<u64>, labels: u64| {
        let mut table = Table::new(1);
        for number in keys.flat_map(|number| vec![number; labels as usize]) {
            let LabelsMut { count, sums, seen } = table.enter(key(number));
            (*count, sums[0], *seen) = (*count + 1.0, sums[0] + 0.5, *seen + 1);
        }
        table
    };
    let state = |table: &Table| {
        let mut state = State::default();
        table.put(&mut state);
        state
    };
    let parts = [table(0..5, 1), table(5..10, 2), table(8..12, 1)];
    let join = |order: [usize; 3]| {
        let mut all = Table::new(1);
        all.merge(&order.map(|part| &parts[part]), |_| 1.0, false);
        state(&all)
    };
    let all = join([0, 1, 2]);
    assert_eq!(all, join([2, 0, 1]));
    let back = Table::new(1).restored(&all, false).unwrap();
    assert_eq!(state(&back), all);
    let kept: Vec<u64> = (0..12).filter(|&number| back.find(key(number)).is_some()).collect();
    assert_eq!(kept, [0, 1, 2, 5, 6, 7, 8, 9]);
    assert_eq!(back.find(key(9)), Some((3.0, &[1.5][..])));
}

#[test]
fn invalid_states_are_refused() {
    let mut model = trained_further(&rated(TWO, 3), 0..90, |label| label);
    let mut back = rated(TWO, 1);
    let mut lacking = model.state();
    lacking.0.retain(|name, _| !name.ends_with("seen"));
    assert!(back.restore(&lacking, 99, 99).is_err());
    model.relabel(&[1, 2, 0]).unwrap();
    for (name, wrong) in
        [("seen", vec![-1]), ("key_seen", vec![3]), ("classes", vec![0, 0, 1]), ("classes", vec![0, 3, 1])]
    {
        let (mut state, size) = (model.state(), wrong.len());
        state.put_i64s(&format!("rates.{name}"), wrong, &[size]);
        assert!(back.restore(&state, 99, 99).is_err(), "{name}");
    }
    assert!(rated(TWO, 1).merge(&[&rated(NUMBERS, 1)]).is_err());
}
