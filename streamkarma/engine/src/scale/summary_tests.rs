//! Tests of `scale::summary`.

use super::summary::Summary;
use super::tests::numbers;
use super::*;

fn summary_of(values: &[f64]) -> Summary {
    let mut summary = Summary::default();
    values.iter().for_each(|&value| summary.observe(value, 1.0));
    summary
}

/// As many as `numbers`, but more of them in the middle.
fn bell(count: usize) -> Vec<f64> {
    numbers(12 * count).chunks(12).map(|each| each.iter().sum::<f64>() - 6.0).collect()
}

fn assert_near(one: (f64, f64), other: (f64, f64), tolerance: f64) {
    assert!((one.0 - other.0).abs() < tolerance && (one.1 - other.1).abs() < tolerance, "{one:?} {other:?}");
}

#[test]
fn without_outliers_it_matches_plain_mean_and_deviation() {
    for (factor, shift) in [(1.0, 0.0), (-7e-3, 1.7e5), (1e30, 3.0)] {
        let values: Vec<f64> = numbers(4000).iter().map(|value| factor * value + shift).collect();
        let centre = values[0];
        let mean = values.iter().map(|value| value - centre).sum::<f64>() / 4000.0;
        let variance = values.iter().map(|value| (value - centre - mean).powi(2)).sum::<f64>() / 4000.0;
        let (found, deviation) = summary_of(&values).scale(None).mean_and_deviation();
        assert!((found - centre - mean).abs() < 1e-6 * variance.sqrt());
        assert!((deviation / variance.sqrt() - 1.0).abs() < 1e-6, "{deviation} {variance}");
    }
}

#[test]
fn parts_add_up_in_any_order() {
    let values = bell(3000);
    let whole = summary_of(&values);
    assert!(whole.buckets().count() > 100);
    let parts: Vec<Summary> = [0..10, 10..1700, 1700..3000].map(|range| summary_of(&values[range])).into();
    let mut forth = Summary::default();
    parts.iter().for_each(|part| forth.add(part));
    let mut back = parts[2].clone();
    back.add(&parts[1]);
    back.add(&parts[0]);
    for each in [&forth, &back] {
        assert_eq!(each.buckets().count(), whole.buckets().count());
        assert_eq!(each.count(), whole.count());
        assert_near(each.scale(None).mean_and_deviation(), whole.scale(None).mean_and_deviation(), 1e-12);
    }
    let rows: Vec<_> = forth.rows().collect();
    assert_eq!(Summary::from_rows(&rows), Ok(forth));
    assert!(Summary::from_rows(&[rows[0], rows[0]]).is_err());
    for at in 0..6 {
        let mut row = rows[0];
        row[at] = f64::NAN;
        assert!(Summary::from_rows(&[row]).is_err());
    }
}

#[test]
fn summary_matches_a_running_scale() {
    let mut values = bell(20_000);
    values.iter_mut().step_by(25).for_each(|value| *value *= 1e6);
    let running = values.iter().fold(Scale::default(), |mut scale, &value| {
        scale.observe(value, 1.0, f64::INFINITY);
        scale
    });
    let summary = summary_of(&values);
    assert_near(summary.scale(None).mean_and_deviation(), running.mean_and_deviation(), 0.06);
    // Mostly 0, and otherwise as before.
    let counter: Vec<f64> =
        values.iter().enumerate().map(|(i, &value)| if i % 4 < 3 { 0.0 } else { value }).collect();
    let running = counter.iter().fold(Scale::default(), |mut scale, &value| {
        scale.observe(value, 1.0, f64::INFINITY);
        scale
    });
    let scale = summary_of(&counter).scale(None);
    assert_eq!((scale.mode, scale.mode_count), (0.0, 15_000.0));
    assert_near(scale.mean_and_deviation(), running.mean_and_deviation(), 0.06);
    // A value that shares its bucket is only treated as usual if it is given.
    let mixed: Vec<f64> = (0..999).map(|i| if i % 3 == 0 { 37.0 + f64::from(i % 7) } else { 37.0 }).collect();
    let count = mixed.iter().filter(|&&value| value == 37.0).count() as f64;
    let scale = summary_of(&mixed).scale(Some((37.0, count)));
    assert_eq!((scale.mode, scale.mode_count, scale.count()), (37.0, count, 999.0));
}

#[test]
fn neighbouring_sizes_share_buckets_in_any_order() {
    let sizes: Vec<f64> = (-600..600).map(|power| 1.1 * math_pow(power)).collect();
    let mut forth = summary_of(&sizes);
    let back: Vec<f64> = sizes.iter().rev().copied().collect();
    assert!(forth.buckets().count() <= 512);
    let rows =
        |summary: &Summary| summary.rows().map(|[coarser, count, ..]| (coarser, count)).collect::<Vec<_>>();
    assert_eq!(rows(&forth), rows(&summary_of(&back)));
    let few = summary_of(&[1.0, 1.1, 1.2]);
    let mut other = few.clone();
    other.add(&forth);
    forth.add(&few);
    assert_eq!(rows(&other), rows(&forth));
}

fn math_pow(power: i32) -> f64 {
    crate::math::pow(1.4, f64::from(power))
}

#[test]
fn recurring_outlier_is_a_sentinel() {
    let mut values = bell(1000);
    values.extend([-9999.0; 60]);
    values.extend([5e5, 6e5]);
    let mut summary = summary_of(&values);
    let found = |summary: &Summary| summary.sentinel(&summary.first_scale(None));
    assert_eq!(found(&summary), Some((-9999.0, 60.0)));
    summary.forget(-9999.0);
    assert_eq!((found(&summary), summary.count()), (None, 1002.0));
    assert_eq!(Summary::default().scale(None).mean_and_deviation(), (0.0, 0.0));
    let one = summary_of(&[3.0; 9]).scale(None);
    assert_eq!((one.mean_and_deviation(), one.measure(4.0).distance), ((3.0, 0.0), 0.0));
}
