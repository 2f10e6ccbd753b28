//! The contribution of each attribute of an event to its scores.

use crate::block::{Event, Term};
use crate::learner::{Learner, Lesson, Unit};

/// The contribution of each attribute of an event to its scores; the rest of a score is the constant.
#[derive(Clone, Debug)]
pub struct Explanation {
    /// The attributes of the event, ascending, without the constant.
    attributes: Vec<u32>,
    /// The contributions by attribute, one for each score.
    parts: Vec<f64>,
    /// The scores by model, and by class within each.
    pub scores: Vec<f64>,
    /// The portion of each constant that comes from calibration and mixing.
    pub calibration: Vec<f64>,
    /// The unit of the scores in a regression.
    pub unit: Unit,
}

impl Explanation {
    /// Predict an event and explain its scores; `external_scores`, `ticket` and `unit` as in [`Lesson`].
    pub fn of(
        learner: &mut dyn Learner,
        event: Event,
        external_scores: &[f64],
        ticket: u64,
        unit: Unit,
    ) -> Self {
        let width = learner.models() * learner.classes();
        let mut scores = vec![0.0; width];
        learner.step(event, Lesson { external_scores, ticket, unit, ..Lesson::NONE }, &mut scores);
        let mut room = Vec::new();
        let observed = event.observed(&mut room);
        let attributes: Vec<u32> = observed.iter().copied().filter(|&each| each > 0).collect();
        let parts = vec![0.0; attributes.len() * width];
        let mut explanation = Self { attributes, parts, scores, calibration: vec![0.0; width], unit };
        learner.explain(event, &mut explanation);
        explanation
    }

    /// Each attribute with its contribution to each score.
    pub fn parts(&self) -> impl Iterator<Item = (u32, &[f64])> {
        self.attributes.iter().copied().zip(self.parts.chunks_exact(self.scores.len()))
    }

    /// What remains of each score without the contributions of its attributes.
    pub fn constants(&self) -> Vec<f64> {
        let mut constants = self.scores.clone();
        for (_, parts) in self.parts() {
            constants.iter_mut().zip(parts).for_each(|(constant, part)| *constant -= part);
        }
        constants
    }

    /// The attributes of the event, without the constant.
    pub fn attributes(&self) -> &[u32] {
        &self.attributes
    }

    /// Add to the contribution of an attribute to a score; that of the constant follows implicitly.
    pub fn add(&mut self, attribute: u32, column: usize, amount: f64) {
        if let Ok(at) = self.attributes.binary_search(&attribute) {
            self.parts[at * self.scores.len() + column] += amount;
        }
    }

    /// Divide an amount equally among some attributes.
    pub fn share(&mut self, attributes: &[u32], column: usize, amount: f64) {
        for &attribute in attributes {
            self.add(attribute, column, amount / attributes.len() as f64);
        }
    }

    /// Add the contributions from another explanation of the same event, all those to a score times a factor.
    pub fn add_scaled(&mut self, other: &Self, factors: &[f64]) {
        for (parts, more) in
            self.parts.chunks_exact_mut(factors.len()).zip(other.parts.chunks_exact(factors.len()))
        {
            for ((part, more), factor) in parts.iter_mut().zip(more).zip(factors) {
                *part += factor * more;
            }
        }
    }
}

/// Set the contribution of each attribute to what the scores would lose without it.
///
/// Where attributes interact, these do not add up to the score; the constant makes up the difference.
pub fn leave_one_out<L: Learner + ?Sized>(learner: &mut L, event: Event, into: &mut Explanation) {
    let mut scores = vec![0.0; into.scores.len()];
    for attribute in into.attributes.clone() {
        let others = || (0..event.len()).filter(|&item| event.attributes[item] != attribute);
        let attributes: Vec<u32> = others().map(|item| event.attributes[item]).collect();
        let coordinates: Vec<u32> = others().map(|item| event.coordinates[item]).collect();
        let values: Vec<f64> = others().map(|item| event.values[item]).collect();
        let raw: Vec<f64> = others().map(|item| event.raw[item]).collect();
        let terms: Vec<Term> =
            event.terms.iter().copied().filter(|term| term.attribute != attribute).collect();
        let rest = Event {
            attributes: &attributes,
            coordinates: &coordinates,
            values: &values,
            raw: &raw,
            terms: &terms,
        };
        learner.step(rest, Lesson { unit: into.unit, ..Lesson::NONE }, &mut scores);
        for (column, score) in scores.iter().enumerate() {
            into.add(attribute, column, into.scores[column] - score);
        }
    }
}
