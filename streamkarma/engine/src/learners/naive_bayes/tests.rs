//! Tests of naive Bayes on terms.

use std::collections::BTreeMap;

use super::*;
use crate::merging::checks::{assert_same, merged};
use crate::test_random::TestRandom;

/// Terms of an event, the keys of which are above 0.
fn terms(keys: &[u64]) -> Vec<Term> {
    keys.iter().map(|&key| Term { attribute: 1 + (key % 2) as u32, key }).collect()
}

fn step(model: &mut NaiveBayes, keys: &[u64], lesson: Lesson) -> Vec<f64> {
    let (terms, mut scores) = (terms(keys), vec![9.0; model.classes()]);
    let event = Event { terms: &terms, ..Event::of(&[0, 1, 2], &[0, 1, 2], &[1.0; 3]) };
    model.step(event, lesson, &mut scores);
    scores
}

/// The terms of an event and its class: terms 10 c to 10 c + 9 are more frequent in class c.
fn draw(random: &mut TestRandom, classes: usize) -> (Vec<u64>, usize) {
    let class = random.below(classes);
    let own = |random: &mut TestRandom| {
        let of = if random.unit() < 0.6 { class } else { random.below(classes) };
        (1 + 10 * of + random.below(10)) as u64
    };
    let mut keys: Vec<u64> = (0..1 + random.below(6)).map(|_| own(random)).collect();
    keys.sort_unstable();
    keys.dedup();
    (keys, class)
}

fn label(class: usize, classes: usize) -> f64 {
    if classes > 2 { class as f64 } else { [-1.0, 1.0][class] }
}

fn begun(classes: usize) -> NaiveBayes {
    let mut model = NaiveBayes::new(0.0);
    if classes > 2 {
        model.widen(classes);
    }
    model
}

fn trained(from: &NaiveBayes, classes: usize, seed: u64, events: usize) -> NaiveBayes {
    let (mut model, mut random) = (from.clone(), TestRandom(seed));
    for t in 0..events {
        let (keys, class) = draw(&mut random, classes);
        step(&mut model, &keys, Lesson { weight: [1.0, 2.0][t % 2], ..Lesson::of(label(class, classes)) });
    }
    model
}

#[test]
fn scores_follow_the_formula() {
    for classes in [2, 4] {
        let (mut model, mut random) = (begun(classes), TestRandom(3));
        let mut counts: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
        let mut all = vec![0.0; classes];
        for _ in 0..300 {
            let (keys, class) = draw(&mut random, classes);
            let total: f64 = all.iter().sum();
            let share = |class: usize| (all[class] + 1.0) / (total + classes as f64);
            let says = |key: &u64, class: usize| {
                let own = counts.get(key).map_or(0.0, |own| own[class]);
                let of_term: f64 = counts.get(key).map_or(0.0, |own| own.iter().sum());
                ((own + share(class)) / ((of_term + 1.0) * share(class))).ln()
            };
            let sum =
                |class| keys.iter().map(|key| says(key, class)).sum::<f64>() / (keys.len() as f64).sqrt();
            let mut expected: Vec<f64> = (0..classes).map(sum).collect();
            if classes == 2 {
                expected = vec![expected[1] - expected[0]];
            }
            let found = step(&mut model, &keys, Lesson::of(label(class, classes)));
            assert!(found.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-9), "{found:?} {expected:?}");
            all[class] += 1.0;
            keys.iter()
                .for_each(|key| counts.entry(*key).or_insert_with(|| vec![0.0; classes])[class] += 1.0);
        }
    }
}

#[test]
fn events_without_terms_or_with_too_many_classes_get_no_prediction() {
    let mut model = trained(&begun(2), 2, 1, 50);
    let before = model.state();
    assert!(step(&mut model, &[], Lesson::NONE)[0].is_nan());
    assert!(step(&mut model, &[1, 2], Lesson { wants_scores: false, ..Lesson::NONE })[0].is_nan());
    assert!(!step(&mut model, &[1, 2], Lesson::NONE)[0].is_nan());
    assert_eq!(model.state(), before);
    model.widen(MOST_CLASSES + 1);
    assert!(step(&mut model, &[1, 2], Lesson::of(3.0)).iter().all(|score| score.is_nan()));
    assert_eq!((model.table.count(), model.classes(), model.steps()), (0, MOST_CLASSES + 1, 51));
    assert_eq!(begun(2).restored(&model.state()).unwrap().state(), model.state());
}

