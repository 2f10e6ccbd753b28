//! KARMA in its support-vector form: Algorithm 1 of [H].
//!
//! With score `f_t = <v_t, φ(x_t)>`, loss `l(f_t, y_t)` and step `η_t = 1 / (ρ t)`:
//!
//! `v_{t+1} = (1 - η_t ρ) v_t - η_t l'(f_t, y_t) φ(x_t)`, and `v_1 = 0`.
//!
//! With several classes there is one v per class, all with the same kernel, and the slopes are those of the multi-class
//! loss. An event of weight w counts w times in the loss: its slope is multiplied by w.
//!
//! Events with the same observed set share one support vector without loss, see [`storage`]; when the budget is full,
//! one vector has to give way, see [`pruning`].

pub mod doubling;
mod example_counts;
mod explaining;
mod forgetting;
mod loops;
mod merging;
#[cfg(test)]
mod merging_tests;
mod passes;
pub mod pruning;
pub mod schedule;
mod state;
mod storage;
mod table;
mod translating;
#[cfg(test)]
mod translating_tests;

use crate::block::{Event, Evicted};
use crate::explaining::Explanation;
use crate::kernel::growth;
use crate::learner::{Fact, Learner, Lesson};
use crate::loss::Loss;
use crate::state::{Refused, State};
use crate::translation::Translation;
use example_counts::Fates;
use passes::Passes;
use pruning::Pruning;
use storage::Vectors;

/// The learner's step rule.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rule {
    /// Order of the kernel, 1 or more.
    pub gamma: u32,
    /// Whether every event is scaled to norm 1 in feature space.
    pub normalize: bool,
    /// Strength of the regularisation, above 0.
    pub rho: f64,
    /// Constant step, or 0 for `1 / (ρ t)`.
    pub eta: f64,
    /// The loss to minimise.
    pub loss: Loss,
    /// The step is capped at `1 / (steepness k(x, x) weight)`, see [`Loss::limiting_weight`] and
    /// [`Loss::vectors_moved`]; 0 for no cap.
    pub steepness: f64,
    /// Maximum number of support vectors; 0 for no limit.
    pub budget: usize,
    /// What gives way when the model is full.
    pub pruning: Pruning,
    /// Maximum number of events by which the decreasing step is divided: v fades by `1 / longest` with each.
    pub longest: f64,
}

impl Rule {
    /// η at a step; `curvature` is `k(x, x)` times the weight that limits it.
    fn step_size(&self, step: u64, curvature: f64) -> f64 {
        let eta = if self.eta > 0.0 { self.eta } else { 1.0 / (self.rho * (step as f64).min(self.longest)) };
        if self.steepness * curvature * eta > 1.0 { 1.0 / (self.steepness * curvature) } else { eta }
    }
}

/// KARMA with support vectors.
#[derive(Clone, Debug)]
pub struct SupportVectors {
    rule: Rule,
    average: bool,
    vectors: Vectors,
    fates: Fates,
    steps: u64,
    /// Scratch: passes over the slots; the event, scaled so that φ of it is the event in feature space; squares by
    /// attribute; scores of v_t and the slopes there.
    passes: Passes,
    x: Vec<f64>,
    squares: Vec<(u32, f64)>,
    now: Vec<f64>,
    slopes: Vec<f64>,
    room: Vec<u32>,
}

impl SupportVectors {
    /// A learner with v = 0. With `average` it predicts with the average of v_1 … v_T [H, Thm 2.2].
    pub fn new(rule: Rule, average: bool) -> Self {
        Self {
            rule,
            average,
            vectors: Vectors::new(1, average),
            fates: Fates::default(),
            steps: 0,
            passes: Passes::default(),
            x: Vec::new(),
            squares: Vec::new(),
            now: vec![0.0],
            slopes: vec![0.0],
            room: Vec::new(),
        }
    }

    /// The step rule.
    pub fn rule(&self) -> &Rule {
        &self.rule
    }

    /// Continue from these vectors as after `steps` steps.
    fn resume(&mut self, vectors: Vectors, steps: u64) {
        let classes = vectors.values.classes();
        (self.now, self.slopes) = (vec![0.0; classes], vec![0.0; classes]);
        (self.vectors, self.steps) = (vectors, steps);
    }

    /// Scale the event to feature space; returns `k(x, x)`.
    fn scale(&mut self, event: &Event) -> f64 {
        let mut square: f64 = event.values.iter().map(|value| value * value).sum();
        square *= growth(event.observed(&mut self.room).len() as f64, self.rule.gamma);
        let mut factor = 1.0;
        if self.rule.normalize && square > 0.0 {
            (factor, square) = (1.0 / square.sqrt(), 1.0);
        }
        self.x.clear();
        self.x.extend(event.values.iter().map(|value| factor * value));
        square
    }

