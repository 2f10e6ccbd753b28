//! What refitted trees learn, sums of leaves compared with plain ones, states, and malicious input.

use std::collections::HashSet;

use super::ensemble::NONE;
use super::*;
use crate::learner::Unit;
use crate::learners::refits::LIGHT;
use crate::learners::samples::{Numbers, Sample, TASKS, Task, assert_resumed, changed, teach};

const WINDOW: usize = 600;

pub(super) fn trees(regression: bool, half_life: f64) -> RefittedTrees {
    RefittedTrees::new(Settings { kind: Kind::Boosted, regression, window: WINDOW, half_life }).unwrap()
}

pub(super) fn new(task: Task, half_life: f64) -> RefittedTrees {
    let mut model = trees(task == Task::Regression, half_life);
    if let Task::Many(classes) = task {
        model.widen(classes);
    }
    model
}

pub(super) fn randomised(half_life: f64) -> RefittedTrees {
    let settings = Settings { kind: Kind::Randomised, regression: true, window: WINDOW, half_life };
    RefittedTrees::new(settings).unwrap()
}

/// A learner of each kind for each task.
pub(super) fn all(half_life: f64) -> Vec<(Task, RefittedTrees)> {
    let boosted = TASKS.into_iter().map(|task| (task, new(task, half_life)));
    boosted.chain([(Task::Regression, randomised(half_life))]).collect()
}

#[test]
fn learns_boxes_categories_and_missing_values() {
    for ((task, mut model), most) in all(0.0).into_iter().zip([0.2, 0.15, 1.6, 2.5, 2.5]) {
        let loss = teach(&mut model, task, 1, 1500);
        assert!(loss < most, "{task:?}: {loss}");
    }
}

/// Scores, and the final state, when values and targets are standardised in a unit that moves or is fixed.
fn scores_in_units(task: Task, unit_at: impl Fn(u64) -> Unit) -> (Vec<f64>, State) {
    let mut model = new(task, 0.0);
    let (mut numbers, mut predictions, mut score) = (Numbers::new(11), Vec::new(), [0.0]);
    for t in 0..700 {
        let (sample, unit) = (Sample::new(&mut numbers), unit_at(t));
        let values: Vec<f64> = sample.values.iter().map(|&value| unit.standard(value)).collect();
        let event = Event { values: &values, ..sample.event() };
        let target = sample.label(task);
        let lesson = match task {
            Task::Regression => Lesson { target, unit, ..Lesson::of(unit.standard(target)) },
            _ => Lesson::of(target),
        };
        model.step(event, lesson, &mut score);
        predictions.push(if task == Task::Regression { unit.plain(score[0]) } else { score[0] });
    }
    (predictions, model.state())
}

#[test]
fn moving_scale_does_not_affect_scores() {
    let moving = |t: u64| Unit { centre: 8.0 / (t + 1) as f64, spread: 10.0 + 30.0 / (t + 1) as f64 };
    let fixed = |_| Unit { centre: 0.0, spread: 10.0 };
    assert_eq!(scores_in_units(Task::Two, moving), scores_in_units(Task::Two, fixed));
    // Sums of targets are rounded in the unit of a fit.
    let (moved, still) =
        (scores_in_units(Task::Regression, moving).0, scores_in_units(Task::Regression, fixed).0);
    let pairs = moved[32..].iter().zip(&still[32..]);
    let off = pairs.map(|(one, two)| (one - two).abs()).sum::<f64>() / (moved.len() - 32) as f64;
    assert!(off < 0.05, "{off}");
}

#[test]
fn adapts_to_change() {
    let mut model = new(Task::Two, 0.0);
    teach(&mut model, Task::Two, 2, 1200);
    let (mut numbers, mut score, mut wrong) = (Numbers::new(3), [0.0], 0);
    for t in 0..1000 {
        let sample = Sample::new(&mut numbers);
        let label = -sample.label(Task::Two);
        model.step(sample.event(), Lesson::of(label), &mut score);
        wrong += usize::from(t >= 500 && score[0] * label <= 0.0);
    }
    assert!(wrong < 60 && model.refits.begun > 1100, "{wrong} {}", model.refits.begun);
    // Events from before the change are gone.
    assert!(model.refits.latest.events.iter().all(|event| event.step > model.refits.begun));
}

