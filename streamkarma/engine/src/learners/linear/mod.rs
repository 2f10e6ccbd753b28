//! A linear model on sparse features: SGD, AROW and AdaGrad.
//!
//! A feature vector is a list of places (`index`) with values there (`phi`); nothing here knows what the
//! places mean, and nothing costs more than the list is long. The model has one row of weights for two
//! classes and for a regression, else one per class. Beside each weight AROW keeps its variance, and
//! AdaGrad the sum of its squared gradients: the second moment. What each step does is in [`updates`].
//!
//! Forgetting with half-life h lets variances grow by 2^(1/h) each step, up to 1 again, and AdaGrad's
//! weights and sums shrink by as much, and SGD's weights where it has no rho; with one, it takes every
//! step as one soon after the first, where each step forgets the like. That would touch every weight at
//! every step, so a global factor stands for it: of SGD's weights, of AROW's variances, and of 1 / w and
//! 1 / G of AdaGrad. (With w left alone, AdaGrad's w grows without end where the classes are separable:
//! its steps have one length whatever the gradients, and each flip takes longer to follow.)

mod merging;
#[cfg(test)]
mod merging_tests;
mod state;
#[cfg(test)]
mod tests;
mod updates;

pub use merging::Move;

use pulp::Arch;

use crate::learner::Lesson;
use crate::loss::Loss;
use crate::math::{log, pow};
use crate::rise::Rise;

/// Scores, slopes and gradients beyond this are cut, so that their squares stay finite.
pub const LARGEST: f64 = 1e100;
/// Where the global factor is multiplied into the arrays: long before anything overflows.
const SMALLEST_SCALE: f64 = 1e-9;
pub(crate) const LARGEST_GROWTH: f64 = 18_446_744_073_709_551_616.0; // 2^64

/// The kind of step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Update {
    /// Algorithm 1 of [H], with weights instead of support vectors.
    Sgd,
    /// Adaptive regularisation of weights, with a diagonal covariance.
    Arow,
    /// Adaptive gradients.
    Adagrad,
}

/// How a model steps; the same for its whole life.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// Which.
    pub update: Update,
    /// The loss; for AROW hinge or squared.
    pub loss: Loss,
    /// AROW: the variance of the noise, above 0. With events of norm 1, 1 to 3 did best.
    pub r: f64,
    /// AdaGrad: the step, above 0; with events of norm 1, 0.1 to 0.3 did best. SGD: a constant step, or 0
    /// for 1 / (rho t).
    pub eta: f64,
    /// SGD: strength of the regularisation; 0, for none, only with a constant step.
    pub rho: f64,
    /// SGD: the step is held below 1 / (steepness |phi|² weight); 0 for no such limit.
    pub steepness: f64,
    /// Steps after which what was learned counts half, 1 or more; 0 for never.
    pub half_life: f64,
    /// Whether all is forgotten where errors have risen: for a model that is to follow changes, beside others that
    /// know what was before.
    pub restarts: bool,
}

impl Step {
    /// AROW with this variance of the noise, which forgets nothing.
    pub const fn arow(loss: Loss, r: f64) -> Self {
        let (update, eta, rho, steepness, half_life) = (Update::Arow, 0.0, 0.0, 0.0, 0.0);
        Self { update, loss, r, eta, rho, steepness, half_life, restarts: false }
    }
}

/// A weight and its second moment, side by side: where tables are large, a step waits for memory, and once
/// is enough.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Cell {
    weight: f64,
    /// AROW: its variance; AdaGrad: the sum of its squared gradients; SGD: 0.
    moment: f64,
}

/// The weights, and what the steps remember of the past.
#[derive(Clone, Debug)]
pub struct LinearModel {
    step: Step,
    /// By how much the factor grows each step, and how many steps SGD averages over.
    growth: f64,
    memory: f64,
    steps: u64,
    factor: f64,
    classes: usize,
    places: usize,
    /// Class by class, `places` each.
    cells: Vec<Cell>,
    slopes: Vec<f64>,
    /// Of the errors since it began, if it restarts.
    rise: Rise,
    scratch: [Vec<f64>; 2],
    /// Does as many divisions at once as the processor can.
    arch: Arch,
}

