//! What a forest learns, splits compared with a plain search, states, and malicious input.

use super::leaf::Leaf;
use super::node::Node;
use super::split::{BINS, best};
use super::*;
use crate::learners::samples::{Numbers, Sample, TASKS, Task, assert_resumed, changed, teach};
use crate::state::Array;

fn forest(regression: bool, half_life: f64) -> Forest {
    Forest::new(Settings { regression, trees: 10, half_life }).unwrap()
}

pub(super) fn new(task: Task, half_life: f64) -> Forest {
    let mut forest = forest(task == Task::Regression, half_life);
    if let Task::Many(classes) = task {
        forest.widen(classes);
    }
    forest
}

#[test]
fn learns_boxes_categories_and_missing_values() {
    for (task, most) in
        [(Task::Two, 0.2), (Task::Many(3), 0.2), (Task::Many(20), 1.0), (Task::Regression, 4.0)]
    {
        let mut forest = new(task, 0.0);
        let loss = teach(&mut forest, task, 1, 4000);
        assert!(loss < most, "{task:?}: {loss}");
    }
}

#[test]
fn adapts_to_change() {
    let mut forest = new(Task::Two, 0.0);
    teach(&mut forest, Task::Two, 2, 4000);
    let (mut numbers, mut score, mut wrong) = (Numbers::new(3), [0.0], 0);
    for t in 0..2500 {
        let sample = Sample::new(&mut numbers);
        let label = -sample.label(Task::Two);
        forest.step(sample.event(), Lesson::of(label), &mut score);
        wrong += usize::from(t >= 2000 && score[0] * label <= 0.0);
    }
    assert!(wrong < 75, "{wrong}");
}

/// The merit and gain of a split, bin by bin from the definitions: the merit is its reduction of Gini's impurity, or of
/// the variance; both are 0 where a side has next to no weight.
fn merit_and_gain(histogram: &[f32], width: usize, regression: bool, split: [usize; 2]) -> [f64; 2] {
    let all: Vec<usize> = (0..=BINS).collect();
    let goes_left = |b: &usize| if *b == BINS { split[1] == 1 } else { *b <= split[0] };
    let (left, right): (Vec<usize>, Vec<usize>) = all.iter().partition(|b| goes_left(b));
    let sum =
        |rows: &[usize], s: usize| rows.iter().map(|b| f64::from(histogram[b * width + s])).sum::<f64>();
    let sums = |rows: &[usize]| (0..width).map(|s| sum(rows, s)).collect::<Vec<f64>>();
    let weight = |rows: &[usize]| if regression { sum(rows, 0) } else { sums(rows).iter().sum() };
    let variance = |rows: &[usize]| sum(rows, 2) - sum(rows, 1) * sum(rows, 1) / weight(rows);
    let gini = |rows: &[usize]| {
        let total = weight(rows);
        total - sums(rows).iter().map(|n| n * n / total).sum::<f64>()
    };
    let entropy = |rows: &[usize]| {
        let total = weight(rows);
        sums(rows).iter().filter(|n| **n > 0.0).map(|n| -n * (n / total).ln()).sum::<f64>()
    };
    if weight(&left).min(weight(&right)) < 2.0 {
        return [0.0; 2];
    }
    let gain = |of: &dyn Fn(&[usize]) -> f64| of(&all) - of(&left) - of(&right);
    if regression {
        return [gain(&variance), gain(&variance) / variance(&all)];
    }
    [gain(&gini), gain(&entropy) / weight(&all)]
}

#[test]
fn best_split_matches_exhaustive_search() {
    let mut numbers = Numbers::new(4);
    for round in 0..60 {
        let (regression, width) = [(false, 2), (false, 5), (true, 3)][round % 3];
        let mut histogram = vec![0f32; (BINS + 1) * width];
        for _ in 0..40 {
            let bin = (numbers.unit() * (BINS + 1) as f64) as usize;
            if regression {
                let target = numbers.unit() + bin as f64 / 20.0;
                let sums = [1.0, target, target * target];
                (0..3).for_each(|s| histogram[bin * 3 + s] += sums[s] as f32);
            } else {
                histogram[bin * width + (numbers.unit() * width as f64) as usize] += 1.0;
            }
        }
        if round % 2 == 0 {
            histogram[BINS * width..].fill(0.0);
        }
        let every = (0..2 * BINS).map(|n| merit_and_gain(&histogram, width, regression, [n / 2, n % 2])[0]);
        let most = every.fold(0.0, f64::max);
        let (split, _) = best(&histogram, width, regression).unwrap();
        let at = [split.bin, usize::from(split.missing_left)];
        let [merit, gain] = merit_and_gain(&histogram, width, regression, at);
        assert!((merit - most).abs() < 1e-3 && (split.gain - gain).abs() < 1e-3);
    }
}

