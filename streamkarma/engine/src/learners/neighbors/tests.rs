//! Neighbours, votes and weights against their definition, and what enters the window.

use super::column::ABSENT;
use super::*;

/// Reproducible numbers from 0 to 1 (a linear congruential generator).
pub(super) struct Numbers(pub u64);

impl Numbers {
    pub fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 40) as f64 / f64::from(1 << 24)
    }
}

pub(super) fn learner(regression: bool, window: usize, neighbors: usize) -> Neighbors {
    Neighbors::new(Settings { regression, window, grows: false, neighbors }).unwrap()
}

/// An event; each attribute has the coordinate of the same number, except for categories, at 10 and 11.
#[derive(Clone, Debug)]
pub(super) struct Sample {
    pub attributes: Vec<u32>,
    pub coordinates: Vec<u32>,
    pub values: Vec<f64>,
    pub label: f64,
}

impl Sample {
    pub fn of(items: &[(u32, u32, f64)], label: f64) -> Self {
        let items = std::iter::once(&(0, 0, 1.0)).chain(items);
        let (mut attributes, mut coordinates, mut values) = (Vec::new(), Vec::new(), Vec::new());
        for &(attribute, coordinate, value) in items {
            attributes.push(attribute);
            coordinates.push(coordinate);
            values.push(value);
        }
        Self { attributes, coordinates, values, label }
    }

    /// Three numbers and a category, each of which may be missing.
    fn random(numbers: &mut Numbers) -> Self {
        let mut items = Vec::new();
        let mut label = 0.0;
        for attribute in 1..4 {
            let value = 4.0 * numbers.unit() - 2.0;
            label += value * f64::from(attribute);
            if numbers.unit() < 0.7 {
                items.push((attribute, attribute, value));
            }
        }
        if numbers.unit() < 0.7 {
            items.push((4, if numbers.unit() < 0.5 { 10 } else { 11 }, 1.0));
        }
        Self::of(&items, label.signum())
    }

    pub fn event(&self) -> Event<'_> {
        Event::of(&self.attributes, &self.coordinates, &self.values)
    }

    pub fn lesson(&self) -> Lesson<'static> {
        Lesson::of(self.label)
    }

    fn get(&self, attribute: u32) -> Option<(u32, f64)> {
        let at = self.attributes.iter().position(|own| *own == attribute)?;
        Some((self.coordinates[at], self.values[at]))
    }

    /// The distance from this event to another, with weights by attribute.
    pub fn distance(&self, other: &Self, weights: &[f64]) -> f64 {
        let part = |attribute: u32| {
            let (own, x) = self.get(attribute)?;
            Some(match (attribute == 4, other.get(attribute)) {
                (true, None) => 1.0,
                (true, Some((category, _))) => 2.0 * f64::from(u8::from(category != own)),
                (false, None) => 0.5 * (1.0 + x * x),
                (false, Some((_, y))) => (x - y).powi(2).min(9.0),
            })
        };
        (1..5).filter_map(|a| Some(weights[a as usize - 1] * part(a)?)).sum()
    }
}

pub(super) fn step(learner: &mut Neighbors, sample: &Sample, lesson: Lesson) -> f64 {
    let mut score = [f64::NAN];
    learner.step(sample.event(), lesson, &mut score);
    score[0]
}

pub(super) fn teach(learner: &mut Neighbors, sample: &Sample) {
    step(learner, sample, sample.lesson());
}

pub(super) fn stream(seed: u64, events: usize) -> Vec<Sample> {
    let mut numbers = Numbers(seed);
    // The first has all attributes, so that they get the first columns, and shows that numbers are not categories.
    let first = Sample::of(&[(1, 1, 0.5), (2, 2, 0.0), (3, 3, 0.0), (4, 10, 1.0)], 1.0);
    std::iter::once(first).chain((1..events).map(|_| Sample::random(&mut numbers))).collect()
}

/// The weights of the four attributes.
pub(super) fn weights(learner: &Neighbors) -> Vec<f64> {
    learner.columns.places.iter().flatten().map(|column| f64::from(column.weight)).collect()
}

#[test]
fn nearest_events_match_exhaustive_search() {
    let (samples, mut learner) = (stream(1, 700), learner(false, 300, 7));
    for (t, sample) in samples.iter().enumerate() {
        let own = weights(&learner);
        step(&mut learner, sample, Lesson::NONE);
        let window = &samples[t.saturating_sub(300)..t];
        let mut expected: Vec<f64> = window.iter().map(|other| sample.distance(other, &own)).collect();
        expected.sort_by(f64::total_cmp);
        expected.truncate(7);
        let found: Vec<f64> = learner.nearest.found.iter().map(|(d, _)| f64::from(*d)).collect();
        assert_eq!(found.len(), expected.len());
        assert!(found.iter().zip(&expected).all(|(one, other)| (one - other).abs() < 1e-4), "{t}");
        step(&mut learner, sample, sample.lesson());
    }
}

