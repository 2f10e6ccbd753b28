//! Tests of `scale::merging`.

use super::tests::numbers;
use super::*;

fn scale_of(values: &[f64], longest: f64) -> Scale {
    on(Scale::default(), values, longest)
}

fn on(mut scale: Scale, values: &[f64], longest: f64) -> Scale {
    values.iter().for_each(|&value| _ = scale.observe(value, 1.0, longest));
    scale
}

fn merged(base: &Scale, parts: &[(Scale, usize)], longest: f64) -> Scale {
    let parts: Vec<_> = parts.iter().map(|&(scale, values)| (scale, values as f64)).collect();
    Scale::merged(*base, &parts, longest)
}

fn assert_near(one: &Scale, other: &Scale, tolerance: f64) {
    for (one, other) in one.row().iter().zip(other.row()) {
        assert!((one - other).abs() <= tolerance * other.abs().max(1.0), "{one} {other}");
    }
}

#[test]
fn merged_moments_match_one_pass_and_base_counts_once() {
    let values = numbers(2000);
    for (first, sizes) in [(0, [700, 1000, 300]), (300, [500, 900, 300]), (3, [5, 2, 1]), (3, [4, 30, 900])] {
        let base = scale_of(&values[..first], f64::INFINITY);
        let mut end = first;
        let parts = sizes.map(|size| {
            end += size;
            (on(base, &values[end - size..end], f64::INFINITY), size)
        });
        let (mean, deviation) = scale_of(&values[..end], f64::INFINITY).mean_and_deviation();
        let all = merged(&base, &parts, f64::INFINITY);
        let found = all.mean_and_deviation();
        assert!((found.0 - mean).abs() < 1e-10 && (found.1 - deviation).abs() < 1e-10);
        assert!((all.count() - end as f64).abs() < 1e-9);
        let [a, b, c] = parts;
        assert_near(&merged(&base, &[c, a, b], f64::INFINITY), &all, 1e-12);
        let two = (merged(&base, &[b, c], f64::INFINITY), b.1 + c.1);
        assert_near(&merged(&base, &[a, two], f64::INFINITY), &all, 1e-12);
        assert_eq!(merged(&base, &[(base, 0), a, (base, 0)], f64::INFINITY), a.0);
        assert_eq!(merged(&base, &[(base, 0), (base, 0)], f64::INFINITY), base);
    }
}

#[test]
fn first_values_are_kept_until_there_are_more() {
    let [a, b] = [&[3.0, 1.0, 1e9][..], &[2.0, 5.0, 4.0]].map(|values| (scale_of(values, 1e9), 3));
    let both = merged(&Scale::default(), &[a, b], 1e9);
    let mut one = scale_of(&[3.0, 1.0, 1e9, 2.0, 5.0, 4.0], 1e9);
    (one.mode, one.lead) = (both.mode, both.lead);
    assert_eq!(both, one);
    // Outliers among them do not move a scale with more values.
    let many = (scale_of(&numbers(500), 1e9), 500);
    assert!(merged(&Scale::default(), &[a, many, b], 1e9).mean_and_deviation().1 < 0.5);
}

#[test]
fn mode_stays_separate_only_if_parts_agree() {
    let counter = |common: f64, values: &[f64]| {
        let mixed: Vec<f64> = values.iter().flat_map(|value| [common, common, common, *value]).collect();
        (scale_of(&mixed, f64::INFINITY), mixed.len())
    };
    let values = numbers(300);
    let parts = [counter(0.0, &values[..100]), counter(0.0, &values[100..]), counter(9.0, &values[..50])];
    let [a, b, other] = parts;
    let same = merged(&Scale::default(), &[a, b], f64::INFINITY);
    let (mean, deviation) = counter(0.0, &values).0.mean_and_deviation();
    assert!(same.mode_count > 800.0 && same.mode == 0.0);
    let found = same.mean_and_deviation();
    assert!((found.0 - mean).abs() < 1e-10 && (found.1 - deviation).abs() < 1e-10);
    let joined = merged(&Scale::default(), &[a, other, b], f64::INFINITY);
    let tree = merged(&Scale::default(), &[(same, 1200), other], f64::INFINITY);
    assert!(joined.mode_count == 0.0 && joined.count() == 1400.0);
    assert_near(&tree, &joined, 1e-12);
    // A model that has seen too few values to be sure does not change that.
    let few = (scale_of(&[0.0, 0.0, 0.5], f64::INFINITY), 3);
    let all = merged(&Scale::default(), &[few, (same, 1200)], f64::INFINITY);
    assert_eq!((all.mode_count, all.count()), (same.mode_count, same.count() + 3.0));
}

