//! Tests of `rated`.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use super::*;
use crate::rate_key::{as_value, key_of};
use crate::state::ensure;
use crate::test_random::TestRandom;

/// Coordinates and values of events.
type Seen = Arc<Mutex<Vec<(Vec<u32>, Vec<f64>)>>>;

/// A learner that records what it sees.
#[derive(Clone)]
struct Recorder {
    classes: usize,
    seen: Seen,
}

impl Learner for Recorder {
    fn classes(&self) -> usize {
        self.classes
    }

    fn steps(&self) -> u64 {
        0
    }

    fn step(&mut self, event: Event, _: Lesson, scores: &mut [f64]) -> f64 {
        scores.fill(event.values.iter().sum());
        self.seen.lock().unwrap().push((event.coordinates.to_vec(), event.values.to_vec()));
        0.0
    }

    fn forget(&mut self, _evicted: &Evicted) {}

    fn widen(&mut self, classes: usize) {
        self.classes = classes;
    }

    fn restart(&mut self, _: u64) {
        self.classes = 1;
    }

    fn summary(&self) -> Vec<(&'static str, Fact)> {
        vec![("bytes", Fact::Count(1))]
    }

    fn state(&self) -> State {
        let mut state = State::default();
        state.put_i64s("classes", vec![self.classes as i64], &[1]);
        state
    }

    fn restore(&mut self, state: &State, _: usize, _: usize) -> Result<(), Refused> {
        self.classes = state.i64s("classes")?.0[0] as usize;
        ensure(state.0.len() == 1, "what is not its own")
    }
}

const PLAIN: Settings = Settings { rates: 3, regression: false, scale: false, longest: f64::INFINITY };
const SCALED: Settings = Settings { scale: true, ..PLAIN };

fn rated(settings: Settings) -> (Rated, Seen) {
    let seen = Seen::default();
    (Rated::new(Box::new(Recorder { classes: 1, seen: seen.clone() }), settings), seen)
}

/// Events with a category, some of them also with one of a second attribute, and their labels.
fn stream(events: u64, label: impl Fn(u64) -> f64) -> (Filled, Vec<Lesson<'static>>) {
    let (mut block, mut lessons) = (Filled::default(), Vec::new());
    block.clear();
    let mut seed = 7_u64;
    for _ in 0..events {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let random = seed >> 33;
        block.push(0, 0, 1.0, 1.0);
        block.push(1, 1 + (random % 9) as u32, 1.0, 1.0);
        let mut push = |attribute, key| {
            (0..3).for_each(|i| block.push(attribute, 10 * attribute + i, as_value(key), 0.0))
        };
        push(2, key_of(1, &[(random % 9) as u8]));
        if random % 7 < 3 {
            push(4, key_of(3, &[(random % 5) as u8]));
        }
        block.end_event();
        lessons.push(match random % 11 {
            0 => Lesson::NONE,
            1 => Lesson::of(f64::NAN),
            2 => Lesson { weight: 2.5, ..Lesson::of(label(random)) },
            _ => Lesson::of(label(random)),
        });
    }
    (block, lessons)
}

fn binary(random: u64) -> f64 {
    if random % 9 < 3 || random.is_multiple_of(13) { 1.0 } else { -1.0 }
}

fn run(learner: &mut Rated, block: &Block, lessons: &[Lesson]) -> Vec<f64> {
    let mut scores = vec![0.0; lessons.len() * learner.classes()];
    learner.run(block, lessons, &mut scores, &mut vec![0.0; lessons.len()]);
    scores
}

fn logit(share: f64) -> f64 {
    (share / (1.0 - share)).ln()
}

