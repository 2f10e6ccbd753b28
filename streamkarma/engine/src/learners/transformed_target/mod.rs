//! A learner of targets with heavy tails: one that learns them bent to a Gaussian, and whose scores are bent back.

mod bending;
mod explaining;
mod johnson;
mod merging;
#[cfg(test)]
mod merging_tests;
mod quantiles;
#[cfg(test)]
mod tests;

use self::bending::{Bending, Curve};
use self::johnson::EXTREME;
use crate::block::{Block, Event, Gone};
use crate::change::Change;
use crate::explaining::Explanation;
use crate::learner::{Fact, Learner, Lesson, Unit};
use crate::merging::{ensure_alike, of_kind};
use crate::scale::within;
use crate::state::{Refused, State, ensure};

/// The mean square of the inner learner's residuals is over so many events.
const WINDOW: f64 = 1000.0;
/// A residual counts as at most so many of their root mean squares.
const OUTLYING: f64 = 3.0;
/// A mean square is no smaller than this.
const NARROWEST: f64 = 1e-6;
/// And no larger, since what is bent is bounded.
const WIDEST: f64 = 1e3;
/// No count of a state is larger.
const MOST_STEPS: i64 = 1 << 53;

/// What is said of a target, of all that it may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Point {
    /// Its mean, which the squared loss asks for.
    Mean,
    /// Its median, which the absolute loss asks for.
    Median,
}

/// A regression around another, whose targets are nearly Gaussian whatever they are here; see [`bending`].
///
/// Targets may lie as far out as they like. Each is bent by the curve of those before it, and so is what is said of
/// it, which therefore needs no label.
#[derive(Clone)]
pub struct TransformedTarget {
    inner: Box<dyn Learner>,
    point: Point,
    bending: Bending,
    /// Mean square of the inner learner's residuals.
    variance: f64,
    /// How many there were.
    residuals: u64,
    /// Of the block in hand: the curve before each event.
    curves: Vec<Curve>,
    /// What the inner learner said of the events in hand.
    inner_scores: Vec<f64>,
}

impl TransformedTarget {
    /// Around a learner for numbers that knows nothing yet.
    ///
    /// # Errors
    ///
    /// If it has several classes, or is several models.
    pub fn new(inner: Box<dyn Learner>, point: Point) -> Result<Self, Refused> {
        ensure(inner.classes() == 1 && inner.models() == 1, "a target is one number")?;
        Ok(Self {
            inner,
            point,
            bending: Bending::default(),
            variance: 1.0,
            residuals: 0,
            curves: Vec::new(),
            inner_scores: Vec::new(),
        })
    }

    /// The lesson of an event for the inner learner, and the curve from before it.
    fn bend<'a>(&mut self, lesson: &Lesson<'a>) -> Lesson<'a> {
        let curve = self.bending.curve;
        self.curves.push(curve);
        if !lesson.is_labelled() {
            return Lesson { unit: Unit::NONE, ..*lesson };
        }
        let label = curve.bend(lesson);
        let bent = Lesson { label, target: label, unit: Unit::NONE, ..*lesson };
        if lesson.is_learned() {
            self.bending.observe(lesson);
        }
        bent
    }

    /// The score of event `t` of those in hand, and its loss; then learns how far off the inner learner is.
    fn finish(&mut self, t: usize, lesson: &Lesson, score: &mut f64) -> f64 {
        let (curve, z) = (self.curves[t], self.inner_scores[t]);
        let z = if z.is_nan() { 0.0 } else { within(z, EXTREME) };
        *score = self.unbend(&curve, z, lesson.unit);
        if lesson.is_learned() {
            let residual = within(curve.bend(lesson) - z, OUTLYING * self.variance.sqrt());
            self.residuals += 1;
            let before = (self.residuals as f64).min(WINDOW) - 1.0;
            let rate = lesson.weight / (lesson.weight + before);
            let moved = self.variance + rate * (residual * residual - self.variance);
            self.variance = moved.max(NARROWEST);
        }
        (*score - lesson.label) * (*score - lesson.label)
    }

    /// The score where the inner learner says z.
    fn unbend(&self, curve: &Curve, z: f64, unit: Unit) -> f64 {
        match self.point {
            Point::Mean => curve.mean(z, self.variance, unit),
            Point::Median => curve.median(z, unit),
        }
    }

    fn take(&mut self, state: &State, attributes: usize, coordinates: usize) -> Result<(), Refused> {
        let parts = state.parts();
        let wrong = "the state is not of a learner of transformed targets";
        let [own, bending, inner] = ["", "bending", "inner"].map(|name| parts.get(name).ok_or(wrong));
        let (own, inner) = (own?, inner?);
        let (&[variance], &[residuals]) = (own.f64s("variance")?.0, own.i64s("residuals")?.0) else {
            return Err(wrong.to_owned());
        };
        ensure((NARROWEST..=WIDEST).contains(&variance) && (0..MOST_STEPS).contains(&residuals), wrong)?;
        self.bending = Bending::restored(bending?)?;
        (self.variance, self.residuals) = (variance, residuals as u64);
        self.inner.restore(inner, attributes, coordinates)?;
        ensure(self.inner.classes() == 1, wrong)
    }
}