impl LinearModel {
    /// A model that has learned nothing.
    pub fn new(step: Step, classes: usize, places: usize) -> Self {
        let forgets = step.half_life > 0.0;
        Self {
            step,
            growth: if forgets { pow(2.0, 1.0 / step.half_life) } else { 1.0 },
            memory: if forgets { (step.half_life / log(2.0)).max(1.0) } else { f64::INFINITY },
            steps: 0,
            factor: 1.0,
            classes,
            places,
            cells: vec![untouched(step.update); classes * places],
            slopes: vec![0.0; classes],
            rise: Rise::default(),
            scratch: [Vec::new(), Vec::new()],
            arch: Arch::default(),
        }
    }

    /// How it steps.
    pub fn settings(&self) -> &Step {
        &self.step
    }

    /// Rows of weights.
    pub fn classes(&self) -> usize {
        self.classes
    }

    /// Weights of a row: indices are below that.
    pub fn places(&self) -> usize {
        self.places
    }

    /// Steps taken.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// Bytes of the weights and their second moments.
    pub fn bytes(&self) -> u64 {
        (self.cells.len() * size_of::<Cell>()) as u64
    }

    /// The weight of a class at a place.
    pub fn weight(&self, class: usize, place: usize) -> f64 {
        self.scale() * self.cells[class * self.places + place].weight
    }

    /// Put a weight into a class at a place.
    pub fn set_weight(&mut self, class: usize, place: usize, weight: f64) {
        self.cells[class * self.places + place].weight = weight / self.scale();
    }

    /// Predict, then learn if that is to be; see [`crate::learner::Learner::step`].
    pub fn step(&mut self, index: &[u32], phi: &[f64], lesson: &Lesson, scores: &mut [f64]) -> f64 {
        self.predict(index, phi, scores);
        self.learn(index, phi, scores, lesson)
    }

    /// Write the score of every class, within ±[`LARGEST`].
    pub fn predict(&self, index: &[u32], phi: &[f64], scores: &mut [f64]) {
        let scale = self.scale();
        for (c, score) in scores.iter_mut().enumerate() {
            let row = &self.cells[c * self.places..][..self.places];
            *score = (scale * updates::product(row, index, phi)).clamp(-LARGEST, LARGEST);
        }
    }

    /// Suffer the loss of a label, if there is one, and take one step against it; none if the weight is 0.
    ///
    /// `scores` are those of [`Self::predict`]; the loss is returned. A place may occur twice in `index`.
    pub fn learn(&mut self, index: &[u32], phi: &[f64], scores: &[f64], lesson: &Lesson) -> f64 {
        let Lesson { label, weight, .. } = *lesson;
        if !lesson.is_labelled() {
            return f64::NAN;
        }
        let loss = self.step.loss.judge(scores, label, &mut self.slopes);
        if weight > 0.0 {
            self.steps += 1;
            if self.step.restarts {
                self.begin_anew_if_worse(loss, weight);
            }
            match self.step.update {
                Update::Sgd => self.descend(index, phi, weight),
                Update::Arow => self.regularise(index, phi, loss, weight),
                Update::Adagrad => self.adapt(index, phi, weight),
            }
        }
        loss
    }

    /// Take note of a loss, and forget everything if losses have risen.
    fn begin_anew_if_worse(&mut self, loss: f64, weight: f64) {
        self.rise.observe(loss, weight);
        if self.rise.is_seen() {
            self.cells.fill(untouched(self.step.update));
            (self.factor, self.rise) = (1.0, Rise::default());
        }
    }

    /// Take part of a step of AROW, between 0 and 1, against the loss of an event that was learned before.
    ///
    /// It tells nothing new: neither do the variances shrink, nor is anything forgotten, nor does it count as
    /// a step. `scores` are those of [`Self::predict`].
    pub fn repeat(&mut self, index: &[u32], phi: &[f64], scores: &[f64], lesson: &Lesson, part: f64) {
        let loss = self.step.loss.judge(scores, lesson.label, &mut self.slopes);
        self.correct(index, phi, loss, lesson.weight, part);
    }