#[test]
fn base_fades_before_it_is_subtracted() {
    let (values, longest) = (numbers(900), 200.0);
    for first in [50, 150, 300] {
        let base = scale_of(&values[..first], longest);
        let (mut all, mut own) = (base.count(), base.count());
        for _ in 0..120 {
            let keep = if all + 1.0 > longest { (longest - 1.0) / all } else { 1.0 };
            (all, own) = (all * keep + 1.0, own * keep);
        }
        let went = on(base, &values[..120], longest);
        assert!((went.count() - all).abs() < 1e-9);
        assert!((base.faded(120.0, longest).count() - own).abs() < 1e-9);
        let parts = [(went, 120), (on(base, &values[400..700], longest), 300)];
        let all = merged(&base, &parts, longest);
        assert!(all.count() > longest && (all.mean_and_deviation().0 - 0.5).abs() < 0.06);
        let third = (on(base, &values[700..], longest), 200);
        let tree = merged(&base, &[(merged(&base, &parts, longest), 420), third], longest);
        assert_near(&tree, &merged(&base, &[third, parts[0], parts[1]], longest), 1e-12);
    }
}

#[test]
fn base_is_not_subtracted_from_restarted_scales() {
    let values = numbers(3000);
    let shifted: Vec<f64> = values.iter().map(|value| value + 1000.0).collect();
    let base = scale_of(&values[..400], f64::INFINITY);
    for size in [300, 3000] {
        let parts =
            [(on(base, &shifted[..size], f64::INFINITY), size), (on(base, &shifted, f64::INFINITY), 3000)];
        let (mean, deviation) = merged(&base, &parts, f64::INFINITY).mean_and_deviation();
        assert!((mean - 1000.5).abs() < 0.1 && (0.2..0.4).contains(&deviation), "{mean} {deviation}");
    }
}

#[test]
fn extreme_states_do_not_panic() {
    for (at, value) in [
        (0, 1e250),
        (1, -1e250),
        (2, 1e250),
        (3, 1e250),
        (4, 1e250),
        (7, 3.0),
        (8, -1e250),
        (10, 1e250),
        (11, -1e250),
    ] {
        let mut row = scale_of(&numbers(30), 50.0).row();
        row[at] = value;
        let odd = Scale::from_row(&row).unwrap();
        let plain = scale_of(&numbers(9), 50.0);
        for [base, one, other] in
            [[odd, plain, Scale::default()], [plain, odd, odd], [Scale::default(), odd, plain]]
        {
            let all = merged(&base, &[(one, 3), (other, 7)], 50.0);
            assert!(all.mean_and_deviation().0.abs() <= f64::MAX);
        }
    }
}

#[test]
fn scales_of_different_worlds_are_translated_by_finite_numbers() {
    let (small, large) = (scale_of(&[1e-100, 3e-100, 7e-100], 1e9), scale_of(&[1e150, -1e150, 3e150], 1e9));
    for (shift, stretch) in [small.change_to(&large), large.change_to(&small)] {
        assert!(shift.abs() <= 1e12 && (1e-12..=1e12).contains(&stretch), "{shift} {stretch}");
    }
}
