//! A linear model on completed events, for data close to a subspace.
//!
//! This is what [H] competes with: f_{w,Q}(x_o) = w_o' Q_oo^+ x_o [H, Def. 2], which completes the event
//! from what it observes and weighs the result. The completion comes from [`pairwise_moments`] or, if
//! no pairs are to be kept, from [`ppca`]. The weights are those of AROW, see [`linear`], and learn
//! from the first event on: what they learn of early, poor completions does not linger (to begin later,
//! or to raise the variances with each new completion, erred more). Where events without a label come in
//! between, recent labelled ones are repeated, see [`replay`].
//!
//! With pairs it is the completed vector that is weighed, and beside it what is observed of coordinates
//! that are not completed, see [`pairs`]. With a factor it is the latent z and, of what is observed, the
//! residuals x_k - m_k - d_k F_k' z: the same hypotheses, since
//!
//! ```text
//! w' x = Σ_{k in o} w_k (residual_k) + (Σ_k w_k d_k F_k)' z + w' m,
//! ```
//!
//! with weights of its own for z, and nothing that costs as much as there are coordinates.

mod cholesky;
mod correlations;
mod examples;
mod features;
mod forgetting;
mod head_state;
mod heads;
mod matrix;
mod pairs;
mod pairwise_moments;
mod ppca;
mod redundant;
mod replay;
#[cfg(test)]
mod replay_tests;
mod selection;
mod settings;
mod slots;
mod spectrum;
mod state;
mod step_sizes;
#[cfg(test)]
mod tests;
mod uniform;

use self::examples::Examples;
use self::heads::Head;
use self::settings::Form;
pub use self::settings::Settings;
use super::linear::{self, LARGEST_GROWTH, LinearModel};
use crate::block::{Event, Gone};
use crate::learner::{Fact, Learner, Lesson};
use crate::math::pow;
use crate::state::{Refused, State};

/// The owner of a coordinate that was not learned.
const NOBODY: u32 = u32::MAX;

/// The correlations are due for the first time after so many events, and again whenever there are so much
/// more events than before.
const FIRST_DUE: f64 = 10.0;
const LATER_DUE: f64 = 0.1;

/// An event counts at most so often in the moments: their sums must stay finite.
const HEAVIEST: f64 = 1e6;

/// A linear model on what is observed and, where it is missing, expected; or several.
///
/// Latent i has place i in the weights, the value on coordinate k place r + 2 k, and the indicator that
/// attribute a is observed place r + 2 a + 1, whichever of them are in use.
#[derive(Clone, Debug)]
pub struct Subspace {
    /// Of the first head.
    settings: Settings,
    /// Events learned, and at how many the correlations are due.
    events: f64,
    due: f64,
    /// What an event of weight 1 adds to the counts; it grows so that what was before counts less.
    growth: f64,
    /// Variance of the noise of pairs, in units of a coordinate's own.
    noise: f64,
    /// The attribute of each coordinate seen.
    owners: Vec<u32>,
    /// By attribute: whether it was learned.
    known: Vec<bool>,
    /// Room for the attributes of an event that has several items of one.
    observed: Vec<u32>,
    form: Form,
    heads: Vec<Head>,
    examples: Examples,
    /// The features of an event, indicators last.
    index: Vec<u32>,
    phi: Vec<f64>,
    /// How many of them are not indicators.
    values: usize,
}

impl Subspace {
    /// A learner that has learned nothing.
    pub fn new(settings: Settings) -> Self {
        Self {
            settings,
            events: 0.0,
            due: FIRST_DUE,
            growth: 1.0,
            noise: 1.0,
            owners: Vec::new(),
            known: Vec::new(),
            observed: Vec::new(),
            form: settings.form(),
            heads: vec![Head::new(&settings)],
            examples: Examples::default(),
            index: Vec::new(),
            phi: Vec::new(),
            values: 0,
        }
    }

    /// Coordinates seen: 1 + the highest that was learned.
    pub fn coordinates(&self) -> usize {
        self.owners.len()
    }

    /// Learn the subspace, not the weights, from an event without a label.
    pub fn observe(&mut self, event: &Event) {
        self.admit(event);
        self.explain(event);
        self.learn(event, 1.0);
    }

    /// Infer the latent of an event, where there is one.
    fn explain(&mut self, event: &Event) {
        if let Form::Factor(ppca) = &mut self.form {
            ppca.explain(&self.owners, self.growth, event);
        }
    }

    /// Take note of what an event to be learned has; returns whether there is anything new.
    fn admit(&mut self, event: &Event) -> bool {
        let highest = |places: &[u32]| places.iter().max().map_or(0, |&highest| highest as usize + 1);
        let (attributes, coordinates) = (highest(event.attributes), highest(event.coordinates));
        let mut is_new = attributes > self.known.len() || coordinates > self.owners.len();
        if is_new {
            self.grow(attributes.max(self.known.len()), coordinates.max(self.owners.len()));
        }
        for (&attribute, &coordinate) in event.attributes.iter().zip(event.coordinates) {
            let (owner, known) = (&mut self.owners[coordinate as usize], &mut self.known[attribute as usize]);
            is_new |= *owner != attribute || !*known;
            if *owner != attribute
                && let Form::Pairs(pairs) = &mut self.form
            {
                pairs.seat(attribute, coordinate);
            }
            (*owner, *known) = (attribute, true);
        }
        is_new
    }

