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
fn without_wild_values_it_is_the_mean_and_deviation_of_all() {
    let mut scale = Scale::default();
    let values = numbers(1000);
    for &value in &values {
        scale.observe(value, f64::INFINITY);
    }
    let mean = values.iter().sum::<f64>() / 1000.0;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / 1000.0;
    let (found, deviation) = scale.mean_and_deviation();
    assert!((found - mean).abs() < 1e-12 && (deviation - variance.sqrt()).abs() < 1e-12);
    assert_eq!(Scale::from_row(&scale.row()), Some(scale));
    assert!(scale.standardise(1e9, false, f64::INFINITY).value == 0.0);
    assert!(scale.standardise(3.0, true, f64::INFINITY).value == CLIP);
}

#[test]
fn whatever_a_file_holds_what_comes_out_is_finite() {
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
            assert!(scale.standardise(value * 1e100, true, 2.0).value.abs() <= CLIP);
        }
    }
}

#[test]
fn a_memory_of_one_value_knows_no_deviation() {
    let mut scale = Scale::default();
    for value in [1.0, 1.0, 2.0, 2.0, 0.0] {
        assert!(scale.standardise(value, true, 1.0).value.is_finite());
    }
}
