//! Tests of `scale`.

use super::*;

/// Numbers from 0 to 1, the same in every run.
pub(super) fn numbers(count: usize) -> Vec<f64> {
    let mut seed = 7_u64;
    let mut next = || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 11) as f64 / (1_u64 << 53) as f64
    };
    (0..count).map(|_| next()).collect()
}

#[test]
fn without_outliers_it_matches_plain_mean_and_deviation() {
    let mut scale = Scale::default();
    let values = numbers(1000);
    for &value in &values {
        scale.observe(value, 1.0, f64::INFINITY);
    }
    let mean = values.iter().sum::<f64>() / 1000.0;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / 1000.0;
    let (found, deviation) = scale.mean_and_deviation();
    assert!((found - mean).abs() < 1e-12 && (deviation - variance.sqrt()).abs() < 1e-12);
    assert_eq!(Scale::from_row(&scale.row()), Some(scale));
    assert!(scale.standardise(1e9, 0.0, f64::INFINITY).value == 0.0);
    assert!(scale.standardise(3.0, 1.0, f64::INFINITY).value == CLIP);
}

#[test]
fn extreme_states_give_finite_values() {
    for (at, value) in [
        (0, 1e-320),
        (1, 1e250),
        (2, 1e250),
        (3, -1e250),
        (4, 1e250),
        (5, 3.0),
        (7, 3.0),
        (8, 1e250),
        (9, 1e250),
        (10, 1e250),
    ] {
        let mut row = Scale::default().row();
        (row[at], row[6]) = (value, 99.5);
        row[11..14].copy_from_slice(&[3.0, -1e250, 1.0]);
        let mut scale = Scale::from_row(&row).unwrap();
        for value in numbers(300) {
            assert!(scale.standardise(value * 1e100, 1.0, 2.0).value.abs() <= CLIP);
        }
    }
}

#[test]
fn memory_of_one_value_stays_finite() {
    let mut scale = Scale::default();
    for value in [1.0, 1.0, 2.0, 2.0, 0.0] {
        assert!(scale.standardise(value, 1.0, 1.0).value.is_finite());
    }
}

#[test]
fn mean_and_deviation_are_weighted() {
    let (values, weights) = (numbers(600), &numbers(1200)[600..]);
    let of = |weight: &dyn Fn(usize) -> f64| {
        let mut scale = Scale::default();
        values.iter().enumerate().for_each(|(t, &value)| _ = scale.observe(value, weight(t), f64::INFINITY));
        scale.mean_and_deviation()
    };
    let all: f64 = weights.iter().map(|weight| weight + 0.5).sum();
    let mean = |power: i32, from: f64| {
        let each =
            values.iter().zip(weights).map(|(value, weight)| (weight + 0.5) * (value - from).powi(power));
        each.sum::<f64>() / all
    };
    let (found, expected) = (of(&|t| weights[t] + 0.5), mean(1, 0.0));
    // The first 16 count equally.
    assert!((found.0 - expected).abs() < 1e-2 && (found.1 - mean(2, expected).sqrt()).abs() < 1e-2);
    let once = of(&|_| 1.0);
    for weight in [1e-6, 1e6] {
        let same = of(&|_| weight);
        assert!((same.0 - once.0).abs() < 1e-12 && (same.1 - once.1).abs() < 1e-12);
    }
    // However heavy the first is, the deviation comes from the others.
    let heavy = of(&|t| if t == 0 { 20.0 } else { 1.0 });
    assert!((heavy.0 - once.0).abs() < 0.1 && (heavy.1 - once.1).abs() < 0.1);
}

#[test]
fn outliers_of_tiny_weight_do_not_move_the_scale() {
    let values = numbers(2000);
    for first in [0, 40] {
        let (mut scale, mut plain) = (Scale::default(), Scale::default());
        for (t, &value) in values.iter().enumerate() {
            let is_light = t < first || t % 10 < 3;
            let (value, weight) = if is_light { (50.0 + value, 1e-9) } else { (value, 1.0) };
            scale.observe(value, weight, f64::INFINITY);
            if !is_light {
                plain.observe(value, 1.0, f64::INFINITY);
            }
        }
        let (found, expected) = (scale.mean_and_deviation(), plain.mean_and_deviation());
        assert!((found.0 - expected.0).abs() < 0.01 && (found.1 - expected.1).abs() < 0.01, "{found:?}");
    }
}
