//! Merging linear models that were trained separately, and translating features to other places and scales.
//!
//! What a part has learned about a weight is measured by the growth of its precision P = 1 / sigma (AROW), or of its
//! sum G of squared gradients (AdaGrad). These gains add up, and weights are averaged by them:
//!
//! ```text
//! P = P_0 + Σ g_m,  w = w_0 + Σ g_m (w_m - w_0) / Σ g_m,  g_m = P_m - P_0.
//! ```
//!
//! So a feature that only one part has met keeps its weight. (With whole precisions the sum would overshoot: a diagonal
//! precision counts each of many redundant features as new information.) SGD has no such measure; with steps of 1 /
//! (rho t), t w is a sum of gradients, and with constant steps the weights are averaged by the number of steps.
//!
//! With a half-life, the base has decayed in a part by that part's steps, and in the merged model by those of all
//! parts.
//!
//! A part that has restarted since then has less information than the base: its gains count as zero, so its weights
//! matter only where no other part has gained anything, and the base's information fades in the merged model with the
//! half-life.

use super::updates::settled;
use super::{Cell, LARGEST, LinearModel, Step, Update, untouched};
use crate::loss::Loss;
use crate::math::pow;
use crate::merging::{Mean, ensure_alike, relabelled_rows};
use crate::rise::Rise;
use crate::state::Refused;

/// Weight of a step beside the gains: negligible, except where the gains have been forgotten again, where it decides.
const STEP_GAIN: f64 = 1e-30;

/// Where what was learned of a feature goes: a multiple of its weight, and of the information behind it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Move {
    /// The old place.
    pub from: u32,
    /// The new place.
    pub to: u32,
    /// Factor of the weight.
    pub factor: f64,
    /// Factor of AROW's 1 / sigma - 1 and of AdaGrad's G.
    pub information: f64,
}

impl Move {
    /// For a feature whose old value is `stretch` times the new one.
    pub fn stretched(from: u32, to: u32, stretch: f64) -> Self {
        Self { from, to, factor: stretch, information: 1.0 / (stretch * stretch) }
    }

    /// For a weight that is added to another place as well, because its feature was shifted.
    pub fn shifted(from: u32, to: u32, factor: f64) -> Self {
        Self { from, to, factor, information: 0.0 }
    }
}

impl LinearModel {
    /// Renumber the classes, see [`crate::learner::Learner::relabel`].
    pub fn relabel(&mut self, places: &[usize]) {
        if self.classes > 1 {
            let places: Vec<usize> = places.iter().copied().chain(self.classes..self.width).collect();
            self.cells = relabelled_rows(&self.cells, &places);
        } else if places.first() == Some(&1) {
            // Subtracted from 0 to avoid a negative zero, which no file preserves.
            self.cells.iter_mut().for_each(|cell| cell.weight = 0.0 - cell.weight);
        }
    }

    /// Resize to so many places, each with the sum of what moves there; everything else is forgotten.
    pub fn transfer(&mut self, moves: &[Move], places: usize) {
        self.rescale();
        let update = self.step.update;
        // AROW's information is 1 where nothing was learned; this counts once, however many features are combined.
        let prior = information(update, untouched(update).moment);
        let width = self.width;
        let mut moved = vec![Cell { weight: 0.0, moment: 0.0 }; width * places];
        for each in moves {
            let old = &self.cells[each.from as usize * width..][..width];
            for (cell, to) in old.iter().zip(&mut moved[each.to as usize * width..]) {
                to.weight += each.factor * cell.weight;
                to.moment += each.information.min(LARGEST) * (information(update, cell.moment) - prior);
            }
        }
        moved.iter_mut().for_each(|cell| cell.moment = moment(update, prior + cell.moment));
        (self.cells, self.places) = (moved, places);
    }

    /// Convert a regression to targets y, where the current targets are `target.0 + target.1 y`.
    ///
    /// `unit` is the value of the constant feature, which is at place `constant`.
    pub fn retarget(&mut self, target: (f64, f64), constant: u32, unit: f64) {
        if target == (0.0, 1.0) {
            return;
        }
        let (shift, stretch) = target;
        self.rescale();
        let slopes = if self.step.loss == Loss::Squared { stretch * stretch } else { 1.0 };
        for cell in &mut self.cells {
            cell.weight /= stretch;
            if self.step.update == Update::Adagrad {
                cell.moment = (cell.moment / slopes).min(LARGEST);
            }
        }
        let of_constant = self.cells.iter_mut().skip(constant as usize * self.width).take(self.classes);
        of_constant.for_each(|cell| cell.weight -= shift / stretch / unit);
    }

