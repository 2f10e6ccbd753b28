//! Renaming support vectors, and removing evicted names from them.
//!
//! An evicted attribute leaves the observed sets, along with all features that contain it: without attribute j, φ(u, q)
//! becomes φ(u, q \\ j), with u on the remaining attributes. Sets that become equal share a slot without loss.

use super::storage::Vectors;
use crate::block::Evicted;

impl Vectors {
    /// A copy without these attributes and coordinates.
    pub fn without(&self, evicted: &Evicted, gamma: u32) -> Self {
        let left = |evicted: &[u32], each: u32| evicted.binary_search(&each).is_err().then_some(each);
        let (attributes, coordinates) = (&evicted.attributes, &evicted.coordinates);
        self.renamed(|attribute| left(attributes, attribute), |k| left(coordinates, k), gamma)
    }

    /// A copy with other indices, all distinct; what is mapped to None is left out.
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