#[test]
fn votes_and_weight_updates_match_definition() {
    let mut compared = 0;
    for regression in [false, true] {
        let (samples, mut learner) = (stream(2, 400), learner(regression, 100, 5));
        for (t, sample) in samples.iter().enumerate() {
            let own = weights(&learner);
            let score = step(&mut learner, sample, Lesson::NONE);
            let oldest = t.saturating_sub(100);
            let age = |slot: usize| samples[oldest..t].iter().zip(oldest..).find(|(_, t)| t % 100 == slot);
            let found: Vec<&Sample> =
                learner.nearest.found.iter().map(|(_, slot)| age(*slot).unwrap().0).collect();
            let distances = |weights: &[f64]| -> Vec<f64> {
                found.iter().map(|other| sample.distance(other, weights)).collect()
            };
            let near = distances(&own);
            let farthest = near.last().copied().unwrap_or(1.0).max(1e-300);
            let votes: Vec<f64> = near.iter().map(|d| 1.0 - 0.9 * d / farthest).collect();
            let total: f64 = votes.iter().sum();
            let votes: Vec<f64> = votes.iter().map(|vote| vote / total * found.len() as f64).collect();
            let sum = |label: f64| -> f64 {
                found.iter().zip(&votes).filter(|(other, _)| other.label == label).map(|(_, vote)| vote).sum()
            };
            let held = |label: f64| samples[oldest..t].iter().filter(|other| other.label == label).count();
            let share =
                |label: f64| sum(label) + 0.5 * (held(label) as f64 + 1.0) / ((t - oldest) as f64 + 2.0);
            let expected = match (regression, found.len()) {
                (true, 0) => 0.0,
                (true, count) => (sum(1.0) - sum(-1.0)) / count as f64,
                _ => (share(1.0) / share(-1.0)).ln(),
            };
            assert!((score - expected).abs() < 1e-4, "{t}: {score} {expected}");

            let variance = learner.target.variance;
            let median = near.get(near.len() / 2).copied().unwrap_or(0.0);
            let loss = |weights: &[f64]| {
                let chances: Vec<f64> =
                    distances(weights).iter().map(|d| (-0.5 * d / median).exp()).collect();
                let total: f64 = chances.iter().sum();
                let right = chances.iter().zip(&found).filter(|(_, other)| other.label == sample.label);
                let right: f64 = right.map(|(chance, _)| chance).sum::<f64>() / total;
                // Smoothed: the derivative is taken at the mean of the fraction that is right and one half.
                if regression {
                    4.0 * (1.0 - right) / variance
                } else {
                    -(right + 0.3 / 5.0).ln() * 5.6 / 5.0
                }
            };
            step(&mut learner, sample, sample.lesson());
            if found.len() < 5 || median <= 0.0 || (regression && variance <= 0.0) {
                continue;
            }
            let mut moved: Vec<f64> = (0..4)
                .map(|a| {
                    // An attribute that the event lacks is in no distance.
                    if sample.get(a as u32 + 1).is_none() {
                        return f64::NAN;
                    }
                    let (mut up, mut down) = (own.clone(), own.clone());
                    up[a] *= 1e-4f64.exp();
                    down[a] *= (-1e-4f64).exp();
                    own[a] * (1.0 - ((loss(&up) - loss(&down)) / 2e-4).clamp(-0.2, 0.2))
                })
                .collect();
            // Compare ratios, since all weights are rescaled by a common factor.
            let after = weights(&learner);
            let mut pairs: Vec<(f64, f64)> =
                moved.drain(..).zip(after).filter(|(m, _)| !m.is_nan()).collect();
            pairs.retain(|(_, after)| *after > 2e-3);
            for pair in pairs.windows(2) {
                let (one, other) = (pair[0].0 / pair[1].0, pair[0].1 / pair[1].1);
                assert!((one / other - 1.0).abs() < 1e-2, "{t}: {pair:?}");
                compared += 1;
            }
        }
    }
    assert!(compared > 100);
}