#[test]
fn first_tree_slopes_include_events_since_fit() {
    for task in [Task::Two, Task::Many(3), Task::Regression] {
        let mut model = new(task, 0.0);
        teach(&mut model, task, 4, 500);
        let (task, fitted) = (model.task(Unit::NONE), model.refits.fitted);
        assert!(
            model.refits.steps > fitted + 20
                && model.refits.latest.events.len() == model.refits.steps as usize
        );
        let mut sums = vec![0.0; model.ensemble.slopes.len()];
        let (mut slopes, mut curvatures) = (vec![0.0; task.width], vec![0.0; task.width]);
        for event in &model.refits.latest.events {
            model.refits.row.recall(model.refits.latest.items(event));
            let mut at = 0;
            while model.ensemble.nodes[at].coordinate != NONE {
                let node = &model.ensemble.nodes[at];
                at = node.next(model.refits.row.of(node.coordinate));
            }
            task.derivatives(&model.ensemble.base, event.label, 1.0, &mut slopes, &mut curvatures);
            (0..task.width).for_each(|k| sums[at * task.width + k] += slopes[k]);
        }
        let first = model.ensemble.roots[1] as usize * task.width;
        for (sum, slope) in sums[..first].iter().zip(&model.ensemble.slopes) {
            assert!((sum - slope).abs() < 1e-9 * (1.0 + sum.abs()), "{sum} {slope}");
        }
    }
}

#[test]
fn state_round_trip_is_exact_and_predicting_has_no_effect() {
    for half_life in [0.0, 60.0] {
        // Many classes take long, and fade as few do.
        for (task, mut model) in
            all(half_life).into_iter().filter(|each| half_life == 0.0 || each.0 != Task::Many(20))
        {
            teach(&mut model, task, 5, 200);
            let fresh = RefittedTrees::new(model.settings).unwrap();
            let other = trees(task != Task::Regression, half_life);
            assert_resumed(&mut model, &fresh, &other, task);
        }
    }
    let boosted = trees(true, 0.0);
    assert!(randomised(0.0).restore(&boosted.state(), 4, 6).is_err());
    assert!(boosted.clone().restore(&randomised(0.0).state(), 4, 6).is_err());
}

#[test]
fn splits_treat_evicted_coordinates_as_missing() {
    let mut model = new(Task::Two, 0.0);
    teach(&mut model, Task::Two, 7, 500);
    let score = |model: &mut RefittedTrees, values: &[(u32, f64)]| {
        let places: Vec<u32> = [0, 1].into_iter().chain(values.iter().map(|(place, _)| *place)).collect();
        let values: Vec<f64> = [1.0, 0.3].into_iter().chain(values.iter().map(|(_, value)| *value)).collect();
        let mut score = [0.0];
        let event = Event::of(&places, &places, &values);
        model.step(event, Lesson::NONE, &mut score);
        score[0]
    };
    let (with, without) = (score(&mut model, &[(2, 1.0)]), score(&mut model, &[]));
    assert_ne!(with, without);
    model.forget(&Evicted { coordinates: vec![2], attributes: vec![2], ..Evicted::default() });
    assert_eq!(score(&mut model, &[(2, 1.0)]), without);
    // The coordinate comes back with another meaning; earlier events have no value of it.
    let mut back = new(Task::Two, 0.0);
    back.restore(&model.state(), 4, 6).unwrap();
    assert_eq!(teach(&mut back, Task::Two, 8, 500), teach(&mut model, Task::Two, 8, 500));
    assert_eq!(back.state(), model.state());
}

#[test]
fn widening_keeps_learned_scores() {
    let mut model = new(Task::Two, 0.0);
    teach(&mut model, Task::Two, 9, 500);
    let sample = Sample::new(&mut Numbers::new(10));
    let (mut one, mut three) = ([0.0], [0.0; 3]);
    model.step(sample.event(), Lesson::NONE, &mut one);
    model.widen(3);
    model.step(sample.event(), Lesson::NONE, &mut three);
    assert!((three[1] - three[0] - one[0]).abs() < 1e-9);
    model.widen(900);
    teach(&mut model, Task::Many(900), 11, 300);
}