impl Learner for TransformedTarget {
    fn classes(&self) -> usize {
        1
    }

    fn steps(&self) -> u64 {
        self.inner.steps()
    }

    fn takes_far_labels(&self) -> bool {
        true
    }

    fn may_lie_dormant(&self) -> bool {
        false
    }

    fn step(&mut self, event: Event, lesson: Lesson, scores: &mut [f64]) -> f64 {
        let (starts, mut loss) = ([0, event.len()], [f64::NAN]);
        self.run(&Block::of(&event, &starts), &[lesson], scores, &mut loss);
        loss[0]
    }

    fn run(&mut self, block: &Block, lessons: &[Lesson], scores: &mut [f64], losses: &mut [f64]) {
        self.curves.clear();
        let bent: Vec<Lesson> = lessons.iter().map(|lesson| self.bend(lesson)).collect();
        self.inner_scores.resize(lessons.len(), 0.0);
        self.inner.run(block, &bent, &mut self.inner_scores, losses);
        for (t, lesson) in lessons.iter().enumerate() {
            losses[t] = self.finish(t, lesson, &mut scores[t]);
        }
    }

    fn learn_predicted(&mut self, event: Event, lesson: Lesson, scores: &mut [f64]) -> f64 {
        self.curves.clear();
        let bent = self.bend(&lesson);
        let Self { inner, inner_scores, .. } = self;
        inner.learn_predicted(event, bent, &mut inner_scores[..1]);
        self.finish(0, &lesson, &mut scores[0])
    }

    /// The curve is followed along its secant from where the inner score is 0; see [`explaining`].
    fn explain(&mut self, event: Event, into: &mut Explanation) {
        self.explain_bent(event, into);
    }

    fn conditional(&mut self, event: Event) -> Option<Vec<(f64, f64)>> {
        self.inner.conditional(event)
    }

    fn forget(&mut self, gone: &Gone) {
        self.inner.forget(gone);
    }

    fn widen(&mut self, _classes: usize) {}

    fn restart(&mut self, steps: u64) {
        self.inner.restart(steps);
        self.bending = Bending::default();
        (self.variance, self.residuals) = (1.0, 0);
    }

    /// The inner learner's, with the memory of both.
    fn summary(&self) -> Vec<(&'static str, Fact)> {
        let mut summary = self.inner.summary();
        for (name, fact) in &mut summary {
            if let ("bytes", Fact::Count(bytes)) = (*name, fact) {
                *bytes += (self.bending.bytes() + size_of::<(f64, u64)>()) as u64;
            }
        }
        summary
    }

    fn state(&self) -> State {
        let mut state = State::default();
        state.put_part("bending", self.bending.state());
        state.put_f64s("variance", vec![self.variance], &[1]);
        state.put_i64s("residuals", vec![self.residuals as i64], &[1]);
        state.put_part("inner", self.inner.state());
        state
    }

    fn restore(&mut self, state: &State, attributes: usize, coordinates: usize) -> Result<(), Refused> {
        let taken = self.take(state, attributes, coordinates);
        if taken.is_err() {
            self.restart(0);
        }
        taken
    }

    /// Numbers have no classes.
    fn relabel(&mut self, _places: &[usize]) -> Result<(), Refused> {
        Ok(())
    }

    fn is_hashed(&self) -> bool {
        self.inner.is_hashed()
    }

    fn carry(&mut self, change: &Change) -> Result<(), Refused> {
        self.bending.carry(change.target);
        // What is bent stays as it is.
        self.inner.carry(&Change { target: (0.0, 1.0), ..change.clone() })
    }

    fn merge(&mut self, parts: &[&dyn Learner]) -> Result<(), Refused> {
        let parts: Vec<&Self> = of_kind(parts)?;
        ensure_alike(parts.iter().all(|part| part.point == self.point))?;
        self.inner.merge(&parts.iter().map(|part| &*part.inner).collect::<Vec<_>>())?;
        self.merge_curves(&parts);
        Ok(())
    }
}
