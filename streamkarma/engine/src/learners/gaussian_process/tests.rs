//! Tests of accuracy, of the formulas against naive implementations, of states and of malicious input.

use super::evidence::Room;
use super::kernel::{Kernel, SHARED};
use super::*;
use crate::learners::samples::{Numbers, Task, assert_resumed, changed, teach};
use crate::math::{dot, exp, log, sin};

/// Few events, and so few inducing points, which is fast.
const WINDOW: usize = 60;

pub(super) fn new(half_life: f64) -> GaussianProcess {
    GaussianProcess::new(Settings { window: WINDOW, half_life }).unwrap()
}

/// A learner with the maximum number of inducing points.
fn wide() -> GaussianProcess {
    GaussianProcess::new(Settings { window: 300, half_life: 0.0 }).unwrap()
}

/// Learn events with values within ±1; returns the mean error of the last 50.
fn follow(model: &mut GaussianProcess, events: usize, of: impl Fn(&[f64], usize) -> f64) -> f64 {
    let (mut numbers, mut error, mut score) = (Numbers::new(3), 0.0, [0.0]);
    for t in 0..events {
        let mut values: Vec<f64> = (0..5).map(|_| 2.0 * numbers.unit() - 1.0).collect();
        values[0] = 1.0;
        let target = of(&values, t);
        model.step(Event::of(&[0, 1, 2, 3, 4], &[0, 1, 2, 3, 4], &values), Lesson::of(target), &mut score);
        error += if t + 50 >= events { (score[0] - target).abs() / 50.0 } else { 0.0 };
    }
    error
}

/// A sample with three inputs, and a kernel.
fn example(events: usize) -> (Sample, Kernel) {
    let mut numbers = Numbers::new(1);
    let mut draw = |count: usize| (0..count).map(|_| 4.0 * numbers.unit() - 2.0).collect::<Vec<f64>>();
    let (rows, targets) = (draw(3 * events), draw(events));
    let weights = draw(events).iter().map(|x| 0.5 + x.abs()).collect();
    (Sample { rows, targets, weights }, Kernel::new(vec![0.3, -0.8, -1.5, 0.2, 1.1, -0.4]))
}

/// The covariance of two events by the formula.
fn covariance(kernel: &Kernel, one: &[f64], other: &[f64]) -> f64 {
    let logs = kernel.logarithms();
    let apart = (0..3).map(|k| ((one[k] - other[k]) / exp(logs[SHARED + k])).powi(2)).sum::<f64>();
    exp(logs[0] - 0.5 * apart) + exp(logs[1]) * (1.0 + dot(one, other) / 3.0)
}

/// Solves linear equations by elimination; also returns the log determinant.
fn eliminated(mut rows: Vec<Vec<f64>>) -> (Vec<f64>, f64) {
    let (size, mut log_determinant) = (rows.len(), 0.0);
    for i in 0..size {
        log_determinant += log(rows[i][i]);
        let pivot = rows[i].clone();
        for row in rows.iter_mut().enumerate().filter(|(j, _)| *j != i).map(|(_, row)| row) {
            let factor = row[i] / pivot[i];
            row.iter_mut().zip(&pivot).for_each(|(entry, own)| *entry -= factor * own);
        }
    }
    ((0..size).map(|i| rows[i][size] / rows[i][i]).collect(), log_determinant)
}

/// The covariance of a sample's targets, augmented by the targets as the last column.
fn equations(sample: &Sample, kernel: &Kernel) -> Vec<Vec<f64>> {
    let events = sample.targets.len();
    let row = |i: usize| {
        let noise = |j: usize| if i == j { kernel.noise / sample.weights[i] } else { 0.0 };
        let entries = (0..events).map(|j| covariance(kernel, sample.row(i), sample.row(j)) + noise(j));
        entries.chain([sample.targets[i]]).collect()
    };
    (0..events).map(row).collect()
}

#[test]
fn learns_waves_lines_boxes_and_missing_values() {
    let wave = follow(&mut wide(), 300, |x, _| sin(4.0 * x[1]) * x[2]);
    assert!(wave < 0.03, "{wave}");
    let line = follow(&mut wide(), 100, |x, _| 3.0 * x[1] - 2.0 * x[4] + 1.0);
    assert!(line < 1e-3, "{line}");
    let loss = teach(&mut wide(), Task::Regression, 1, 600);
    assert!(loss < 7.0, "{loss}");
}

#[test]
fn the_second_fit_does_not_wait_because_nothing_could_be_predicted_before_the_first() {
    let (mut model, mut numbers, mut fits) = (new(0.0), Numbers::new(5), Vec::new());
    for step in 1..=200 {
        let before = model.refits.fitted;
        let values = [1.0, 2.0 * numbers.unit() - 1.0];
        model.step(Event::of(&[0, 1], &[0, 1], &values), Lesson::of(values[1]), &mut [0.0]);
        fits.extend((model.refits.fitted > before).then_some(step));
    }
    assert_eq!(fits, [32, 48, 72, 108, 162]);
}

