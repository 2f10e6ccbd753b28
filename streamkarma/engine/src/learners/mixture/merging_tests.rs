//! Tests of `merging`.

use super::aggregator::Aggregator;
use super::tests::{EVENTS, KINDS, Kind, Stream, run};
use super::{Calibrated, Mixture};
use crate::block::{Event, Evicted};
use crate::learner::{Fact, Learner, Lesson, Unit};
use crate::merging::of_kind;
use crate::state::{Array, Refused, State};
use crate::translation::Translation;

/// Predicts the values of an event from `at` on, by the current numbering of classes and scale of the target.
#[derive(Clone)]
struct Echo {
    at: usize,
    steps: u64,
    places: Vec<usize>,
    target: (f64, f64),
}

impl Echo {
    fn new(at: usize) -> Self {
        Self { at, steps: 0, places: vec![0, 1], target: (0.0, 1.0) }
    }
}

impl Learner for Echo {
    fn classes(&self) -> usize {
        if self.places.len() > 2 { self.places.len() } else { 1 }
    }

    fn steps(&self) -> u64 {
        self.steps
    }

    fn step(&mut self, event: Event, lesson: Lesson, scores: &mut [f64]) -> f64 {
        let values = &event.values[self.at..];
        match scores {
            [score] if self.places[0] == 1 => *score = -values[0],
            [score] => *score = (values[0] - self.target.0) / self.target.1,
            _ => self.places.iter().zip(values).for_each(|(&place, value)| scores[place] = *value),
        }
        self.steps += u64::from(lesson.is_learned());
        f64::NAN
    }

    fn forget(&mut self, _: &Evicted) {}

    fn widen(&mut self, classes: usize) {
        self.places = (0..classes).collect();
    }

    fn restart(&mut self, steps: u64) {
        self.steps = steps;
    }

    fn summary(&self) -> Vec<(&'static str, Fact)> {
        Vec::new()
    }

    fn state(&self) -> State {
        let mut state = State::default();
        state.put_i64s("steps", vec![self.steps as i64], &[1]);
        state
    }

    fn restore(&mut self, state: &State, _: usize, _: usize) -> Result<(), Refused> {
        self.steps = state.i64s("steps")?.0[0] as u64;
        Ok(())
    }

    fn relabel(&mut self, places: &[usize]) -> Result<(), Refused> {
        self.places = self.places.iter().map(|&place| places[place]).collect();
        Ok(())
    }

    fn translate(&mut self, translation: &Translation) -> Result<(), Refused> {
        self.target =
            (self.target.0 + self.target.1 * translation.target.0, self.target.1 * translation.target.1);
        Ok(())
    }

    fn merge(&mut self, parts: &[&dyn Learner]) -> Result<(), Refused> {
        let before = self.steps;
        self.steps += of_kind::<Self>(parts)?.iter().map(|part| part.steps - before).sum::<u64>();
        Ok(())
    }
}

fn mixture(kind: Kind, half_life: f64) -> Mixture {
    let experts = (0..3).map(|e| (format!("expert {e}"), Box::new(Echo::new(3 * e)) as Box<dyn Learner>));
    let mut made = Mixture::new(experts.collect(), 1, kind == Kind::Numbers, half_life).unwrap();
    if kind == Kind::Several {
        made.widen(3);
    }
    made
}

/// A model that starts from another and continues with some of the events.
fn trained_further(from: &Mixture, kind: Kind, half_life: f64, events: (usize, usize)) -> Mixture {
    let mut made = mixture(kind, half_life);
    made.restore(&from.state(), 16, 16).unwrap();
    run(&mut made, &Stream::new(kind), events.0, events.1);
    made
}

fn merged(base: &Mixture, kind: Kind, half_life: f64, parts: &[&Mixture]) -> Mixture {
    let mut made = trained_further(base, kind, half_life, (0, 0));
    made.merge(&parts.iter().map(|&part| part as &dyn Learner).collect::<Vec<_>>()).unwrap();
    // The merged model can be saved and resumed.
    mixture(kind, half_life).restore(&made.state(), 16, 16).unwrap();
    made
}

fn assert_near(one: &Mixture, other: &Mixture, tolerance: f64) {
    let (one, other) = (one.state(), other.state());
    for (name, array) in &one.0 {
        match (array, &other.0[name]) {
            (Array::F64(one, _), Array::F64(other, _)) if one.len() == other.len() => {
                let largest = other.iter().fold(1.0, |most: f64, each| most.max(each.abs()));
                one.iter().zip(other).for_each(|(a, b)| {
                    assert!((a - b).abs() <= tolerance * largest, "{name}: {a} {b}");
                });
            }
            (one, other) => assert_eq!(one, other, "{name}"),
        }
    }
}