/// The rates of each event, from the definition.
fn reference(block: &Block, lessons: &[Lesson], regression: bool) -> Vec<Vec<f64>> {
    let mut all: HashMap<u32, (f64, f64)> = HashMap::new();
    let mut own: HashMap<u64, (f64, f64)> = HashMap::new();
    let mut errors: HashMap<u32, [f64; 5]> = HashMap::new();
    let shrinks = [0.25, 1.0, 4.0, 16.0, 64.0];
    let mut result = Vec::new();
    for (t, lesson) in lessons.iter().enumerate() {
        let event = block.event(t);
        let keys = event.coordinates.iter().zip(event.values);
        let keys = keys.filter(|(coordinate, value)| is_key(**value) && **coordinate % 10 == 0);
        let mut rates = Vec::new();
        for (&coordinate, value) in keys {
            let (count, sum) = all.get(&coordinate).copied().unwrap_or_default();
            let known = own.get(&value.to_bits()).copied();
            let (n, s) = known.unwrap_or_default();
            let errors = errors.entry(coordinate).or_default();
            let k = shrinks[(0..5).fold(2, |best, k| if errors[k] < errors[best] { k } else { best })];
            rates.push(if regression {
                let mean = sum / f64::max(count, 1e-9);
                (s + k * mean) / (n + k) - mean
            } else {
                let prior = (sum + 1.0) / (count + 2.0);
                logit((s + k * prior) / (n + k)) - logit(prior)
            });
            if lesson.is_learned() {
                let label = lesson.label.max(0.0);
                let prior = (sum + if regression { 0.0 } else { 1.0 }) / (count + 2.0);
                for (error, k) in errors.iter_mut().zip(shrinks).filter(|_| known.is_some()) {
                    let away = label - (s + k * prior) / (n + k);
                    *error = *error * (1.0 - 1.0 / 5000.0) + lesson.weight.min(1.0) * away * away;
                }
                all.insert(coordinate, (count + lesson.weight, sum + lesson.weight * label));
                own.insert(value.to_bits(), (0.99 * n + lesson.weight, 0.99 * s + lesson.weight * label));
            }
        }
        result.push(rates);
    }
    result
}

fn assert_rates(seen: &Seen, expected: &[Vec<f64>], block: &Block) {
    for (t, ((coordinates, values), expected)) in seen.lock().unwrap().iter().zip(expected).enumerate() {
        let event = block.event(t);
        // With two classes, only the first coordinate of each.
        let places = event.coordinates.iter().filter(|&&place| place < 20 || place % 10 == 0);
        assert!(coordinates.iter().eq(places));
        let rates = coordinates.iter().zip(values).filter(|(place, _)| **place >= 20);
        let rates: Vec<f64> = rates.map(|(_, rate)| *rate).collect();
        assert_eq!(rates.len(), expected.len());
        assert!(
            rates.iter().zip(expected).all(|(rate, expected)| (rate - expected).abs() < 1e-12),
            "{t} {rates:?} {expected:?}"
        );
    }
}

#[test]
fn binary_rates_are_shrunken_log_odds_of_earlier_labels() {
    let (mut learner, seen) = rated(PLAIN);
    let (events, lessons) = stream(500, binary);
    run(&mut learner, &events.block(), &lessons);
    assert_rates(&seen, &reference(&events.block(), &lessons, false), &events.block());
}

#[test]
fn regression_rates_are_shrunken_means() {
    let (mut learner, seen) = rated(Settings { regression: true, ..PLAIN });
    let (events, lessons) = stream(500, |random| (random % 9) as f64 / 3.0);
    run(&mut learner, &events.block(), &lessons);
    assert_rates(&seen, &reference(&events.block(), &lessons, true), &events.block());
}

/// The rate of a category, after 2,000 events with one of forty, and how much the average of all weighs in it; labels
/// are +1 with a probability given by the category.
fn rate_of_one(chance: impl Fn(usize) -> f64) -> (f64, f64) {
    let ((mut learner, seen), mut random) = (rated(PLAIN), TestRandom(3));
    let mut step = |category: usize, lesson: Lesson| {
        let key = as_value(key_of(1, &[category as u8]));
        learner.step(Event::of(&[20], &[20], &[key]), lesson, &mut [0.0]);
        seen.lock().unwrap().last().unwrap().1[0]
    };
    for _ in 0..2000 {
        let category = random.below(40);
        step(category, Lesson::of(if random.unit() < chance(category) { 1.0 } else { -1.0 }));
    }
    let rate = step(0, Lesson::NONE);
    (rate, learner.attributes[&20].shrink())
}

#[test]
fn rates_are_shrunken_more_where_categories_hardly_differ() {
    let (alike, strongly) = rate_of_one(|_| 0.5);
    assert!(strongly == 64.0 && alike.abs() < 0.3, "{alike} {strongly}");
    let (different, weakly) = rate_of_one(|category| if category % 2 == 0 { 1.0 } else { 0.0 });
    assert!(weakly == 0.25 && different > 4.0, "{different} {weakly}");
}

#[test]
fn shared_labels_do_not_count_as_evidence_on_shrinkage() {
    // The five events of each of ten categories share a label, which comes after all of them.
    for (are_late, evidence) in [(true, 0), (false, 40)] {
        let (mut learner, _) = rated(PLAIN);
        for category in 0..10_u8 {
            let key = [as_value(key_of(1, &[category]))];
            let mut step = |lesson| learner.step(Event::of(&[20], &[20], &key), lesson, &mut [0.0]);
            let tickets = (1..=5).map(|event| if are_late { 5 * u64::from(category) + event } else { 0 });
            for ticket in tickets.clone() {
                step(Lesson { ticket, ..Lesson::NONE });
            }
            for ticket in tickets {
                step(Lesson { ticket, ..Lesson::of(1.0) });
            }
        }
        assert_eq!(learner.attributes[&20].errors.seen, evidence);
    }
}

