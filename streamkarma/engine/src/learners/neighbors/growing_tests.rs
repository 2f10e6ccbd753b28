//! Windows that grow, and windows that do not.

use super::cutting_tests::turning;
use super::merging_tests::merged;
use super::tests::{Numbers, Sample, learner, step, stream, teach};
use super::*;

const WINDOW: usize = 50;

fn growing(regression: bool) -> Neighbors {
    Neighbors::new(Settings { regression, window: WINDOW, grows: true, neighbors: 5 }).unwrap()
}

/// Samples of two numbers, labelled by the field of a chequered board, which moves by `speed` per sample.
fn board(seed: u64, events: usize, speed: f64) -> Vec<Sample> {
    let mut numbers = Numbers(seed);
    let mut sample = |t: usize| {
        let [x, y] = [0; 2].map(|_| 3.0 * numbers.unit() - 1.5);
        let field = (2.0 * (x + speed * t as f64)).floor() + (2.0 * y).floor();
        Sample::of(&[(1, 1, x), (2, 2, y)], if field.rem_euclid(2.0) == 0.0 { 1.0 } else { -1.0 })
    };
    (0..events).map(&mut sample).collect()
}

/// The number of wrong predictions among the last 1,000.
fn errors(model: &mut Neighbors, samples: &[Sample]) -> usize {
    let wrong = |sample: &Sample| step(model, sample, sample.lesson()) * sample.label <= 0.0;
    let all: Vec<bool> = samples.iter().map(wrong).collect();
    all[all.len() - 1000..].iter().filter(|wrong| **wrong).count()
}

#[test]
fn window_grows_on_a_stationary_distribution() {
    let samples = board(1, 4000, 0.0);
    let mut model = growing(false);
    let mut fixed = super::tests::learner(false, WINDOW, 5);
    let few = errors(&mut model, &samples);
    assert_eq!((model.room, model.labels.len()), (16 * WINDOW, 16 * WINDOW));
    assert!(4 * few < errors(&mut fixed, &samples));
    assert_eq!((fixed.room, fixed.labels.len()), (WINDOW, WINDOW));
}

#[test]
fn window_of_any_length_holds_latest_events() {
    let (samples, mut model) = (board(2, 1500, 0.0), growing(false));
    for (t, sample) in samples.iter().enumerate() {
        teach(&mut model, sample);
        let events = model.labels.len();
        let oldest = (0..events).min_by_key(|&slot| model.learned_at[slot]).unwrap();
        for age in 0..events {
            let slot = (oldest + age) % events;
            assert_eq!(model.learned_at[slot], (t + 2 - events + age) as u64);
            let kept = model.columns.of(1).unwrap().get(slot);
            assert_eq!(kept, samples[t + 1 - events + age].values[1] as f32);
        }
    }
    assert!(model.room > WINDOW);
}

#[test]
fn window_stays_short_and_shrinks_under_drift() {
    // Within 500 events the board moves by one field: of fixed windows, one of 200 events has the fewest errors.
    let mut model = growing(false);
    board(3, 2000, 0.001).iter().for_each(|sample| teach(&mut model, sample));
    assert!(model.room <= 8 * WINDOW, "{}", model.room);
    let mut model = growing(false);
    board(4, 3000, 0.0).iter().for_each(|sample| teach(&mut model, sample));
    assert_eq!(model.room, 16 * WINDOW);
    board(5, 4000, 0.001).iter().for_each(|sample| teach(&mut model, sample));
    assert!(model.room <= 8 * WINDOW, "{}", model.room);
}

#[test]
fn cut_shrinks_room_to_fit_remaining_events() {
    let (samples, mut model) = (turning(6, 3200, 3000), growing(false));
    samples[..3000].iter().for_each(|sample| teach(&mut model, sample));
    assert_eq!(model.room, 16 * WINDOW);
    samples[3000..3050].iter().for_each(|sample| teach(&mut model, sample));
    assert!(model.labels.len() <= 50 && model.room == WINDOW);
    samples[3050..].iter().for_each(|sample| teach(&mut model, sample));
    assert!(model.labels.len() <= 200 && model.room <= 8 * WINDOW);
}

