//! States, and extreme numbers, which must not break anything.

use super::tests::{Sample, learner, step, stream, teach, weights};
use super::*;
use crate::state::Array;

#[test]
fn extreme_input_stays_finite() {
    for regression in [false, true] {
        let mut learner = learner(regression, 30, 4);
        let huge = [1e300, -1e300, 1e-300, 0.0, f64::MAX, 1.0, -0.0];
        for (t, &value) in huge.iter().cycle().take(700).enumerate() {
            let label = if regression { value } else { f64::from(t as u32 % 3 / 2) * 2.0 - 1.0 };
            let sample = Sample::of(&[(1, 1, value), (2, 2 + t as u32 % 2, 1.0), (3, 5, -value)], label);
            let weight = if t % 5 == 0 { 1e-320 } else { 1e300 };
            assert!(step(&mut learner, &sample, Lesson { weight, ..sample.lesson() }).is_finite());
        }
        assert!(weights(&learner).iter().all(|weight| weight.is_finite()));
        let mut back = super::tests::learner(regression, 30, 4);
        back.restore(&learner.state(), 4, 6).unwrap();
        assert_eq!(back.state(), learner.state());
    }
}

#[test]
fn state_round_trip_is_exact() {
    for (classes, events, neighbors) in [(1, 30, 5), (1, 130, 60), (3, 130, 5)] {
        let (samples, mut model) = (stream(6, events + 90), learner(false, 50, neighbors));
        samples[..events].iter().for_each(|sample| teach(&mut model, sample));
        if classes > 1 {
            model.widen(classes);
        }
        model.forget(&Evicted { before: 0, attributes: vec![1], coordinates: vec![1, 11] });
        let mut back = learner(false, 50, neighbors);
        back.restore(&model.state(), 5, 12).unwrap();
        assert_eq!((back.state(), back.summary()), (model.state(), model.summary()));
        for sample in &samples[events..] {
            let (mut one, mut two) = (vec![0.0; classes], vec![0.0; classes]);
            let label = if classes > 1 { 2.0 } else { sample.label };
            model.step(sample.event(), Lesson::of(label), &mut one);
            back.step(sample.event(), Lesson::of(label), &mut two);
            assert_eq!(one, two);
        }
        assert_eq!(back.state(), model.state());
        assert!(learner(false, 50, neighbors).restore(&model.state(), 4, 12).is_err());
        assert!(learner(false, 50, neighbors).restore(&model.state(), 5, 3).is_err());
    }
}

#[test]
fn broken_states_are_refused() {
    let mut model = learner(false, 20, 3);
    stream(7, 30).iter().for_each(|sample| teach(&mut model, sample));
    let f64s = |values: &[f64]| Array::F64(values.to_vec(), vec![values.len()]);
    let columns = |values: &[i64]| Array::I64(values.to_vec(), vec![values.len() / 2, 2]);
    for (name, array) in [
        ("window_size", Array::I64(vec![1 << 40, 30, 20, 0, 0], vec![5])),
        ("window_size", Array::I64(vec![0, 30, 20, 0, 0], vec![5])),
        ("window_size", Array::I64(vec![1, 19, 20, 0, 0], vec![5])),
        ("window_size", Array::I64(vec![1, 30, 40, 0, 0], vec![5])),
        ("window_size", Array::I64(vec![1, 30, 20, 20, 0], vec![5])),
        ("window_size", Array::I64(vec![1, 30, 20, 0, 31], vec![5])),
        ("window_size", Array::I64(vec![1], vec![1])),
        ("window_halves", f64s(&[0.0])),
        ("window_halves", f64s(&[f64::NAN, 1.0])),
        ("window_halves", f64s(&[0.0, -1.0])),
        ("window_target", f64s(&[21.0, 0.0, 1.0])),
        ("window_target", f64s(&[2.0, f64::NAN, 1.0])),
        ("window_target", f64s(&[2.0, 0.0, -1.0])),
        ("window_labels", f64s(&[2.0; 20])),
        ("window_labels", f64s(&[0.5; 20])),
        ("window_labels", f64s(&[1.0; 21])),
        ("window_weights", f64s(&[0.0; 20])),
        ("window_weights", f64s(&[f64::INFINITY; 20])),
        ("window_columns", columns(&[1, 1, 1, 2, 3, 3, 4, -1])),
        ("window_columns", columns(&[1, 1, 2, 2, 3, 3, -1, -1])),
        ("window_columns", columns(&[0, 1, 2, 2, 3, 3, 4, -1])),
        ("window_columns", columns(&[1, -2, 2, 2, 3, 3, 4, -1])),
        ("window_columns", Array::I64(vec![], vec![0, 2])),
        ("window_columns", Array::I64(vec![1; 4], vec![4])),
        ("window_metric", f64s(&[1.0, 1.0, 1.0, 0.0])),
        ("window_metric", f64s(&[1.0, 1.0, 1.0, f64::NAN])),
        ("window_metric", f64s(&[1.0, 1.0, 1.0, 1e9])),
        ("window_values", Array::F64(vec![0.5; 80], vec![4, 20])),
        ("window_values", Array::F64(vec![f64::NAN; 80], vec![4, 20])),
        ("window_values", Array::F64(vec![], vec![0, 1 << 60])),
        ("window_observed", Array::Bool(vec![false; 80], vec![4, 20])),
        ("window_observed", Array::Bool(vec![true; 3], vec![3])),
        ("window_asked", Array::Bool(vec![true; 19], vec![19])),
        ("window_asked", Array::I64(vec![1; 20], vec![20])),
        ("window_errors.next", f64s(&[1.5, 0.0, 0.0, 0.0, 0.0])),
        ("window_errors.next", f64s(&[8.0, 0.0, 0.0, 0.0, 0.0])),
        ("window_errors.next", f64s(&[1.0, 1.5, 0.0, 0.0, 0.0])),
        ("window_errors.next", f64s(&[1.0, 0.5, 0.25, 1.0, 0.0])),
        ("window_errors.next", f64s(&[1.0, 0.5, 0.25, 0.5, f64::NAN])),
        ("window_errors.next", f64s(&[0.0; 4])),
        ("window_errors.all", f64s(&[1.0, 2.0, 0.0])),
        ("window_errors.other", f64s(&[])),
        ("other.all", f64s(&[])),
        ("other", f64s(&[])),
    ] {
        let mut broken = model.state();
        broken.0.insert(name.to_owned(), array.clone());
        let mut back = learner(false, 20, 3);
        assert!(back.restore(&broken, 5, 12).is_err(), "{name} {array:?}");
        assert_eq!(back.state(), learner(false, 20, 3).state());
    }
}

#[test]
fn missing_arrays_and_unsorted_steps_are_refused() {
    let mut model = learner(false, 20, 3);
    stream(7, 30).iter().for_each(|sample| teach(&mut model, sample));
    let state = model.state();
    for name in state.0.keys() {
        let mut broken = state.clone();
        broken.0.remove(name);
        assert!(learner(false, 20, 3).restore(&broken, 5, 12).is_err(), "{name}");
    }
    for steps in [vec![101; 20], vec![-1; 20], vec![0; 3], (0..20).rev().collect()] {
        let (mut broken, size) = (state.clone(), steps.len());
        broken.put_i64s("window_learned_at", steps, &[size]);
        assert!(learner(false, 20, 3).restore(&broken, 5, 12).is_err());
    }
}