#[test]
fn scaled_rates_are_halved_and_unlearned_labels_have_no_effect() {
    let ((mut plain, plainly), (mut learner, seen)) = (rated(PLAIN), rated(SCALED));
    let (events, lessons) = stream(500, binary);
    run(&mut plain, &events.block(), &lessons);
    run(&mut learner, &events.block(), &lessons);
    let mut most: f64 = 0.0;
    for ((_, plain), (_, scaled)) in plainly.lock().unwrap().iter().zip(&*seen.lock().unwrap()) {
        assert_eq!((0.5 * plain[2]).clamp(-5.0, 5.0), scaled[2]);
        most = most.max(plain[2].abs());
    }
    assert!(most > 3.0);
    let before = learner.state();
    for lesson in [Lesson::NONE, Lesson::of(f64::NAN), Lesson { weight: 0.0, ..Lesson::of(1.0) }] {
        learner.step(events.block().event(0), lesson, &mut [0.0]);
    }
    assert_eq!(learner.state(), before);
}

#[test]
fn blocks_single_events_and_resumed_learners_agree() {
    let (events, lessons) = stream(300, binary);
    let block = events.block();
    let ((mut whole, _), (mut single, _)) = (rated(SCALED), rated(SCALED));
    let expected = run(&mut whole, &block, &lessons);
    let mut scores = Vec::new();
    for (t, lesson) in lessons.iter().enumerate() {
        if t % 50 == 20 {
            let state = single.state();
            single = rated(SCALED).0;
            single.restore(&state, 99, 99).unwrap();
        }
        let mut score = [0.0];
        if t % 3 == 0 {
            single.step(block.event(t), Lesson::NONE, &mut score);
            let before = score;
            single.learn_predicted(block.event(t), *lesson, &mut score);
            assert_eq!(before, score);
        } else {
            single.step(block.event(t), *lesson, &mut score);
        }
        scores.extend(score);
    }
    assert_eq!(scores, expected);
    assert_eq!(single.state(), whole.state());
}

#[test]
fn own_label_does_not_affect_own_score() {
    let (events, lessons) = stream(100, binary);
    let at = (50..100).rfind(|&t| lessons[t].is_learned()).unwrap();
    let mut permuted = lessons.clone();
    permuted[at].label = -permuted[at].label;
    let ((mut one, _), (mut other, _)) = (rated(SCALED), rated(SCALED));
    let block = events.block();
    let scores = [run(&mut one, &block, &lessons), run(&mut other, &block, &permuted)];
    assert_eq!(scores[0][..=at], scores[1][..=at]);
    assert_ne!(one.state(), other.state());
}

#[test]
fn widening_adds_class_rates_and_keeps_existing_ones() {
    let (mut learner, seen) = rated(PLAIN);
    let (events, lessons) = stream(200, binary);
    run(&mut learner, &events.block(), &lessons);
    let mut score = [0.0; 5];
    let event = events.block().event(0);
    learner.step(event, Lesson::NONE, &mut score[..1]);
    learner.widen(3);
    learner.step(event, Lesson::NONE, &mut score[..3]);
    let two_and_three: Vec<_> = seen.lock().unwrap()[200..].to_vec();
    let ((_, two), (places, three)) = (&two_and_three[0], &two_and_three[1]);
    assert_eq!(places[2..5], [20, 21, 22]);
    // Two classes are each other's opposite; there are no data on the third, for which a few labels have a large
    // effect.
    assert!(two[2] == three[2] && (two[2] + three[3]).abs() < 1e-9);
    for class in [0.0, 1.0, 2.0, 2.0, 2.0, 2.0, 2.0] {
        learner.step(event, Lesson::of(class), &mut score[..3]);
    }
    learner.step(event, Lesson::NONE, &mut score[..3]);
    assert!(seen.lock().unwrap().last().unwrap().1[4] > three[4] + 1.0);
    // Classes beyond the maximum have no rates.
    learner.widen(5);
    learner.step(event, Lesson::NONE, &mut score);
    assert_eq!(seen.lock().unwrap().last().unwrap().0.len(), places.len());
    let mut back = rated(PLAIN).0;
    back.restore(&learner.state(), 99, 99).unwrap();
    assert_eq!(back.state(), learner.state());
}