#[test]
fn refits_are_rarer_without_predictions() {
    let fits = |wants_scores: bool| {
        let (mut model, mut numbers, mut fits) = (new(Task::Two, 0.0), Numbers::new(12), 0);
        for _ in 0..1000 {
            let (sample, before) = (Sample::new(&mut numbers), model.refits.fitted);
            let lesson = Lesson { wants_scores, ..Lesson::of(sample.label(Task::Two)) };
            model.step(sample.event(), lesson, &mut [0.0]);
            fits += u32::from(model.refits.fitted > before);
        }
        assert_eq!(model.refits.latest.events.len(), WINDOW);
        fits
    };
    let (asked, unasked) = (fits(true), fits(false));
    assert!(asked > 8 && unasked < 5, "{asked} {unasked}");
}

/// The steps of the fits to 200 events, the last of which are predicted.
fn steps_of_fits(task: Task, mut model: RefittedTrees, asked_from: u64) -> Vec<u64> {
    let (mut numbers, mut fits) = (Numbers::new(13), Vec::new());
    for step in 1..=200 {
        let (sample, before) = (Sample::new(&mut numbers), model.refits.fitted);
        let lesson = Lesson { wants_scores: step >= asked_from, ..Lesson::of(sample.label(task)) };
        model.step(sample.event(), lesson, &mut [0.0]);
        fits.extend((model.refits.fitted > before).then_some(step));
    }
    fits
}

#[test]
fn trees_that_are_asked_again_do_not_wait() {
    let fits = |asked_from| steps_of_fits(Task::Two, new(Task::Two, 0.0), asked_from);
    assert_eq!(fits(201), [32, 128]);
    assert_eq!(fits(129), [32, 128, 192]);
    // By the 192nd event, fewer than half of those since the fit had been predicted.
    assert_eq!(fits(163), [32, 128, 196]);
}

#[test]
fn the_second_fit_does_not_wait_because_nothing_could_be_predicted_before_the_first() {
    for model in [trees(true, 0.0), randomised(0.0)] {
        assert_eq!(steps_of_fits(Task::Regression, model, 0), [32, 48, 72, 108, 162]);
    }
}

#[test]
fn trees_side_by_side_add_what_they_add_one_after_another() {
    for (task, mut model) in [(Task::Two, trees(true, 0.0)), (Task::Regression, randomised(0.0))] {
        teach(&mut model, task, 5, 300);
        let (mut numbers, mut depths) = (Numbers::new(27), HashSet::new());
        for _ in 0..50 {
            model.refits.row.read(&Sample::new(&mut numbers).event());
            let mut scores = [0.0];
            model.ensemble.predict(&model.refits.row, &mut scores);
            let Ensemble { nodes, values, roots, base, .. } = &model.ensemble;
            let expected = roots.iter().fold(base[0], |sum, &root| {
                let (mut at, mut depth) = (root as usize, 0);
                while nodes[at].coordinate != NONE {
                    at = nodes[at].next(model.refits.row.of(nodes[at].coordinate));
                    depth += 1;
                }
                depths.insert(depth);
                sum + values[at]
            });
            assert_eq!(scores, [expected]);
        }
        assert!(depths.len() > 3);
    }
}

#[test]
fn light_events_are_sampled_and_reweighted() {
    let (mut model, mut numbers) = (new(Task::Two, 0.0), Numbers::new(16));
    for _ in 0..3000 {
        let sample = Sample::new(&mut numbers);
        let lesson = Lesson { weight: LIGHT / 8.0, ..Lesson::of(sample.label(Task::Two)) };
        model.step(sample.event(), lesson, &mut [0.0]);
    }
    let kept = model.refits.latest.events.len();
    assert!((300..450).contains(&kept), "{kept}");
    assert!(model.refits.latest.events.iter().all(|event| event.weight == LIGHT));
    let steps = model.refits.latest.events.iter().map(|event| event.step);
    assert!(steps.is_sorted() && model.refits.latest.events[0].step < 50);
}

#[test]
fn mean_survives_forgetting() {
    let mut model = new(Task::Regression, 1.0);
    let event = Event::of(&[0, 1], &[0, 1], &[1.0, 0.5]);
    let mut score = [0.0];
    model.step(event, Lesson::of(3.0), &mut score);
    for _ in 0..2000 {
        model.step(event, Lesson { weight: 1e-12, ..Lesson::of(3.0) }, &mut score);
    }
    assert!((score[0] - 3.0).abs() < 1e-9, "{score:?}");
}

