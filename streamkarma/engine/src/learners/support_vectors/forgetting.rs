//! Support vectors under other names, and without what was given up.
//!
//! An attribute that is given up leaves the observed sets with all features that have it: what is left of φ(u, q)
//! without attribute j is φ(u, q \\ j), with u on what is left. Sets that become equal share a slot at no loss.

use super::storage::Vectors;
use crate::block::Gone;

impl Vectors {
    /// The same without these attributes and coordinates.
    pub fn without(&self, gone: &Gone, gamma: u32) -> Self {
        let left = |gone: &[u32], each: u32| gone.binary_search(&each).is_err().then_some(each);
        let (attributes, coordinates) = (&gone.attributes, &gone.coordinates);
        self.renamed(|attribute| left(attributes, attribute), |k| left(coordinates, k), gamma)
    }

    /// The same with other indices, all different; what has none is left out.
    pub fn renamed(
        &self,
        attribute: impl Fn(u32) -> Option<u32>,
        coordinate: impl Fn(u32) -> Option<u32>,
        gamma: u32,
    ) -> Self {
        let mut new = Self::new(self.values.classes(), self.offsets.is_some());
        (new.scale, new.scale_sum, new.longest) = (self.scale, self.scale_sum, self.longest);
        new.reserve(self.used());
        for slot in 0..self.used() {
            let mut observed: Vec<u32> = self.observed[slot].iter().filter_map(|&a| attribute(a)).collect();
            observed.sort_unstable();
            let host = new.slots.get(observed.as_slice()).copied().unwrap_or(new.used());
            if host == new.used() {
                new.fill(host, &observed, gamma, self.created_at[slot]);
            }
            let listed = self.listed[slot]
                .iter()
                .filter_map(|&k| Some((k, coordinate(k)?, attribute(self.owners[k as usize])?)));
            for (j, (old, k, owner)) in listed.enumerate() {
                new.list(host, k, owner, j);
                new.add_cell((k, host), self, (old, slot), 1.0);
            }
            new.measure(host);
        }
        new
    }
}