#[test]
fn irrelevant_attributes_get_small_weights() {
    let (mut learner, mut numbers) = (learner(true, 500, 10), Numbers(3));
    for _ in 0..2000 {
        let items: Vec<(u32, u32, f64)> = (1..7).map(|a| (a, a, 3.4 * numbers.unit() - 1.7)).collect();
        let sample = Sample::of(&items, items[0].2 * items[1].2);
        step(&mut learner, &sample, sample.lesson());
    }
    let weights = weights(&learner);
    assert!(
        weights[..2].iter().all(|own| weights[2..].iter().all(|other| *own > 5.0 * other)),
        "{weights:?}"
    );
}

#[test]
fn ties_go_to_latest_events() {
    let mut learner = learner(true, 100, 3);
    let sample = |label: f64| Sample::of(&[(1, 10, 1.0)], label);
    for t in 0..250 {
        let expected = (1..4).map(|back| f64::from(t - back)).filter(|label| *label >= 0.0);
        let (sum, count) = expected.fold((0.0, 0.0), |(sum, count), label| (sum + label, count + 1.0));
        let score = step(&mut learner, &sample(f64::from(t)), Lesson::of(f64::from(t)));
        assert!((score - if count > 0.0 { sum / count } else { 0.0 }).abs() < 1e-9);
    }
}

#[test]
fn event_weights_scale_votes() {
    let mut learner = learner(true, 10, 2);
    let near = |x: f64, label: f64| Sample::of(&[(1, 1, x)], label);
    step(&mut learner, &near(1.0 + 1e-9, 4.0), Lesson { weight: 3.0, ..Lesson::of(4.0) });
    step(&mut learner, &near(1.0 + 1e-9, 8.0), Lesson::of(8.0));
    assert!((step(&mut learner, &near(1.0, 0.0), Lesson::NONE) - 5.0).abs() < 1e-6);
}

#[test]
fn events_of_tiny_weight_have_little_effect() {
    let (mut learner, mut numbers) = (learner(true, 500, 10), Numbers(3));
    for t in 0..3000 {
        let items: Vec<(u32, u32, f64)> = (1..7).map(|a| (a, a, 3.4 * numbers.unit() - 1.7)).collect();
        let label = items[0].2 * items[1].2;
        let (label, weight) = if t % 10 < 3 { (1000.0 * numbers.unit(), 1e-9) } else { (label, 1.0) };
        let sample = Sample::of(&items, label);
        step(&mut learner, &sample, Lesson { weight, ..sample.lesson() });
    }
    assert!(learner.target.variance < 2.0, "{:?}", learner.target);
    let weights = weights(&learner);
    assert!(
        weights[..2].iter().all(|own| weights[2..].iter().all(|other| *own > 3.0 * other)),
        "{weights:?}"
    );
}

#[test]
fn weighted_class_counts_are_exact() {
    let mut learner = learner(false, 20, 3);
    let many = 1..MOST_ITEMS as u32 + 2;
    let wide = Sample::of(&many.map(|a| (a, a, 0.5)).collect::<Vec<(u32, u32, f64)>>(), 1.0);
    for t in 0..57_u32 {
        let label = f64::from(t % 3) - 0.5;
        let lesson = Lesson { weight: if label > 0.0 { 0.1 } else { 1e6 + 0.3 }, ..Lesson::of(label) };
        step(&mut learner, &Sample::of(&[(1, 1, 0.5)], label), lesson);
    }
    let positive = learner.labels.iter().sum::<f64>();
    let negative = 20.0 - positive;
    let expected = ((0.1 * positive + 1.0) / ((1e6 + 0.3) * negative + 1.0)).ln();
    let score = step(&mut learner, &wide, Lesson::NONE);
    assert!((score - expected).abs() < 1e-9);
    let mut resumed = self::learner(false, 20, 3);
    resumed.restore(&learner.state(), 2, 2).unwrap();
    assert_eq!(resumed.counts, learner.counts);
}

#[test]
fn columns_turn_numeric_late_and_then_ignore_marks() {
    let mut learner = learner(false, 10, 2);
    for items in [&[(1, 5, 1.0)][..], &[(1, 6, 1.0)], &[(1, 5, 0.25), (1, 6, 1.0)], &[(1, 6, 1.0)]] {
        let sample = Sample::of(items, 1.0);
        step(&mut learner, &sample, sample.lesson());
    }
    let column = learner.columns.places[0].as_ref().unwrap();
    let values: Vec<f32> = (0..4).map(|slot| column.get(slot)).collect();
    assert_eq!(values, [1.0, ABSENT, 0.25, ABSENT]);
}

