//! Passes the logarithms of the values, sign(z) log(1 + |z|), to another learner: heavy tails are drawn in.

use std::any::Any;
use std::f64::consts::LN_2;

use crate::block::{Event, Evicted};
use crate::explaining::Explanation;
use crate::learner::{Fact, Learner, Lesson};
use crate::math::log;
use crate::merging::of_kind;
use crate::state::{Refused, State};
use crate::translation::Translation;

/// A learner on logarithms.
#[derive(Clone)]
pub struct Logarithmic {
    inner: Box<dyn Learner>,
    /// The logarithms of the event's values.
    values: Vec<f64>,
}

impl Logarithmic {
    /// Wrap a learner.
    pub fn new(inner: Box<dyn Learner>) -> Self {
        Self { inner, values: Vec::new() }
    }

    /// Compute the logarithms of an event's values.
    fn take(&mut self, event: &Event) {
        self.values.clear();
        self.values.extend(event.values.iter().map(|&value| logarithm(value)));
    }
}

/// sign(z) log(1 + |z|); the value 1 of the constant and of categories stays as it is.
fn logarithm(value: f64) -> f64 {
    if value == 1.0 { 1.0 } else { signed_log(value) }
}

fn signed_log(value: f64) -> f64 {
    log(1.0 + value.abs()).copysign(value)
}

impl Learner for Logarithmic {
    fn classes(&self) -> usize {
        self.inner.classes()
    }

    fn steps(&self) -> u64 {
        self.inner.steps()
    }

    fn models(&self) -> usize {
        self.inner.models()
    }

    fn join(&mut self, other: &dyn Learner) -> bool {
        let other = (other as &dyn Any).downcast_ref::<Self>();
        other.is_some_and(|other| self.inner.join(&*other.inner))
    }

    fn step(&mut self, event: Event, lesson: Lesson, scores: &mut [f64]) -> f64 {
        self.take(&event);
        self.inner.step(Event { values: &self.values, ..event }, lesson, scores)
    }

    fn learn_predicted(&mut self, event: Event, lesson: Lesson, scores: &mut [f64]) -> f64 {
        self.inner.learn_predicted(Event { values: &self.values, ..event }, lesson, scores)
    }

    fn explain(&mut self, event: Event, into: &mut Explanation) {
        self.take(&event);
        self.inner.explain(Event { values: &self.values, ..event }, into);
    }

    fn forget(&mut self, evicted: &Evicted) {
        self.inner.forget(evicted);
    }

    fn widen(&mut self, classes: usize) {
        self.inner.widen(classes);
    }

    fn restart(&mut self, steps: u64) {
        self.inner.restart(steps);
    }

    fn summary(&self) -> Vec<(&'static str, Fact)> {
        self.inner.summary()
    }

    fn state(&self) -> State {
        self.inner.state()
    }

    fn restore(&mut self, state: &State, attributes: usize, coordinates: usize) -> Result<(), Refused> {
        self.inner.restore(state, attributes, coordinates)
    }

    fn relabel(&mut self, places: &[usize]) -> Result<(), Refused> {
        self.inner.relabel(places)
    }

    fn is_hashed(&self) -> bool {
        self.inner.is_hashed()
    }

    /// Approximate where scales change: see [`on_log_scale`].
    fn translate(&mut self, translation: &Translation) -> Result<(), Refused> {
        self.inner.translate(&on_log_scale(translation))
    }

    fn merge(&mut self, parts: &[&dyn Learner]) -> Result<(), Refused> {
        let parts: Vec<&Self> = of_kind(parts)?;
        self.inner.merge(&parts.iter().map(|part| &*part.inner).collect::<Vec<_>>())
    }
}

/// The change on the logarithmic scale: that of a line through the logarithms of the two values that are one deviation
/// from the mean.
fn on_log_scale(translation: &Translation) -> Translation {
    let mut on_log_scale = translation.clone();
    for (shift, stretch) in on_log_scale.shift.iter_mut().zip(&mut on_log_scale.stretch) {
        if (*shift, *stretch) != (0.0, 1.0) {
            let [below, above] = [*shift - *stretch, *shift + *stretch].map(signed_log);
            (*shift, *stretch) = ((above + below) / 2.0, (above - below) / (2.0 * LN_2));
        }
    }
    on_log_scale
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learners::sgd::{Settings, Sgd};

    fn inner(eta: f64) -> Box<dyn Learner> {
        Box::new(Sgd::new(Settings { regression: false, eta, half_life: 0.0, table_bits: 18 }).unwrap())
    }

    #[test]
    fn equals_inner_learners_on_logarithms() {
        let mut outer = Logarithmic::new(inner(0.1));
        assert!(outer.join(&Logarithmic::new(inner(0.03))) && !outer.join(&*inner(0.03)));
        let mut apart = [inner(0.1), inner(0.03)];
        for t in 0..100_i32 {
            let x = f64::from(t % 7 - 3) * 1.5;
            let (plain, on_log_scale) = ([1.0, x], [1.0, x.signum() * log(1.0 + x.abs())]);
            let event = Event::of(&[0, 1], &[0, 1], &plain);
            let lesson = Lesson::of(if t % 3 == 0 { 1.0 } else { -1.0 });
            let (mut scores, mut expected) = ([0.0; 2], [0.0; 2]);
            outer.step(event, lesson, &mut scores);
            for (learner, score) in apart.iter_mut().zip(expected.chunks_mut(1)) {
                learner.step(Event { values: &on_log_scale, ..event }, lesson, score);
            }
            assert_eq!(scores, expected);
        }
        assert_eq!(logarithm(1.0), 1.0);
    }
}