#[test]
fn adapts_to_abrupt_change() {
    let mut model = wide();
    let error = follow(&mut model, 750, |x, t| if t < 350 { x[1] } else { 1.0 - 2.0 * x[1] + x[2] });
    assert!(error < 0.02 && model.refits.begun > 340, "{error} {}", model.refits.begun);
}

#[test]
fn evidence_and_gradient_match_the_formula() {
    let (sample, kernel) = example(7);
    let of = |logarithms: &[f64]| {
        let kernel = Kernel::new(logarithms.to_vec());
        let (solved, log_determinant) = eliminated(equations(&sample, &kernel));
        let prior = logarithms.iter().enumerate().map(|(at, logarithm)| {
            let (mean, deviation) = Kernel::expected(3, at);
            ((logarithm - mean) / deviation).powi(2)
        });
        -0.5 * (dot(&solved, &sample.targets) + log_determinant + prior.sum::<f64>())
    };
    let (evidence, slopes) = Room::default().evidence(&sample, &kernel);
    assert!((evidence - of(kernel.logarithms())).abs() < 1e-9);
    for (at, slope) in slopes.iter().enumerate() {
        let moved = |by: f64| {
            let mut logarithms = kernel.logarithms().to_vec();
            logarithms[at] += by;
            of(&logarithms)
        };
        let rise = (moved(1e-5) - moved(-1e-5)) / 2e-5;
        assert!((slope - rise).abs() < 1e-6, "{at}: {slope} {rise}");
    }
    // The search finds a kernel with more evidence.
    let (found, _) = Room::default().evidence(&sample, &most_likely(&sample, kernel, true));
    assert!(found > evidence);
}

#[test]
fn all_events_as_inducing_points_match_the_full_process() {
    let (sample, kernel) = example(9);
    let (solved, _) = eliminated(equations(&sample, &kernel));
    let mut posterior = Posterior::of(kernel.clone(), sample.rows.clone(), &sample);
    for z in [[0.1, 0.7, -0.3], [1.5, -1.0, 0.2]] {
        let alike = (0..9).map(|i| covariance(&kernel, &z, sample.row(i)) * solved[i]);
        let (full, prediction) = (alike.sum::<f64>(), posterior.predict(&z));
        assert!((full - prediction).abs() < 1e-4, "{full} {prediction}");
    }
}

#[test]
fn incremental_updates_match_batch_posterior() {
    let (sample, kernel) = example(40);
    let points = sample.drawn(10, &mut Random::new(0, 0)).rows;
    let together = Posterior::of(kernel.clone(), points.clone(), &sample);
    let mut alone = Posterior::prior(kernel, points);
    for event in 0..40 {
        alone.predict(sample.row(event));
        alone.learn(sample.targets[event], sample.weights[event]);
    }
    let near = |one: &[f64], other: &[f64]| one.iter().zip(other).all(|(x, y)| (x - y).abs() < 1e-8);
    assert!(near(&alone.weights, &together.weights) && near(&alone.covariance, &together.covariance));
}

#[test]
fn inputs_are_standardised_and_absences_deduplicated() {
    let mut model = new(0.0);
    let mut score = [0.0];
    for t in 0..40 {
        let value = f64::from(t % 4);
        let wide = [1.0, 1e6 + value, 1.0, value];
        // The second and third numbers are missing together; the last is constant.
        let items = if t % 3 == 0 { 2 } else { 4 };
        let places: Vec<u32> = (0..items).chain([4]).collect();
        let values: Vec<f64> = wide[..items as usize].iter().copied().chain([7.0]).collect();
        model.step(Event::of(&places, &places, &values), Lesson::of(value), &mut score);
    }
    let inputs = &model.fitted.as_ref().unwrap().inputs.0;
    let kinds: Vec<(u32, bool)> = inputs.iter().map(|input| (input.coordinate, input.is_absence)).collect();
    assert_eq!(kinds, [(1, false), (2, true), (3, false)]);
    assert!((inputs[0].mean - 1_000_001.5).abs() < 0.2 && (inputs[0].factor - 0.894).abs() < 0.05);
}

#[test]
fn inputs_correlated_with_the_target_are_kept() {
    let mut model = new(0.0);
    let (mut numbers, mut score) = (Numbers::new(4), [0.0]);
    for _ in 0..33 {
        for wide in [60, 59] {
            let places: Vec<u32> = (0..wide).map(|k| if wide == 60 || k == 0 { k } else { k + 60 }).collect();
            let values: Vec<f64> = places.iter().map(|_| numbers.unit()).collect();
            model.step(Event::of(&places, &places, &values), Lesson::of(values[7]), &mut score);
        }
    }
    let inputs = &model.fitted.as_ref().unwrap().inputs.0;
    assert_eq!(inputs.len(), inputs::MOST);
    assert!([7, 67].iter().all(|&own| inputs.iter().any(|input| input.coordinate == own)));
}

