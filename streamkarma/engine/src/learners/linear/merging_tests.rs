//! Merging in any order, against one pass, and against its formulas.

use super::tests::{ALL, Numbers, lesson, step};
use super::*;

/// Train a model on so many events with some of eight features, which depend on the seed.
fn taught(mut model: LinearModel, seed: u64, events: usize) -> LinearModel {
    let mut numbers = Numbers(seed);
    let mut scores = vec![0.0; model.classes()];
    for t in 0..events as u64 {
        let index: Vec<u32> = [0, 1, 2 + (t % 3) as u32, 5 + (seed % 3) as u32].to_vec();
        let phi = numbers.take(4);
        let label = match model.classes() {
            1 => (phi[0] + 0.3 * numbers.next()).signum(),
            classes => (t % classes as u64) as f64,
        };
        model.step(&index, &phi, &lesson(label, 1.0 + numbers.next() / 2.0), &mut scores);
    }
    model
}

/// Models of each kind, with and without forgetting, with two classes and with four.
fn bases() -> Vec<LinearModel> {
    let mut models = Vec::new();
    for (update, half_life) in ALL.iter().flat_map(|&update| [(update, 0.0), (update, 30.0)]) {
        let loss = if update == Update::Adagrad { Loss::Logistic } else { Loss::Hinge };
        let mut constant = step(update, loss, half_life);
        (constant.eta, constant.rho) = (0.1, 0.0);
        for (settings, classes) in
            [step(update, loss, half_life), constant].map(|each| [(each, 1), (each, 4)]).concat()
        {
            models.push(LinearModel::new(settings, classes, 8));
        }
    }
    models
}

fn merged(base: &LinearModel, parts: &[&LinearModel]) -> LinearModel {
    let mut merged = base.clone();
    merged.merge(parts).unwrap();
    merged
}

/// Class by class, weights and, if any, variances or sums of squares, with all factors multiplied in.
fn numbers_of(model: &LinearModel) -> Vec<f64> {
    let mut model = model.clone();
    model.rescale();
    let of_class = |class: usize| model.cells.iter().skip(class).step_by(model.width);
    (0..model.classes).flat_map(of_class).flat_map(|cell| [cell.weight, cell.moment]).collect()
}

fn assert_same(one: &LinearModel, other: &LinearModel, within: f64) {
    assert_eq!(one.steps, other.steps);
    for (one, other) in numbers_of(one).into_iter().zip(numbers_of(other)) {
        assert!((one - other).abs() <= within * (1.0 + one.abs()), "{one} {other}");
    }
}

#[test]
fn merge_ignores_order_and_grouping() {
    for begun in [0, 25] {
        for base in bases().into_iter().map(|base| taught(base, 11, begun)) {
            let [a, b, c, d] =
                [(1, 30), (2, 50), (3, 7), (4, 40)].map(|(seed, n)| taught(base.clone(), seed, n));
            let at_once = merged(&base, &[&a, &b, &c, &d]);
            assert_same(&at_once, &merged(&base, &[&c, &a, &d, &b]), 1e-12);
            let (left, right) = (merged(&base, &[&a, &b]), merged(&base, &[&c, &d]));
            assert_same(&at_once, &merged(&base, &[&right, &left]), 1e-12);
            assert_same(&at_once, &merged(&base, &[&merged(&base, &[&left, &c]), &d]), 1e-12);
        }
    }
}

#[test]
fn untrained_parts_have_no_effect() {
    for base in bases().into_iter().map(|base| taught(base, 11, 25)) {
        let part = taught(base.clone(), 5, 300);
        assert_same(&part, &merged(&base, &[&part, &base, &base]), 1e-12);
        assert_same(&base, &merged(&base, &[&base, &base]), 1e-12);
        let empty = LinearModel::new(base.step, base.classes, 0);
        assert_same(&part, &merged(&empty, &[&empty, &part]), 1e-12);
    }
}

#[test]
fn merged_precisions_match_one_pass() {
    // In a regression every event updates, so earlier predictions do not matter.
    let base = taught(LinearModel::new(step(Update::Arow, Loss::Squared, 0.0), 1, 8), 1, 40);
    let (a, b) = (taught(base.clone(), 2, 60), taught(base.clone(), 3, 80));
    let (one_pass, both) = (taught(a.clone(), 3, 80), merged(&base, &[&a, &b]));
    for (cell, expected) in both.cells.iter().zip(&one_pass.cells) {
        assert!((expected.moment / cell.moment - 1.0).abs() < 1e-10);
    }
    assert_eq!(both.steps, one_pass.steps);
}

#[test]
fn features_seen_by_one_part_keep_their_weight() {
    for base in bases().into_iter().filter(|base| base.step.update != Update::Sgd) {
        let (a, b) = (taught(base.clone(), 0, 30), taught(base.clone(), 1, 60));
        let both = merged(&base, &[&a, &b]);
        assert!((both.weight(0, 5) - a.weight(0, 5)).abs() < 1e-12 && a.weight(0, 5) != 0.0);
        assert!((both.weight(0, 6) - b.weight(0, 6)).abs() < 1e-12);
        let between = [a.weight(0, 0), b.weight(0, 0)];
        assert!(
            both.weight(0, 0) <= between[0].max(between[1])
                && both.weight(0, 0) >= between[0].min(between[1])
        );
    }
}

