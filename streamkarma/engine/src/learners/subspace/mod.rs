//! A linear model on completed events, for data close to a subspace.
//!
//! This is what [H] competes with: f_{w,Q}(x_o) = w_o' Q_oo^+ x_o [H, Def. 2], which completes the event from its
//! observed values and applies a linear model to the result. The completion comes from [`pairwise_moments`] or, if no
//! pairs are to be kept, from [`ppca`]. The weights are trained by AROW, see [`linear`], from the first event on: what
//! they learn from early, poor completions does not linger (starting later, or raising the variances with each new
//! completion, made more errors). Where unlabelled events come in between, recent labelled ones are repeated, see
//! [`replay`].
//!
//! With pairs, the features are the completed vector, and beside it the observed values of coordinates that are not
//! completed, see [`pairs`]. With a factor, they are the latent z and the residuals x_k - m_k - d_k F_k' z of the
//! observed coordinates: the same hypotheses, since
//!
//! ```text
//! w' x = Σ_{k in o} w_k (residual_k) + (Σ_k w_k d_k F_k)' z + w' m,
//! ```
//!
//! but with separate weights for z, and without any cost that grows with the number of coordinates.

mod correlations;
mod examples;
mod explaining;
mod features;
mod forgetting;
mod head_state;
mod heads;
mod learning;
mod matrix;
mod merged_pairs;
mod merged_ppca;
mod merging;
#[cfg(test)]
mod merging_tests;
mod pairs;
mod pairwise_moments;
mod parts;
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
mod translating;
#[cfg(test)]
mod translating_tests;
mod uniform;

use self::examples::Examples;
use self::heads::Head;
use self::settings::Form;
pub use self::settings::Settings;
use super::linear::{self, LinearModel};
use crate::block::{Event, Evicted};
use crate::explaining::Explanation;
use crate::learner::{Fact, Learner, Lesson};
use crate::merging::of_kind;
use crate::state::{Refused, State};
use crate::translation::Translation;

/// Owner of a coordinate that has not been learned.
const NOBODY: u32 = u32::MAX;

/// The correlations are first due after this many events.
const FIRST_DUE: f64 = 10.0;

/// One or more linear models on the observed values and the expected values of the missing ones.
///
/// In the weights, latent i has place i, the value of coordinate k place r + 2 k, and the indicator that attribute a is
/// observed place r + 2 a + 1, whichever of them are in use.
#[derive(Clone, Debug)]
pub struct Subspace {
    /// Settings of the first head.
    settings: Settings,
    /// Number of events learned, and at which number the correlations are due.
    events: f64,
    due: f64,
    /// What an event of weight 1 adds to the counts; it grows, so that earlier events have less weight.
    growth: f64,
    /// Noise variance of the pairs, in units of a coordinate's own variance.
    noise: f64,
    /// The attribute of each coordinate seen.
    owners: Vec<u32>,
    /// Whether each attribute has been learned.
    known: Vec<bool>,
    /// Scratch buffer for the attributes of an event that has several items of one.
    observed: Vec<u32>,
    form: Form,
    heads: Vec<Head>,
    examples: Examples,
    /// The features of the current event, indicators last.
    index: Vec<u32>,
    phi: Vec<f64>,
    /// How many of them are not indicators.
    values: usize,
}

impl Subspace {
    /// An untrained learner.
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

    /// Number of coordinates: 1 + the highest that was learned.
    pub fn coordinates(&self) -> usize {
        self.owners.len()
    }

    /// Learn the subspace, but not the weights, from an event without a label.
    pub fn observe(&mut self, event: &Event) {
        self.admit(event);
        self.explain(event);
        self.learn(event, 1.0);
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

    fn may_lie_dormant(&self) -> bool {
        false
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
            // Predicting has already explained the event, as far as its names were known.
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

    fn explain(&mut self, event: Event, into: &mut Explanation) {
        self.explain_completed(&event, into);
    }

    fn conditional(&mut self, event: Event) -> Option<Vec<(f64, f64)>> {
        Some(self.conditional_moments(&event))
    }

    fn forget(&mut self, evicted: &Evicted) {
        self.clear(evicted);
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

    fn relabel(&mut self, places: &[usize]) -> Result<(), Refused> {
        self.number_anew(places);
        Ok(())
    }

    fn translate(&mut self, translation: &Translation) -> Result<(), Refused> {
        self.translate_all(translation);
        Ok(())
    }

    fn merge(&mut self, parts: &[&dyn Learner]) -> Result<(), Refused> {
        self.merge_parts(&of_kind(parts)?)
    }
}
