//! Steps against their formulas, the effects of forgetting and moving, and states.

use super::*;
use crate::state::{Array, State};

/// Reproducible numbers between -1 and 1 (a linear congruential generator).
pub(super) struct Numbers(pub u64);

impl Numbers {
    pub fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }

    pub fn take(&mut self, count: usize) -> Vec<f64> {
        (0..count).map(|_| self.next()).collect()
    }
}

pub(super) fn step(update: Update, loss: Loss, half_life: f64) -> Step {
    let eta = if update == Update::Adagrad { 0.3 } else { 0.0 };
    Step { update, loss, r: 2.0, eta, rho: 0.1, steepness: 1.0, half_life, restarts: false }
}

pub(super) fn lesson(label: f64, weight: f64) -> Lesson<'static> {
    Lesson { label, weight, ..Lesson::NONE }
}

pub(super) const ALL: [Update; 3] = [Update::Sgd, Update::Arow, Update::Adagrad];

fn close(left: f64, right: f64) -> bool {
    (left - right).abs() <= 1e-12 * (1.0 + left.abs())
}

/// A model of two classes that has learned fifty events with five of eight features each.
fn learned(update: Update, half_life: f64) -> LinearModel {
    let mut model = LinearModel::new(step(update, Loss::Hinge, half_life), 1, 8);
    let mut numbers = Numbers(1);
    for t in 0..50 {
        let label = if numbers.next() > 0.0 { 1.0 } else { -1.0 };
        let phi = numbers.take(5);
        model.step(&[t % 3, 3, 4, 5, 6], &phi, &lesson(label, 1.5), &mut [0.0]);
    }
    model
}

#[test]
fn repeat_is_a_partial_step_that_changes_only_weights() {
    for (classes, label) in [(1, -1.0), (3, 2.0)] {
        let mut model = learned(Update::Arow, 7.0);
        if classes > 1 {
            model.widen(classes);
        }
        let (index, phi, known) = ([0, 3, 4, 5, 6], Numbers(5).take(5), lesson(label, 1.5));
        let mut scores = vec![0.0; classes];
        model.predict(&index, &phi, &mut scores);
        let (mut stepped, mut repeated) = (model.clone(), model.clone());
        stepped.learn(&index, &phi, &scores, &known);
        repeated.repeat(&index, &phi, &scores, &known, 0.25);
        for (place, class) in (0..8).flat_map(|place| (0..classes).map(move |class| (place, class))) {
            let [before, whole, part] = [&model, &stepped, &repeated].map(|each| each.weight(class, place));
            assert!(close(part - before, 0.25 * (whole - before)));
        }
        assert_ne!(repeated.weight(classes - 1, 3), model.weight(classes - 1, 3));
        assert_eq!((repeated.steps, repeated.factor), (model.steps, model.factor));
        let moments = |model: &LinearModel| model.cells.iter().map(|cell| cell.moment).collect::<Vec<f64>>();
        assert_eq!(moments(&repeated), moments(&model));
    }
}

#[test]
fn scores_are_sums_over_the_places_of_an_event() {
    for classes in (1..=9).chain([64, 65, 81, 250]) {
        let mut model = LinearModel::new(step(Update::Arow, Loss::Hinge, 0.0), classes, 8);
        let mut numbers = Numbers(classes as u64);
        for (place, class) in (0..8).flat_map(|place| (0..classes).map(move |class| (place, class))) {
            model.set_weight(class, place, numbers.take(1)[0]);
        }
        for length in 0..=7 {
            let (index, phi) = (&[6, 1, 3, 0, 7, 3, 2][..length], numbers.take(length));
            let mut scores = vec![7.0; classes];
            model.predict(index, &phi, &mut scores);
            for (class, score) in scores.into_iter().enumerate() {
                let each = index.iter().zip(&phi).map(|(&place, x)| model.weight(class, place as usize) * x);
                assert!(close(score, each.sum()));
            }
        }
        let (index, mut state): (Vec<u32>, _) = ((0..8).collect(), State::default());
        model.put_state(&index, "clock", &mut state);
        let weights = state.f64s("weights").unwrap().0;
        assert!((0..8).all(|place| weights[8 * (classes - 1) + place] == model.weight(classes - 1, place)));
        assert_eq!(LinearModel::restored(model.step, "clock", &state, classes).unwrap().cells, model.cells);
    }
}

