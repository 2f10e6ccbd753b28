use std::collections::BTreeMap;

use super::doubling::DoublingSupportVectors;
use super::schedule::Schedule;
use super::tests::*;
use super::translating_tests::unchanged;
use super::*;
use crate::merging::checks::{self, assert_same};
use crate::test_random::TestRandom;
use crate::translation::DROPPED;

pub(super) const ATTRIBUTES: usize = 7;

pub(super) fn model(rule: Rule, classes: usize, average: bool) -> SupportVectors {
    let mut new = SupportVectors::new(rule, average);
    new.widen(classes);
    new
}

/// An event with the constant.
pub(super) fn event(random: &mut TestRandom) -> Owned {
    let mut new = Owned::random(random, ATTRIBUTES as u32);
    let after = new.0.iter().take_while(|&&attribute| attribute == 0).count();
    new.0.splice(..after, [0]);
    new.1.splice(..after, [0]);
    new.2.splice(..after, [1.0]);
    new
}

pub(super) fn taught<L: Learner + Clone>(base: &L, seed: u64, events: usize) -> L {
    let (mut model, mut random) = (base.clone(), TestRandom(seed));
    for _ in 0..events {
        let label = if model.classes() == 1 {
            random.below(2) as f64 * 2.0 - 1.0
        } else {
            random.below(model.classes()) as f64
        };
        learn(&mut model, &event(&mut random), label, 1.0);
    }
    model
}

fn merged<L: Learner + Clone>(base: &L, parts: &[&L]) -> L {
    let all = checks::merged(base, parts);
    base.clone().restore(&all.state(), ATTRIBUTES, 2 * ATTRIBUTES).unwrap();
    all
}

pub(super) fn predict(model: &(impl Learner + Clone), event: &Owned) -> Vec<f64> {
    learn(&mut model.clone(), event, f64::NAN, 0.0)
}

#[test]
fn unbudgeted_merge_averages_scores_of_parts() {
    for (classes, average, warm) in [(1, false, 0), (3, false, 0), (1, true, 0), (3, true, 40)] {
        let base = taught(&model(RULE, classes, average), 3, warm);
        let events = [30, 50, 90];
        let parts = [1, 2, 3].map(|m| taught(&base, 10 + m, events[m as usize - 1]));
        let all = merged(&base, &parts.each_ref());
        assert_eq!(all.steps(), (warm + 170) as u64);
        let mut random = TestRandom(9);
        for _ in 0..20 {
            let event = event(&mut random);
            let mut expected = vec![0.0; classes];
            for (part, &events) in parts.iter().zip(&events) {
                let own = predict(part, &event);
                expected.iter_mut().zip(own).for_each(|(sum, own)| *sum += events as f64 / 170.0 * own);
            }
            assert_close(&predict(&all, &event), &expected);
        }
    }
}

#[test]
fn merge_is_independent_of_order_and_grouping() {
    for (classes, average, warm) in [(1, false, 0), (1, true, 60), (3, true, 0), (3, false, 60)] {
        let base = taught(&model(RULE, classes, average), 3, warm);
        let [a, b, c] = [1, 2, 3].map(|m| taught(&base, 10 + m, 30 * m as usize));
        let all = merged(&base, &[&a, &b, &c]);
        assert_same(&merged(&base, &[&c, &a, &b]), &all, 1e-12);
        assert_same(&merged(&base, &[&merged(&base, &[&c, &a]), &b]), &all, 1e-12);
        assert_same(&merged(&base, &[&a, &merged(&base, &[&merged(&base, &[&b]), &c])]), &all, 1e-12);
        let tight = Rule { budget: 12, ..RULE };
        let base = taught(&model(tight, classes, average), 3, warm);
        let [a, b] = [1, 2].map(|m| taught(&base, 10 + m, 40 * m as usize));
        assert_same(&merged(&base, &[&a, &b]), &merged(&base, &[&b, &a]), 1e-12);
    }
}

#[test]
fn parts_that_learned_nothing_have_no_effect() {
    for budget in [0, 12] {
        let empty = model(Rule { budget, ..RULE }, 1, true);
        let base = taught(&empty, 3, 40);
        let part = taught(&base, 4, 30);
        assert_eq!(merged(&base, &[&part, &base, &base]).state(), part.state());
        assert_eq!(merged(&base, &[&base, &base]).state(), base.state());
        assert_eq!(merged(&empty, &[&part, &empty]).state(), part.state());
    }
}

