use super::merging_tests::taught;
use super::tests::{Stream, in_each_form, low_rank};
use super::*;
use crate::translation::DROPPED;

/// From 11 coordinates, each of its own attribute, to others out of 20, with new scales for all but the constant.
pub fn renamed(shift: f64, stretch: f64) -> Translation {
    let to: Vec<u32> = (0..11).map(|k| if k == 0 { 0 } else { (7 * k) % 19 + 1 }).collect();
    let mut translation =
        Translation { coordinates: to.clone(), attributes: to, ..Translation::none(11, (0..11).collect()) };
    (translation.attribute_count, translation.coordinate_count) = (20, 20);
    translation.shift[1..].fill(shift);
    translation.stretch[1..].fill(stretch);
    translation.shares[1..].fill(0.5);
    translation
}

/// The score of an event before and after a translation.
fn scores(stream: &Stream, translation: &Translation, models: [&mut Subspace; 2], t: usize) -> [f64; 2] {
    let event = stream.block().event(t);
    let items = event.coordinates.iter().zip(event.values);
    let moved = items.filter(|(k, _)| translation.coordinates[**k as usize] != DROPPED).map(|(&k, value)| {
        let k = k as usize;
        (translation.coordinates[k], (value - translation.shift[k]) / translation.stretch[k])
    });
    let mut moved: Vec<(u32, f64)> = moved.collect();
    moved.sort_by_key(|&(k, _)| k);
    let (places, values): (Vec<u32>, Vec<f64>) = moved.into_iter().unzip();
    let changed = Event::of(&places, &places, &values);
    let (mut one, mut other) = ([0.0], [0.0]);
    models[0].step(event, Lesson::NONE, &mut one);
    models[1].step(changed, Lesson::NONE, &mut other);
    [one[0], other[0]]
}

#[test]
fn translation_preserves_scores() {
    let stream = low_rank(400, 10);
    in_each_form(|settings| {
        let mut turned = renamed(0.0, 0.7);
        turned.stretch[2..6].fill(-1.1);
        for translation in [renamed(0.0, 1.0), renamed(0.0, 0.7), renamed(0.2, 1.3), turned] {
            let mut before = taught(settings, &stream, 0..300);
            let mut after = before.clone();
            after.translate(&translation).unwrap();
            Subspace::new(settings).restore(&after.state(), 20, 20).unwrap();
            // Where values are features as observed, the constant gets the effect of a shift on average.
            let is_wide = settings.max_pairwise_coordinates == 7 && !translation.keeps_scales();
            let tolerance = if is_wide { 0.3 } else { 1e-9 };
            for t in 300..400 {
                let [one, other] = scores(&stream, &translation, [&mut before, &mut after], t);
                assert!((one - other).abs() <= tolerance * (1.0 + one.abs()), "{one} {other}");
            }
        }
    });
}

#[test]
fn identity_translation_changes_nothing() {
    let stream = low_rank(200, 10);
    in_each_form(|settings| {
        let mut model = taught(Settings { half_life: 30.0, ..settings }, &stream, 0..200);
        let before = model.state();
        model.translate(&Translation::none(11, (0..11).collect())).unwrap();
        assert_eq!(model.state(), before);
    });
}

#[test]
fn dropped_names_are_forgotten() {
    let stream = low_rank(300, 10);
    in_each_form(|settings| {
        let mut translation = renamed(0.1, 0.9);
        (translation.attributes[3], translation.coordinates[3]) = (DROPPED, DROPPED);
        let mut before = taught(settings, &stream, 0..200);
        let mut after = before.clone();
        after.translate(&translation).unwrap();
        before.forget(&Evicted { coordinates: vec![3], attributes: vec![3], before: 0 });
        Subspace::new(settings).restore(&after.state(), 20, 20).unwrap();
        for t in 200..300 {
            let [one, other] = scores(&stream, &translation, [&mut before, &mut after], t);
            assert!((one - other).abs() <= 0.3 * (1.0 + one.abs()), "{one} {other}");
        }
    });
}

#[test]
fn targets_are_rescaled() {
    let stream = low_rank(300, 10);
    in_each_form(|settings| {
        let mut model = Subspace::new(Settings { regression: true, ..settings });
        stream.teach(&mut model, 0..200);
        model.step(stream.block().event(200), Lesson::of(f64::NAN), &mut [0.0]);
        stream.teach(&mut model, 201..220);
        let mut other = model.clone();
        let translation = Translation { target: (0.5, 2.0), ..Translation::none(11, (0..11).collect()) };
        other.translate(&translation).unwrap();
        let [one, other_score] = scores(&stream, &translation, [&mut model, &mut other], 250);
        assert!((one - 0.5 - 2.0 * other_score).abs() < 1e-9);
        let labels = model.examples.all.iter().zip(&other.examples.all);
        assert!(labels.into_iter().all(|(one, other)| one.label == 0.5 + 2.0 * other.label));
    });
}

#[test]
fn counts_of_attributes_without_coordinates_are_saved() {
    let stream = low_rank(400, 10);
    in_each_form(|settings| {
        let mut model = taught(settings, &stream, 0..300);
        let mut translation = Translation::none(11, (0..11).collect());
        translation.coordinates[10] = DROPPED;
        model.translate(&translation).unwrap();
        let mut back = Subspace::new(settings);
        back.restore(&model.state(), 11, 11).unwrap();
        assert_eq!(back.state(), model.state());
    });
}