#[test]
fn wide_window_growth_is_bounded() {
    let mut model =
        Neighbors::new(Settings { regression: false, window: 1000, grows: true, neighbors: 5 }).unwrap();
    let mut numbers = Numbers(7);
    for _ in 0..6000 {
        let items: Vec<_> = (1..=16).map(|a| (a, a, numbers.unit())).collect();
        let label = if (10.0 * items[0].2).floor() % 2.0 == 0.0 { 1.0 } else { -1.0 };
        teach(&mut model, &Sample::of(&items, label));
    }
    assert_eq!(model.room, 4000);
}

#[test]
fn window_grows_less_with_few_predictions() {
    for (period, room) in [(1, 2048), (8, 1024)] {
        let mut model =
            Neighbors::new(Settings { regression: false, window: 128, grows: true, neighbors: 5 }).unwrap();
        for (t, sample) in board(8, 2560, 0.0).iter().enumerate() {
            // Thirty more attributes, which are constant.
            let numbers = (1..=2).map(|a| (a, a, sample.values[a as usize]));
            let items: Vec<_> = numbers.chain((3..=32).map(|a| (a, a, 1.0))).collect();
            let sample = Sample::of(&items, sample.label);
            step(&mut model, &sample, Lesson { wants_scores: t % period == 0, ..sample.lesson() });
        }
        assert_eq!(model.room, room);
    }
}

#[test]
fn restored_model_continues_exactly() {
    for regression in [false, true] {
        let samples = board(9, 900, 0.0);
        for at in [3, 49, 50, 51, 130, 400, 777] {
            let mut model = growing(regression);
            samples[..at].iter().for_each(|sample| teach(&mut model, sample));
            let mut back = growing(regression);
            back.restore(&model.state(), 3, 3).unwrap();
            for sample in &samples[at..] {
                let lesson = sample.lesson();
                assert_eq!(step(&mut model, sample, lesson), step(&mut back, sample, lesson));
            }
            assert_eq!(back.state(), model.state());
            assert!(model.room > WINDOW);
        }
    }
}

#[test]
fn shrunken_window_of_heavy_events_can_be_restored() {
    let (mut model, mut times) = (growing(false), 0);
    for sample in board(12, 1700, 0.0).iter().chain(&board(13, 4000, 0.001)) {
        let before = model.room;
        step(&mut model, sample, Lesson { weight: 30.0, ..sample.lesson() });
        if model.room < before {
            growing(false).restore(&model.state(), 3, 3).unwrap();
            times += 1;
        }
    }
    assert!(times > 0);
}

#[test]
fn merged_windows_are_as_long_as_the_longest() {
    let base = growing(false);
    let [one, two] = [(10, 2000), (11, 30)].map(|(seed, events)| {
        let mut part = base.clone();
        board(seed, events, 0.0).iter().for_each(|sample| teach(&mut part, sample));
        part
    });
    let all = merged(&base, &[&one, &two]);
    assert!(one.room > 4 * WINDOW && two.room == WINDOW);
    assert_eq!((all.room, all.labels.len()), (one.room, one.room.min(one.labels.len() + two.labels.len())));
    assert_eq!(merged(&base, &[&two, &one]).state(), all.state());
}

#[test]
fn find_newest_matches_filtered_search() {
    let (samples, mut learner) = (stream(4, 250), learner(false, 100, 3));
    for sample in &samples {
        step(&mut learner, sample, Lesson::NONE);
        let (events, next) = (learner.labels.len(), learner.next);
        learner.nearest.find_newest(events, next, events, events.max(1));
        let all = learner.nearest.found.clone();
        for newest in [0, 1, 2, events / 3, events / 2, events.saturating_sub(1), events] {
            let age = |slot| if slot < next { next - 1 - slot } else { next + events - 1 - slot };
            let mut expected = all.clone();
            expected.retain(|&(_, slot)| age(slot) < newest);
            expected.truncate(3);
            learner.nearest.find_newest(events, next, newest, 3);
            assert_eq!(learner.nearest.found, expected);
        }
        step(&mut learner, sample, sample.lesson());
    }
}
