//! Removing evicted names from the completion and the weights.

use super::pairs::Pairs;
use super::ppca::{Ppca, start};
use super::state::attributes_of;
use super::{Form, NOBODY, Subspace};
use crate::block::{Evicted, below};

impl Subspace {
    /// Forget what was learned of these coordinates, and of attributes without any coordinates left.
    pub(super) fn clear(&mut self, evicted: &Evicted) {
        let coordinates = below(&evicted.coordinates, self.owners.len());
        coordinates.iter().for_each(|&k| self.owners[k as usize] = NOBODY);
        let known = self.owning();
        let is_left = |a: usize| known.get(a).is_some_and(|&is| is);
        let attributes: Vec<u32> =
            (0..self.known.len()).filter(|&a| self.known[a] && !is_left(a)).map(|a| a as u32).collect();
        self.known = known;
        match &mut self.form {
            Form::Pairs(pairs) => pairs.forget(&attributes, coordinates),
            Form::Factor(ppca) => ppca.forget(self.known.len(), &attributes, coordinates),
        }
        let rank = self.settings.rank as u32;
        let values = coordinates.iter().map(|k| rank + 2 * k);
        let indicators = attributes.iter().map(|a| rank + 2 * a + 1);
        let places: Vec<u32> = values.chain(indicators).collect();
        self.models_mut().for_each(|model| model.clear(&places));
        self.examples.forget(evicted);
    }

    /// Whether each attribute has a coordinate that was learned.
    pub(super) fn owning(&self) -> Vec<bool> {
        let mut known = vec![false; attributes_of(&self.owners)];
        let owners = self.owners.iter().filter(|owner| **owner != NOBODY);
        owners.for_each(|&owner| known[owner as usize] = true);
        known
    }
}

impl Pairs {
    fn forget(&mut self, attributes: &[u32], coordinates: &[u32]) {
        for &coordinate in coordinates {
            if let Some(slot) = self.coordinates.of(coordinate) {
                self.vacate(slot);
            }
            let k = coordinate as usize;
            (self.value_counts[k], self.sums[k], self.is_redundant[k]) = (0.0, 0.0, false);
        }
        for &attribute in attributes {
            (self.observed[attribute as usize], self.turns[attribute as usize]) = (0.0, 0.0);
        }
    }
}

impl Ppca {
    /// Forget these; `known` is the number of attributes from now on.
    fn forget(&mut self, known: usize, attributes: &[u32], coordinates: &[u32]) {
        let Some(&last) = coordinates.last() else { return };
        let rank = self.rank();
        // The initial rows: each continues the sequence of those before.
        let mut numbers = start(rank);
        let started: Vec<f64> = (0..(last as usize + 1) * rank).map(|_| numbers.draw()).collect();
        for &coordinate in coordinates {
            let k = coordinate as usize;
            let row = k * rank..(k + 1) * rank;
            self.rows[row.clone()].copy_from_slice(&started[row]);
            (self.value_counts[k], self.sums[k], self.squares[k]) = (0.0, 0.0, 0.0);
            self.noise[k] = 1.0;
        }
        attributes.iter().for_each(|&attribute| self.observed[attribute as usize] = 0.0);
        self.observed.truncate(known);
    }
}
