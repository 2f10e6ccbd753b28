use super::matrix::Matrix;
use super::spectrum::project;
use super::*;
use crate::block::{Block, Terms};
use crate::state::Array;

pub const SETTINGS: Settings = Settings {
    regression: false,
    r: 10.0,
    indicators: true,
    shrink: 5.0,
    half_life: 0.0,
    weights_half_life: 0.0,
    max_pairwise_coordinates: 64,
    rank: 4,
};

/// Events and labels of a stream.
pub struct Stream {
    starts: Vec<usize>,
    places: Vec<u32>,
    values: Vec<f64>,
    pub labels: Vec<f64>,
    complete: Vec<Vec<f64>>,
}

/// Vectors in a plane, half of their entries missing, each attribute on the coordinate of its number.
pub fn low_rank(events: usize, columns: usize) -> Stream {
    low_rank_and_noise(events, columns, 0)
}

/// The same, followed by so many columns of noise.
fn low_rank_and_noise(events: usize, columns: usize, noise: usize) -> Stream {
    let mut random = uniform::Uniform::new(-1.0, 1.0);
    let basis: Vec<[f64; 2]> = (0..columns).map(|_| [random.draw(), random.draw()]).collect();
    let (starts, nothing) = (vec![0], Vec::new);
    let mut stream =
        Stream { starts, places: Vec::new(), values: nothing(), labels: nothing(), complete: Vec::new() };
    for _ in 0..events {
        let z = [random.draw(), random.draw()];
        let mut row: Vec<f64> = basis.iter().map(|b| b[0] * z[0] + b[1] * z[1]).collect();
        let label = if row.iter().sum::<f64>() > 0.0 { 1.0 } else { -1.0 };
        row.extend((0..noise).map(|_| random.draw()));
        stream.places.push(0);
        stream.values.push(1.0);
        for (j, x) in row.iter().enumerate().filter(|_| random.draw() > 0.0) {
            stream.places.push(j as u32 + 1);
            stream.values.push(*x);
        }
        stream.starts.push(stream.places.len());
        stream.labels.push(label);
        stream.complete.push(row);
    }
    stream
}

impl Stream {
    pub fn block(&self) -> Block<'_> {
        let (starts, places, values) = (&self.starts, &self.places, &self.values);
        Block {
            starts,
            attributes: places,
            coordinates: places,
            values,
            raw: values,
            terms: Terms::default(),
            evicted: &[],
        }
    }

    /// Learn events, and return the scores.
    pub fn teach(&self, model: &mut Subspace, events: std::ops::Range<usize>) -> Vec<f64> {
        let mut score = [0.0];
        let scores = events.map(|t| {
            let lesson = Lesson::of(self.labels[t]);
            model.step(self.block().event(t), lesson, &mut score);
            score[0]
        });
        scores.collect()
    }
}

pub fn in_each_form(check: impl Fn(Settings)) {
    [64, 7, 1]
        .into_iter()
        .for_each(|max_pairwise_coordinates| check(Settings { max_pairwise_coordinates, ..SETTINGS }));
}

#[test]
fn learns_subspace_and_labels() {
    let stream = low_rank(4000, 10);
    in_each_form(|settings| {
        let mut model = Subspace::new(settings);
        let scores = stream.teach(&mut model, 0..4000);
        let wrong =
            scores.iter().zip(&stream.labels).skip(2000).filter(|(score, label)| **score * **label <= 0.0);
        assert!(wrong.count() < 160);
        if settings.max_pairwise_coordinates == 7 {
            // Coordinates without a slot are completed with their means only.
            return;
        }
        let (mut away, mut size, mut row) = (0.0, 0.0, [0.0; 11]);
        for t in 3000..4000 {
            model.complete(&stream.block().event(t), &mut row);
            for (x, y) in row[1..].iter().zip(&stream.complete[t]) {
                away += (x - y) * (x - y);
                size += y * y;
            }
        }
        assert!(away < 0.1 * size, "{away} of {size}");
    });
}

