//! Counts of what became of the examples.

use crate::merging::counted_together;

/// Counts of what became of the examples, over the learner's whole life.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fates {
    /// Examples added to the support vector of the same observed set.
    pub merged_exactly: u64,
    /// Support vectors and examples folded into the pattern that keeps most of them.
    pub merged_closest: u64,
    /// Support vectors and examples dropped.
    pub removed: u64,
    /// Examples that got a free slot.
    pub added: u64,
    /// Examples that took over the slot of another.
    pub replaced: u64,
}

impl Fates {
    /// The counts of a base, plus what each part has counted since.
    pub fn together(self, parts: &[Self]) -> Self {
        let count = |of: fn(&Self) -> u64| counted_together(of(&self), parts.iter().map(of));
        Self {
            merged_exactly: count(|fates| fates.merged_exactly),
            merged_closest: count(|fates| fates.merged_closest),
            removed: count(|fates| fates.removed),
            added: count(|fates| fates.added),
            replaced: count(|fates| fates.replaced),
        }
    }
}