    /// Compute the scores of v_t, and those to be reported: the same, or those of the average.
    fn score(&mut self, event: &Event, scores: &mut [f64]) {
        let v = &self.vectors;
        self.passes.count_shared(&v.mask, event.observed(&mut self.room), self.rule.gamma);
        for (c, (now, score)) in self.now.iter_mut().zip(scores).enumerate() {
            let plain = self.passes.product(&v.values, c, event.coordinates, &self.x);
            *now = v.scale * plain;
            *score = *now;
            if let Some(offsets) = &v.offsets {
                let past = self.passes.product(offsets, c, event.coordinates, &self.x);
                // Of v_1 … v_T, without the current v, with which no event has been learned yet.
                *score = (v.scale_sum * plain - past - *now) / self.steps.max(1) as f64;
            }
        }
    }

    /// The step of Algorithm 1, from the slopes at an event; `square` is its k(x, x).
    fn update(&mut self, event: &Event, square: f64, weight: f64) {
        self.steps += 1;
        let vectors = self.rule.loss.vectors_moved(self.slopes.len());
        let eta = self.rule.step_size(self.steps, square * self.rule.loss.limiting_weight(weight) * vectors);
        // v ← (1 - ηρ) v
        self.vectors.decay(1.0 - eta * self.rule.rho);
        // v ← v - η l' φ(x)
        let mut norm = 0.0;
        for slope in &mut self.slopes {
            *slope *= -eta * weight / self.vectors.scale;
            // In this order: the square of a slope at large values is too small for a number.
            norm += *slope * (*slope * square);
        }
        if norm > 0.0
            && let Some(slot) = self.slot_for(event, norm)
        {
            self.vectors.add(slot, event, &self.x, &self.slopes);
        }
        self.vectors.scale_sum += self.vectors.scale;
    }

    /// The slot to which an event's vector of squared norm `norm` is to be added; None if it is to be dropped.
    fn slot_for(&mut self, event: &Event, norm: f64) -> Option<usize> {
        if let Some(&slot) = self.vectors.slots.get(event.observed(&mut self.room)) {
            self.fates.merged_exactly += 1;
            return Some(slot);
        }
        let slot = self.vectors.used();
        if self.rule.budget > 0 && slot >= self.rule.budget {
            return self.prune(event, norm);
        }
        self.vectors.reserve(slot + 1);
        self.vectors.fill(slot, event.observed(&mut self.room), self.rule.gamma, self.steps as f64);
        self.fates.added += 1;
        Some(slot)
    }
}

impl Learner for SupportVectors {
    fn classes(&self) -> usize {
        self.vectors.values.classes()
    }

    fn steps(&self) -> u64 {
        self.steps
    }

    fn step(&mut self, event: Event, lesson: Lesson, scores: &mut [f64]) -> f64 {
        let square = self.scale(&event);
        self.score(&event, scores);
        if !lesson.is_labelled() {
            return f64::NAN;
        }
        let loss = self.rule.loss.loss_and_gradient(&self.now, lesson.label, &mut self.slopes);
        if lesson.is_learned() {
            self.update(&event, square, lesson.weight);
        }
        loss
    }

    fn explain(&mut self, event: Event, into: &mut Explanation) {
        self.scale(&event);
        self.explain_vectors(&event, into);
    }

    fn forget(&mut self, evicted: &Evicted) {
        self.vectors = self.vectors.without(evicted, self.rule.gamma);
    }

    fn widen(&mut self, classes: usize) {
        if classes > self.classes() {
            self.vectors.widen(classes);
            self.now.resize(classes, 0.0);
            self.slopes.resize(classes, 0.0);
        }
    }

    fn restart(&mut self, steps: u64) {
        let vectors = Vectors { scale_sum: steps as f64, ..Vectors::new(1, self.average) };
        self.fates = Fates::default();
        self.resume(vectors, steps);
    }

    fn summary(&self) -> Vec<(&'static str, Fact)> {
        let used = Fact::Count(self.vectors.used() as u64);
        let budget = self.rule.budget as u64;
        vec![
            ("support_vectors", used.clone()),
            ("patterns", used),
            ("budget", if budget > 0 { Fact::Count(budget) } else { Fact::Nothing }),
            ("merged_exactly", Fact::Count(self.fates.merged_exactly)),
            ("merged_closest", Fact::Count(self.fates.merged_closest)),
            ("removed", Fact::Count(self.fates.removed)),
            ("added", Fact::Count(self.fates.added)),
            ("bytes", Fact::Count(self.vectors.bytes() as u64)),
        ]
    }

    fn state(&self) -> State {
        state::of(self)
    }

    fn restore(&mut self, state: &State, attributes: usize, coordinates: usize) -> Result<(), Refused> {
        state::restore(self, state, attributes, coordinates)
    }

    fn relabel(&mut self, places: &[usize]) -> Result<(), Refused> {
        self.renumber(places)
    }

    fn translate(&mut self, translation: &Translation) -> Result<(), Refused> {
        self.translate_all(translation);
        Ok(())
    }

    fn merge(&mut self, parts: &[&dyn Learner]) -> Result<(), Refused> {
        self.merge_parts(parts)
    }
}

#[cfg(test)]
mod tests;
