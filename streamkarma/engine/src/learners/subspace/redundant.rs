//! Coordinates that others explain so well that they add nothing.
//!
//! If more coordinates are worth a slot than there are slots, those that leave are mostly of this kind: the active ones
//! carry the same information, and in every event. As raw features, 0 where missing, they would only add noise. They
//! are therefore left out, and their weights are moved to the coordinates that explain them.

use super::pairs::Pairs;
use crate::cholesky::Cholesky;
use crate::learners::linear::{LARGEST, LinearModel};

/// A coordinate is redundant if others explain this fraction of its variance.
const EXPLAINED: f64 = 0.75;

/// A redundant coordinate and its regression on those that stay.
pub struct Redundant {
    coordinate: u32,
    constant: f64,
    others: Vec<(u32, f64)>,
}

impl Redundant {
    /// Move its weights to the others; scores are unchanged, except for what the others cannot explain.
    pub fn move_weights(&self, model: &mut LinearModel, rank: usize) {
        let place = |k: u32| rank + 2 * k as usize;
        for class in 0..model.classes() {
            let weight = model.weight(class, place(self.coordinate));
            for &(k, factor) in self.others.iter().chain([&(0, self.constant)]) {
                let sum = model.weight(class, place(k)) + weight * factor;
                model.set_weight(class, place(k), sum.clamp(-LARGEST, LARGEST));
            }
            model.set_weight(class, place(self.coordinate), 0.0);
        }
    }
}

impl Pairs {
    /// Mark the leaving coordinates that are redundant given those that stay, and return their regressions.
    pub fn redundant(&mut self, leaving: &[usize], noise: f64) -> Vec<Redundant> {
        let moments = &self.moments;
        let leaves = |slot: &usize| leaving.contains(&(self.owners[*slot] as usize));
        let used =
            (1..self.owners.len()).filter(|&slot| moments.active[slot] && moments.deviations[slot] > 0.0);
        let (out, stay): (Vec<usize>, Vec<usize>) = used.partition(leaves);
        if out.is_empty() {
            return Vec::new();
        }
        let mut cholesky = Cholesky::default();
        for (i, entries) in cholesky.rows(stay.len()).enumerate() {
            let row = moments.correlations.row(stay[i]);
            entries.iter_mut().zip(&stay).for_each(|(entry, &slot)| *entry = row[slot]);
            entries[i] += noise;
        }
        cholesky.factorise();
        let found: Vec<Redundant> =
            out.iter().filter_map(|&slot| self.explained(slot, &stay, &cholesky)).collect();
        for each in &found {
            self.is_redundant[each.coordinate as usize] = true;
        }
        found
    }

    /// The regression of one coordinate on those that stay; None if they do not explain it.
    fn explained(&self, slot: usize, stay: &[usize], cholesky: &Cholesky) -> Option<Redundant> {
        let (moments, items) = (&self.moments, self.coordinates.items());
        let correlation = |one: usize, other: usize| moments.correlations.row(one)[other];
        let mut factors: Vec<f64> = stay.iter().map(|&other| correlation(slot, other)).collect();
        cholesky.solve(&mut factors);
        let mut explained = 0.0;
        for (&one, x) in stay.iter().zip(&factors) {
            explained +=
                stay.iter().zip(&factors).map(|(&other, y)| x * y * correlation(one, other)).sum::<f64>();
        }
        let (mut constant, mut others) = (moments.means[slot], Vec::new());
        for (&other, factor) in stay.iter().zip(&factors) {
            let factor = factor * moments.deviations[slot] / moments.deviations[other];
            constant -= factor * moments.means[other];
            others.push((items[other], factor));
        }
        let is_finite = constant.is_finite() && others.iter().all(|(_, factor)| factor.is_finite());
        let coordinate = items[slot];
        (explained >= EXPLAINED && is_finite).then_some(Redundant { coordinate, constant, others })
    }
}