/// The coordinates that are active.
fn active(model: &Subspace) -> Vec<u32> {
    let Form::Pairs(pairs) = &model.form else { unreachable!() };
    let slots = pairs.coordinates.items().iter().zip(&pairs.moments.active);
    let mut active: Vec<u32> = slots.filter(|(_, is)| **is).map(|(&k, _)| k).collect();
    active.sort_unstable();
    active
}

#[test]
fn moving_weights_follow_flipped_labels() {
    let mut stream = low_rank(4000, 10);
    stream.labels[3000..].iter_mut().for_each(|label| *label = -*label);
    let errors = |weights_half_life: f64| {
        let mut model = Subspace::new(Settings { weights_half_life, ..SETTINGS });
        let scores = stream.teach(&mut model, 0..4000);
        scores[3100..3500]
            .iter()
            .zip(&stream.labels[3100..3500])
            .filter(|(score, label)| **score * **label <= 0.0)
            .count()
    };
    assert!(2 * errors(100.0) < errors(0.0), "{} {}", errors(100.0), errors(0.0));
}

#[test]
fn subspace_columns_are_found_among_noise() {
    let stream = low_rank_and_noise(4000, 10, 50);
    let mut model = Subspace::new(Settings { indicators: false, max_pairwise_coordinates: 24, ..SETTINGS });
    let mut narrow = Subspace::new(SETTINGS);
    let (scores, alone) = (stream.teach(&mut model, 0..4000), stream.teach(&mut narrow, 0..4000));
    assert!((0..=10).all(|k| active(&model).contains(&k)), "{:?}", active(&model));
    assert!(active(&model).len() < 14, "{:?}", active(&model));
    let wrong = |scores: &[f64]| {
        let late = scores.iter().zip(&stream.labels).skip(2000);
        late.filter(|(score, label)| **score * **label <= 0.0).count()
    };
    assert!(wrong(&scores) <= wrong(&alone), "{} {}", wrong(&scores), wrong(&alone));
}

#[test]
fn redundant_coordinates_get_zero_weight() {
    let stream = low_rank(4000, 40);
    let mut model = Subspace::new(Settings { indicators: false, max_pairwise_coordinates: 16, ..SETTINGS });
    stream.teach(&mut model, 0..4000);
    let (state, rank) = (model.state(), SETTINGS.rank);
    let redundant = state.bools("redundant").unwrap().0;
    assert!(redundant.iter().filter(|is| **is).count() > 20);
    assert!(active(&model).len() <= 16);
    for k in (0..redundant.len()).filter(|&k| redundant[k]) {
        assert_eq!(model.heads[0].model.weight(0, rank + 2 * k), 0.0);
    }
}

#[test]
fn many_rare_categories_take_no_slots_from_numbers() {
    let (stream, settings) = (low_rank(4000, 10), Settings { max_pairwise_coordinates: 16, ..SETTINGS });
    let mut model = Subspace::new(settings);
    let mut score = [0.0];
    for t in 0..4000 {
        let event = stream.block().event(t);
        let (mut places, mut values) = (event.coordinates.to_vec(), event.values.to_vec());
        // One attribute that recurs, and one that is new in every other event.
        places.extend([11 + t as u32 % 50, 100 + t as u32 / 2]);
        values.extend([1.0, 1.0]);
        let event = Event::of(&places, &places, &values);
        model.step(event, Lesson::of(stream.labels[t]), &mut score);
    }
    assert!((0..=10).all(|k| active(&model).contains(&k)), "{:?}", active(&model));
    assert!(active(&model).len() < 14, "{:?}", active(&model));
}

#[test]
fn observing_updates_subspace_but_not_weights() {
    let stream = low_rank(50, 10);
    in_each_form(|settings| {
        let (mut taught, mut observing) = (Subspace::new(settings), Subspace::new(settings));
        stream.teach(&mut taught, 0..50);
        (0..50).for_each(|t| observing.observe(&stream.block().event(t)));
        let (mut taught, mut observed) = (taught.state(), observing.state());
        for name in ["weights", "spread", "steps"] {
            assert_ne!(taught.0.remove(name), observed.0.remove(name));
        }
        assert_eq!(taught, observed);
        assert_eq!(observing.steps(), 0);
    });
}

