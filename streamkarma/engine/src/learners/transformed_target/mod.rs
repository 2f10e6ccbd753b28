//! A learner for heavy-tailed targets: it transforms targets to be nearly Gaussian and transforms predictions back.

mod explaining;
mod johnson;
mod merging;
#[cfg(test)]
mod merging_tests;
mod quantiles;
#[cfg(test)]
mod tests;
mod transform;

use self::johnson::EXTREME;
use self::transform::{Curve, TargetTransform};
use crate::block::{Block, Event, Evicted};
use crate::explaining::Explanation;
use crate::learner::{Fact, Learner, Lesson, Unit};
use crate::math::within;
use crate::merging::{ensure_alike, of_kind};
use crate::state::{Refused, State, ensure};
use crate::translation::Translation;

/// Number of events over which the inner learner's mean squared residual is averaged.
const WINDOW: f64 = 1000.0;
/// Residuals are clipped to this multiple of their root mean square.
const OUTLYING: f64 = 3.0;
/// Lower bound of the mean square.
const NARROWEST: f64 = 1e-6;
/// Its upper bound: transformed targets are bounded.
const WIDEST: f64 = 1e3;
/// Upper bound of counts in a state.
const MOST_STEPS: i64 = 1 << 53;

/// Which point of the target's distribution is predicted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Point {
    /// The mean, the best prediction under the squared loss.
    Mean,
    /// The median, the best prediction under the absolute loss.
    Median,
}

/// Wraps a regression so that it sees nearly Gaussian targets, however the original ones are distributed; see
/// [`transform`].
///
/// Targets may be arbitrarily large. Each is transformed by the curve fitted to the targets before it, and its
/// prediction is transformed back by the same curve, so predictions do not depend on the event's own label.
#[derive(Clone)]
pub struct TransformedTarget {
    inner: Box<dyn Learner>,
    point: Point,
    transform: TargetTransform,
    /// Mean squared residual of the inner learner.
    variance: f64,
    /// Number of residuals so far.
    residuals: u64,
    /// For each event of the current block, the curve before that event.
    curves: Vec<Curve>,
    /// Scores of the inner learner for the current block.
    inner_scores: Vec<f64>,
}

impl TransformedTarget {
    /// Wrap an untrained regression learner.
    ///
    /// # Errors
    ///
    /// If the learner has several classes or consists of several models.
    pub fn new(inner: Box<dyn Learner>, point: Point) -> Result<Self, Refused> {
        ensure(inner.classes() == 1 && inner.models() == 1, "a target is one number")?;
        Ok(Self {
            inner,
            point,
            transform: TargetTransform::default(),
            variance: 1.0,
            residuals: 0,
            curves: Vec::new(),
            inner_scores: Vec::new(),
        })
    }

