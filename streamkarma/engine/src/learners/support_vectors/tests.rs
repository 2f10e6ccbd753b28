use super::doubling::DoublingSupportVectors;
use super::schedule::Schedule;
use super::*;
use crate::state::Array;
use crate::test_random::TestRandom;

pub(super) const RULE: Rule = Rule {
    gamma: 2,
    normalize: true,
    rho: 0.1,
    eta: 0.0,
    loss: Loss::Logistic,
    steepness: 0.0,
    budget: 0,
    pruning: Pruning::Merge,
    longest: f64::INFINITY,
};

impl TestRandom {
    pub fn below(&mut self, limit: usize) -> usize {
        (self.unit() * limit as f64) as usize
    }
}

/// An event: attributes, coordinates (the even and the odd one of an attribute are its tags) and values.
#[derive(Clone, Default)]
pub(super) struct Owned(pub Vec<u32>, pub Vec<u32>, pub Vec<f64>);

impl Owned {
    pub fn random(random: &mut TestRandom, attributes: u32) -> Self {
        let mut new = Self::default();
        for attribute in 0..attributes {
            // Neither, one of them, or both.
            for tag in 0..2 {
                if random.unit() < 0.35 {
                    new.0.push(attribute);
                    new.1.push(2 * attribute + tag);
                    new.2.push(random.unit() * 4.0 - 2.0);
                }
            }
        }
        new
    }

    pub fn event(&self) -> Event<'_> {
        Event::of(&self.0, &self.1, &self.2)
    }
}

fn kernel(x: &Owned, z: &Owned, gamma: u32) -> f64 {
    let mut shared = x.0.clone();
    shared.dedup();
    let shared = shared.iter().filter(|attribute| z.0.binary_search(attribute).is_ok()).count();
    let items = x.1.iter().zip(&x.2);
    let products = items.map(|(k, value)| z.1.binary_search(k).map_or(0.0, |j| value * z.2[j]));
    growth(shared as f64, gamma) * products.sum::<f64>()
}

pub(super) fn learn(model: &mut impl Learner, event: &Owned, label: f64, weight: f64) -> Vec<f64> {
    let mut scores = vec![0.0; model.classes()];
    model.step(event.event(), Lesson { label, weight, ..Lesson::NONE }, &mut scores);
    scores
}

pub(super) fn assert_close(left: &[f64], right: &[f64]) {
    for (a, b) in left.iter().zip(right) {
        assert!((a - b).abs() < 1e-9 * (1.0 + b.abs()), "{left:?} and not {right:?}");
    }
}

/// Compare with Algorithm 1 as in the paper, which keeps every example.
fn check_algorithm_1(rule: Rule, classes: usize, average: bool, attributes: u32) {
    let mut random = TestRandom(7 + u64::from(rule.gamma));
    let mut model = SupportVectors::new(rule, average);
    model.widen(classes);
    let mut examples: Vec<(Owned, Vec<f64>)> = Vec::new();
    let mut sums: Vec<Vec<f64>> = Vec::new();
    for t in 0..60 {
        let x = Owned::random(&mut random, attributes);
        let norm = |z: &Owned| if rule.normalize { kernel(z, z, rule.gamma).sqrt().max(1e-300) } else { 1.0 };
        let similar = |z: &Owned| kernel(z, &x, rule.gamma) / norm(z) / norm(&x);
        let (mut now, mut past) = (vec![0.0; classes], vec![0.0; classes]);
        for ((z, alpha), sum) in examples.iter().zip(&sums) {
            for c in 0..classes {
                now[c] += alpha[c] * similar(z);
                past[c] += sum[c] * similar(z) / t as f64;
            }
        }
        let label =
            if classes == 1 { random.below(2) as f64 * 2.0 - 1.0 } else { random.below(classes) as f64 };
        let weight = 0.5 + random.unit();
        assert_close(&learn(&mut model, &x, label, weight), if average { &past } else { &now });
        let mut slopes = vec![0.0; classes];
        rule.loss.loss_and_gradient(&now, label, &mut slopes);
        let eta = 1.0 / (rule.rho * (t + 1) as f64);
        for ((_, alpha), sum) in examples.iter_mut().zip(&mut sums) {
            for c in 0..classes {
                sum[c] += alpha[c];
                alpha[c] *= 1.0 - eta * rule.rho;
            }
        }
        examples.push((x, slopes.iter().map(|slope| -eta * weight * slope).collect()));
        sums.push(vec![0.0; classes]);
    }
}

