//! Windows that are cut after a change, against the events they should contain.

use super::tests::{Numbers, Sample, learner, step, stream, teach};
use super::*;
use crate::learners::neighbors::column::ABSENT;

const WINDOW: usize = 200;
/// The number of events before the change.
const CHANGE: usize = 500;

/// Samples labelled by the sign of the first of two numbers; after `change` events the sign is flipped.
pub(super) fn turning(seed: u64, events: usize, change: usize) -> Vec<Sample> {
    let mut numbers = Numbers(seed);
    let mut sample = |t| {
        let [x, y] = [0; 2].map(|_| 4.0 * numbers.unit() - 2.0);
        let sign = if t < change { x.signum() } else { -x.signum() };
        let items = [(1, 1, x), (2, 2, y)];
        Sample::of(&items[..if t % 5 == 4 { 1 } else { 2 }], sign)
    };
    (0..events).map(&mut sample).collect()
}

/// Check that the window holds exactly the latest of all samples, with no trace of others.
fn assert_holds_latest(model: &Neighbors, samples: &[Sample]) {
    let events = model.labels.len();
    let latest = &samples[samples.len() - events..];
    let slot_of = |age: usize| (model.next + age) % events;
    for (age, sample) in latest.iter().enumerate() {
        let slot = slot_of(age);
        assert_eq!(model.labels[slot], f64::from(u8::from(sample.label > 0.0)));
        assert_eq!(model.learned_at[slot], (samples.len() - events + age + 1) as u64);
        for attribute in 1..3 {
            let at = sample.attributes.iter().position(|own| *own == attribute);
            let value = at.map_or(ABSENT, |at| sample.values[at] as f32);
            assert_eq!(model.columns.of(attribute).unwrap().get(slot), value);
        }
    }
    let positive = latest.iter().filter(|sample| sample.label > 0.0).count();
    assert_eq!(model.counts, [events - positive, positive].map(|count| (count as u128) << 40));
    for attribute in 1..3 {
        let observed = latest.iter().filter(|sample| sample.attributes.contains(&attribute)).count();
        assert_eq!(model.columns.of(attribute).unwrap().observed, observed);
    }
}

#[test]
fn window_holds_only_new_events_after_a_change() {
    let (samples, mut model) = (turning(1, 1000, CHANGE), learner(false, WINDOW, 5));
    let (mut cuts, mut wrong) = (0, 0);
    for (t, sample) in samples.iter().enumerate() {
        let before = model.labels.len();
        let score = step(&mut model, sample, sample.lesson());
        if model.labels.len() < WINDOW.min(before + 1) {
            cuts += 1;
            assert!((CHANGE..CHANGE + 32).contains(&t), "{t}");
            assert!(model.labels.len() <= t + 10 - CHANGE, "{t}");
        }
        assert_holds_latest(&model, &samples[..=t]);
        wrong += usize::from(t >= CHANGE + 32 && score * sample.label <= 0.0);
    }
    assert!((1..4).contains(&cuts) && model.labels.len() == WINDOW);
    assert!(wrong < 30, "{wrong} of 470");
}

#[test]
fn errors_are_counted_only_for_predicted_events() {
    let (samples, mut model) = (turning(2, 700, CHANGE), learner(false, WINDOW, 5));
    let mut fewest = WINDOW;
    for (t, sample) in samples.iter().enumerate() {
        let lesson = Lesson { wants_scores: t % 2 == 0, ..sample.lesson() };
        let (before, mut score) = (model.errors.len(), [0.0]);
        model.step(sample.event(), lesson, &mut score);
        assert!(lesson.wants_scores || model.errors.len() == before);
        if t > CHANGE && model.errors.len() < before {
            assert_eq!(model.asked.iter().filter(|asked| **asked).count() as u64, model.errors.len());
            fewest = fewest.min(model.labels.len());
        }
        assert_holds_latest(&model, &samples[..=t]);
    }
    assert!(fewest < 3 * WINDOW / 4, "{fewest}");
}

#[test]
fn noise_and_falling_error_do_not_cut() {
    // Labels that are pure noise, then constant.
    let (mut samples, mut model) = (stream(3, 3000), learner(false, WINDOW, 5));
    let labels: Vec<f64> = stream(4, 3000).into_iter().map(|sample| sample.label).collect();
    samples.iter_mut().zip(labels).for_each(|(sample, label)| sample.label = label);
    samples.iter_mut().skip(2000).for_each(|sample| sample.label = 1.0);
    for (t, sample) in samples.iter().enumerate() {
        teach(&mut model, sample);
        assert_eq!(model.labels.len(), WINDOW.min(t + 1));
    }
    assert!(model.errors.len() < 1500);
}

#[test]
fn target_shift_cuts_the_window() {
    let (mut samples, mut model) = (stream(5, 600), learner(true, WINDOW, 5));
    samples.iter_mut().skip(CHANGE).for_each(|sample| sample.label += 5.0);
    for (t, sample) in samples.iter().enumerate() {
        teach(&mut model, sample);
        assert!(t < CHANGE || model.labels.len() == WINDOW || model.labels.len() <= t + 16 - CHANGE);
        assert_eq!(model.target.count, model.labels.len() as f64);
    }
    assert!(model.labels.len() <= 616 - CHANGE && model.target.mean > 3.0, "{model:?}");
}

#[test]
fn restored_window_is_cut_at_the_same_events() {
    let (samples, mut model) = (turning(6, 650, CHANGE), learner(false, WINDOW, 5));
    let mut others = Vec::new();
    for (t, sample) in samples.iter().enumerate() {
        if [0, 1, 450, 503, 506, 510, 520, 560].contains(&t) {
            let mut back = learner(false, WINDOW, 5);
            back.restore(&model.state(), 4, 4).unwrap();
            others.push(back);
        }
        let lesson = Lesson { wants_scores: t % 3 > 0, ..sample.lesson() };
        let mut score = [0.0];
        model.step(sample.event(), lesson, &mut score);
        for other in &mut others {
            let mut same = [0.0];
            other.step(sample.event(), lesson, &mut same);
            assert_eq!(score.map(f64::to_bits), same.map(f64::to_bits));
        }
    }
    assert!(model.labels.len() < WINDOW);
    assert!(others.iter().all(|other| other.state() == model.state()));
}