#[test]
fn state_round_trip_is_exact_and_predicting_has_no_effect() {
    for task in TASKS {
        for half_life in [0.0, 300.0] {
            let mut model = new(task, half_life);
            teach(&mut model, task, 5, 400);
            let is_regression = task == Task::Regression;
            let (fresh, other) = (forest(is_regression, half_life), forest(!is_regression, half_life));
            assert_resumed(&mut model, &fresh, &other, task);
        }
    }
}

#[test]
fn splits_on_evicted_coordinates_are_removed() {
    let mut forest = new(Task::Two, 0.0);
    teach(&mut forest, Task::Two, 7, 3000);
    let splits = |forest: &Forest| -> Vec<i64> {
        forest.state().i64s("splits").unwrap().0.chunks(4).map(|split| split[0]).collect()
    };
    assert!(splits(&forest).contains(&2));
    let evicted = Evicted { coordinates: vec![2], attributes: vec![2], ..Evicted::default() };
    forest.forget(&evicted);
    let after = splits(&forest);
    assert!(after.iter().any(|&coordinate| coordinate != -1) && !after.contains(&2));
    let score = |forest: &mut Forest, attribute: u32, coordinate: u32| {
        let (attributes, coordinates) = ([0, 1, attribute], [0, 1, coordinate]);
        let event = Event::of(&attributes, &coordinates, &[1.0, 0.3, 1.0]);
        let mut score = [0.0];
        forest.step(event, Lesson::NONE, &mut score);
        score[0]
    };
    assert_eq!(score(&mut forest, 2, 2), score(&mut forest, 99, 99));
    let mut back = new(Task::Two, 0.0);
    back.restore(&forest.state(), 4, 6).unwrap();
    assert_eq!(teach(&mut back, Task::Two, 8, 600), teach(&mut forest, Task::Two, 8, 600));
}

#[test]
fn widening_keeps_learned_scores_and_tree_bound() {
    let mut forest = new(Task::Two, 0.0);
    teach(&mut forest, Task::Two, 9, 3000);
    let sample = Sample::new(&mut Numbers::new(10));
    let (mut one, mut three) = ([0.0], [0.0; 3]);
    forest.step(sample.event(), Lesson::NONE, &mut one);
    forest.widen(3);
    forest.step(sample.event(), Lesson::NONE, &mut three);
    assert!((three[1] - three[0] - one[0]).abs() < 0.3 && three[2] < three[0].max(three[1]) - 2.0);
    forest.widen(6000);
    let begun = forest.trees.iter().filter_map(|tree| tree.nodes[0].leaf.as_ref());
    let begun: Vec<u64> = begun.map(|leaf| leaf.asked_at).collect();
    assert!(!begun.is_empty() && begun.iter().all(|step| *step == 3000), "{begun:?}");
    teach(&mut forest, Task::Many(6000), 11, 100);
    let nodes = forest.trees.iter().map(|tree| tree.nodes.len()).max().unwrap();
    assert!(nodes > 1 && nodes * 6000 <= 1 << 17);
}

#[test]
fn full_trees_update_nodes_but_not_leaves() {
    let mut forest = new(Task::Two, 0.0);
    teach(&mut forest, Task::Two, 12, 600);
    let most = forest.shape.most_nodes(forest.codes.coordinates());
    for tree in &mut forest.trees {
        // Nodes that no event reaches.
        tree.nodes.resize(most, Node::leaf(0, Leaf::new(0, 0.0, 0)));
        tree.sums.resize(most * forest.shape.width(), 0.0);
    }
    let leaves = |forest: &Forest| -> Vec<Option<Box<Leaf>>> {
        forest.trees.iter().flat_map(|tree| tree.nodes.iter().map(|node| node.leaf.clone())).collect()
    };
    let roots = |forest: &Forest| -> f64 { forest.trees.iter().map(|tree| tree.nodes[0].weight).sum() };
    let (before, root) = (leaves(&forest), roots(&forest));
    teach(&mut forest, Task::Two, 13, 50);
    assert!(leaves(&forest) == before && roots(&forest) > root);
}