#[test]
fn unbudgeted_model_matches_algorithm_1() {
    for gamma in 1..=4 {
        for classes in [1, 3] {
            for average in [false, true] {
                check_algorithm_1(Rule { gamma, ..RULE }, classes, average, 4);
                check_algorithm_1(Rule { gamma, loss: Loss::Hinge, ..RULE }, classes, average, 7);
            }
        }
    }
    check_algorithm_1(Rule { normalize: false, rho: 10.0, ..RULE }, 1, false, 5);
    check_algorithm_1(Rule { loss: Loss::Squared, rho: 5.0, ..RULE }, 1, true, 5);
}

#[test]
fn overlaps_beyond_a_byte_are_counted() {
    check_algorithm_1(RULE, 1, false, 700);
}

#[test]
fn closest_pattern_matches_exhaustive_search() {
    let mut random = TestRandom(3);
    let mut model = SupportVectors::new(Rule { budget: 40, gamma: 3, ..RULE }, false);
    for _ in 0..300 {
        let event = Owned::random(&mut random, 8);
        learn(&mut model, &event, 1.0, 1.0);
        let observed = &model.vectors.observed;
        let kept = |slot: usize| {
            let q = &observed[slot];
            let both: Vec<usize> = (0..event.0.len()).filter(|&j| q.contains(&event.0[j])).collect();
            let gain = growth(both.len() as f64, 3);
            gain * gain / growth(q.len() as f64, 3) * both.iter().map(|&j| event.2[j].powi(2)).sum::<f64>()
        };
        model.passes.count_shared(&model.vectors.mask, &event.0, 3);
        let squares: Vec<(u32, f64)> =
            event.0.iter().zip(&event.2).map(|(&a, value)| (a, value * value)).collect();
        // A slot that is being emptied keeps nothing.
        let emptied = random.below(observed.len());
        let mut inverse = model.vectors.inverse.clone();
        inverse[emptied] = 0.0;
        let found = model.passes.closest(&model.vectors.mask, &squares, &inverse);
        let most = (0..observed.len()).filter(|&slot| slot != emptied).map(kept).fold(0.0, f64::max);
        assert!((found.map_or(0.0, kept) - most).abs() <= 1e-12 * most);
        assert!(found != Some(emptied));
    }
}

/// A model that has pruned, with this many classes.
fn trained(budget: usize, classes: usize, average: bool) -> (SupportVectors, TestRandom) {
    let mut random = TestRandom(11);
    let mut model = SupportVectors::new(Rule { budget, ..RULE }, average);
    model.widen(classes);
    for _ in 0..200 {
        let (event, label) = (Owned::random(&mut random, 6), random.below(2) as f64);
        learn(&mut model, &event, label, 1.0);
    }
    (model, random)
}

#[test]
fn state_round_trip() {
    for (budget, classes, average) in [(12, 1, false), (12, 3, true), (0, 1, true), (40, 2, false)] {
        let (mut model, mut random) = trained(budget, classes, average);
        let mut other = SupportVectors::new(*model.rule(), average);
        other.restore(&model.state(), 6, 12).unwrap();
        assert_eq!(other.state(), model.state());
        assert_eq!(other.summary(), model.summary());
        for _ in 0..50 {
            let event = Owned::random(&mut random, 9);
            assert_eq!(learn(&mut model, &event, 1.0, 1.0), learn(&mut other, &event, 1.0, 1.0));
        }
        assert_eq!(other.state(), model.state());
    }
}