#[test]
fn arow_matches_its_formulas() {
    let mut model = LinearModel::new(step(Update::Arow, Loss::Hinge, 0.0), 1, 6);
    let (mut w, mut sigma) = ([0.0; 6], [1.0; 6]);
    let mut numbers = Numbers(3);
    for _ in 0..40 {
        let (phi, mut scores) = (numbers.take(6), [0.0]);
        model.step(&[0, 1, 2, 3, 4, 5], &phi, &lesson(1.0, 3.0), &mut scores);
        let score: f64 = (0..6).map(|i| w[i] * phi[i]).sum();
        assert!(close(scores[0], score));
        if score < 1.0 {
            let variance: f64 = (0..6).map(|i| sigma[i] * phi[i] * phi[i]).sum();
            for i in 0..6 {
                w[i] += (1.0 - score) / (variance + 2.0 / 3.0) * sigma[i] * phi[i];
                sigma[i] = 1.0 / (1.0 / sigma[i] + phi[i] * phi[i] * 1.5);
            }
        }
    }
}

#[test]
fn adagrad_with_forgetting_matches_its_formulas() {
    let mut model = LinearModel::new(step(Update::Adagrad, Loss::Logistic, 1.0), 1, 2);
    let (mut w, mut squares) = ([0.0; 2], [0.0; 2]);
    let mut numbers = Numbers(4);
    // Each step forgets half: the factor is multiplied into the arrays after 64 of them.
    for _ in 0..200 {
        let (phi, mut scores) = (numbers.take(2), [0.0]);
        model.step(&[0, 1], &phi, &lesson(-1.0, 1.0), &mut scores);
        let score = w[0] * phi[0] + w[1] * phi[1];
        assert!(close(scores[0], score));
        let slope = 1.0 / (1.0 + (-score).exp());
        for i in 0..2 {
            squares[i] += (slope * phi[i]).powi(2);
            w[i] -= 0.3 * slope * phi[i] / (updates::START + squares[i]).sqrt();
            (w[i], squares[i]) = (w[i] / 2.0, squares[i] / 2.0);
        }
    }
}

#[test]
fn sgd_is_algorithm_one() {
    let mut model = LinearModel::new(Step { steepness: 0.0, ..step(Update::Sgd, Loss::Hinge, 0.0) }, 1, 3);
    let (mut w, mut numbers) = ([0.0; 3], Numbers(5));
    for t in 1..200 {
        let (phi, mut scores) = (numbers.take(3), [0.0]);
        model.step(&[0, 1, 2], &phi, &lesson(1.0, 1.0), &mut scores);
        let score: f64 = (0..3).map(|i| w[i] * phi[i]).sum();
        assert!((scores[0] - score).abs() < 1e-9);
        for i in 0..3 {
            w[i] *= 1.0 - 1.0 / f64::from(t);
            w[i] += if score < 1.0 { phi[i] / (0.1 * f64::from(t)) } else { 0.0 };
        }
    }
}

#[test]
fn without_label_or_weight_nothing_is_learned() {
    for update in ALL {
        let mut model = learned(update, 10.0);
        let before = model.clone();
        assert!(model.step(&[1], &[1.0], &Lesson::NONE, &mut [0.0]).is_nan());
        assert!(model.step(&[1], &[1.0], &lesson(f64::NAN, 1.0), &mut [0.0]).is_nan());
        assert!(model.step(&[1], &[1.0], &lesson(-9.0, 0.0), &mut [0.0]) > 0.0);
        assert_eq!((model.steps, &model.cells), (before.steps, &before.cells));
    }
}

#[test]
fn widening_keeps_score_differences() {
    for update in ALL {
        let mut model = learned(update, 10.0);
        let (index, phi) = ([0, 4, 6], [0.3, -1.0, 2.0]);
        let (mut one, mut four) = ([0.0], [7.0; 4]);
        model.predict(&index, &phi, &mut one);
        model.widen(4);
        model.predict(&index, &phi, &mut four);
        assert!(close(four[1] - four[0], one[0]));
        assert_eq!(four[2..], [0.0; 2]);
        model.step(&index, &phi, &lesson(3.0, 1.0), &mut four);
        assert_eq!(model.classes(), 4);
        let mut at_once = model.clone();
        (5..=81).for_each(|classes| model.widen(classes));
        at_once.widen(81);
        assert_eq!((&model.cells, model.classes()), (&at_once.cells, 81));
        let places: Vec<usize> = (0..81).map(|class| (class + 7) % 81).collect();
        at_once.relabel(&places);
        assert!((0..8).all(|place| at_once.weight(places[1], place) == model.weight(1, place)));
    }
}

