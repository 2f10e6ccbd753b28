//! Support vectors with the classes, names and scales of a merged model.
//!
//! A score is linear in an event's values. So u absorbs the new units, and the constant absorbs what a shift adds to
//! the score. But the constant also applies where the shifted value is missing, so it gets that amount times the
//! fraction of events that have the value. Renaming leaves the scores of events unchanged; new units leave them
//! unchanged up to that fraction, and up to the norms of the events, which are those of the new values.

use super::SupportVectors;
use super::storage::Vectors;
use crate::kernel::growth;
use crate::translation::Translation;

/// Maximum number of patterns whose scores are computed to find a shift of scores.
const LOOKED_AT: usize = 64;

impl SupportVectors {
    /// Convert to the names and scales of a merged model; see [`crate::learner::Learner::translate`].
    pub(super) fn translate_all(&mut self, translation: &Translation) {
        let gamma = self.rule.gamma;
        if !translation.keeps_scales() {
            self.vectors.change_units(translation);
        }
        if translation.target != (0.0, 1.0) {
            self.change_target(translation.target);
        }
        if !translation.keeps_names() {
            let (attribute, coordinate) = (|a| translation.attribute(a), |k| translation.coordinate(k));
            self.vectors = self.vectors.renamed(attribute, coordinate, gamma);
            self.vectors.longest = self.vectors.longest.min(translation.coordinate_count);
        }
    }

    /// Convert scores of `shift + stretch y` to scores of y.
    fn change_target(&mut self, (shift, stretch): (f64, f64)) {
        let v = &mut self.vectors;
        for table in [Some(&mut v.values), v.offsets.as_mut()].into_iter().flatten() {
            table.replace(|value| value / stretch);
        }
        let away = -shift / stretch * self.weight_of_one();
        let v = &mut self.vectors;
        // Each of v_1 … v_T gets the same `away`, so the offsets that their sum is computed from are adjusted to match.
        let passed = away * (v.scale_sum / v.scale - 1.0 - self.steps as f64);
        for slot in 0..v.used() {
            if v.mask.get(0, 0, slot) == 1 {
                v.list(slot, 0, 0, 0);
                *v.values.at(0, 0, slot) += away / v.scale;
                if let Some(offsets) = &mut v.offsets {
                    *offsets.at(0, 0, slot) += passed;
                }
            }
            v.measure(slot);
        }
    }

    /// Returns the value that every slot must have at the constant for the scores of events to be near 1.
    ///
    /// The kernel counts the attributes shared with a slot, so the sum over all slots grows with the size of an event,
    /// as does its norm, by which the sum is divided. The value is a least-squares fit over events with the patterns of
    /// slots.
    fn weight_of_one(&mut self) -> f64 {
        let (v, gamma) = (&self.vectors, self.rule.gamma);
        let (mut sum, mut squares) = (0.0, 0.0);
        for slot in (0..v.used()).step_by(v.used().div_ceil(LOOKED_AT).max(1)) {
            self.passes.count_shared(&v.mask, &v.observed[slot], gamma);
            let slots = (0..v.used()).filter(|&other| v.mask.get(0, 0, other) == 1);
            let size = v.observed[slot].len() as f64;
            // Standardised values have a mean square of 1.
            let norm = if self.rule.normalize { (size * growth(size, gamma)).sqrt() } else { 1.0 };
            let score = slots.map(|other| self.passes.gain(other)).sum::<f64>() / norm.max(1.0);
            sum += score;
            squares += score * score;
        }
        if squares > 0.0 { sum / squares } else { 0.0 }
    }
}

impl Vectors {
    /// Convert from values of `shift + stretch z` to values z.
    fn change_units(&mut self, translation: &Translation) {
        for slot in 0..self.used() {
            let has_constant = self.mask.get(0, 0, slot) == 1;
            if has_constant {
                self.list(slot, 0, 0, 0);
            }
            for table in [Some(&mut self.values), self.offsets.as_mut()].into_iter().flatten() {
                for c in 0..table.classes() {
                    let mut shifted = 0.0;
                    for &k in &self.listed[slot] {
                        if translation.coordinate(k).is_some() {
                            let value = table.at(k, c, slot);
                            shifted += translation.shift[k as usize] * translation.share_of(k) * *value;
                            *value *= translation.stretch[k as usize];
                        }
                    }
                    if has_constant {
                        *table.at(0, c, slot) += shifted;
                    }
                }
            }
            self.measure(slot);
        }
    }
}
