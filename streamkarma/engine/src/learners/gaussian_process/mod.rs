//! A sparse Gaussian process [R] on the latest events of a regression, which learns the events after those as well.
//!
//! The target is a Gaussian process of the event's values: a linear function plus one that is as smooth as a radial kernel
//! with a length for each input says; see [`kernel`]. Lengths, the parts of both, and the noise are those of the largest
//! evidence, see [`evidence`]. So inputs that say nothing get long lengths and do not disturb, and a target that is an exact
//! linear function is found with the first fit. What is missing is at its mean, with an indicator beside
//! it; see [`inputs`].
//!
//! A process of all events would be dear. Here the radial part is one of what [`POINTS`] events say (inducing points, the
//! subset of regressors [Q]), so that all is a Bayesian linear regression on as many features, see [`posterior`]. It is
//! fitted to the latest events whenever there are half as many again, see [`Refits`], and in between each event adds what it
//! says by recursive least squares. Without that, an event took `auto` a quarter less time (half of which has been won by
//! keeping half of the covariance), and it would make 1.0 % larger errors on 116 numbers of R's tables (2.0 % from the 49th
//! event on), and up to 2 % larger ones on streams that drift.
//!
//! [`Refits`]: crate::learners::refits::Refits
//!
//! - [Q] Quiñonero-Candela, Rasmussen: A Unifying View of Sparse Approximate Gaussian Process Regression, JMLR 2005.
//! - [R] Rasmussen, Williams: Gaussian Processes for Machine Learning, MIT Press 2006.

mod carrying;
mod evidence;
mod inputs;
mod kernel;
#[cfg(test)]
mod merging_tests;
mod posterior;
mod state;
#[cfg(test)]
mod tests;

use self::evidence::most_likely;
use self::inputs::Inputs;
use self::posterior::{Posterior, Sample};
use crate::block::{Event, Gone};
use crate::chance::Random;
use crate::change::Change;
use crate::learner::{Fact, Learner, Lesson, Unit};
use crate::learners::refits::Refits;
use crate::learners::table::Table;
use crate::loss::Loss;
use crate::scale::{CLIP, LARGEST, within};
use crate::state::{Refused, State, ensure};

/// How it learns; the same for its whole life.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// How many of the latest events it is fitted to, at most.
    pub window: usize,
    /// Steps after which what was learned counts half, 1 or more; 0 for never.
    pub half_life: f64,
}

/// The largest window.
const MOST_EVENTS: usize = 1 << 15;
/// Inducing points. On 58 numbers of R's tables, mixed with `auto`, half as many have 1.1 % larger errors, and twice as many
/// 1.2 % smaller ones at twice the time.
const POINTS: usize = 128;
/// Events whose evidence is maximised. With twice as many the errors are the same, with half as many 1.3 % larger.
const EVIDENCE: usize = 128;
/// A deviation of targets below this part of their mean is what rounding left of none.
const NARROWEST: f64 = 1e-12;

/// What was fitted.
#[derive(Clone, Debug)]
struct Fitted {
    inputs: Inputs,
    /// In which targets have mean 0 and deviation 1.
    unit: Unit,
    posterior: Posterior,
}

/// The learner.
#[derive(Clone, Debug)]
pub struct GaussianProcess {
    settings: Settings,
    refits: Refits,
    fitted: Option<Fitted>,
    /// The inputs of the event in hand.
    z: Vec<f64>,
    slopes: [f64; 1],
}

impl GaussianProcess {
    /// A learner that knows nothing.
    ///
    /// # Errors
    ///
    /// If the window is too short or too long.
    pub fn new(settings: Settings) -> Result<Self, Refused> {
        let Settings { window, half_life } = settings;
        ensure((1..=MOST_EVENTS).contains(&window), &format!("the window has 1 to {MOST_EVENTS} events"))?;
        let refits = Refits::new(window, half_life);
        Ok(Self { settings, refits, fitted: None, z: Vec::new(), slopes: [0.0] })
    }

    fn predict(&mut self, event: &Event, lesson: &Lesson, scores: &mut [f64]) {
        self.refits.row.read(event);
        scores[0] = match &mut self.fitted {
            _ if !lesson.wants_scores => f64::NAN,
            None => 0.0,
            Some(Fitted { inputs, unit, posterior }) => {
                inputs.read(&self.refits.row, &mut self.z);
                let said = within(posterior.predict(&self.z), CLIP);
                within(lesson.unit.standard(unit.plain(said)), LARGEST)
            }
        };
    }

    /// Suffer the loss of a label, if there is one, and learn the event that was predicted last.
    fn learn(&mut self, lesson: &Lesson, scores: &[f64]) -> f64 {
        if !lesson.is_labelled() {
            return f64::NAN;
        }
        let suffered = Loss::Squared.judge(scores, lesson.label, &mut self.slopes);
        if lesson.is_learned() {
            let target = within(lesson.target, LARGEST);
            let weight = self.refits.keep(target, lesson.weight);
            if let Some(fitted) = self.fitted.as_mut().filter(|_| !scores[0].is_nan()) {
                let target = within(fitted.unit.standard(target), CLIP * CLIP);
                let away = (target - fitted.posterior.said()).abs();
                self.refits.watch(away / (away + 1.0), weight);
                fitted.posterior.learn(target, weight);
            }
            if self.refits.is_due() {
                self.fit(lesson.unit);
            }
        }
        suffered
    }

