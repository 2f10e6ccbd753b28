//! Tests of features against the kernel, of growing tables, and of states.

use super::*;
use crate::kernel::growth;
use crate::learners::linear::Update;
use crate::loss::Loss;
use crate::state::Array;

/// The attributes of an event, each with its coordinate and value.
pub(super) type Items = Vec<(u32, u32, f64)>;

pub(super) fn step(update: Update) -> Step {
    let loss = if update == Update::Adagrad { Loss::Logistic } else { Loss::Hinge };
    let eta = if update == Update::Adagrad { 0.3 } else { 0.0 };
    Step { update, loss, r: 1.0, eta, rho: 0.01, steepness: 1.0, half_life: 100.0, restarts: false }
}

/// An event with some of `most` attributes, determined by `seed`; every third one is a set of categories.
pub(super) fn items(seed: u64, most: u32) -> Items {
    let mut bits = (seed + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let mut result = vec![(0, 0, 1.0)];
    for attribute in 1..=most {
        bits = (bits ^ (bits >> 29)).wrapping_mul(0xBF58_476D_1CE4_E5B9).wrapping_add(seed);
        let value = (bits >> 40) as f64 / (1u64 << 23) as f64 - 1.0;
        match (bits >> 20) % 2 {
            0 => {}
            _ if attribute % 3 > 0 => result.push((attribute, attribute, value)),
            _ => {
                let (first, both) = ((bits >> 33) as u32 % 2, (bits >> 35).is_multiple_of(3));
                let tags = if both { 0..2 } else { first..first + 1 };
                result.extend(tags.map(|tag| (attribute, most + attribute + tag, 1.0)));
            }
        }
    }
    result
}

/// Number of attributes that an event shares with another, or has, if both are the same.
fn shared(one: &Items, other: &Items) -> f64 {
    let mut attributes: Vec<u32> = one.iter().map(|item| item.0).collect();
    attributes.dedup();
    attributes.iter().filter(|&&a| other.iter().any(|b| a == b.0)).count() as f64
}

pub(super) fn with_event<T>(items: &Items, body: impl FnOnce(Event) -> T) -> T {
    let attributes: Vec<u32> = items.iter().map(|item| item.0).collect();
    let coordinates: Vec<u32> = items.iter().map(|item| item.1).collect();
    let values: Vec<f64> = items.iter().map(|item| item.2).collect();
    body(Event::of(&attributes, &coordinates, &values))
}

pub(super) fn take(learner: &mut impl Learner, items: &Items, label: f64, weight: f64) -> Vec<f64> {
    let mut scores = vec![f64::NAN; learner.classes()];
    let lesson = Lesson { label, weight, ..Lesson::NONE };
    with_event(items, |event| learner.step(event, lesson, &mut scores));
    scores
}

/// A learner that has learned a hundred events with up to twelve attributes.
fn learned(gamma: usize, update: Update, table_bits: u32, classes: usize) -> Explicit {
    let mut learner = Explicit::new(gamma, true, step(update), table_bits).unwrap();
    if classes > 1 {
        learner.widen(classes);
    }
    for t in 0..100 {
        let label = if classes > 1 { (t % classes as u64) as f64 } else { 1.0 - 2.0 * (t % 2) as f64 };
        take(&mut learner, &items(t, 3 + t as u32 / 11), label, 1.0);
    }
    learner
}

pub(super) const ALL: [Update; 3] = [Update::Sgd, Update::Arow, Update::Adagrad];

#[test]
fn feature_products_match_the_kernel() {
    for (gamma, hashed) in [1, 2, 3].into_iter().flat_map(|gamma| [(gamma, false), (gamma, true)]) {
        let mut map = FeatureMap::new(gamma, false, 1 << 30);
        (map.attributes, map.coordinates) = (10, 30);
        map.layout = Layout::Plain { set_bits: 6 };
        if hashed {
            map.layout = Layout::Hashed { bits: 30 };
        }
        for t in 0..40 {
            let (one, other) = (items(t, 9), items(t + 99, 9));
            let (mut left, mut right) = (Features::default(), Features::default());
            with_event(&one, |event| map.expand(&event, &mut left));
            with_event(&other, |event| map.expand(&event, &mut right));
            let product: f64 = left
                .index
                .iter()
                .zip(&left.phi)
                .flat_map(|(i, x)| right.index.iter().zip(&right.phi).map(move |(j, z)| (i == j, x * z)))
                .filter_map(|(meets, product)| meets.then_some(product))
                .sum();
            let linear: f64 = one
                .iter()
                .flat_map(|a| other.iter().map(move |b| if a.1 == b.1 { a.2 * b.2 } else { 0.0 }))
                .sum();
            let kernel = growth(shared(&one, &other), gamma as u32) * linear;
            assert!((product - kernel).abs() < 1e-9 * (1.0 + kernel.abs()), "{gamma} {product} {kernel}");
        }
    }
}

#[test]
fn unknown_features_affect_only_the_norm() {
    let mut learner = learned(2, Update::Arow, 18, 1);
    let mut event = items(5, 8);
    let before = learner.map.clone();
    let alone = take(&mut learner, &event, f64::NAN, 1.0)[0];
    event.push((u32::MAX >> 1, u32::MAX >> 1, 0.0));
    let beside = take(&mut learner, &event, f64::NAN, 1.0)[0];
    let size = shared(&event, &event);
    let expected = alone * size.sqrt() / (1.0 + size).sqrt();
    assert!((beside - expected).abs() < 1e-12);
    take(&mut learner, &event, 1.0, 0.0);
    assert_eq!((learner.map.attributes, learner.map.coordinates), (before.attributes, before.coordinates));
    // Once the event is learned, the table is hashed, and nothing breaks.
    take(&mut learner, &event, 1.0, 1.0);
    assert!(learner.map.layout.is_hashed());
}

#[test]
fn growing_or_hashing_the_table_preserves_scores() {
    for (gamma, update) in [1, 2, 3].into_iter().flat_map(|gamma| ALL.map(|update| (gamma, update))) {
        let mut learner = learned(gamma, update, 22, 1);
        let before = take(&mut learner, &items(7, 9), f64::NAN, 1.0)[0];
        (learner.map.attributes, learner.map.coordinates) = (40, 90);
        learner.make_room(1);
        assert!(!learner.map.layout.is_hashed());
        assert_eq!(take(&mut learner, &items(7, 9), f64::NAN, 1.0)[0], before);
        learner.map.attributes = 100_000;
        learner.map.coordinates = (1 << 22) + 1;
        learner.make_room(1);
        assert!(learner.map.layout.is_hashed());
        // A few hundred features in 2^22 places.
        assert!((take(&mut learner, &items(7, 9), f64::NAN, 1.0)[0] - before).abs() < 1e-9);
    }
}

#[test]
fn table_bound_covers_all_classes() {
    for (gamma, update) in [1, 2, 3].into_iter().flat_map(|gamma| ALL.map(|update| (gamma, update))) {
        for table_bits in [8, 18] {
            let mut learner = learned(gamma, update, table_bits, 1);
            let one = take(&mut learner, &items(7, 9), f64::NAN, 1.0);
            learner.widen(5);
            assert!(learner.classes() * learner.models[0].places() <= 1 << table_bits);
            let scores = take(&mut learner, &items(7, 9), 4.0, 1.0);
            assert_eq!(scores[2..], [0.0; 3]);
            assert!(learner.map.layout.is_hashed() || (scores[1] - scores[0] - one[0]).abs() < 1e-12);
        }
    }
}

#[test]
fn events_with_too_many_features_use_a_lower_order() {
    let mut map = FeatureMap::new(3, true, 256);
    (map.attributes, map.coordinates, map.layout) = (500, 500, Layout::Hashed { bits: 8 });
    for (size, order) in [(7, 3), (16, 2), (17, 1), (400, 1)] {
        let event: Items = (0..size).map(|i| (i, i, 1.0)).collect();
        let mut features = Features::default();
        with_event(&event, |event| map.expand(&event, &mut features));
        let taken = match order {
            1 => size,
            2 => size * size - (size - 1),
            _ => size * (1 + size * (size - 1) / 2) - (size - 1) * (size - 1),
        };
        assert_eq!(features.index.len() as u32, taken);
        let norm: f64 = features.phi.iter().map(|x| x * x).sum();
        assert!((norm - 1.0).abs() < 1e-12, "{size} {norm}");
    }
}

#[test]
fn states_round_trip() {
    for (gamma, update) in [1, 2, 3].into_iter().flat_map(|gamma| ALL.map(|update| (gamma, update))) {
        for (table_bits, classes) in [(8, 1), (8, 3), (20, 1), (20, 3)] {
            let mut learner = learned(gamma, update, table_bits, classes);
            let mut back = Explicit::new(gamma, true, step(update), table_bits).unwrap();
            back.restore(&learner.state(), 13, 40).unwrap();
            assert_eq!((back.state(), back.summary()), (learner.state(), learner.summary()));
            for t in 0..20 {
                let event = items(t, 20);
                assert_eq!(take(&mut back, &event, 1.0, 1.0), take(&mut learner, &event, 1.0, 1.0));
            }
            // Fewer names are accepted only if hashed, as weights stay in place and the last names may be evicted.
            let is_hashed = learner.map.layout.is_hashed();
            assert_eq!(back.restore(&learner.state(), 5, 40).is_ok(), is_hashed);
            assert_eq!(back.restore(&learner.state(), 30, 7).is_ok(), is_hashed);
        }
    }
}

#[test]
fn malicious_states_are_refused() {
    let learner = learned(2, Update::Arow, 12, 1);
    let state = learner.state();
    let count = state.i64s("index").unwrap().0.len();
    let places = |change: fn(&mut Vec<i64>)| {
        let mut index = state.i64s("index").unwrap().0.to_vec();
        change(&mut index);
        Array::I64(index, vec![count])
    };
    for (name, array) in [
        ("known", Array::I64(vec![-1, 3, 0], vec![3])),
        ("known", Array::I64(vec![3, 3, 16], vec![3])),
        ("known", Array::I64(vec![i64::MAX, 3, 0], vec![3])),
        ("known", Array::I64(vec![1, 1], vec![2])),
        ("known", Array::I64(vec![2, 2, 0], vec![3])), // no such places
        ("hashed", Array::Bool(vec![true], vec![1])),
        ("hashed", Array::Bool(vec![], vec![0])),
        ("index", places(|index| index.swap(0, 1))),
        ("index", places(|index| index[1] = index[0])),
        ("index", places(|index| index[0] = -1)),
        ("index", places(|index| *index.last_mut().unwrap() = 1 << 40)),
        ("index", Array::I64(vec![], vec![0])),
        ("index", Array::F64(vec![0.0; count], vec![count])),
        ("weights", Array::F64(vec![f64::NAN; count], vec![1, count])),
        ("weights", Array::F64(vec![], vec![1 << 50, 0])),
        ("more", Array::Bool(vec![], vec![0])),
    ] {
        let mut broken = state.clone();
        broken.0.insert(name.to_owned(), array);
        let mut other = Explicit::new(2, true, step(Update::Arow), 12).unwrap();
        assert!(other.restore(&broken, 1000, 1000).is_err(), "{name}");
        take(&mut other, &items(3, 9), 1.0, 1.0);
    }
    for name in state.0.keys() {
        let mut broken = state.clone();
        broken.0.remove(name);
        assert!(learner.clone().restore(&broken, 1000, 1000).is_err());
    }
}

#[test]
fn feature_bound_survives_restore() {
    let mut learner = learned(2, Update::Arow, 18, 1).with_most(20);
    let mut resumed = Explicit::new(2, true, step(Update::Arow), 18).unwrap().with_most(20);
    resumed.restore(&learner.state(), 100, 100).unwrap();
    for model in [&mut learner, &mut resumed] {
        assert_eq!(model.map.most(), 20);
    }
    let event = items(5, 8);
    assert_eq!(take(&mut learner, &event, f64::NAN, 1.0), take(&mut resumed, &event, f64::NAN, 1.0));
}
