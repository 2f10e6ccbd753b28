//! A linear model on sparse features: SGD, AROW and AdaGrad.
//!
//! A feature vector is a list of places (`index`) with their values (`phi`); the model does not depend on what the
//! places mean, and its cost per event is linear in the length of the list. The model has one row of weights for two
//! classes and for a regression, else one per class. Beside each weight, AROW keeps its variance and AdaGrad the sum of
//! its squared gradients: the second moment. What each step does is in [`updates`].
//!
//! With a half-life h, forgetting multiplies variances by 2^(1/h) each step, up to 1 again, and shrinks AdaGrad's
//! weights and sums by as much, as well as SGD's weights where rho is not set; where it is, the step count in SGD's
//! step size is capped instead, which forgets at a similar rate. Doing so directly would touch every weight at every
//! step, so a global factor stands for it: of SGD's weights, of AROW's variances, and of 1 / w and 1 / G of AdaGrad.
//! (If w were left alone, AdaGrad's w would grow without bound where the classes are separable: its steps have one
//! length whatever the gradients, and each flip would take longer to follow.)

mod merging;
#[cfg(test)]
mod merging_tests;
mod state;
#[cfg(test)]
mod tests;
mod updates;

pub use merging::Move;

use std::ops::Range;

use pulp::Arch;

use crate::learner::Lesson;
use crate::loss::Loss;
use crate::math::{log, pow};
use crate::rise::Rise;
use crate::state::Refused;

/// Scores, slopes and gradients are clipped at this magnitude, so that their squares stay finite.
pub const LARGEST: f64 = 1e100;
/// Up to so many classes have no room for others.
const FEW: usize = 64;
/// The global factor is multiplied into the arrays below this, long before anything overflows.
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

/// How a model steps; fixed for its lifetime.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// The kind of step.
    pub update: Update,
    /// The loss; for AROW hinge or squared.
    pub loss: Loss,
    /// AROW: noise variance, above 0. With events of norm 1, 1 to 3 did best.
    pub r: f64,
    /// AdaGrad: step size, above 0; with events of norm 1, 0.1 to 0.3 did best. SGD: a constant step size, or 0 for 1 /
    /// (rho t).
    pub eta: f64,
    /// SGD: regularisation strength; 0 (none) only with a constant step size.
    pub rho: f64,
    /// SGD: the step size is held below 1 / (steepness |phi|² weight), see [`Loss::vectors_moved`]; 0 for no such
    /// limit.
    pub steepness: f64,
    /// Number of steps after which what was learned has half its weight, 1 or more; 0 for never.
    pub half_life: f64,
    /// Whether the model starts from scratch when errors have risen: for a model that is to follow changes, beside
    /// others that remember the past.
    pub restarts: bool,
}

impl Step {
    /// AROW with this noise variance, without forgetting.
    pub const fn arow(loss: Loss, r: f64) -> Self {
        let (update, eta, rho, steepness, half_life) = (Update::Arow, 0.0, 0.0, 0.0, 0.0);
        Self { update, loss, r, eta, rho, steepness, half_life, restarts: false }
    }
}

/// A weight and its second moment, side by side: where tables are large, a step waits for memory, and should do so only
/// once.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Cell {
    weight: f64,
    /// AROW: variance of the weight; AdaGrad: sum of its squared gradients; SGD: 0.
    moment: f64,
}

/// The weights, and the state of the steps.
#[derive(Clone, Debug)]
pub struct LinearModel {
    step: Step,
    /// Growth of the factor per step, and number of steps that SGD averages over.
    growth: f64,
    memory: f64,
    steps: u64,
    factor: f64,
    classes: usize,
    places: usize,
    /// Place by place, `width` each, of which the first are those of the classes: an event needs all of them.
    cells: Vec<Cell>,
    width: usize,
    slopes: Vec<f64>,
    /// Rise of the errors since the model began, if it restarts.
    rise: Rise,
    scratch: [Vec<f64>; 2],
    /// Does as many divisions at once as the processor can.
    arch: Arch,
}

