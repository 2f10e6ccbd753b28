//! Linear models that learned apart, made one; and features that go over to other places and scales.
//!
//! What a part tells of a weight is by how much its precision P = 1 / sigma grew (AROW), or its sum G of
//! squared gradients (AdaGrad). These gains add up, and weights are averaged by them:
//!
//! ```text
//! P = P_0 + Σ g_m,  w = w_0 + Σ g_m (w_m - w_0) / Σ g_m,  g_m = P_m - P_0.
//! ```
//!
//! So a feature that one part alone has met keeps the weight it has there. (By whole precisions the sum would
//! go too far: a diagonal one counts each of many features that say the same as new.) SGD has no such thing;
//! of its steps of 1 / (rho t), t w is a sum of gradients, and weights of constant steps are averaged by
//! their number.
//!
//! With a half-life, the base has decayed in a part by the steps that this one took, and in the merged model
//! by those of all parts.
//!
//! A part that has begun anew since then knows less than the base: its gains count as none, so that its weights are
//! heeded where no other part has gained anything, and what the base knew fades in the merged model by its half-life.

use super::updates::settled;
use super::{Cell, LARGEST, LinearModel, Step, Update, untouched};
use crate::loss::Loss;
use crate::math::pow;
use crate::merging::{Mean, ensure_alike, relabelled};
use crate::rise::Rise;
use crate::state::Refused;

/// What a step counts for beside the gains: next to nothing, but where these were forgotten again it decides.
const STEP_GAIN: f64 = 1e-30;

/// Where what was learned of a feature goes: a part of its weight, and of the information behind that.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Move {
    /// A place.
    pub from: u32,
    /// A place from now on.
    pub to: u32,
    /// What the weight is multiplied by.
    pub factor: f64,
    /// What AROW's 1 / sigma - 1 and AdaGrad's G are multiplied by.
    pub information: f64,
}

impl Move {
    /// Of a feature whose value was so many times what it is now.
    pub fn stretched(from: u32, to: u32, stretch: f64) -> Self {
        Self { from, to, factor: stretch, information: 1.0 / (stretch * stretch) }
    }

    /// Of a weight that counts elsewhere, too, where its feature was shifted.
    pub fn shifted(from: u32, to: u32, factor: f64) -> Self {
        Self { from, to, factor, information: 0.0 }
    }
}

impl LinearModel {
    /// Number the classes anew, see [`crate::learner::Learner::relabel`].
    pub fn relabel(&mut self, places: &[usize]) {
        if self.classes > 1 {
            self.cells = relabelled(&self.cells, self.places, places);
        } else if places.first() == Some(&1) {
            // Subtracted from 0, for a zero must not get a sign: no file keeps it.
            self.cells.iter_mut().for_each(|cell| cell.weight = 0.0 - cell.weight);
        }
    }

    /// Go to so many places, each with the sum of what is moved there; all else is forgotten.
    pub fn transfer(&mut self, moves: &[Move], places: usize) {
        self.rescale();
        let update = self.step.update;
        // Where nothing is known AROW's information is 1, which counts once however much comes together.
        let prior = information(update, untouched(update).moment);
        let mut moved = vec![Cell { weight: 0.0, moment: 0.0 }; self.classes * places];
        for c in 0..self.classes {
            let (old, new) = (&self.cells[c * self.places..], &mut moved[c * places..]);
            for each in moves {
                let (cell, to) = (old[each.from as usize], &mut new[each.to as usize]);
                to.weight += each.factor * cell.weight;
                to.moment += each.information.min(LARGEST) * (information(update, cell.moment) - prior);
            }
        }
        moved.iter_mut().for_each(|cell| cell.moment = moment(update, prior + cell.moment));
        (self.cells, self.places) = (moved, places);
    }

    /// Of a regression, go over to targets y of which the present ones are `target.0 + target.1 y`.
    ///
    /// `unit` is the value that the constant has, at its place.
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
        for row in self.cells.chunks_exact_mut(self.places.max(1)) {
            row[constant as usize].weight -= shift / stretch / unit;
        }
    }

    /// Take in what the parts have learned since they were as this one, see
    /// [`crate::learner::Learner::merge`].
    ///
    /// A part may have fewer places, or more.
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
        let (update, places, decay) = (self.step.update, self.places, self.decay(all));
        // It is in every t_m w_m, and counts once.
        let shared = if self.sums_gradients() { self.steps as f64 * (1.0 - parts.len() as f64) } else { 0.0 };
        for (at, cell) in self.cells.iter_mut().enumerate() {
            let (base, mut change) = (*cell, Mean::default());
            *cell = settled(update, base, decay);
            let mut information = information(update, cell.moment);
            change.put(shared, 0.0);
            for part in &parts {
                let (gain, moved) = part.learned(base, at / places, at % places);
                information += gain;
                change.put(part.weight(gain), moved);
            }
            *cell = Cell { weight: cell.weight + change.value(), moment: moment(update, information) };
        }
        self.steps += all;
        // Its errors are no longer those of any part.
        self.rise = Rise::default();
        Ok(())
    }

    /// Whether t w is a sum of gradients.
    fn sums_gradients(&self) -> bool {
        let Step { update, eta, half_life, .. } = self.step;
        update == Update::Sgd && eta == 0.0 && half_life == 0.0
    }

    /// The factor that stands for so many steps on a weight that none of them touches.
    fn decay(&self, steps: u64) -> f64 {
        let growth = pow(self.growth, steps as f64);
        match self.step.update {
            Update::Sgd if self.step.rho > 0.0 => 1.0,
            Update::Sgd => 1.0 / growth,
            Update::Arow | Update::Adagrad => growth,
        }
    }
}

/// A model that went on from a base.
struct Part<'a> {
    model: &'a LinearModel,
    /// Since then.
    steps: u64,
    /// What became of the base by these.
    decay: f64,
}

impl<'a> Part<'a> {
    fn of(model: &'a LinearModel, base: &LinearModel) -> Self {
        let steps = model.steps.saturating_sub(base.steps);
        Self { model, steps, decay: base.decay(steps) }
    }

    /// What it learned of a weight that was this one: the information gained, and the change.
    fn learned(&self, base: Cell, class: usize, place: usize) -> (f64, f64) {
        let Self { model, decay, .. } = *self;
        let update = model.step.update;
        let known = (place < model.places).then(|| model.cells[class * model.places + place]);
        let now = settled(update, known.unwrap_or(untouched(update)), model.factor);
        let before = settled(update, base, decay);
        let gain = information(update, now.moment) - information(update, before.moment);
        (gain.max(0.0), now.weight - before.weight)
    }

    /// What its change of a weight counts for.
    fn weight(&self, gain: f64) -> f64 {
        if self.model.sums_gradients() {
            self.model.steps as f64
        } else {
            gain + STEP_GAIN * self.steps as f64
        }
    }
}

/// What adds up: the precision, or the squared gradients.
fn information(update: Update, moment: f64) -> f64 {
    if update == Update::Arow { 1.0 / moment.max(1.0 / LARGEST) } else { moment }
}

/// The other way around.
fn moment(update: Update, information: f64) -> f64 {
    let information = information.min(LARGEST);
    if update == Update::Arow { 1.0 / information } else { information }
}