#[test]
fn sgd_gradients_add_up_when_merged() {
    // The slope is 1 whatever the score: absolute loss with targets far below.
    let settings = Step { steepness: 0.0, ..step(Update::Sgd, Loss::Absolute, 0.0) };
    let learn = |mut model: LinearModel, events: std::ops::Range<u64>| {
        for t in events {
            model.step(&[0, 1], &Numbers(t).take(2), &lesson(-1e6, 1.0), &mut [0.0]);
        }
        model
    };
    let base = learn(LinearModel::new(settings, 1, 2), 0..5);
    let (a, b) = (learn(base.clone(), 5..20), learn(base.clone(), 20..50));
    assert_same(&learn(a.clone(), 20..50), &merged(&base, &[&a, &b]), 1e-12);
}

#[test]
fn forgotten_features_are_averaged_by_steps() {
    let base = LinearModel::new(step(Update::Arow, Loss::Hinge, 2.0), 1, 2);
    let learn = |label: f64, others: usize| {
        let mut model = base.clone();
        model.step(&[0], &[1.0], &lesson(label, 1.0), &mut [0.0]);
        for _ in 0..others {
            model.step(&[1], &[1.0], &lesson(label, 1.0), &mut [0.0]);
        }
        model
    };
    let (one, three) = (learn(1.0, 99), learn(-1.0, 299));
    let weight = merged(&base, &[&one, &three]).weight(0, 0);
    assert!((weight - (one.weight(0, 0) + 3.0 * three.weight(0, 0)) / 4.0).abs() < 1e-12);
    assert_same(&one, &merged(&base, &[&one, &base]), 1e-12);
}

#[test]
fn moved_and_rescaled_features_preserve_scores() {
    for model in bases().into_iter().map(|base| taught(base, 3, 60)) {
        let mut moved = model.clone();
        let mut moves: Vec<Move> = (0..8).map(|place| Move::stretched(place, 9 - place, 1.0)).collect();
        moves[3] = Move::stretched(3, 0, 2.5);
        moves.push(Move::shifted(3, 9, 0.7));
        moved.transfer(&moves, 12);
        let (mut before, mut after) = (vec![0.0; model.classes()], vec![0.0; model.classes()]);
        model.predict(&[0, 3, 4], &[1.0, 0.7 + 2.5 * 0.4, -0.3], &mut before);
        moved.predict(&[9, 0, 5], &[1.0, 0.4, -0.3], &mut after);
        before.iter().zip(&after).for_each(|(one, other)| assert!((one - other).abs() < 1e-12));
        let (old, new) = (numbers_of(&model), numbers_of(&moved));
        assert_eq!(old[2 * 4 + 1], new[2 * 5 + 1]);
        let (old, new) = (old[2 * 3 + 1], new[1]);
        match model.step.update {
            Update::Sgd => assert_eq!(new, 0.0),
            Update::Arow => assert!(((1.0 / new - 1.0) * 6.25 - (1.0 / old - 1.0)).abs() < 1e-9 / old),
            Update::Adagrad => assert!((new * 6.25 - old).abs() < 1e-12 * old),
        }
    }
}

#[test]
fn features_moved_to_one_place_add_up() {
    for model in bases().into_iter().map(|base| taught(base, 3, 60)) {
        let mut moved = model.clone();
        moved.transfer(&[Move::stretched(0, 1, 1.0), Move::stretched(3, 1, 1.0)], 2);
        assert!((moved.weight(0, 1) - model.weight(0, 0) - model.weight(0, 3)).abs() < 1e-12);
        assert_eq!(moved.touched(), [1]);
        let (old, new) = (numbers_of(&model), numbers_of(&moved));
        match model.step.update {
            Update::Arow => {
                assert!((1.0 / new[3] - (1.0 / old[1] + 1.0 / old[7] - 1.0)).abs() < 1e-9 / new[3])
            }
            _ => assert!((new[3] - old[1] - old[7]).abs() <= 1e-12 * new[3]),
        }
    }
}

#[test]
fn relabelling_and_retargeting_translate_scores() {
    for model in bases().into_iter().map(|base| taught(base, 3, 60)) {
        let classes = model.classes();
        let places = if classes == 1 { vec![1, 0] } else { vec![2, 0, 3, 1] };
        let (mut relabelled, mut scaled) = (model.clone(), model.clone());
        relabelled.relabel(&places);
        scaled.retarget((0.5, 4.0), 0, 2.0);
        let [before, after, in_unit] = [&model, &relabelled, &scaled].map(|model| {
            let mut scores = vec![0.0; classes];
            model.predict(&[0, 1, 3], &[2.0, 0.4, -0.3], &mut scores);
            scores
        });
        for c in 0..classes {
            let expected = if classes == 1 { -after[0] } else { after[places[c]] };
            assert_eq!(before[c], expected);
            assert!((before[c] - (0.5 + 4.0 * in_unit[c])).abs() < 1e-12);
        }
        relabelled.relabel(&if classes == 1 { vec![1, 0] } else { vec![1, 3, 0, 2] });
        assert_eq!(relabelled.cells, model.cells);
    }
}

#[test]
fn mismatches_are_refused_and_extreme_weights_stay_finite() {
    let base = LinearModel::new(step(Update::Arow, Loss::Hinge, 0.0), 1, 2);
    let mut others = [base.clone(), base.clone()];
    others[0].step.r = 7.0;
    others[1].widen(3);
    assert!(others.iter().all(|other| base.clone().merge(&[other]).is_err()));
    for base in bases() {
        let mut wild = taught(base.clone(), 1, 9);
        wild.cells.iter_mut().for_each(|cell| *cell = Cell { weight: 1e90, moment: 0.0 });
        wild.transfer(&[Move::stretched(0, 0, 1e-200), Move::stretched(1, 1, 0.0)], 4);
        let merged = merged(&base, &[&wild, &wild]);
        assert!(numbers_of(&merged).iter().all(|number| number.is_finite()));
    }
}
