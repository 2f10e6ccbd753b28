//! Tests of `merging`.

use super::quantiles::ALL;
use super::{NARROWEST, Point, TransformedTarget};
use crate::block::{Event, Evicted};
use crate::learner::{Fact, Learner, Lesson, Unit};
use crate::math::exp;
use crate::merging::of_kind;
use crate::state::{Array, Refused, State};
use crate::translation::Translation;

/// A learner that predicts the mean of the labels times the value of the event.
#[derive(Clone, Default)]
struct Slope {
    count: u64,
    sum: f64,
}

impl Learner for Slope {
    fn classes(&self) -> usize {
        1
    }

    fn steps(&self) -> u64 {
        self.count
    }

    fn step(&mut self, event: Event, lesson: Lesson, scores: &mut [f64]) -> f64 {
        scores[0] = event.values[0] * self.sum / (self.count as f64 + 1.0);
        if lesson.is_learned() {
            self.sum += lesson.label * event.values[0];
            self.count += 1;
        }
        f64::NAN
    }

    fn forget(&mut self, _: &Evicted) {}

    fn widen(&mut self, _: usize) {}

    fn restart(&mut self, steps: u64) {
        (self.count, self.sum) = (steps, 0.0);
    }

    fn summary(&self) -> Vec<(&'static str, Fact)> {
        Vec::new()
    }

    fn state(&self) -> State {
        let mut state = State::default();
        state.put_f64s("known", vec![self.count as f64, self.sum], &[2]);
        state
    }

    fn restore(&mut self, state: &State, _: usize, _: usize) -> Result<(), Refused> {
        let known = state.f64s("known")?.0;
        (self.count, self.sum) = (known[0] as u64, known[1]);
        Ok(())
    }

    fn translate(&mut self, translation: &Translation) -> Result<(), Refused> {
        assert_eq!(translation.target, (0.0, 1.0));
        Ok(())
    }

    fn merge(&mut self, parts: &[&dyn Learner]) -> Result<(), Refused> {
        let before = self.clone();
        for part in of_kind::<Self>(parts)? {
            self.count += part.count - before.count;
            self.sum += part.sum - before.sum;
        }
        Ok(())
    }
}

fn learner(point: Point) -> TransformedTarget {
    TransformedTarget::new(Box::<Slope>::default(), point).unwrap()
}

/// The event with this number: ±1, and a log-normal target that depends on it.
fn event(t: u64) -> (f64, f64) {
    let mut seed = t.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut uniform = || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as f64 / f64::from(1_u32 << 31)
    };
    let value = if uniform() < 0.5 { -1.0 } else { 1.0 };
    (value, exp(value + uniform() + uniform() + uniform()))
}

fn score_of(model: &mut TransformedTarget, value: f64, lesson: Lesson) -> f64 {
    let mut scores = [0.0];
    model.step(Event::of(&[1], &[1], &[value]), lesson, &mut scores);
    scores[0]
}

fn trained_further(from: &TransformedTarget, events: std::ops::Range<u64>) -> TransformedTarget {
    let mut made = learner(Point::Mean);
    made.restore(&from.state(), 0, 0).unwrap();
    for (value, label) in events.map(event) {
        score_of(&mut made, value, Lesson::of(label));
    }
    made
}

fn merged(base: &TransformedTarget, parts: &[&TransformedTarget]) -> TransformedTarget {
    let mut made = trained_further(base, 0..0);
    made.merge(&parts.iter().map(|&part| part as &dyn Learner).collect::<Vec<_>>()).unwrap();
    let again = trained_further(&made, 0..0);
    assert!(again.transform.curve == made.transform.curve && again.state() == made.state());
    made
}