#[test]
fn multiple_categories_sum_rates_over_square_root_of_count() {
    let (mut learner, seen) = rated(PLAIN);
    let (one, other) = (as_value(key_of(1, b"a")), as_value(key_of(1, b"b")));
    let mut step = |values: &[f64], label: f64| {
        let places = &[20, 20][..values.len()];
        let event = Event::of(places, places, values);
        learner.step(event, if label == 0.0 { Lesson::NONE } else { Lesson::of(label) }, &mut [0.0]);
        seen.lock().unwrap().last().unwrap().1.clone()
    };
    for label in [1.0, 1.0, -1.0] {
        step(&[one], label);
        step(&[other], -label);
    }
    let (each, both) = ([step(&[one], 0.0)[0], step(&[other], 0.0)[0]], step(&[one, other], 0.0));
    assert_eq!(both.len(), 1);
    assert!(each[0] > 0.0 && each[1] < 0.0 && (both[0] * 2.0_f64.sqrt() - each[0] - each[1]).abs() < 1e-12);
}

#[test]
fn events_without_rated_categories_pass_through_unchanged() {
    let (mut learner, seen) = rated(SCALED);
    let (attributes, coordinates, values) = ([0, 1], [0, 1], [1.0, -3.5]);
    let event = Event::of(&attributes, &coordinates, &values);
    learner.step(event, Lesson::of(1.0), &mut [0.0]);
    run(&mut learner, &Block::of(&event, &[0, 2]), &[Lesson::of(1.0)]);
    assert_eq!(*seen.lock().unwrap(), vec![(coordinates.to_vec(), values.to_vec()); 2]);
    assert_eq!(learner.state().0.len(), 1);
    assert_eq!(learner.summary(), [("bytes", Fact::Count(1))]);
}

#[test]
fn table_is_bounded_and_keeps_frequent_and_recent_keys() {
    let mut table = Table::new(1);
    let keys: Vec<u64> = (0..400_000_u32).map(|i| key_of(1, &i.to_le_bytes())).collect();
    for (at, &key) in keys.iter().enumerate() {
        *table.enter(key).count += 1.0;
        *table.enter(keys[at % 100]).count += 1.0;
    }
    assert!(table.count() <= 1 << 16 && table.bytes() < 3 << 20);
    assert!(keys[..100].iter().all(|&key| table.find(key).is_some_and(|(count, _)| count > 3_000.0)));
    assert!(keys[399_000..].iter().all(|&key| table.find(key).is_some()));
}

#[test]
fn invalid_states_are_refused() {
    use crate::state::Array;
    let (mut learner, _) = rated(SCALED);
    let (events, lessons) = stream(100, binary);
    run(&mut learner, &events.block(), &lessons);
    let state = learner.state();
    assert!(rated(SCALED).0.restore(&state, 99, 40).is_err());
    for (name, wrong) in [
        ("keys", Array::U64(vec![0], vec![1])),
        ("keys", Array::U64(vec![1 << 53], vec![1])),
        ("gains", Array::F64(vec![f64::NAN], vec![1])),
        ("gains_seen", Array::I64(vec![-1], vec![1])),
        ("key_counts", Array::F64(vec![-1.0], vec![1])),
        ("key_sums", Array::F64(vec![f64::NAN], vec![1])),
        ("key_times", Array::I64(vec![-1], vec![1])),
        ("coordinates", Array::I32(vec![-1], vec![1])),
        ("counts", Array::F64(vec![f64::INFINITY], vec![1])),
        ("sums", Array::F64(vec![-1.0], vec![1])),
        ("errors", Array::F64(vec![-1.0], vec![1])),
        ("errors_seen", Array::I64(vec![-1], vec![1])),
    ] {
        let name = format!("rates.{name}");
        // In place of the first number, and in place of all.
        let (mut first, mut whole) = (state.clone(), state.clone());
        match (first.0.get_mut(&name).unwrap(), &wrong) {
            (Array::F64(own, _), Array::F64(one, _)) => own[0] = one[0],
            (Array::I64(own, _), Array::I64(one, _)) => own[0] = one[0],
            (Array::I32(own, _), Array::I32(one, _)) => own[0] = one[0],
            (Array::U64(own, _), Array::U64(one, _)) => own[0] = one[0],
            _ => unreachable!(),
        }
        whole.0.insert(name.clone(), wrong);
        for spoilt in [first, whole] {
            let mut other = rated(SCALED).0;
            assert!(other.restore(&spoilt, 99, 99).is_err(), "{name}");
            assert_eq!(other.state(), rated(SCALED).0.state());
        }
    }
}