#[test]
fn merging_ignores_order_and_counts_the_base_once() {
    for kind in KINDS {
        for (half_life, first) in [(0.0, 0), (0.0, 100), (50.0, 100)] {
            let base = trained_further(&mixture(kind, half_life), kind, half_life, (0, first));
            let [a, b, c] = [(100, 180), (180, 330), (330, EVENTS)]
                .map(|events| trained_further(&base, kind, half_life, events));
            let join = |parts: &[&Mixture]| merged(&base, kind, half_life, parts);
            let all = join(&[&a, &b, &c]);
            assert_near(&join(&[&c, &a, &b]), &all, 1e-12);
            assert_near(&join(&[&a, &join(&[&b, &c])]), &all, 1e-12);
            assert_near(&join(&[&join(&[&a, &c]), &base, &b]), &all, 1e-12);
            let learned = |model: &Mixture| model.steps() - base.steps();
            assert_eq!(learned(&all), learned(&a) + learned(&b) + learned(&c));
            assert_eq!(all.aggregator.steps(), all.steps());
        }
    }
}

#[test]
fn merging_with_the_base_only_clears_late_predictions() {
    for kind in KINDS {
        let base = trained_further(&mixture(kind, 0.0), kind, 0.0, (0, 100));
        // Event 196 still waits for its label.
        let mut part = trained_further(&base, kind, 0.0, (100, 198));
        let (with, copies) =
            (merged(&base, kind, 0.0, &[&base, &part]), merged(&base, kind, 0.0, &[&base, &base]));
        assert!(!part.late.kept.is_empty());
        part.late.clear();
        assert_near(&with, &part, 1e-12);
        let mut cleared = trained_further(&base, kind, 0.0, (0, 0));
        cleared.late.clear();
        assert_eq!(copies.state(), cleared.state());
    }
}

#[test]
fn merged_parameters_are_weighted_by_precision() {
    // A part that has seen only one feature contributes nothing to the other.
    let (mut one, mut other) = (Aggregator::new(2, false, 0.0), Aggregator::new(2, false, 0.0));
    (one.steps, other.steps) = (10, 30);
    (one.blend.mix, one.blend.covariance) = (vec![2.0, 7.0], vec![0.01, 0.0, 0.0, 0.1]);
    (other.blend.mix, other.blend.covariance) = (vec![1.0, 3.0], vec![0.1, 0.0, 0.0, 0.001]);
    let mut base = Aggregator::new(2, false, 0.0);
    base.merge(&[&one, &other]).unwrap();
    let expected = [(10.0 * 100.0 * 2.0 + 30.0 * 10.0) / 1300.0, (100.0 * 7.0 + 30_000.0 * 3.0) / 30_100.0];
    assert!(base.blend.mix.iter().zip(expected).all(|(found, expected)| (found - expected).abs() < 1e-12));
    assert!((base.blend.covariance[0] - 40.0 / 1300.0).abs() < 1e-15);
    // A precision-weighted mean may put b outside its bounds, if each part is precise in another direction; it is
    // clamped.
    let (there, back) = (&mut one.completeness, &mut other.completeness);
    (there.parameters, back.parameters) = ([-3.0, 0.0, 1.0, 0.0], [3.0, 0.0, 1.0, 0.0]);
    // Variances and covariance of the first a and the first b.
    for (place, entry, plain) in [(0, 0.0505, 0.05), (10, 0.0505, 0.05), (2, 0.0495, 0.0), (8, 0.0495, 0.0)] {
        (there.covariance[place], back.covariance[place]) = (entry, plain);
    }
    // The mean of what is left open may exceed its bound by its last bit: 1/10 + 2/10 + 7/10 is more than 1.
    let mut third = other.clone();
    (one.steps, other.steps, third.steps) = (10, 20, 70);
    for each in [&mut one, &mut other, &mut third] {
        each.completeness.moments[1] = -1.0;
    }
    let mut merged = Aggregator::new(2, false, 0.0);
    merged.merge(&[&one, &other, &third]).unwrap();
    assert_eq!(merged.completeness.parameters[2], 1.0);
    assert_eq!(merged.completeness.moments[1], -1.0);
    assert!(merged.clone().restore(&merged.state()).is_ok());
    // A singular covariance has no precision.
    (one.steps, other.steps) = (10, 30);
    other.blend.covariance = vec![0.0; 4];
    let mut base = Aggregator::new(2, false, 0.0);
    base.merge(&[&one, &other]).unwrap();
    assert_eq!(base.blend.mix, [1.25, 4.0]);
    assert!(base.clone().restore(&base.state()).is_ok());
}