fn assert_near(one: &TransformedTarget, other: &TransformedTarget) {
    let (one, other) = (one.state(), other.state());
    for (name, array) in &one.0 {
        match (array, &other.0[name]) {
            (Array::F64(one, _), Array::F64(other, _)) if one.len() == other.len() => {
                let near = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-12 * b.abs().max(1.0);
                assert!(one.iter().zip(other).all(near), "{name}");
            }
            (one, other) => assert_eq!(one, other, "{name}"),
        }
    }
}

#[test]
fn merge_ignores_order_and_grouping_and_counts_base_once() {
    for (first, ends) in [(0, [40, 130, 170]), (70, [100, 260, 400]), (10, [900, 2300, 4000])] {
        let base = trained_further(&learner(Point::Mean), 0..first);
        let [a, b, c] =
            [first..ends[0], ends[0]..ends[1], ends[1]..ends[2]].map(|part| trained_further(&base, part));
        let all = merged(&base, &[&a, &b, &c]);
        assert_near(&merged(&base, &[&c, &a, &b]), &all);
        assert_near(&merged(&base, &[&a, &merged(&base, &[&b, &c])]), &all);
        assert_near(&merged(&base, &[&base, &b]), &b);
        assert_near(&merged(&base, &[&base, &base]), &base);
        assert_eq!((all.steps(), all.residuals), (ends[2], ends[2]));
        // As many targets await the next update as in a single pass, as long as none has been dropped.
        let waiting = if ends[2] < ALL as u64 { ends[2] as usize } else { 0 };
        assert_eq!(all.transform.labels.recent.len(), waiting);
    }
}

#[test]
fn merged_parts_approximate_the_one_pass_curve() {
    let none = learner(Point::Mean);
    let whole = trained_further(&none, 0..16_000);
    let parts = [0..4000, 4000..8000, 8000..16_000].map(|part| trained_further(&none, part));
    let mut all = merged(&none, &parts.each_ref());
    for target in [1.0, 3.0, 9.0, 30.0] {
        let transformed = |model: &TransformedTarget| model.transform.curve.transform(&Lesson::of(target));
        assert!((transformed(&all) - transformed(&whole)).abs() < 0.1);
    }
    let mut whole = whole;
    for value in [-1.0, 1.0] {
        let (one, other) =
            (score_of(&mut all, value, Lesson::NONE), score_of(&mut whole, value, Lesson::NONE));
        assert!((one / other - 1.0).abs() < 0.1);
    }
}

#[test]
fn rescaled_targets_preserve_predictions() {
    let mut model = trained_further(&learner(Point::Mean), 0..700);
    let (same, mut translated) = (Translation::none(2, vec![0, 1]), trained_further(&model, 0..0));
    translated.translate(&same).unwrap();
    assert_eq!(translated.state(), model.state());
    translated.translate(&Translation { target: (-2.0, 0.4), ..same }).unwrap();
    assert_eq!(trained_further(&translated, 0..0).state(), translated.state());
    for t in 700..1500 {
        let (value, label) = event(t);
        let score = score_of(&mut model, value, Lesson::of(label));
        let unit = Unit { centre: -2.0, spread: 0.4 };
        let lesson = Lesson { target: label, unit, ..Lesson::of(unit.standard(label)) };
        let again = score_of(&mut translated, value, lesson);
        assert!((score - (0.4 * again - 2.0)).abs() < 1e-9 * score.abs());
    }
}

#[test]
fn merging_another_point_or_learner_is_refused() {
    assert!(learner(Point::Mean).merge(&[&learner(Point::Median)]).is_err());
    assert!(learner(Point::Mean).merge(&[&Slope::default()]).is_err());
    assert!(learner(Point::Mean).relabel(&[0, 1]).is_ok());
}

#[test]
fn a_mean_of_variances_stays_within_their_bounds() {
    let base = learner(Point::Mean);
    for events in 1..40 {
        let mut parts = [1, events, 3 * events].map(|events| trained_further(&base, 0..events));
        parts.iter_mut().for_each(|part| part.variance = NARROWEST);
        assert!(merged(&base, &parts.each_ref()).variance >= NARROWEST);
    }
}
