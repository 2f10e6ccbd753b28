//! Support vectors without what was given up.
//!
//! An attribute leaves the observed sets with all features that have it: what is left of φ(u, q) without
//! attribute j is φ(u, q \ j), with u on what is left. Sets that become equal share a slot at no loss.

use super::storage::Vectors;
use super::table::Table;
use crate::block::Gone;

impl Vectors {
    /// The same without these attributes and coordinates.
    pub fn without(&self, gone: &Gone, gamma: u32) -> Self {
        let mut left = Self::new(self.values.classes(), self.offsets.is_some());
        (left.scale, left.scale_sum, left.longest) = (self.scale, self.scale_sum, self.longest);
        left.owners.clone_from(&self.owners);
        left.reserve(self.used());
        for slot in 0..self.used() {
            let is_left = |gone: &[u32], each: &u32| gone.binary_search(each).is_err();
            let observed = self.observed[slot].iter().copied().filter(|a| is_left(&gone.attributes, a));
            let observed: Vec<u32> = observed.collect();
            let host = left.slots.get(observed.as_slice()).copied().unwrap_or(left.used());
            if host == left.used() {
                left.fill(host, &observed, gamma, self.created_at[slot] as u64);
            }
            let listed = self.listed[slot].iter().filter(|k| is_left(&gone.coordinates, k));
            for (j, &k) in listed.enumerate() {
                left.list(host, k, self.owners[k as usize], j);
                copy(&self.values, slot, &mut left.values, host, k);
                if let (Some(offsets), Some(to)) = (&self.offsets, &mut left.offsets) {
                    copy(offsets, slot, to, host, k);
                }
            }
            left.measure(host);
        }
        left
    }
}

/// Add what a slot has on a coordinate to a slot of another table.
fn copy(from: &Table<f64>, slot: usize, to: &mut Table<f64>, host: usize, coordinate: u32) {
    for class in 0..from.classes() {
        *to.at(coordinate, class, host) += from.get(coordinate, class, slot);
    }
}
