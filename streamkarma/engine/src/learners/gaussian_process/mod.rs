//! A sparse Gaussian process regression [R] on the latest events, updated online between fits.
//!
//! The target is modelled as a linear function of the event's values plus a smooth one, with a radial kernel that has a
//! length scale for each input; see [`kernel`]. Length scales, the amplitudes of both parts and the noise maximise the
//! evidence, see [`evidence`]. Irrelevant inputs therefore get long length scales and do no harm, and an exactly linear
//! target is found by the first fit. Missing values are replaced by their mean, with an indicator beside them; see
//! [`inputs`].
//!
//! A process on all events would be expensive. Here the radial part is represented by [`POINTS`] inducing points (the
//! subset of regressors [Q]), which makes the model a Bayesian linear regression on as many features, see
//! [`posterior`]. It is refitted to the latest events whenever their number has grown by half, see [`Refits`]; in
//! between, each event updates it by recursive least squares. Without these updates an event cost `auto` a quarter
//! less time (half of that has been regained by storing half of the covariance), but errors would be 1.0 % larger on
//! 116 numbers of R's tables (2.0 % from the 49th event on), and up to 2 % larger on streams that drift.
//!
//! [`Refits`]: crate::learners::refits::Refits
//!
//! - [Q] Quiñonero-Candela, Rasmussen: A Unifying View of Sparse Approximate Gaussian Process Regression, JMLR 2005.
//! - [R] Rasmussen, Williams: Gaussian Processes for Machine Learning, MIT Press 2006.

mod evidence;
mod inputs;
mod kernel;
#[cfg(test)]
mod merging_tests;
mod posterior;
mod state;
#[cfg(test)]
mod tests;
mod translating;

use self::evidence::most_likely;
use self::inputs::Inputs;
use self::posterior::{Posterior, Sample};
use crate::block::{Event, Evicted};
use crate::learner::{Fact, Learner, Lesson, Unit};
use crate::learners::refits::Refits;
use crate::learners::table::Table;
use crate::loss::Loss;
use crate::math::within;
use crate::random::Random;
use crate::scale::{CLIP, LARGEST};
use crate::state::{Refused, State, ensure};
use crate::translation::Translation;

/// Settings, fixed for the lifetime of the learner.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// Maximum number of latest events for a fit.
    pub window: usize,
    /// Half-life of what was learned, in steps, 1 or more; 0 for no forgetting.
    pub half_life: f64,
}

/// Upper bound of the window.
const MOST_EVENTS: usize = 1 << 15;
/// Number of inducing points. On 58 numbers of R's tables, mixed with `auto`, half as many make errors 1.1 % larger,
/// and twice as many 1.2 % smaller at twice the cost.
const POINTS: usize = 128;
/// Number of events whose evidence is maximised. Errors are the same with twice as many, and 1.3 % larger with half
/// as many.
const EVIDENCE: usize = 128;
/// A standard deviation of targets below this fraction of their mean is attributed to rounding.
const NARROWEST: f64 = 1e-12;

/// The result of a fit.
#[derive(Clone, Debug)]
struct Fitted {
    inputs: Inputs,
    /// The unit in which targets have mean 0 and standard deviation 1.
    unit: Unit,
    posterior: Posterior,
}

/// The learner.
#[derive(Clone, Debug)]
pub struct GaussianProcess {
    settings: Settings,
    refits: Refits,
    fitted: Option<Fitted>,
    /// The inputs of the current event.
    z: Vec<f64>,
    slopes: [f64; 1],
}

impl GaussianProcess {
    /// An untrained learner.
    ///
    /// # Errors
    ///
    /// If the window is too short or too long.
    pub fn new(settings: Settings) -> Result<Self, Refused> {
        let Settings { window, half_life } = settings;
        ensure(
            (1..=MOST_EVENTS).contains(&window),
            &format!("window must be between 1 and {MOST_EVENTS}, not {window}"),
        )?;
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
                let prediction = within(posterior.predict(&self.z), CLIP);
                within(lesson.unit.standard(unit.plain(prediction)), LARGEST)
            }
        };
    }

    /// Learn the event that was predicted last; returns its loss, NaN without a label.
    fn learn(&mut self, lesson: &Lesson, scores: &[f64]) -> f64 {
        if !lesson.is_labelled() {
            return f64::NAN;
        }
        let suffered_loss = Loss::Squared.loss_and_gradient(scores, lesson.label, &mut self.slopes);
        if lesson.is_learned() {
            let target = within(lesson.target, LARGEST);
            let weight = self.refits.keep(target, lesson.weight);
            if let Some(fitted) = self.fitted.as_mut().filter(|_| !scores[0].is_nan()) {
                let target = within(fitted.unit.standard(target), CLIP * CLIP);
                let away = (target - fitted.posterior.prediction()).abs();
                self.refits.watch(away / (away + 1.0), weight);
                fitted.posterior.learn(target, weight);
            }
            if self.refits.is_due() {
                self.fit(lesson.unit);
            }
        }
        suffered_loss
    }

    /// Fit to the stored events, with targets clipped as in the mixture.
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

/// Standardise targets to mean 0 and standard deviation 1; returns their new unit.
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

/// The composition of two units: `inner` is expressed in `outer`.
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
            self.refits.row.register(&event);
        }
        self.predict(&event, &lesson, scores);
        self.learn(&lesson, scores)
    }

    fn learn_predicted(&mut self, event: Event, lesson: Lesson, scores: &mut [f64]) -> f64 {
        if !lesson.is_learned() || self.refits.row.register(&event) {
            return self.step(event, lesson, scores);
        }
        self.learn(&lesson, scores)
    }

    fn forget(&mut self, evicted: &Evicted) {
        if let Some(fitted) = &mut self.fitted {
            fitted.inputs.forget(evicted);
        }
        self.refits.forget(evicted);
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

    fn translate(&mut self, translation: &Translation) -> Result<(), Refused> {
        self.translate_all(translation);
        Ok(())
    }

    fn merge(&mut self, parts: &[&dyn Learner]) -> Result<(), Refused> {
        self.merge_parts(parts)
    }
}
