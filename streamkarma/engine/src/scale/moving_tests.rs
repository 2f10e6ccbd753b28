//! Tests of `scale::moving`.

use super::moving::SHORTEST;
use super::tests::numbers;
use super::*;
use crate::math::log;

const SIZE: usize = 60_000;

/// Approximately Gaussian numbers.
fn bell(count: usize) -> Vec<f64> {
    numbers(12 * count).chunks(12).map(|each| each.iter().sum::<f64>() - 6.0).collect()
}

fn on(mut scale: Scale, values: &[f64]) -> Scale {
    values.iter().for_each(|&value| _ = scale.observe(value, 1.0, f64::INFINITY));
    scale
}

fn scale_of(values: &[f64]) -> Scale {
    on(Scale::default(), values)
}

#[test]
fn stationary_values_are_not_forgotten() {
    let uniform = numbers(SIZE);
    let of = |function: fn(f64) -> f64| uniform.iter().map(|&value| function(value)).collect::<Vec<_>>();
    let shapes = [
        bell(SIZE),
        uniform.clone(),
        of(|value| -log(1.0 - value)),
        of(|value| (value / (1.0 - value)).sqrt()),
        of(|value| f64::from(value < 0.5)),
        of(|value| if value < 0.48 { 0.0 } else { (7.0 * value).floor() }),
        of(|value| f64::from(value < 0.01)),
    ];
    for (which, values) in shapes.iter().enumerate() {
        let scale = scale_of(values);
        assert_eq!((scale.count(), scale.moved), (SIZE as f64, 0.0), "{which}");
    }
    // If most values are equal, those before this was detected are among the others, which seem to move.
    let scale = scale_of(&of(|value| if value < 0.8 { 3.0 } else { value }));
    assert!(scale.count() > 0.9 * SIZE as f64);
}

#[test]
fn drifting_values_are_followed() {
    let drifts = |t: usize| 3.0 * t.saturating_sub(SIZE / 2) as f64 / (SIZE / 2) as f64;
    let (mut scale, mut distances) = (Scale::default(), Vec::new());
    for (t, value) in bell(SIZE).into_iter().enumerate() {
        scale.observe(value + drifts(t), 1.0, f64::INFINITY);
        if t > SIZE / 2 {
            distances.push(drifts(t) - scale.mean_and_deviation().0);
        }
    }
    // The mean of all values would lag by 0.75 in the end.
    assert!(distances.iter().all(|distance| distance.abs() < 0.35));
    assert!((1.0..1.1).contains(&scale.mean_and_deviation().1));
}

#[test]
fn scale_adapts_soon_after_a_jump_within_the_edge() {
    let values = bell(23_000);
    for (jump, times) in [(1.0, 1.0), (-2.0, 1.0), (0.0, 2.0), (0.0, 0.5), (1.0, 1.5)] {
        let moved: Vec<f64> = values[20_000..].iter().map(|value| jump + times * value).collect();
        let (mean, deviation) = on(scale_of(&values[..20_000]), &moved).mean_and_deviation();
        assert!((mean - jump).abs() < 0.2, "{jump} {times} {mean}");
        assert!((deviation / times - 1.0).abs() < 0.2, "{jump} {times} {deviation}");
    }
}

#[test]
fn memory_shrinks_to_the_shortest_and_grows_again() {
    let mut values = bell(40_000);
    values[20_000..].iter_mut().for_each(|value| *value += 2.0);
    let soon = scale_of(&values[..21_500]);
    assert!((SHORTEST..3.0 * SHORTEST).contains(&soon.count()));
    assert!(on(soon, &values[21_500..]).count() > 15_000.0);
    // With fewer values nothing is forgotten, whatever they do.
    let rising: Vec<f64> = (0..SHORTEST as u32).map(f64::from).collect();
    assert_eq!((scale_of(&rising).count(), scale_of(&rising).moved), (SHORTEST, 0.0));
}

#[test]
fn moved_parts_keep_less_of_the_base() {
    let values = bell(30_000);
    let base = scale_of(&values[..8000]);
    let moved: Vec<f64> = values[8000..20_000].iter().map(|value| value + 1.0).collect();
    let parts =
        [&moved[..6000], &moved[6000..], &values[20_000..]].map(|own| (on(base, own), own.len() as f64));
    let [a, b, c] = parts;
    assert!(a.0.moved > 0.5 && b.0.moved > 0.5 && c.0.moved == 0.0);
    let all = Scale::merged(base, &parts, f64::INFINITY);
    let left = |by: f64| crate::math::exp(-by) * base.count();
    let own = parts.map(|(part, _)| part.count() - left(part.moved)).iter().sum::<f64>();
    assert!((all.count() - own - left(a.0.moved + b.0.moved)).abs() < 1e-6);
    let two = (Scale::merged(base, &[c, a], f64::INFINITY), c.1 + a.1);
    for other in [[b, two], [two, b]] {
        let tree = Scale::merged(base, &other, f64::INFINITY);
        for (one, other) in tree.row().iter().zip(all.row()) {
            assert!((one - other).abs() <= 1e-9 * other.abs().max(1.0), "{one} {other}");
        }
    }
}