#[test]
fn extreme_input_stays_finite() {
    for task in TASKS {
        let mut forest = new(task, 2.0);
        let mut scores = vec![0.0; forest.classes()];
        for (t, huge) in [1e300, -1e300, 1e-300, 0.0, f64::MAX, 1.0].iter().cycle().take(1200).enumerate() {
            let label = match task {
                Task::Two => huge.signum(),
                Task::Many(classes) => (t % classes) as f64,
                Task::Regression => huge.clamp(-1e100, 1e100),
            };
            let (coordinates, values) = ([0, 1 + t as u32 % 3, 40], [1.0, *huge, -huge]);
            let event = Event::of(&[0, 1, 2], &coordinates, &values);
            let weight = [1e100, 1e-300, 1.0][t % 3];
            forest.step(event, Lesson { weight, ..Lesson::of(label) }, &mut scores);
            assert!(scores.iter().all(|score| score.is_finite()));
        }
        let mut back = new(task, 2.0);
        back.restore(&forest.state(), 3, 41).unwrap();
    }
}

#[test]
fn variances_are_not_negative_whatever_events_weigh() {
    let mut model = forest(true, 0.0);
    let event = Event::of(&[0, 1], &[0, 1], &[1.0, 0.5]);
    for (label, weight) in [(0.5744497708614369, 1e-300), (-0.784054650392087, 1e15)] {
        model.step(event, Lesson { weight, ..Lesson::of(label) }, &mut [0.0]);
    }
    forest(true, 0.0).restore(&model.state(), 2, 2).unwrap();
}

#[test]
fn broken_states_are_refused() {
    let mut model = new(Task::Two, 0.0);
    teach(&mut model, Task::Two, 12, 2000);
    let state = model.state();
    let all = state.i64s("learned_at").unwrap().0.len();
    for (name, at, value) in [
        ("clock", 0, -1.0),
        ("clock", 1, 0.0),
        ("clock", 1, 3.0),
        ("owners", 1, 4.0),
        ("owners", 1, -2.0),
        ("trees", 0, 0.0),
        ("trees", 0, 1e18),
        ("trees", 1, -1.0),
        ("losses", 0, f64::NAN),
        ("losses", 1, -1.0),
        ("splits", 0, 6.0),
        ("splits", 0, -2.0),
        ("splits", 0, -1.0),
        ("splits", 1, 65535.0),
        ("splits", 2, 2.0),
        ("splits", 3, 0.0),
        ("splits", 3, 2.0),
        ("splits", 3, 1e9),
        ("learned_at", 0, 1e15),
        ("node_weights", 0, 1.5),
        ("node_weights", 1, f64::INFINITY),
        ("sums", 0, -1.0),
        ("sums", 0, f64::NAN),
        ("leaves", 0, -1.0),
        ("leaves", 2, f64::NAN),
        ("asked_at", 0, 1e15),
        ("counts", 0, 1e6),
        ("counts", 0, 0.0),
        ("candidates", 0, 6.0),
        ("candidates", 1, 2048.0),
        ("candidates", 2, 7.0),
        ("cells", 0, 1e19),
        ("latest", 0, 0.0),
        ("latest", 0, 2001.0),
        ("latest", 1, -1.0),
        ("latest", 1, 1e9),
        ("latest", 2, 0.0),
        ("latest", 2, 1e9),
        ("latest", 3, 1000.0),
        ("latest_lessons", 0, 2.0),
        ("latest_lessons", 0, 0.5),
        ("latest_lessons", 1, 0.0),
        ("latest_lessons", 1, 1e7),
        ("latest_items", 0, 6.0),
        ("latest_items", 0, -1.0),
        ("latest_codes", 0, 2048.0),
        ("latest_leaves", 0, -1.0),
        ("latest_leaves", 0, 1e6),
    ] {
        let mut back = new(Task::Two, 0.0);
        assert!(back.restore(&changed(&state, name, at, value), 4, 6).is_err(), "{name} {at} {value}");
        assert_eq!(back.state(), new(Task::Two, 0.0).state());
    }
    for name in state.0.keys() {
        let mut broken = state.clone();
        match broken.0.get_mut(name).unwrap() {
            Array::F64(values, shape) => (values.pop(), shape[0] -= 1),
            Array::I64(values, shape) => (values.pop().map(|_| 0.0), shape[0] -= 1),
            Array::I32(values, shape) => (values.pop().map(|_| 0.0), shape[0] -= 1),
            Array::U64(values, shape) => (values.pop().map(|_| 0.0), shape[0] -= 1),
            Array::Bool(_, shape) => (None, shape[0] -= 1),
        };
        assert!(new(Task::Two, 0.0).restore(&broken, 4, 6).is_err() || name == "owners", "{name}");
    }
    assert!(all > 10 && forest_of(0).is_err() && forest_of(1001).is_err());
}

fn forest_of(trees: usize) -> Result<Forest, Refused> {
    Forest::new(Settings { regression: false, trees, half_life: 0.0 })
}
