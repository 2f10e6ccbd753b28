//! What to do with one support vector too many.

use super::SupportVectors;
use crate::block::Event;

/// What gives way when the model is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pruning {
    /// The vector of least norm is folded into the pattern that keeps most of it.
    Merge,
    /// The vector of least norm is dropped.
    Remove,
    /// The oldest vector is dropped.
    Oldest,
}

impl Pruning {
    /// Look up by name.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "merge" => Some(Self::Merge),
            "remove" => Some(Self::Remove),
            "oldest" => Some(Self::Oldest),
            _ => None,
        }
    }
}

impl SupportVectors {
    /// Find a slot, in a full model, for an event that has none: one emptied for it, or that of the closest pattern.
    ///
    /// `square` is the squared norm of the event's vector, which is `slopes_c φ(x)`. If the vector is folded into
    /// another pattern, the slopes are multiplied by the factor of the projection.
    pub(super) fn prune(&mut self, event: &Event, square: f64) -> Option<usize> {
        let (v, passes) = (&mut self.vectors, &self.passes);
        let oldest = self.rule.pruning == Pruning::Oldest;
        let weakest = if oldest {
            passes.least(&v.created_at)
        } else {
            *v.weakest.get_or_insert_with(|| passes.least(&v.squares))
        };
        if oldest || square > v.squares[weakest] {
            self.empty(weakest);
            self.vectors.fill(weakest, event.observed(&mut self.room), self.rule.gamma, self.steps as f64);
            self.fates.replaced += 1;
            return Some(weakest);
        }
        let host = if self.rule.pruning == Pruning::Merge { self.closest_to(event) } else { None };
        let Some(host) = host else {
            self.fates.removed += 1;
            return None;
        };
        let kept = self.passes.gain(host) * self.vectors.inverse[host];
        self.slopes.iter_mut().for_each(|slope| *slope *= kept);
        self.fates.merged_closest += 1;
        Some(host)
    }

    /// The pattern that keeps most of an event; the last `count_shared` of the passes must have been with it.
    fn closest_to(&mut self, event: &Event) -> Option<usize> {
        self.squares.clear();
        self.squares.extend(event.attributes.iter().zip(&self.x).map(|(&attribute, x)| (attribute, x * x)));
        self.passes.closest(&self.vectors.mask, &self.squares, &self.vectors.inverse)
    }

    /// Empty a slot; if pruning merges, its content is folded into the closest pattern.
    fn empty(&mut self, slot: usize) {
        let host = if self.rule.pruning == Pruning::Merge { self.closest_to_slot(slot) } else { None };
        if let Some(host) = host {
            self.fold(slot, host);
            self.fates.merged_closest += 1;
        } else {
            self.fates.removed += 1;
        }
        self.vectors.clear(slot);
    }

    /// The pattern of another slot that keeps most of a slot's vector; afterwards the passes have met the slot's set.
    fn closest_to_slot(&mut self, slot: usize) -> Option<usize> {
        let v = &mut self.vectors;
        // The slot must not find itself.
        v.inverse[slot] = 0.0;
        self.passes.count_shared(&v.mask, &v.observed[slot], self.rule.gamma);
        v.squares_of(slot, &mut self.squares);
        self.passes.closest(&v.mask, &self.squares, &v.inverse)
    }

    /// Add the projection of a slot onto the host's pattern to the host (design, Fact 2): `u_k G(|o ∩ q|) / G(|q|)` for
    /// k in `o ∩ q`.
    fn fold(&mut self, slot: usize, host: usize) {
        let v = &mut self.vectors;
        let kept = self.passes.gain(host) * v.inverse[host];
        // Taken out temporarily, since the host's list changes.
        let listed = std::mem::take(&mut v.listed[slot]);
        for (j, &k) in listed.iter().enumerate() {
            let attribute = v.owners[k as usize];
            if v.mask.get(attribute, 0, host) == 0 {
                continue;
            }
            v.list(host, k, attribute, j);
            for c in 0..v.values.classes() {
                for table in [Some(&mut v.values), v.offsets.as_mut()].into_iter().flatten() {
                    *table.at(k, c, host) += kept * table.get(k, c, slot);
                }
            }
        }
        v.listed[slot] = listed;
        v.measure(host);
    }
}