    /// Forget everything, and go on as after so many steps, with so many classes and places.
    pub fn restart(&mut self, steps: u64, classes: usize, places: usize) {
        *self = Self { steps, ..Self::new(self.step, classes, places) };
    }

    /// Go to so many classes; from w of two classes to -w/2 and w/2, and new ones begin with 0.
    ///
    /// The difference of the two scores stays, and both take over the second moments.
    pub fn widen(&mut self, classes: usize) {
        if self.classes == 1 {
            self.cells.extend_from_within(..);
            let (first, second) = self.cells.split_at_mut(self.places);
            second.iter_mut().for_each(|cell| cell.weight /= 2.0);
            // Subtracted from 0, for a zero must not get a sign: no file keeps it.
            first.iter_mut().for_each(|cell| cell.weight = 0.0 - cell.weight / 2.0);
            self.classes = 2;
        }
        self.classes = self.classes.max(classes);
        self.slopes.resize(self.classes, 0.0);
        self.cells.resize(self.classes * self.places, untouched(self.step.update));
    }

    /// Go to so many places, with what is at those that stay.
    pub fn resize(&mut self, places: usize) {
        if places != self.places {
            let kept: Vec<u32> = (0..places.min(self.places) as u32).collect();
            self.relocate(&kept, &kept, places);
        }
    }

    /// Go to so many places, of all that was learned what is at `from` moves to `to`.
    ///
    /// What meets in one place is put together: it gets the sum of the weights and of the squared
    /// gradients, and the least variance.
    pub fn relocate(&mut self, from: &[u32], to: &[u32], places: usize) {
        let (fresh, update) = (untouched(self.step.update), self.step.update);
        let mut moved = vec![fresh; self.classes * places];
        for c in 0..self.classes {
            let (old, new) = (&self.cells[c * self.places..], &mut moved[c * places..]);
            for (&from, &to) in from.iter().zip(to) {
                let (cell, joined) = (old[from as usize], &mut new[to as usize]);
                joined.weight += cell.weight;
                joined.moment = match update {
                    Update::Arow => joined.moment.min(cell.moment),
                    _ => joined.moment + cell.moment,
                };
            }
        }
        (self.cells, self.places) = (moved, places);
    }

    /// Forget what was learned at some places, in every class.
    pub fn clear(&mut self, places: &[u32]) {
        let fresh = untouched(self.step.update);
        for row in self.cells.chunks_exact_mut(self.places.max(1)) {
            places.iter().for_each(|&place| row[place as usize] = fresh);
        }
    }

    /// Forget what was learned at every so many places from one on, in every class, but not at some.
    pub fn clear_every(&mut self, many: usize, first: usize, kept: &[u32]) {
        let fresh = untouched(self.step.update);
        for row in self.cells.chunks_exact_mut(self.places.max(1)) {
            let cells: Vec<Cell> = kept.iter().map(|&place| row[place as usize]).collect();
            row.iter_mut().skip(first).step_by(many).for_each(|cell| *cell = fresh);
            kept.iter().zip(cells).for_each(|(&place, cell)| row[place as usize] = cell);
        }
    }

    /// The places where anything was learned, ascending.
    pub fn touched(&self) -> Vec<u32> {
        let fresh = untouched(self.step.update);
        let mut touched = vec![false; self.places];
        for row in self.cells.chunks_exact(self.places.max(1)) {
            touched.iter_mut().zip(row).for_each(|(touched, cell)| *touched |= *cell != fresh);
        }
        (0..self.places as u32).filter(|&place| touched[place as usize]).collect()
    }

    /// What the weights as stored are to be multiplied by.
    fn scale(&self) -> f64 {
        match self.step.update {
            Update::Sgd => self.factor,
            Update::Arow => 1.0,
            Update::Adagrad => 1.0 / self.factor,
        }
    }
}

/// A weight that was never touched.
fn untouched(update: Update) -> Cell {
    Cell { weight: 0.0, moment: if update == Update::Arow { 1.0 } else { 0.0 } }
}