#[test]
fn states_round_trip_exactly_and_predicting_has_no_effect() {
    // Before the first fit and after it.
    for (half_life, events) in [(60.0, 20), (0.0, 100)] {
        let mut model = new(half_life);
        teach(&mut model, Task::Regression, 5, events);
        let narrow = GaussianProcess::new(Settings { window: 1, half_life }).unwrap();
        assert_resumed(&mut model, &new(half_life), &narrow, Task::Regression);
    }
}

#[test]
fn evicted_coordinates_count_as_missing() {
    let mut model = new(0.0);
    teach(&mut model, Task::Regression, 7, 150);
    let score = |model: &mut GaussianProcess, values: &[(u32, f64)]| {
        let places: Vec<u32> = [0, 1].into_iter().chain(values.iter().map(|(place, _)| *place)).collect();
        let values: Vec<f64> = [1.0, 0.3].into_iter().chain(values.iter().map(|(_, value)| *value)).collect();
        let mut score = [0.0];
        model.step(Event::of(&places, &places, &values), Lesson::NONE, &mut score);
        score[0]
    };
    let (with, without) = (score(&mut model, &[(2, 1.0)]), score(&mut model, &[]));
    assert_ne!(with, without);
    model.forget(&Evicted { coordinates: vec![2], attributes: vec![2], ..Evicted::default() });
    assert_eq!(score(&mut model, &[(2, 1.0)]), without);
    // The coordinate is reused for another name, which earlier events lack.
    let mut back = new(0.0);
    back.restore(&model.state(), 4, 6).unwrap();
    assert_eq!(teach(&mut back, Task::Regression, 8, 150), teach(&mut model, Task::Regression, 8, 150));
    assert_eq!(back.state(), model.state());
}

#[test]
fn extreme_input_stays_finite() {
    let mut model = new(40.0);
    let mut scores = [0.0];
    for (t, huge) in [1e300, -1e300, 1e-300, 0.0, f64::MAX, 1.0].iter().cycle().take(600).enumerate() {
        let values = [1.0, *huge, -huge];
        let event = Event::of(&[0, 1, 2], &[0, 1, 2], &values);
        let weight = if t % 7 == 0 { 1e300 } else { 1e-300 };
        let unit = Unit { centre: 0.0, spread: [1e-308, 1e60, 1e100][t % 3] };
        let lesson = Lesson { weight, unit, ..Lesson::of(huge.clamp(-1e100, 1e100)) };
        model.step(event, lesson, &mut scores);
        assert!(scores[0].is_finite(), "{t} {scores:?}");
    }
    let mut back = new(40.0);
    back.restore(&model.state(), 4, 6).unwrap();
    assert_eq!(back.state(), model.state());
}

#[test]
fn a_constant_beyond_the_bound_can_be_saved() {
    let mut model = new(0.0);
    let event = Event::of(&[0, 1], &[0, 1], &[1.0, -1e300]);
    for _ in 0..40 {
        model.step(event, Lesson::of(-2.3), &mut [0.0]);
    }
    new(0.0).restore(&model.state(), 2, 2).unwrap();
}

#[test]
fn identical_events_predict_their_target() {
    let mut model = new(1.0);
    let event = Event::of(&[0, 1], &[0, 1], &[1.0, 0.5]);
    let mut score = [0.0];
    model.step(event, Lesson::of(3.0), &mut score);
    for _ in 0..2000 {
        model.step(event, Lesson { weight: 1e-12, ..Lesson::of(3.0) }, &mut score);
    }
    assert!((score[0] - 3.0).abs() < 1e-6, "{score:?}");
}

#[test]
fn broken_states_are_refused() {
    let mut model = new(0.0);
    teach(&mut model, Task::Regression, 15, 100);
    let state = model.state();
    for (name, at, value) in [
        ("clock", 0, -1.0),
        ("owners", 1, 4.0),
        ("inputs", 0, 6.0),
        ("inputs", 0, -2.0),
        ("inputs", 1, 2.0),
        ("standards", 0, f64::NAN),
        ("standards", 1, 0.0),
        ("standards", 1, f64::INFINITY),
        ("kernel", 0, f64::NAN),
        ("kernel", 1, 0.0),
        ("kernel", 2, f64::INFINITY),
        ("points", 0, 5.1),
        ("points", 0, f64::NAN),
        ("weights", 0, f64::NAN),
        ("weights", 0, 1e10),
        ("covariance", 0, f64::NAN),
        ("covariance", 1, 3.0),
        ("fit_errors.all", 0, -1.0),
    ] {
        assert!(new(0.0).restore(&changed(&state, name, at, value), 4, 6).is_err(), "{name} {at} {value}");
    }
    for name in state.0.keys() {
        let mut broken = state.clone();
        broken.0.remove(name);
        assert!(new(0.0).restore(&broken, 4, 6).is_err(), "{name}");
    }
    for window in [0, MOST_EVENTS + 1] {
        assert!(GaussianProcess::new(Settings { window, half_life: 0.0 }).is_err());
    }
}