    fn grow(&mut self, attributes: usize, coordinates: usize) {
        self.owners.resize(coordinates, NOBODY);
        self.known.resize(attributes, false);
        match &mut self.form {
            Form::Pairs(pairs) => pairs.grow(attributes, coordinates),
            Form::Factor(ppca) => ppca.grow(attributes, coordinates),
        }
        self.make_room_for_weights();
    }

    /// After the weights have learned a labelled event: learn the subspace, unless it knows the event from its
    /// arrival, and keep it.
    fn learn_whole(&mut self, event: &Event, lesson: &Lesson) {
        if !lesson.observed_before {
            self.learn(event, lesson.weight);
        }
        self.keep(event, lesson);
    }

    /// Learn the subspace; the event was admitted and, in factor form, explained.
    fn learn(&mut self, event: &Event, weight: f64) {
        self.events += 1.0;
        let (weight, half_life) = (weight.min(HEAVIEST), self.settings.forget);
        match &mut self.form {
            Form::Pairs(pairs) => pairs.count(event, weight * self.growth),
            Form::Factor(ppca) => ppca.learn(event, weight, self.growth),
        }
        if half_life > 0.0 {
            self.growth *= pow(2.0, 1.0 / half_life);
            if self.growth > LARGEST_GROWTH {
                self.rescale();
            }
        }
        if matches!(self.form, Form::Pairs(_)) && self.events >= self.due {
            self.update_correlations();
        }
    }

    /// Bring the completion up to date.
    fn update_correlations(&mut self) {
        if let Form::Pairs(pairs) = &mut self.form {
            let (shrink, choosing) = (self.settings.shrink, pairs.is_crowded());
            self.noise = pairs.moments.update_correlations(&pairs.owners, self.growth, shrink, choosing);
            let forget = self.settings.forget;
            let memory = if forget > 0.0 { self.events.min(forget) } else { self.events };
            self.due = self.events + (memory * LATER_DUE).floor().max(FIRST_DUE);
            self.take_turns();
        }
    }

    /// Divide all counts and sums by the growth and set it to 1.
    fn rescale(&mut self) {
        let inverse = 1.0 / self.growth;
        let tables = match &mut self.form {
            Form::Pairs(p) => vec![
                p.moments.sums.values_mut(),
                p.moments.counts.values_mut(),
                &mut p.observed,
                &mut p.value_counts,
                &mut p.sums,
            ],
            Form::Factor(p) => vec![&mut p.observed, &mut p.value_counts, &mut p.sums, &mut p.squares],
        };
        for table in tables {
            table.iter_mut().for_each(|entry| *entry *= inverse);
        }
        self.growth = 1.0;
    }
}

impl Learner for Subspace {
    fn classes(&self) -> usize {
        self.heads[0].model.classes()
    }

    fn steps(&self) -> u64 {
        self.heads[0].model.steps()
    }

    fn models(&self) -> usize {
        self.heads.len()
    }

    fn join(&mut self, other: &dyn Learner) -> bool {
        self.join_heads(other)
    }

    fn step(&mut self, event: Event, lesson: Lesson, scores: &mut [f64]) -> f64 {
        if lesson.is_learned() {
            self.admit(&event);
        }
        self.write_features(&event);
        self.predict_heads(scores);
        let loss = self.learn_heads(&lesson, scores);
        if lesson.is_learned() {
            self.learn_whole(&event, &lesson);
        } else if lesson.is_observed() && event.is_known() {
            // Predicting has explained it, as far as it was known.
            if self.admit(&event) {
                self.explain(&event);
            }
            self.learn(&event, lesson.weight);
            self.replay();
        }
        loss
    }

    fn learn_predicted(&mut self, event: Event, lesson: Lesson, scores: &mut [f64]) -> f64 {
        if !lesson.is_learned() || self.admit(&event) {
            return self.step(event, lesson, scores);
        }
        let loss = self.learn_heads(&lesson, scores);
        self.learn_whole(&event, &lesson);
        loss
    }

    fn forget(&mut self, gone: &Gone) {
        self.clear(gone);
    }

    fn widen(&mut self, classes: usize) {
        if self.classes() == 1 {
            self.examples.number_classes();
        }
        self.models_mut().for_each(|model| model.widen(classes));
    }

    fn restart(&mut self, steps: u64) {
        let mut heads = std::mem::take(&mut self.heads);
        for head in &mut heads {
            head.model.restart(steps, 1, self.settings.rank);
            head.replayed = None;
        }
        *self = Self { heads, ..Self::new(self.settings) };
    }

    fn summary(&self) -> Vec<(&'static str, Fact)> {
        let (rank, numbers) = match &self.form {
            Form::Pairs(pairs) => (Fact::Nothing, pairs.numbers()),
            Form::Factor(ppca) => (Fact::Count(self.settings.rank as u64), ppca.numbers()),
        };
        let places = 4 * self.owners.len() + self.known.len();
        let weights: u64 = self.models().map(LinearModel::bytes).sum();
        vec![
            ("rank", rank),
            ("bytes", Fact::Count((8 * numbers + places) as u64 + weights + self.examples.bytes())),
        ]
    }

    fn state(&self) -> State {
        self.to_state()
    }

    fn restore(&mut self, state: &State, attributes: usize, coordinates: usize) -> Result<(), Refused> {
        *self = self.restored(state, attributes, coordinates)?;
        Ok(())
    }
}