    /// Fit to the events that are kept, whose targets are cut as the mixture cuts them.
    fn fit(&mut self, unit: Unit) {
        let Refits { latest, row, .. } = &mut self.refits;
        if !latest.events.is_empty() {
            let table = Table::new(latest, row, inputs::RAREST);
            let cut = if unit == Unit::NONE { LARGEST } else { CLIP };
            let mut targets: Vec<f64> =
                latest.events.iter().map(|event| within(unit.standard(event.label), cut)).collect();
            let weights: Vec<f64> = self.refits.weights().collect();
            let unit = composed(unit, standardise(&mut targets, &weights));
            let inputs = Inputs::of(&table, &targets);
            let sample = Sample { rows: inputs.rows(&table), targets, weights };
            let mut random = Random::new(0, self.refits.steps);
            let before = self.fitted.as_ref().map(|fitted| (&fitted.inputs, fitted.posterior.kernel()));
            let kernel =
                most_likely(&sample.drawn(EVIDENCE, &mut random), inputs.kernel(before), before.is_some());
            let points = sample.drawn(POINTS, &mut random).rows;
            let posterior = Posterior::of(kernel, points, &sample);
            self.fitted = Some(Fitted { inputs, unit, posterior });
        }
        self.refits.set_fitted();
    }
}

/// Bring targets to mean 0 and deviation 1; returns the unit they are in then.
fn standardise(targets: &mut [f64], weights: &[f64]) -> Unit {
    let total: f64 = weights.iter().sum();
    let mean = |of: &dyn Fn(f64) -> f64| {
        targets.iter().zip(weights).map(|(&target, weight)| weight * of(target)).sum::<f64>() / total
    };
    let centre = mean(&|target| target);
    let deviation = mean(&|target| (target - centre) * (target - centre)).sqrt();
    let spread = deviation.max(NARROWEST * centre.abs()).max(f64::MIN_POSITIVE);
    targets.iter_mut().for_each(|target| *target = (*target - centre) / spread);
    Unit { centre, spread }
}

/// A unit that is told in another.
fn composed(outer: Unit, inner: Unit) -> Unit {
    let spread = (outer.spread * inner.spread).clamp(f64::MIN_POSITIVE, LARGEST);
    Unit { centre: within(outer.plain(inner.centre), LARGEST), spread }
}

impl Learner for GaussianProcess {
    fn classes(&self) -> usize {
        1
    }

    fn steps(&self) -> u64 {
        self.refits.steps
    }

    fn learns_unasked(&self) -> bool {
        true
    }

    fn step(&mut self, event: Event, lesson: Lesson, scores: &mut [f64]) -> f64 {
        if lesson.is_learned() {
            self.refits.row.meet(&event);
        }
        self.predict(&event, &lesson, scores);
        self.learn(&lesson, scores)
    }

    fn learn_predicted(&mut self, event: Event, lesson: Lesson, scores: &mut [f64]) -> f64 {
        if !lesson.is_learned() || self.refits.row.meet(&event) {
            return self.step(event, lesson, scores);
        }
        self.learn(&lesson, scores)
    }

    fn forget(&mut self, gone: &Gone) {
        if let Some(fitted) = &mut self.fitted {
            fitted.inputs.forget(gone);
        }
        self.refits.forget(gone);
    }

    fn widen(&mut self, _classes: usize) {}

    fn restart(&mut self, steps: u64) {
        self.refits.restart(steps);
        self.fitted = None;
    }

    fn summary(&self) -> Vec<(&'static str, Fact)> {
        let fitted =
            self.fitted.as_ref().map_or(0, |fitted| fitted.inputs.bytes() + fitted.posterior.bytes());
        let points = self.fitted.as_ref().map_or(0, |fitted| fitted.posterior.points());
        vec![
            ("points", Fact::Count(points as u64)),
            ("window", Fact::Count(self.refits.latest.events.len() as u64)),
            ("bytes", Fact::Count((self.refits.bytes() + fitted) as u64)),
        ]
    }

    fn state(&self) -> State {
        self.to_state()
    }

    fn restore(&mut self, state: &State, attributes: usize, coordinates: usize) -> Result<(), Refused> {
        *self = self.restored(state, attributes, coordinates)?;
        Ok(())
    }

    fn relabel(&mut self, _places: &[usize]) -> Result<(), Refused> {
        Ok(())
    }

    fn carry(&mut self, change: &Change) -> Result<(), Refused> {
        self.carry_over(change);
        Ok(())
    }

    fn merge(&mut self, parts: &[&dyn Learner]) -> Result<(), Refused> {
        self.merge_parts(parts)
    }
}