#[test]
fn contributions_sum_to_score() {
    for (task, mut model) in all(0.0) {
        teach(&mut model, task, 13, 500);
        let sample = Sample::new(&mut Numbers::new(14));
        let explanation = Explanation::of(&mut model, sample.event(), &[], 0, Unit::NONE);
        let nothing = Event::of(&[0], &[0], &[1.0]);
        let empty = Explanation::of(&mut model, nothing, &[], 0, Unit::NONE);
        assert!(explanation.parts().any(|(_, parts)| parts[0].abs() > 0.01));
        // With nothing observed, the constant is the whole score.
        assert!(empty.parts().next().is_none() && empty.constants() == empty.scores);
        let sum: f64 = explanation.parts().map(|(_, parts)| parts[0]).sum();
        let all = sum + explanation.constants()[0] - explanation.scores[0];
        assert!(all.abs() < 1e-9, "{all}");
    }
}

#[test]
fn extreme_input_stays_finite() {
    for (task, mut model) in all(40.0) {
        let mut scores = vec![0.0; model.classes()];
        for (t, huge) in [1e300, -1e300, 1e-300, 0.0, f64::MAX, 1.0].iter().cycle().take(600).enumerate() {
            let label = match task {
                Task::Two => huge.signum(),
                Task::Many(classes) => (t % classes) as f64,
                Task::Regression => huge.clamp(-1e100, 1e100),
            };
            let values = [1.0, *huge, -huge];
            let event = Event::of(&[0, 1, 2], &[0, 1, 2], &values);
            let weight = if t % 7 == 0 { 1e300 } else { 1e-300 };
            model.step(event, Lesson { weight, ..Lesson::of(label) }, &mut scores);
            assert!(scores.iter().all(|score| score.is_finite()), "{task:?} {t} {scores:?}");
        }
        let mut back = RefittedTrees::new(model.settings).unwrap();
        back.restore(&model.state(), 4, 6).unwrap();
        assert_eq!(back.state(), model.state());
    }
}

#[test]
fn broken_states_are_refused() {
    let mut model = new(Task::Two, 0.0);
    teach(&mut model, Task::Two, 15, 500);
    let state = model.state();
    for (name, at, value) in [
        ("clock", 0, -1.0),
        ("clock", 1, 501.0),
        ("clock", 2, 501.0),
        ("clock", 3, 499.0),
        ("clock", 4, -1.0),
        ("kind", 2, 0.0),
        ("kind", 2, 2.0),
        ("owners", 1, 4.0),
        ("owners", 1, -2.0),
        ("latest", 0, 0.0),
        ("latest", 1, 65.0),
        ("latest", 1, 0.0),
        ("latest_lessons", 0, 2.0),
        ("latest_lessons", 0, 0.5),
        ("latest_lessons", 1, 0.0),
        ("latest_items", 0, 6.0),
        ("latest_values", 0, f64::NAN),
        ("latest_values", 1, f64::INFINITY),
        ("base", 0, f64::NAN),
        ("deviation", 0, 0.0),
        ("roots", 0, 1.0),
        ("roots", 1, 0.0),
        ("roots", 1, -1.0),
        ("splits", 0, 6.0),
        ("splits", 0, -2.0),
        ("splits", 0, -1.0),
        ("splits", 1, 2.0),
        ("splits", 2, 0.0),
        ("splits", 2, 1e9),
        ("cuts", 0, f64::NAN),
        ("slopes", 0, f64::INFINITY),
        ("curvatures", 0, -1.0),
        ("fit_errors.all", 0, -1.0),
    ] {
        let broken = changed(&state, name, at, value);
        assert!(new(Task::Two, 0.0).restore(&broken, 4, 6).is_err(), "{name} {at} {value}");
    }
    for name in state.0.keys() {
        let mut broken = state.clone();
        broken.0.remove(name);
        assert!(new(Task::Two, 0.0).restore(&broken, 4, 6).is_err(), "{name}");
    }
    assert!(
        RefittedTrees::new(Settings { kind: Kind::Boosted, regression: false, window: 0, half_life: 0.0 })
            .is_err()
    );
}
