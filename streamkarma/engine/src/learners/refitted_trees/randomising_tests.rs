//! Predictions of randomised trees for events that they were fitted to, and their splits.

use super::ensemble::NONE;
use super::tests::randomised;
use super::*;
use crate::learners::refits::FIRST;
use crate::learners::samples::Numbers;

/// The score of an event with these values.
fn score(model: &mut RefittedTrees, values: &[f64]) -> f64 {
    let places: Vec<u32> = (0..=values.len() as u32).collect();
    let (places, values): (Vec<u32>, Vec<f64>) = places
        .into_iter()
        .zip([1.0].iter().chain(values).copied())
        .filter(|(_, value)| !value.is_nan())
        .unzip();
    let mut score = [0.0];
    model.step(Event::of(&places, &places, &values), Lesson::NONE, &mut score);
    score[0]
}

fn learn(model: &mut RefittedTrees, values: &[f64], target: f64) {
    let places: Vec<u32> = (0..=values.len() as u32).collect();
    let values: Vec<f64> = [1.0].iter().chain(values).copied().collect();
    model.step(Event::of(&places, &places, &values), Lesson::of(target), &mut [0.0]);
}

#[test]
fn fitted_events_are_predicted_exactly() {
    let (mut model, mut numbers, mut learned) = (randomised(0.0), Numbers::new(1), Vec::new());
    while model.refits.due != FIRST + 16 {
        let [value, other, target] = [(); 3].map(|()| numbers.unit());
        learn(&mut model, &[value, other], 1e6 * target);
        learned.push(([value, other], 1e6 * target));
    }
    assert_eq!(model.refits.fitted, learned.len() as u64);
    for (values, target) in learned {
        assert!((score(&mut model, &values) - target).abs() < 1e-6);
    }
}

#[test]
fn cuts_between_two_values_are_random() {
    let mut model = randomised(0.0);
    (0..FIRST).for_each(|t| learn(&mut model, &[f64::from(t % 2 == 0)], (t % 2) as f64));
    let cuts = model.ensemble.nodes.iter().filter(|node| node.coordinate != NONE).map(|node| node.cut);
    let cuts: Vec<f64> = cuts.collect();
    assert_eq!((cuts.len(), model.ensemble.nodes.len()), (model.ensemble.roots.len(), 3 * cuts.len()));
    assert!(cuts.iter().all(|cut| (0.0..1.0).contains(cut)));
    let mean = cuts.iter().sum::<f64>() / cuts.len() as f64;
    assert!((0.2..0.8).contains(&mean), "{cuts:?}");
}

#[test]
fn missing_values_go_to_best_or_larger_side() {
    let mut model = randomised(0.0);
    for t in 0..FIRST {
        let (value, target) = if t % 4 == 0 { (1.0, 10.0) } else { (-1.0, 0.0) };
        learn(&mut model, &[value], target);
    }
    assert_eq!(score(&mut model, &[f64::NAN]), 0.0);
    let mut model = randomised(0.0);
    for t in 0..FIRST {
        let (place, target) = if t % 2 == 0 { ([0, 1], 10.0) } else { ([0, 2], 0.0) };
        model.step(Event::of(&place, &place, &[1.0, 0.5]), Lesson::of(target), &mut [0.0]);
    }
    assert_eq!(score(&mut model, &[0.5]), 10.0);
    assert_eq!(score(&mut model, &[f64::NAN, 0.5]), 0.0);
}

#[test]
fn leaves_learn_until_the_next_fit() {
    let mut model = randomised(0.0);
    (0..FIRST).for_each(|t| learn(&mut model, &[f64::from(t % 2 == 0)], (t % 2) as f64));
    // The leaf has sixteen events of target 0 so far.
    (0..15).for_each(|_| learn(&mut model, &[1.0], 1.0));
    assert_eq!(model.refits.fitted, FIRST);
    assert!((score(&mut model, &[1.0]) - 15.0 / 31.0).abs() < 1e-9);
}

#[test]
fn tree_depth_is_bounded() {
    let mut model = randomised(0.0);
    // Each cut removes only a few of the largest.
    (0..300).for_each(|t| learn(&mut model, &[10.0_f64.powi(t % 300 - 200)], f64::from(t % 7)));
    let nodes = &model.ensemble.nodes;
    let mut depth = vec![0; nodes.len()];
    for (at, node) in nodes.iter().enumerate().filter(|(_, node)| node.coordinate != NONE) {
        let below = node.below as usize;
        (depth[below], depth[below + 1]) = (depth[at] + 1, depth[at] + 1);
    }
    assert_eq!(depth.iter().max(), Some(&64));
}

#[test]
fn informative_column_is_found_among_many() {
    let (mut model, mut numbers) = (randomised(0.0), Numbers::new(2));
    let mut off = 0.0;
    for t in 0..400 {
        let values: Vec<f64> = (0..40).map(|_| f64::from(numbers.unit() > 0.5)).collect();
        let target = 4.0 * values[17];
        off += if t < 300 { 0.0 } else { (score(&mut model, &values) - target).abs() / 100.0 };
        learn(&mut model, &values, target);
    }
    assert!(off < 0.1, "{off}");
}