impl LinearModel {
    /// An untrained model.
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
            cells: vec![untouched(step.update); width_of(classes) * places],
            width: width_of(classes),
            slopes: vec![0.0; classes],
            rise: Rise::default(),
            scratch: [Vec::new(), Vec::new()],
            arch: Arch::default(),
        }
    }

    /// The settings of its steps.
    pub fn settings(&self) -> &Step {
        &self.step
    }

    /// Number of weights per place.
    pub fn classes(&self) -> usize {
        self.classes
    }

    /// Number of places: indices are below that.
    pub fn places(&self) -> usize {
        self.places
    }

    /// Number of steps taken.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// Bytes of the weights and their second moments.
    pub fn bytes(&self) -> u64 {
        (self.cells.len() * size_of::<Cell>()) as u64
    }

    /// The weight of a class at a place.
    pub fn weight(&self, class: usize, place: usize) -> f64 {
        self.scale() * self.cells[place * self.width + class].weight
    }

    /// Set the weight of a class at a place.
    pub fn set_weight(&mut self, class: usize, place: usize, weight: f64) {
        self.cells[place * self.width + class].weight = weight / self.scale();
    }

    /// Predict, then learn if requested; see [`crate::learner::Learner::step`].
    pub fn step(&mut self, index: &[u32], phi: &[f64], lesson: &Lesson, scores: &mut [f64]) -> f64 {
        self.predict(index, phi, scores);
        self.learn(index, phi, scores, lesson)
    }

    /// Write the score of every class, within ±[`LARGEST`].
    pub fn predict(&self, index: &[u32], phi: &[f64], scores: &mut [f64]) {
        let scale = self.scale();
        updates::products(&self.cells, self.width, index, phi, scores);
        scores.iter_mut().for_each(|score| *score = (scale * *score).clamp(-LARGEST, LARGEST));
    }

    /// Compute the loss of a label, if there is one, and take one step against it, or none if the weight is 0.
    ///
    /// `scores` are those of [`Self::predict`]; returns the loss. A place may occur twice in `index`.
    pub fn learn(&mut self, index: &[u32], phi: &[f64], scores: &[f64], lesson: &Lesson) -> f64 {
        let Lesson { label, weight, .. } = *lesson;
        if !lesson.is_labelled() {
            return f64::NAN;
        }
        let loss = self.step.loss.loss_and_gradient(scores, label, &mut self.slopes);
        if weight > 0.0 {
            self.steps += 1;
            if self.step.restarts {
                self.begin_anew_if_worse(loss, weight);
            }
            match self.width {
                // With a constant width, no index is multiplied.
                1 => self.update(1, index, phi, loss, weight),
                width => self.update(width, index, phi, loss, weight),
            }
        }
        loss
    }

    /// Record a loss, and forget everything if losses have risen.
    fn begin_anew_if_worse(&mut self, loss: f64, weight: f64) {
        self.rise.observe(loss, weight);
        if self.rise.is_seen() {
            self.cells.fill(untouched(self.step.update));
            (self.factor, self.rise) = (1.0, Rise::default());
        }
    }

    /// Take a fraction of an AROW step, between 0 and 1, against the loss of an event that was learned before.
    ///
    /// The event carries no new information, so the variances do not shrink, nothing is forgotten, and it does not
    /// count as a step. `scores` are those of [`Self::predict`].
    pub fn repeat(&mut self, index: &[u32], phi: &[f64], scores: &[f64], lesson: &Lesson, part: f64) {
        let loss = self.step.loss.loss_and_gradient(scores, lesson.label, &mut self.slopes);
        self.correct(index, phi, loss, lesson.weight, part);
    }

    /// Forget everything, and continue as after so many steps, with so many classes and places.
    pub fn restart(&mut self, steps: u64, classes: usize, places: usize) {
        *self = Self { steps, ..Self::new(self.step, classes, places) };
    }

    /// Widen to so many classes: w of two classes becomes -w/2 and w/2, and new classes begin with 0.
    ///
    /// The difference of the two scores is unchanged, and both classes inherit the second moments.
    pub fn widen(&mut self, classes: usize) {
        let classes = classes.max(self.classes).max(2);
        let width = width_of(classes);
        if width != self.width {
            let mut wide = vec![untouched(self.step.update); width * self.places];
            for (old, new) in self.cells.chunks_exact(self.width).zip(wide.chunks_exact_mut(width)) {
                new[..old.len()].copy_from_slice(old);
            }
            (self.cells, self.width) = (wide, width);
        }
        if self.classes == 1 {
            for cells in self.cells.chunks_exact_mut(width) {
                let Cell { weight, moment } = cells[0];
                // Subtracted from 0 to avoid a negative zero, which no file preserves.
                cells[0].weight = 0.0 - weight / 2.0;
                cells[1] = Cell { weight: weight / 2.0, moment };
            }
        }
        self.classes = classes;
        self.slopes.resize(classes, 0.0);
    }

    /// Resize to so many places, keeping those that remain.
    pub fn resize(&mut self, places: usize) {
        if places != self.places {
            let kept: Vec<u32> = (0..places.min(self.places) as u32).collect();
            self.relocate(&kept, &kept, places);
        }
    }

    /// Reject sizes that do not fit into memory.
    ///
    /// # Errors
    ///
    /// If they do not.
    pub fn check_room(classes: usize, places: usize) -> Result<(), Refused> {
        let room = width_of(classes).checked_mul(places);
        let room = room.and_then(|cells| Vec::<Cell>::new().try_reserve_exact(cells).ok());
        room.ok_or_else(|| "not enough memory for this many weights".to_owned())
    }

    /// Resize to so many places, moving what was learned at `from` to `to` and forgetting the rest.
    ///
    /// Places that move to the same one are combined: it gets the sum of their weights and of their squared gradients,
    /// and the least variance.
    pub fn relocate(&mut self, from: &[u32], to: &[u32], places: usize) {
        let (width, update) = (self.width, self.step.update);
        let mut moved = vec![untouched(update); width * places];
        for (&from, &to) in from.iter().zip(to) {
            let old = &self.cells[from as usize * width..][..self.classes];
            for (cell, joined) in old.iter().zip(&mut moved[to as usize * width..]) {
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
        let (width, fresh) = (self.width, untouched(self.step.update));
        places.iter().for_each(|&place| self.cells[place as usize * width..][..width].fill(fresh));
    }

    /// Forget what was learned at these places, in every class, except at those `kept`.
    pub fn clear_except(&mut self, places: Range<usize>, kept: &[u32]) {
        let (width, fresh) = (self.width, untouched(self.step.update));
        let kept = kept.iter().map(|&place| place as usize).filter(|place| places.contains(place));
        let kept: Vec<(usize, Vec<Cell>)> =
            kept.map(|place| (place, self.cells[place * width..][..width].to_vec())).collect();
        self.cells[places.start * width..places.end * width].fill(fresh);
        kept.iter().for_each(|(place, cells)| self.cells[place * width..][..width].copy_from_slice(cells));
    }

    /// The places where anything was learned, in ascending order.
    pub fn touched(&self) -> Vec<u32> {
        let fresh = untouched(self.step.update);
        let cells = (0..).zip(self.cells.chunks_exact(self.width));
        cells.filter(|(_, cells)| cells.iter().any(|cell| *cell != fresh)).map(|(place, _)| place).collect()
    }

    /// The factor of the stored weights.
    fn scale(&self) -> f64 {
        match self.step.update {
            Update::Sgd => self.factor,
            Update::Arow => 1.0,
            Update::Adagrad => 1.0 / self.factor,
        }
    }
}

/// The number of cells at a place: one for each class and, if these are many, room for others, since all cells move
/// when there are more.
fn width_of(classes: usize) -> usize {
    if classes <= FEW {
        return classes;
    }
    let mut width = FEW;
    while width < classes {
        width = width.saturating_add(width / 8);
    }
    // A table has room for a power of two.
    classes.checked_next_power_of_two().map_or(width, |most| width.min(most))
}

/// A weight that was never touched.
fn untouched(update: Update) -> Cell {
    Cell { weight: 0.0, moment: if update == Update::Arow { 1.0 } else { 0.0 } }
}
