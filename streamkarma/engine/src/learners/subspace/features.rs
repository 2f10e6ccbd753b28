//! From what an event observes to what is weighed, and to the whole of it.

use super::{Form, NOBODY, Subspace};
use crate::block::Event;
use crate::math::dot;

impl Subspace {
    /// Complete an event, without learning: as many coordinates as `row` has.
    ///
    /// What is observed is kept; what is missing is its mean given that, 0 for what was never learned.
    pub fn complete(&mut self, event: &Event, row: &mut [f64]) {
        row.fill(0.0);
        let seen = self.owners.len().min(row.len());
        match &mut self.form {
            Form::Pairs(moments) => {
                self.phi.resize(self.owners.len(), 0.0);
                moments.complete(&self.owners, self.noise, event, &mut self.phi);
                row[..seen].copy_from_slice(&self.phi[..seen]);
            }
            Form::Factor(ppca) => {
                ppca.explain(&self.owners, self.noise, event);
                for (k, (value, &owner)) in row.iter_mut().zip(&self.owners).enumerate() {
                    // Attributes ascend.
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
            Form::Pairs(moments) => {
                self.phi.resize(self.owners.len(), 0.0);
                moments.complete(&self.owners, self.noise, event, &mut self.phi);
                self.index.extend((0..self.owners.len() as u32).map(|k| rank + 2 * k));
            }
            Form::Factor(ppca) => {
                ppca.explain(&self.owners, self.noise, event);
                self.phi.clear();
                self.phi.extend(&ppca.posterior.mean);
                self.index.extend(0..rank);
                let explained = ppca.posterior.deviations.iter().zip(&ppca.posterior.residuals);
                let items = event.coordinates.iter().zip(event.values).zip(explained);
                for ((&k, &value), (deviation, residual)) in items {
                    if self.owners.get(k as usize).is_some_and(|&owner| owner != NOBODY) {
                        self.index.push(rank + 2 * k);
                        // Coordinate 0 is the constant, which takes up all means.
                        self.phi.push(if k > 0 { deviation * residual } else { value });
                    }
                }
            }
        }
        self.values = self.index.len();
        if self.heads.iter().any(|head| head.indicators) {
            for &attribute in event.attributes {
                if self.known.get(attribute as usize).is_some_and(|&is| is) {
                    self.index.push(rank + 2 * attribute + 1);
                    self.phi.push(1.0);
                }
            }
        }
    }
}
