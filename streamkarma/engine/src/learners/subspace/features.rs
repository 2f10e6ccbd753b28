//! From the observed values of an event to the features of the linear models, and to the completed event.

use super::pairs::Pairs;
use super::{Form, NOBODY, Subspace};
use crate::block::Event;
use crate::math::dot;

impl Subspace {
    /// Complete an event without learning, up to as many coordinates as `row` has.
    ///
    /// Observed values are kept; a missing one becomes its mean given these, 0 if it was never learned.
    pub fn complete(&mut self, event: &Event, row: &mut [f64]) {
        row.fill(0.0);
        match &mut self.form {
            Form::Pairs(pairs) => {
                for (k, (value, &owner)) in row.iter_mut().zip(&self.owners).enumerate() {
                    if owner != NOBODY && event.attributes.binary_search(&owner).is_err() {
                        *value = pairs.mean(owner, k);
                    }
                }
                pairs.complete(self.noise, event, &mut self.phi);
                for (slot, value) in self.phi.iter().enumerate() {
                    let k = pairs.coordinates.items()[slot] as usize;
                    if k < row.len() && pairs.moments.active[slot] {
                        row[k] = *value;
                    }
                }
            }
            Form::Factor(ppca) => {
                ppca.explain(&self.owners, self.growth, event);
                for (k, (value, &owner)) in row.iter_mut().zip(&self.owners).enumerate() {
                    // Attributes are in ascending order.
                    if owner != NOBODY && event.attributes.binary_search(&owner).is_err() {
                        let (mean, deviation) = ppca.moments(owner, k);
                        *value = mean + deviation * dot(ppca.row(k), &ppca.posterior.mean);
                    }
                }
            }
        }
        for (&k, value) in event.coordinates.iter().zip(event.values) {
            if let Some(entry) = row.get_mut(k as usize) {
                *entry = *value;
            }
        }
    }

    /// Write the features of an event.
    pub(super) fn write_features(&mut self, event: &Event) {
        let rank = self.settings.rank as u32;
        self.index.clear();
        match &mut self.form {
            Form::Pairs(pairs) => {
                pairs.complete(self.noise, event, &mut self.phi);
                if pairs.is_wide() {
                    keep_active(pairs, rank, &mut self.index, &mut self.phi);
                    for (&k, &value) in event.coordinates.iter().zip(event.values) {
                        let is_known = self.owners.get(k as usize).is_some_and(|&owner| owner != NOBODY);
                        if is_known && pairs.is_plain(k) {
                            self.index.push(rank + 2 * k);
                            self.phi.push(value);
                        }
                    }
                } else {
                    self.index.extend((0..self.phi.len() as u32).map(|k| rank + 2 * k));
                }
            }
            Form::Factor(ppca) => {
                ppca.explain(&self.owners, self.growth, event);
                self.phi.clear();
                self.phi.extend(&ppca.posterior.mean);
                self.index.extend(0..rank);
                let explained = ppca.posterior.deviations.iter().zip(&ppca.posterior.residuals);
                let items = event.coordinates.iter().zip(event.values).zip(explained);
                for ((&k, &value), (deviation, residual)) in items {
                    if self.owners.get(k as usize).is_some_and(|&owner| owner != NOBODY) {
                        self.index.push(rank + 2 * k);
                        // Coordinate 0 is the constant, which absorbs all means.
                        self.phi.push(if k > 0 { deviation * residual } else { value });
                    }
                }
            }
        }
        self.values = self.index.len();
        if self.heads.iter().any(|head| head.indicators) {
            for &attribute in event.observed(&mut self.observed) {
                if self.known.get(attribute as usize).is_some_and(|&is| is) {
                    self.index.push(rank + 2 * attribute + 1);
                    self.phi.push(1.0);
                }
            }
        }
    }
}

/// Keep only the completed values of active coordinates.
fn keep_active(pairs: &Pairs, rank: u32, index: &mut Vec<u32>, phi: &mut Vec<f64>) {
    for (slot, &k) in pairs.coordinates.items().iter().enumerate() {
        if pairs.moments.active[slot] {
            phi[index.len()] = phi[slot];
            index.push(rank + 2 * k);
        }
    }
    phi.truncate(index.len());
}