#[test]
fn contributions_of_attributes_add_up_to_the_score() {
    for classes in [2, 3] {
        let mut model = trained(&begun(classes), classes, 2, 200);
        let keys = [1, 2, 12, 15, 999];
        let terms = terms(&keys);
        let event = Event { terms: &terms, ..Event::of(&[0, 1, 2], &[0, 1, 2], &[1.0; 3]) };
        let explanation = Explanation::of(&mut model, event, &[], 0, crate::learner::Unit::NONE);
        assert!(explanation.constants().iter().all(|constant| constant.abs() < 1e-12));
        assert!(explanation.parts().all(|(_, parts)| parts.iter().all(|part| *part != 0.0)));
    }
}

#[test]
fn merging_is_exact() {
    for classes in [2, 3] {
        let base = trained(&begun(classes), classes, 1, 100);
        let parts = [5, 6].map(|seed| trained(&base, classes, seed, 150));
        let all = trained(&parts[0], classes, 6, 150);
        let found = merged(&base, &[&parts[0], &parts[1]]);
        assert_eq!((found.steps(), found.table.count()), (all.steps(), all.table.count()));
        let mut random = TestRandom(9);
        for _ in 0..50 {
            let (keys, _) = draw(&mut random, classes);
            let [one, other] = [&found, &all].map(|model| step(&mut model.clone(), &keys, Lesson::NONE));
            assert!(one.iter().zip(&other).all(|(a, b)| (a - b).abs() < 1e-9));
        }
        assert_same(&merged(&base, &[&parts[1], &parts[0]]), &found, 1e-12);
    }
}

#[test]
fn other_numbers_of_classes_and_other_numbering() {
    let (mut two, mut three) = (trained(&begun(2), 2, 4, 200), trained(&begun(3), 3, 4, 200));
    let keys = [1, 2, 13];
    let before = step(&mut two, &keys, Lesson::NONE)[0];
    two.relabel(&[1, 0]).unwrap();
    assert!((step(&mut two, &keys, Lesson::NONE)[0] + before).abs() < 1e-12);
    two.relabel(&[1, 0]).unwrap();
    two.widen(3);
    let wider = step(&mut two, &keys, Lesson::NONE);
    assert!(wider[0] > wider[1] && (wider[1] - wider[0] - before).abs() < 0.1, "{wider:?} {before}");
    let before = step(&mut three, &keys, Lesson::NONE);
    three.relabel(&[2, 0, 1]).unwrap();
    assert_eq!(step(&mut three, &keys, Lesson::NONE), [before[1], before[2], before[0]]);
}

#[test]
fn states_are_restored_and_checked() {
    for (classes, half_life) in [(2, 0.0), (3, 50.0)] {
        let model = trained(&NaiveBayes { classes: 1, ..NaiveBayes::new(half_life) }, 2, 8, 100);
        let mut model = NaiveBayes { ..model };
        if classes > 2 {
            model.widen(classes);
            model = trained(&model, classes, 9, 100);
        }
        let state = model.state();
        let mut again = NaiveBayes::new(half_life);
        again.restore(&state, 3, 3).unwrap();
        assert_eq!(again.state(), state);
        let keys = [1, 11, 21];
        assert_eq!(step(&mut again, &keys, Lesson::of(1.0)), step(&mut model, &keys, Lesson::of(1.0)));
        assert_eq!(again.state(), model.state());
        for name in ["classes", "steps", "count", "sums", "seen", "keys", "key_sums"] {
            let mut broken = state.clone();
            broken.0.remove(name);
            assert!(NaiveBayes::new(half_life).restore(&broken, 3, 3).is_err(), "{name}");
        }
        let mut broken = state.clone();
        broken.put_i64s("classes", vec![4], &[1]);
        assert!(NaiveBayes::new(half_life).restore(&broken, 3, 3).is_err());
        broken.put_i64s("classes", vec![0], &[1]);
        assert!(NaiveBayes::new(half_life).restore(&broken, 3, 3).is_err());
    }
}

#[test]
fn labels_decay() {
    let (mut forgets, mut keeps) = (NaiveBayes::new(5.0), NaiveBayes::new(0.0));
    for model in [&mut forgets, &mut keeps] {
        for label in [1.0; 40].into_iter().chain([-1.0; 20]) {
            step(model, &[7], Lesson::of(label));
            step(model, &[8], Lesson::of(-label));
        }
    }
    let scores = [&mut forgets, &mut keeps].map(|model| step(model, &[7], Lesson::NONE)[0]);
    assert!(scores[0] < 0.0 && scores[1] > 0.0);
}