#[test]
fn malicious_states_do_not_panic() {
    let (model, mut random) = trained(12, 2, true);
    let state = model.state();
    for round in 0..1000 {
        let hostile = hostile(&state, 1 + round % 2, &mut random);
        let mut other = model.clone();
        if other.restore(&hostile, 6, 12).is_err() {
            assert_eq!(other.state(), state);
        }
        for _ in 0..20 {
            let event = Owned::random(&mut random, 9);
            learn(&mut other, &event, 1.0, 1.0);
        }
    }
}

/// A state with some wrong numbers.
pub(super) fn hostile(state: &State, wrong: usize, random: &mut TestRandom) -> State {
    let mut hostile = state.clone();
    let names: Vec<&String> = state.0.keys().collect();
    let numbers = [-1.0, 0.0, 1.0, 5.0, 2e9, 1e300, f64::NAN, f64::INFINITY];
    for _ in 0..wrong {
        let (number, place) = (numbers[random.below(8)], random.unit());
        match hostile.0.get_mut(names[random.below(names.len())]).unwrap() {
            Array::F64(values, shape) => change(values, shape, number, place),
            Array::I64(values, shape) => change(values, shape, number as i64, place),
            Array::I32(values, shape) => change(values, shape, number as i32, place),
            _ => unreachable!(),
        }
    }
    hostile
}

fn change<T: Copy>(values: &mut Vec<T>, shape: &mut [usize], number: T, place: f64) {
    let at = (place * values.len() as f64) as usize;
    match at % 3 {
        0 if shape.len() == 2 && place < 0.1 => shape.copy_from_slice(&[0, usize::MAX]),
        0 if shape.len() == 1 => {
            values.truncate(at);
            shape[0] = at;
        }
        _ if !values.is_empty() => values[at] = number,
        _ => {}
    }
}

#[test]
fn unknown_coordinates_affect_only_the_norm() {
    let (mut model, _) = trained(12, 1, true);
    let known = Owned(vec![0, 2], vec![1, 4], vec![1.0, 2.0]);
    let strange = Owned(vec![0, 2, u32::MAX / 2], vec![1, 4, u32::MAX / 2], vec![1.0, 2.0, 0.0]);
    let score = |event: &Owned, model: &mut SupportVectors| learn(model, event, f64::NAN, 1.0)[0];
    let (one, other) = (score(&known, &mut model), score(&strange, &mut model));
    // They differ only by their norms.
    assert_close(&[other * growth(3.0, 2).sqrt()], &[one * growth(2.0, 2).sqrt()]);
}

#[test]
fn widening_keeps_score_difference() {
    for average in [false, true] {
        let (mut model, mut random) = trained(12, 1, average);
        let event = Owned::random(&mut random, 6);
        let before = learn(&mut model, &event, f64::NAN, 1.0)[0];
        model.widen(3);
        let after = learn(&mut model, &event, f64::NAN, 1.0);
        assert_close(&[after[1] - after[0], after[2]], &[before, 0.0]);
    }
}

#[test]
fn each_epoch_starts_a_new_model() {
    let (mut random, schedule) = (TestRandom(5), Schedule { gamma: None, regularity: 0.3 });
    let mut model = DoublingSupportVectors::new(RULE, false, schedule);
    let mut alone = SupportVectors::new(RULE, false);
    for t in 1..70u64 {
        if t.is_power_of_two() {
            let (gamma, rho) = schedule.settings(t);
            alone = SupportVectors::new(Rule { gamma, rho, ..RULE }, false);
        }
        let event = Owned::random(&mut random, 5);
        let mut again = DoublingSupportVectors::new(RULE, false, schedule);
        again.restore(&model.state(), 5, 10).unwrap();
        let expected = learn(&mut alone, &event, 1.0, 1.0);
        assert_eq!(learn(&mut model, &event, 1.0, 1.0), expected);
        assert_eq!(learn(&mut again, &event, 1.0, 1.0), expected);
        again.restart(t);
        assert_eq!((again.steps(), again.rule()), (model.steps(), model.rule()));
    }
    for before in [-1, 1, 62, 64, i64::MAX] {
        let mut state = model.state();
        state.put_i64s("before", vec![before], &[1]);
        assert!(model.restore(&state, 5, 10).is_err());
    }
}