#[test]
fn relocated_features_that_collide_are_combined() {
    for (update, join) in [
        (Update::Sgd, None),
        (Update::Arow, Some(f64::min as fn(f64, f64) -> f64)),
        (Update::Adagrad, Some(|a, b| a + b)),
    ] {
        let mut model = learned(update, 0.0);
        let old = model.clone();
        assert_eq!(model.touched(), [0, 1, 2, 3, 4, 5, 6]); // and not 7
        model.relocate(&[3, 4, 5], &[1, 9, 1], 16);
        assert!(close(model.weight(0, 1), old.weight(0, 3) + old.weight(0, 5)));
        assert!(close(model.weight(0, 9), old.weight(0, 4)));
        if let Some(join) = join {
            assert_eq!(model.cells[1].moment, join(old.cells[3].moment, old.cells[5].moment));
        }
        assert_eq!((model.touched(), model.places()), (vec![1, 9], 16));
    }
}

#[test]
fn restarting_model_forgets_when_errors_rise() {
    let step = Step { restarts: true, ..step(Update::Arow, Loss::Hinge, 500.0) };
    let (mut model, mut keeps) = (LinearModel::new(step, 1, 8), learned(Update::Arow, 500.0));
    keeps.restart(0, 1, 8);
    let mut numbers = Numbers(7);
    let mut errors = [0, 0];
    for t in 0..3000 {
        let phi = numbers.take(4);
        let sign = if t < 2000 { 1.0 } else { -1.0 };
        let label = if sign * (phi[0] - phi[2]) > 0.0 { 1.0 } else { -1.0 };
        for (errors, each) in errors.iter_mut().zip([&mut model, &mut keeps]) {
            let mut score = [0.0];
            let known = lesson(label, 1.0);
            each.step(&[0, 1, 2, 3], &phi, &known, &mut score);
            *errors += i32::from(t >= 2000 && score[0] * label <= 0.0);
        }
        if t == 1999 {
            // Identical until then.
            assert_eq!(model.cells, keeps.cells);
        }
    }
    assert_eq!(model.steps, 3000);
    assert!(4 * errors[0] < 3 * errors[1], "{errors:?}");
    let (index, mut state): (Vec<u32>, _) = ((0..8).collect(), State::default());
    model.put_state(&index, "clock", &mut state);
    let back = LinearModel::restored(step, "clock", &state, 1).unwrap();
    assert_eq!((back.rise, back.factor), (model.rise, model.factor));
    // A model that restarts rejects the state of one that does not, and vice versa.
    assert!(LinearModel::restored(keeps.step, "clock", &state, 1).is_err());
    let mut other = State::default();
    keeps.put_state(&index, "clock", &mut other);
    assert!(LinearModel::restored(step, "clock", &other, 1).is_err());
}

#[test]
fn states_round_trip_and_broken_ones_are_refused() {
    for update in ALL {
        let model = learned(update, 10.0);
        let (index, mut state): (Vec<u32>, _) = ((0..8).collect(), State::default());
        model.put_state(&index, "clock", &mut state);
        let back = LinearModel::restored(model.step, "clock", &state, 1).unwrap();
        assert_eq!(back.cells, model.cells);
        assert_eq!((back.steps, back.factor, back.places), (50, model.factor, 8));
        assert!(LinearModel::restored(model.step, "steps", &state, 1).is_err());
        assert!(LinearModel::restored(model.step, "clock", &state, 0).is_err());
        for (name, values, shape) in [
            ("clock", vec![-1.0, 1.0], vec![2]),
            ("clock", vec![1e300, 1.0], vec![2]),
            ("clock", vec![1.0, 0.0], vec![2]),
            ("clock", vec![1.0, f64::NAN], vec![2]),
            ("clock", vec![1.0], vec![1]),
            ("weights", vec![f64::INFINITY; 8], vec![1, 8]),
            ("weights", vec![1.0; 7], vec![1, 7]),
            ("weights", vec![], vec![1 << 60, 0]),
            ("weights", vec![1.0; 8], vec![8]),
            ("spread", vec![-1.0; 8], vec![1, 8]),
            ("spread", vec![1.0; 9], vec![1, 9]),
        ] {
            let mut broken = state.clone();
            broken.0.insert(name.to_owned(), Array::F64(values, shape));
            // For SGD fewer weights are a valid state, since it has no second moments.
            if update != Update::Sgd || broken.f64s("weights").unwrap().1 != [1, 7] {
                assert!(LinearModel::restored(model.step, "clock", &broken, 1).is_err(), "{name}");
            }
        }
    }
}