    /// Merge what the parts have learned since they were equal to this one, see [`crate::learner::Learner::merge`].
    ///
    /// A part may have fewer or more places.
    ///
    /// # Errors
    ///
    /// If a part has other settings or another number of classes.
    pub fn merge(&mut self, parts: &[&Self]) -> Result<(), Refused> {
        ensure_alike(parts.iter().all(|part| part.step == self.step && part.classes == self.classes))?;
        self.resize(parts.iter().map(|part| part.places).fold(self.places, usize::max));
        self.rescale();
        let parts: Vec<Part> = parts.iter().map(|part| Part::of(part, self)).collect();
        let all = parts.iter().map(|part| part.steps).sum::<u64>();
        let (update, width, decay) = (self.step.update, self.width, self.decay(all));
        // The base is in every t_m w_m, but must count once.
        let shared = if self.sums_gradients() { self.steps as f64 * (1.0 - parts.len() as f64) } else { 0.0 };
        for (at, cell) in self.cells.iter_mut().enumerate() {
            let (base, mut change) = (*cell, Mean::default());
            *cell = settled(update, base, decay);
            let mut information = information(update, cell.moment);
            change.put(shared, 0.0);
            for part in &parts {
                let (gain, moved) = part.learned(base, at / width, at % width);
                information += gain;
                change.put(part.weight(gain), moved);
            }
            *cell = Cell { weight: cell.weight + change.value(), moment: moment(update, information) };
        }
        self.steps += all;
        // The recorded errors belong to none of the parts any more.
        self.rise = Rise::default();
        Ok(())
    }

    /// Whether t w is a sum of gradients.
    fn sums_gradients(&self) -> bool {
        let Step { update, eta, half_life, .. } = self.step;
        update == Update::Sgd && eta == 0.0 && half_life == 0.0
    }

    /// The global factor after so many steps, for a weight that none of them touches.
    fn decay(&self, steps: u64) -> f64 {
        let growth = pow(self.growth, steps as f64);
        match self.step.update {
            Update::Sgd if self.step.rho > 0.0 => 1.0,
            Update::Sgd => 1.0 / growth,
            Update::Arow | Update::Adagrad => growth,
        }
    }
}

/// A model that continued from a base.
struct Part<'a> {
    model: &'a LinearModel,
    /// Steps since the base.
    steps: u64,
    /// The factor by which these decayed the base.
    decay: f64,
}

impl<'a> Part<'a> {
    fn of(model: &'a LinearModel, base: &LinearModel) -> Self {
        let steps = model.steps.saturating_sub(base.steps);
        Self { model, steps, decay: base.decay(steps) }
    }

    /// What it learned about a weight that was `base`: the information gained, and the change.
    fn learned(&self, base: Cell, place: usize, class: usize) -> (f64, f64) {
        let Self { model, decay, .. } = *self;
        let update = model.step.update;
        let known = (place < model.places).then(|| model.cells[place * model.width + class]);
        let now = settled(update, known.unwrap_or(untouched(update)), model.factor);
        let before = settled(update, base, decay);
        let gain = information(update, now.moment) - information(update, before.moment);
        (gain.max(0.0), now.weight - before.weight)
    }

    /// The weight of its change.
    fn weight(&self, gain: f64) -> f64 {
        if self.model.sums_gradients() {
            self.model.steps as f64
        } else {
            gain + STEP_GAIN * self.steps as f64
        }
    }
}

/// What adds up: the precision, or the sum of squared gradients.
fn information(update: Update, moment: f64) -> f64 {
    if update == Update::Arow { 1.0 / moment.max(1.0 / LARGEST) } else { moment }
}

/// The inverse of [`information`].
fn moment(update: Update, information: f64) -> f64 {
    let information = information.min(LARGEST);
    if update == Update::Arow { 1.0 / information } else { information }
}