#[test]
fn relabelling_permutes_predictions() {
    for (kind, places) in [(Kind::Two, &[1, 0][..]), (Kind::Several, &[2, 0, 1])] {
        let classes = if kind == Kind::Two { 1 } else { 3 };
        let part = || trained_further(&mixture(kind, 0.0), kind, 0.0, (0, 300));
        let (stream, mut one, mut other) = (Stream::new(kind), part(), part());
        other.relabel(places).unwrap();
        for t in 300..EVENTS {
            let unlabelled = Lesson { external_scores: &[0.0; 3], ..Lesson::NONE };
            let (mut prediction, mut again) = (vec![0.0; classes], vec![0.0; classes]);
            one.run(&stream.block(t, t + 1), &[unlabelled], &mut prediction, &mut [0.0]);
            other.run(&stream.block(t, t + 1), &[unlabelled], &mut again, &mut [0.0]);
            let expected = |c: usize| if classes == 1 { -again[0] } else { again[places[c]] };
            (0..classes).for_each(|c| assert!((prediction[c] - expected(c)).abs() < 1e-9));
        }
        // The inverse: one more step for a swap, two more for a cycle of three.
        other.relabel(places).unwrap();
        if kind == Kind::Several {
            other.relabel(places).unwrap();
        }
        one.late.clear();
        assert_eq!(one.state(), other.state());
    }
}

#[test]
fn targets_on_another_scale_are_predicted_as_before() {
    for absolute in [false, true] {
        let experts =
            || (0..3).map(|e| (e.to_string(), Box::new(Echo::new(3 * e)) as Box<dyn Learner>)).collect();
        let mut model = Mixture::new(experts(), 0, true, 0.0).unwrap();
        if absolute {
            model = model.with_absolute_loss();
        }
        let stream = Stream::new(Kind::Numbers);
        run(&mut model, &stream, 0, 300);
        model.aggregator.blend.mix = vec![0.5, 0.3, 0.2];
        let mut translated = Mixture::new(experts(), 0, true, 0.0).unwrap();
        translated.restore(&model.state(), 16, 16).unwrap();
        let same = Translation::none(1, vec![0]);
        translated.translate(&same).unwrap();
        assert_eq!(translated.state(), model.state());
        translated.translate(&Translation { target: (0.3, 1.6), ..same }).unwrap();
        assert!(translated.aggregator.clone().restore(&translated.aggregator.state()).is_ok());
        for t in 300..EVENTS {
            let (mut prediction, mut again) = ([0.0], [0.0]);
            model.run(&stream.block(t, t + 1), &[Lesson::NONE], &mut prediction, &mut [0.0]);
            translated.run(&stream.block(t, t + 1), &[Lesson::NONE], &mut again, &mut [0.0]);
            assert!((prediction[0] - (0.3 + 1.6 * again[0])).abs() < 1e-12);
        }
    }
}

#[test]
fn target_unit_jumps_reset_recent_errors() {
    let experts = (0..3).map(|e| (e.to_string(), Box::new(Echo::new(3 * e)) as Box<dyn Learner>)).collect();
    let mut model = Mixture::new(experts, 0, true, 0.0).unwrap();
    run(&mut model, &Stream::new(Kind::Numbers), 0, 300);
    let shift = |spread: f64| {
        let (mut recent, mut mixed) = (model.recent.clone().unwrap(), [0.7]);
        let (unit, mut only_predicted) = (Unit { centre: 0.0, spread }, [0.7]);
        recent.step(&Lesson { unit, ..Lesson::NONE }, 1.5, None, &mut only_predicted, f64::NAN);
        recent.asked = 0;
        recent.step(&Lesson { unit, ..Lesson::of(0.5) }, 1.5, None, &mut mixed, 0.0);
        assert_eq!(only_predicted, mixed);
        mixed[0] - 0.7
    };
    assert!(shift(1.0) != 0.0 && shift(1.5) == shift(1.0) && shift(2.5) == 0.0 && shift(0.3) == 0.0);
}

#[test]
fn other_mixtures_are_refused() {
    let make = |names: [&str; 2], half_life| {
        let experts = names.map(|name| (name.to_owned(), Box::new(Echo::new(0)) as Box<dyn Learner>));
        Mixture::new(experts.into(), 0, false, half_life).unwrap()
    };
    let calibrated = || Calibrated::new(Box::new(Echo::new(0)), 0.0).unwrap();
    let mut model = make(["a", "b"], 0.0);
    assert!(model.merge(&[&make(["a", "b"], 0.0)]).is_ok());
    let others: [&dyn Learner; 4] =
        [&make(["a", "c"], 0.0), &make(["a", "b"], 9.0), &Echo::new(0), &calibrated()];
    for other in others {
        assert!(model.merge(&[other]).is_err());
    }
    let (mut one, mut two) = (calibrated(), calibrated());
    run(&mut two, &Stream::new(Kind::Two), 0, 100);
    assert!(one.merge(&[&two]).is_ok() && one.merge(&[&model]).is_err());
    assert_eq!(one.state().0["steps"], two.state().0["steps"]);
}