    /// The lesson for the inner learner; records the curve from before this event.
    fn transform<'a>(&mut self, lesson: &Lesson<'a>) -> Lesson<'a> {
        let curve = self.transform.curve;
        self.curves.push(curve);
        if !lesson.is_labelled() {
            return Lesson { unit: Unit::NONE, ..*lesson };
        }
        let label = curve.transform(lesson);
        let transformed = Lesson { label, target: label, unit: Unit::NONE, ..*lesson };
        if lesson.is_learned() {
            self.transform.observe(lesson);
        }
        transformed
    }

    /// Write the score of event `t` of the block and return its loss; then update the inner learner's mean squared
    /// residual.
    fn finish(&mut self, t: usize, lesson: &Lesson, score: &mut f64) -> f64 {
        let (curve, z) = (self.curves[t], self.inner_scores[t]);
        let z = if z.is_nan() { 0.0 } else { within(z, EXTREME) };
        *score = self.transform_back(&curve, z, lesson.unit);
        if lesson.is_learned() {
            let residual = within(curve.transform(lesson) - z, OUTLYING * self.variance.sqrt());
            self.residuals += 1;
            let before = (self.residuals as f64).min(WINDOW) - 1.0;
            let rate = lesson.weight / (lesson.weight + before);
            let moved = self.variance + rate * (residual * residual - self.variance);
            self.variance = moved.max(NARROWEST);
        }
        (*score - lesson.label) * (*score - lesson.label)
    }

    /// The score for the inner learner's score z.
    fn transform_back(&self, curve: &Curve, z: f64, unit: Unit) -> f64 {
        match self.point {
            // The mean of residuals that are not Gaussian is unknown: no prediction.
            Point::Mean if curve.is_tied => f64::NAN,
            Point::Mean => curve.mean(z, self.variance, unit),
            Point::Median => curve.median(z, unit),
        }
    }

    fn take(&mut self, state: &State, attributes: usize, coordinates: usize) -> Result<(), Refused> {
        let parts = state.parts();
        let wrong = "the state is not of a learner of transformed targets";
        let [own, transform, inner] = ["", "bending", "inner"].map(|name| parts.get(name).ok_or(wrong));
        let (own, inner) = (own?, inner?);
        let (&[variance], &[residuals]) = (own.f64s("variance")?.0, own.i64s("residuals")?.0) else {
            return Err(wrong.to_owned());
        };
        ensure((NARROWEST..=WIDEST).contains(&variance) && (0..MOST_STEPS).contains(&residuals), wrong)?;
        self.transform = TargetTransform::restored(transform?)?;
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
        let transformed: Vec<Lesson> = lessons.iter().map(|lesson| self.transform(lesson)).collect();
        self.inner_scores.resize(lessons.len(), 0.0);
        self.inner.run(block, &transformed, &mut self.inner_scores, losses);
        for (t, lesson) in lessons.iter().enumerate() {
            losses[t] = self.finish(t, lesson, &mut scores[t]);
        }
    }

    fn learn_predicted(&mut self, event: Event, lesson: Lesson, scores: &mut [f64]) -> f64 {
        self.curves.clear();
        let transformed = self.transform(&lesson);
        let Self { inner, inner_scores, .. } = self;
        inner.learn_predicted(event, transformed, &mut inner_scores[..1]);
        self.finish(0, &lesson, &mut scores[0])
    }

    /// The curve is approximated by its secant from an inner score of 0; see [`explaining`].
    fn explain(&mut self, event: Event, into: &mut Explanation) {
        self.explain_transformed(event, into);
    }

    fn conditional(&mut self, event: Event) -> Option<Vec<(f64, f64)>> {
        self.inner.conditional(event)
    }

    fn forget(&mut self, evicted: &Evicted) {
        self.inner.forget(evicted);
    }

    fn widen(&mut self, _classes: usize) {}

    fn restart(&mut self, steps: u64) {
        self.inner.restart(steps);
        self.transform = TargetTransform::default();
        (self.variance, self.residuals) = (1.0, 0);
    }

    /// The inner learner's summary, with the memory of both.
    fn summary(&self) -> Vec<(&'static str, Fact)> {
        let mut summary = self.inner.summary();
        for (name, fact) in &mut summary {
            if let ("bytes", Fact::Count(bytes)) = (*name, fact) {
                *bytes += (self.transform.bytes() + size_of::<(f64, u64)>()) as u64;
            }
        }
        summary
    }

    fn state(&self) -> State {
        let mut state = State::default();
        state.put_part("bending", self.transform.state());
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

    /// A regression has no classes.
    fn relabel(&mut self, _places: &[usize]) -> Result<(), Refused> {
        Ok(())
    }

    fn is_hashed(&self) -> bool {
        self.inner.is_hashed()
    }

    fn translate(&mut self, translation: &Translation) -> Result<(), Refused> {
        self.transform.translate(translation.target);
        // Transformed targets do not depend on the unit of the original ones.
        self.inner.translate(&Translation { target: (0.0, 1.0), ..translation.clone() })
    }

    fn merge(&mut self, parts: &[&dyn Learner]) -> Result<(), Refused> {
        let parts: Vec<&Self> = of_kind(parts)?;
        ensure_alike(parts.iter().all(|part| part.point == self.point))?;
        self.inner.merge(&parts.iter().map(|part| &*part.inner).collect::<Vec<_>>())?;
        self.merge_curves(&parts);
        Ok(())
    }
}