#[test]
fn wide_events_and_excess_attributes_are_skipped() {
    let mut learner = learner(false, 40, 3);
    let wide = |from: u32, to: u32| {
        Sample::of(&(from..to).map(|a| (a, a, 0.5)).collect::<Vec<(u32, u32, f64)>>(), 1.0)
    };
    let place = |learner: &Neighbors| learner.columns.places.iter().flatten().count();
    assert_eq!(step(&mut learner, &wide(1, MOST_ITEMS as u32 + 2), Lesson::of(1.0)), 0.0);
    assert_eq!((learner.steps, learner.labels.len(), place(&learner)), (1, 0, 0));
    for from in [1, 33, 65, 97] {
        step(&mut learner, &wide(from, from + 32), Lesson::of(1.0));
    }
    assert_eq!((learner.steps, learner.labels.len(), place(&learner)), (5, 4, columns::MOST));
    assert!(learner.columns.places.iter().flatten().all(|column| column.attribute < 65));
    // Once the first attributes have left the window, there is capacity for others.
    for _ in 0..40 {
        step(&mut learner, &wide(97, 129), Lesson::of(1.0));
    }
    step(&mut learner, &wide(65, 97), Lesson::of(1.0));
    let known: Vec<u32> = learner.columns.places.iter().flatten().map(|column| column.attribute).collect();
    assert!((65..129).all(|attribute| known.contains(&attribute)));
}

#[test]
fn learn_predicted_equals_step_and_predicting_has_no_effect() {
    let (mut one, mut two) = (learner(false, 50, 5), learner(false, 50, 5));
    for sample in stream(4, 150) {
        let mut scores = [[0.0]; 2];
        one.step(sample.event(), sample.lesson(), &mut scores[0]);
        two.step(sample.event(), Lesson::NONE, &mut scores[1]);
        two.learn_predicted(sample.event(), sample.lesson(), &mut scores[1]);
        assert_eq!(scores[0], scores[1]);
    }
    let before = one.state();
    let unknown = Sample::of(&[(1, u32::MAX >> 1, 3.0), (4, 1 << 30, 1.0), (u32::MAX >> 1, 7, 1.0)], 1.0);
    assert!(step(&mut one, &unknown, Lesson::NONE).is_finite());
    step(&mut one, &unknown, Lesson { weight: 0.0, ..unknown.lesson() });
    step(&mut one, &unknown, Lesson { weight: 2.0, ..Lesson::of(f64::NAN) });
    assert_eq!((one.state(), two.state()), (before.clone(), before));
}

#[test]
fn widening_yields_normalised_probabilities() {
    let (samples, mut learner) = (stream(5, 80), learner(false, 50, 5));
    samples.iter().for_each(|sample| teach(&mut learner, sample));
    let (score, mut scores) = (step(&mut learner, &samples[7], Lesson::NONE), [0.0; 4]);
    learner.widen(4);
    learner.step(samples[7].event(), Lesson::NONE, &mut scores);
    assert!((scores[1] - scores[0] - score).abs() < 0.1);
    assert!((scores.iter().map(|score| score.exp()).sum::<f64>() - 1.0).abs() < 1e-12);
    for _ in 0..10 {
        learner.step(samples[7].event(), Lesson::of(3.0), &mut scores);
    }
    assert!(scores[3] > -0.2 && learner.counts[3] == 10 << 40);
}

#[test]
fn out_of_range_settings_are_refused() {
    for (window, neighbors) in [(0, 1), (1, 0), ((1 << 20) + 1, 1), (1, 1025)] {
        assert!(Neighbors::new(Settings { regression: false, window, grows: false, neighbors }).is_err());
    }
}

#[test]
fn about_one_event_per_shared_label_is_kept() {
    let (samples, mut model) = (stream(9, 4000), learner(false, 1000, 5));
    for (t, sample) in samples.iter().enumerate() {
        let shared = Lesson { weight: 1.0 / 40.0, shares_label: true, ..sample.lesson() };
        model.step(sample.event(), shared, &mut [0.0]);
        assert_eq!(model.steps, t as u64 + 1);
    }
    assert!((75..125).contains(&model.labels.len()), "{}", model.labels.len());
    assert!(model.weights.iter().all(|weight| *weight == 1.0));
    // Light events with labels of their own are all kept.
    let (mut model, light) = (learner(false, 1000, 5), 1.0 / 40.0);
    samples[..100].iter().for_each(|sample| {
        model.step(sample.event(), Lesson { weight: light, ..sample.lesson() }, &mut [0.0]);
    });
    assert!(model.labels.len() == 100 && model.weights.iter().all(|weight| *weight == light));
}