#[test]
fn merged_vectors_are_pruned_to_budget() {
    let (mut random, events) = (TestRandom(8), 400);
    for (pruning, most) in [(Pruning::Merge, 0.001), (Pruning::Remove, 0.01), (Pruning::Oldest, 0.2)] {
        let base = model(Rule { budget: 60, pruning, ..RULE }, 1, false);
        let parts = [1, 2].map(|m| taught(&base, 10 + m, events));
        let all = merged(&base, &parts.each_ref());
        assert_eq!(all.vectors.used(), 60);
        let (mut away, mut size) = (0.0, 0.0);
        for _ in 0..200 {
            let event = event(&mut random);
            let mean = parts.iter().map(|part| predict(part, &event)[0]).sum::<f64>() / 2.0;
            away += (predict(&all, &event)[0] - mean).powi(2);
            size += mean * mean;
        }
        assert!(away < most * size);
        if pruning == Pruning::Oldest {
            // Either part now ends at step 800.
            let mut youngest: BTreeMap<_, f64> = BTreeMap::new();
            for part in &parts {
                for (observed, step) in part.vectors.observed.iter().zip(&part.vectors.created_at) {
                    let step = step + events as f64;
                    youngest.entry(observed).and_modify(|own| *own = own.max(step)).or_insert(step);
                }
            }
            let mut expected: Vec<f64> = youngest.into_values().collect();
            expected.sort_by(|one, other| other.total_cmp(one));
            let mut found = all.vectors.created_at.clone();
            found.sort_by(|one, other| other.total_cmp(one));
            assert_eq!(found, expected[..60]);
        }
    }
}

#[test]
fn relabel_permutes_class_scores() {
    for (classes, places) in [(1, vec![1, 0]), (1, vec![0, 1]), (3, vec![2, 0, 1])] {
        let before = taught(&model(RULE, classes, true), 4, 60);
        let mut after = before.clone();
        after.relabel(&places).unwrap();
        let event = event(&mut TestRandom(6));
        let (old, new) = (predict(&before, &event), predict(&after, &event));
        if classes == 1 {
            assert_eq!(new[0], if places[0] == 1 { -old[0] } else { old[0] });
        } else {
            places.iter().zip(old).for_each(|(&place, old)| assert_eq!(new[place], old));
        }
        after.restore(&after.state(), ATTRIBUTES, 2 * ATTRIBUTES).unwrap();
    }
    assert!(model(RULE, 3, false).relabel(&[1, 0]).is_err());
}

#[test]
fn merged_epoch_counts_all_events() {
    for gamma in [None, Some(2)] {
        let base = DoublingSupportVectors::new(RULE, true, Schedule { gamma, regularity: 0.3 });
        let parts = [20, 100, 300].map(|events| taught(&base, events, events as usize));
        let all = merged(&base, &parts.each_ref());
        assert_eq!(all.steps(), 420);
        let mut again = base.clone();
        again.restart(420);
        assert_eq!(all.rule(), again.rule());
        let [a, b, c] = &parts;
        assert_same(&merged(&base, &[&merged(&base, &[c, a]), b]), &all, 1e-12);
        assert_eq!(merged(&base, &[&base, a]).state(), a.state());
        taught(&all, 5, 200);
    }
}

#[test]
fn other_settings_are_refused() {
    let mut base = model(RULE, 1, false);
    let others: [&dyn Learner; 4] = [
        &model(Rule { gamma: 3, ..RULE }, 1, false),
        &model(RULE, 1, true),
        &model(RULE, 3, false),
        &DoublingSupportVectors::new(RULE, false, Schedule { gamma: None, regularity: 0.3 }),
    ];
    for other in others {
        assert!(base.merge(&[other]).is_err());
    }
}

#[test]
fn merging_malicious_states_does_not_panic() {
    let base = taught(&model(Rule { budget: 12, ..RULE }, 2, true), 3, 30);
    let parts = [1, 2].map(|m| taught(&base, 10 + m, 60));
    let (state, mut random) = (parts[0].state(), TestRandom(12));
    let mut change = unchanged();
    (change.shift, change.stretch) = (vec![0.5; 2 * ATTRIBUTES], vec![2.0; 2 * ATTRIBUTES]);
    (change.target, change.coordinates[5]) = ((0.5, 2.0), DROPPED);
    for round in 0..200 {
        let mut other = parts[0].clone();
        if other.restore(&hostile(&state, 1 + round % 2, &mut random), ATTRIBUTES, 2 * ATTRIBUTES).is_ok() {
            other.relabel(&[1, 0]).unwrap();
            other.translate(&change).unwrap();
            let mut all = base.clone();
            if all.merge(&[&other, &parts[1]]).is_ok() {
                taught(&all, 5, 20);
            }
        }
    }
}