#[test]
fn state_round_trip() {
    let stream = low_rank(300, 10);
    in_each_form(|settings| {
        let settings = Settings { half_life: 20.0, ..settings };
        let (mut one, mut other) = (Subspace::new(settings), Subspace::new(settings));
        stream.teach(&mut one, 0..200);
        other.restore(&one.state(), 11, 11).unwrap();
        assert_eq!(one.state(), other.state());
        assert_eq!(stream.teach(&mut one, 200..300), stream.teach(&mut other, 200..300));
        assert_eq!(one.state(), other.state());
    });
}

#[test]
fn malicious_states_do_not_panic() {
    let stream = low_rank(40, 10);
    in_each_form(|settings| {
        let mut model = Subspace::new(settings);
        stream.teach(&mut model, 0..10);
        model.step(stream.block().event(10), Lesson::of(f64::NAN), &mut [0.0]);
        stream.teach(&mut model, 11..30);
        let state = model.state();
        for (name, number) in state.0.keys().flat_map(|name| [(name, 1e300), (name, -7.0), (name, f64::NAN)])
        {
            for at in [0, 1, 2, 3, 4, 5, 30] {
                let mut forged = state.clone();
                match forged.0.get_mut(name) {
                    Some(Array::F64(values, _)) => values.get_mut(at).into_iter().for_each(|x| *x = number),
                    Some(Array::I32(values, _)) => {
                        values.get_mut(at).into_iter().for_each(|x| *x = number as i32)
                    }
                    Some(Array::Bool(values, _)) => values.get_mut(at).into_iter().for_each(|x| *x = !*x),
                    _ => unreachable!(),
                }
                let mut other = Subspace::new(settings);
                if other.restore(&forged, 11, 11).is_ok() {
                    stream.teach(&mut other, 30..40);
                    let unlabelled = Lesson::of(f64::NAN);
                    (0..20).for_each(|t| _ = other.step(stream.block().event(t), unlabelled, &mut [0.0]));
                    other.complete(&stream.block().event(0), &mut [0.0; 20]);
                }
            }
            let mut less = state.clone();
            less.0.remove(name);
            assert!(Subspace::new(settings).restore(&less, 11, 11).is_err());
        }
        assert!(Subspace::new(settings).restore(&state, 10, 11).is_err());
        assert!(Subspace::new(settings).restore(&state, 11, 10).is_err());
    });
}

#[test]
fn unknown_coordinates_are_ignored() {
    let stream = low_rank(100, 10);
    in_each_form(|settings| {
        let mut model = Subspace::new(settings);
        let (far, values) = ([0, 3, 11, (1 << 31) - 1], [1.0, 0.5, 2.0, 9.0]);
        let more = Event::of(&far, &far, &values);
        let known = Event::of(&far[..2], &far[..2], &values[..2]);
        let (mut one, mut other) = ([9.0], [9.0]);
        assert!(model.step(more, Lesson::NONE, &mut one).is_nan());
        assert_eq!(one, [0.0]);
        stream.teach(&mut model, 0..100);
        model.step(more, Lesson::NONE, &mut one);
        model.step(known, Lesson::NONE, &mut other);
        assert_eq!(one, other);
        let (mut rows, before) = ([[0.0; 11]; 2], model.state());
        model.complete(&more, &mut rows[0]);
        model.complete(&known, &mut rows[1]);
        assert_eq!(rows[0], rows[1]);
        model.step(more, Lesson { label: 1.0, weight: 0.0, ..Lesson::NONE }, &mut one);
        assert_eq!(model.state(), before);
    });
}

#[test]
fn projection_keeps_dominant_eigenvalues() {
    let matrix = Matrix::from_rows(2, vec![1.0, 2.0, 2.0, 1.0]);
    let (nearest, tau) = project(&matrix);
    assert!((tau - 1.0).abs() < 1e-12);
    assert!(nearest.values().iter().all(|entry| (entry - 1.5).abs() < 1e-12));
    assert_eq!(project(&Matrix::from_rows(1, vec![f64::NAN])).1, 0.0);
}
