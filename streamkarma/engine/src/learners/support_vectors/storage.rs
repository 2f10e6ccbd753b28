//! The support vectors: `v = s Σ φ(u_i, q_i)`.
//!
//! Support vector i is an observed set q_i and, for each class, a vector u_i on its coordinates. φ is linear in u for
//! fixed q (design, Fact 1), so α_i is folded into u_i: its size is the norm of φ(u_i, q_i), and examples with the same
//! observed set add up in one slot without loss.

use std::collections::HashMap;
use std::sync::Arc;

use super::table::{Table, WIDE};
use crate::block::Event;
use crate::kernel::growth;

/// Below this, the global scale is multiplied into the vectors: long before it underflows, and early enough that the
/// running average loses no digits to cancellation.
const SMALLEST_SCALE: f64 = 1e-3;

/// Slots, stored side by side in tables.
#[derive(Clone, Debug)]
pub struct Vectors {
    /// u_i before the global scale, by coordinate and class.
    pub values: Table<f64>,
    /// Like `values`, with averaging: the sum of all iterates so far is `scale_sum * values - offsets`.
    pub offsets: Option<Table<f64>>,
    /// 1 if an attribute belongs to a slot's observed set.
    pub mask: Table<u8, WIDE>,
    /// Each slot's observed set q_i.
    pub observed: Vec<Arc<[u32]>>,
    /// The slot of each observed set.
    pub slots: HashMap<Arc<[u32]>, usize>,
    /// The coordinates on which a slot has values.
    pub listed: Vec<Vec<u32>>,
    /// `1 / G(|q_i|)`, 0 past the slots in use: the squared norm of φ(u, q) is that of u divided by it.
    pub inverse: Vec<f64>,
    /// The squared norm of φ(u_i, q_i) over all classes, before the global scale.
    pub squares: Vec<f64>,
    /// The slot of least norm, the first on a tie; None if it has to be searched for.
    pub weakest: Option<usize>,
    /// The step at which a slot was filled.
    pub created_at: Vec<f64>,
    /// The attribute that a coordinate belongs to.
    pub owners: Vec<u32>,
    /// Scratch: the items of an event that a slot has.
    pub shared: Vec<usize>,
    /// The global scale s.
    pub scale: f64,
    /// The sum of the scales of all iterates so far.
    pub scale_sum: f64,
    /// The most coordinates that any slot has ever had.
    pub longest: usize,
}

impl Vectors {
    /// Empty, with v = 0.
    pub fn new(classes: usize, average: bool) -> Self {
        Self {
            values: Table::new(classes),
            offsets: average.then(|| Table::new(classes)),
            mask: Table::new(1),
            observed: Vec::new(),
            slots: HashMap::new(),
            listed: Vec::new(),
            inverse: Vec::new(),
            squares: Vec::new(),
            weakest: None,
            created_at: Vec::new(),
            owners: Vec::new(),
            shared: Vec::new(),
            scale: 1.0,
            scale_sum: 0.0,
            longest: 0,
        }
    }

    /// Number of slots in use.
    pub fn used(&self) -> usize {
        self.observed.len()
    }

    /// Reserve capacity for this many slots.
    pub fn reserve(&mut self, slots: usize) {
        if slots > self.values.slots() {
            self.grow(self.values.classes(), slots);
        }
    }

    fn grow(&mut self, classes: usize, slots: usize) {
        self.values.grow(classes, slots);
        if let Some(offsets) = &mut self.offsets {
            offsets.grow(classes, slots);
        }
        self.mask.grow(1, slots);
        self.inverse.resize(self.mask.slots(), 0.0);
    }

    /// Widen to more classes; the w of two classes becomes -w/2 and w/2.
    pub fn widen(&mut self, classes: usize) {
        let single = self.values.classes() == 1;
        self.grow(classes, self.values.slots());
        if !single {
            return;
        }
        for slot in 0..self.used() {
            for &k in &self.listed[slot] {
                for table in [Some(&mut self.values), self.offsets.as_mut()].into_iter().flatten() {
                    let half = table.get(k, 0, slot) / 2.0;
                    // Subtracted from 0 so that no zero gets a sign: files do not keep it.
                    *table.at(k, 0, slot) = 0.0 - half;
                    *table.at(k, 1, slot) = half;
                }
            }
            self.squares[slot] /= 2.0;
        }
        self.weakest = None;
    }

    /// `v ← factor v`, through the global scale alone.
    pub fn decay(&mut self, factor: f64) {
        if self.used() > 0 {
            self.scale *= factor;
            if self.scale < SMALLEST_SCALE {
                self.rescale();
            }
        }
    }

    /// Multiply the global scale into the vectors and reset it to 1.
    pub fn rescale(&mut self) {
        for slot in 0..self.used() {
            for &k in &self.listed[slot] {
                for c in 0..self.values.classes() {
                    let value = self.values.at(k, c, slot);
                    if let Some(offsets) = &mut self.offsets {
                        *offsets.at(k, c, slot) -= self.scale_sum * *value;
                    }
                    *value *= self.scale;
                }
            }
            self.squares[slot] *= self.scale * self.scale;
        }
        // Rounding may have created ties.
        self.weakest = None;
        (self.scale, self.scale_sum) = (1.0, 0.0);
    }

    /// Give an observed set to a slot: the first free one, or one that was emptied.
    ///
    /// The capacity must have been reserved.
    pub fn fill(&mut self, slot: usize, observed: &[u32], gamma: u32, created_at: f64) {
        if slot == self.used() {
            self.observed.push(Arc::default());
            self.listed.push(Vec::new());
            self.squares.push(0.0);
            self.created_at.push(0.0);
        }
        self.created_at[slot] = created_at;
        self.observe(slot, observed, gamma);
    }

    /// Give this observed set to a slot that has none.
    pub fn observe(&mut self, slot: usize, attributes: &[u32], gamma: u32) {
        self.inverse[slot] = 1.0 / growth(attributes.len() as f64, gamma);
        for &attribute in attributes {
            *self.mask.at(attribute, 0, slot) = 1;
        }
        self.observed[slot] = attributes.into();
        self.slots.insert(self.observed[slot].clone(), slot);
    }

    /// `u_slot += steps_c x` for every class c, on the attributes that the slot has.
    pub fn add(&mut self, slot: usize, event: &Event, x: &[f64], steps: &[f64]) {
        // Listed without a branch, which would be unpredictable: about half of an event is shared.
        let mut shared = std::mem::take(&mut self.shared);
        shared.resize(event.len(), 0);
        let mut count = 0;
        for (j, &attribute) in event.attributes.iter().enumerate() {
            shared[count] = j;
            count += usize::from(self.mask.get(attribute, 0, slot));
        }
        for &j in &shared[..count] {
            let (attribute, k) = (event.attributes[j], event.coordinates[j]);
            if self.values.get(k, 0, slot) == 0.0 {
                self.list(slot, k, attribute, j);
            }
            for (c, &step) in steps.iter().enumerate() {
                *self.values.at(k, c, slot) += step * x[j];
                if let Some(offsets) = &mut self.offsets {
                    *offsets.at(k, c, slot) += step * self.scale_sum * x[j];
                }
            }
        }
        self.shared = shared;
        self.measure(slot);
    }

    /// Make sure that a slot lists a coordinate; `likely` is its probable position: that in an event.
    pub fn list(&mut self, slot: usize, coordinate: u32, attribute: u32, likely: usize) {
        let index = coordinate as usize;
        if index >= self.owners.len() {
            self.owners.resize(index + 1, 0);
        }
        self.owners[index] = attribute;
        let listed = &mut self.listed[slot];
        if listed.get(likely) != Some(&coordinate) && !listed.contains(&coordinate) {
            listed.push(coordinate);
            self.longest = self.longest.max(listed.len());
        }
    }

    /// Add `kept` times a slot of others to a slot, on the attributes that this one has.
    pub fn add_projected(&mut self, host: usize, others: &Self, slot: usize, kept: f64) {
        for (j, &k) in others.listed[slot].iter().enumerate() {
            let attribute = others.owners[k as usize];
            if self.mask.get(attribute, 0, host) == 1 {
                self.list(host, k, attribute, j);
                self.add_cell((k, host), others, (k, slot), kept);
            }
        }
    }

    /// Add `kept` times the values of others at a coordinate of a slot.
    pub fn add_cell(&mut self, (k, host): (u32, usize), others: &Self, (old, slot): (u32, usize), kept: f64) {
        for c in 0..self.values.classes() {
            *self.values.at(k, c, host) += kept * others.values.get(old, c, slot);
            if let (Some(offsets), Some(from)) = (&mut self.offsets, &others.offsets) {
                *offsets.at(k, c, host) += kept * from.get(old, c, slot);
            }
        }
    }

    /// The squared values of a slot, summed over classes, by attribute.
    pub fn squares_of(&self, slot: usize, squares: &mut Vec<(u32, f64)>) {
        squares.clear();
        for &k in &self.listed[slot] {
            let values = (0..self.values.classes()).map(|c| self.values.get(k, c, slot));
            squares.push((self.owners[k as usize], values.map(|value| value * value).sum()));
        }
    }

    /// Recompute the squared norm of a slot.
    pub fn measure(&mut self, slot: usize) {
        let mut square = 0.0;
        for &k in &self.listed[slot] {
            for c in 0..self.values.classes() {
                let value = self.values.get(k, c, slot);
                square += value * value;
            }
        }
        self.squares[slot] = square / self.inverse[slot];
        self.weakest = self.weakest.filter(|&weakest| weakest != slot).map(|weakest| {
            let is_less = (self.squares[slot], slot) < (self.squares[weakest], weakest);
            if is_less { slot } else { weakest }
        });
    }

    /// Empty a slot, which remains in use, so that it can be refilled.
    pub fn clear(&mut self, slot: usize) {
        for &k in &self.listed[slot] {
            for c in 0..self.values.classes() {
                *self.values.at(k, c, slot) = 0.0;
                if let Some(offsets) = &mut self.offsets {
                    *offsets.at(k, c, slot) = 0.0;
                }
            }
        }
        let observed = std::mem::take(&mut self.observed[slot]);
        for &attribute in observed.iter() {
            *self.mask.at(attribute, 0, slot) = 0;
        }
        self.slots.remove(&observed);
        self.listed[slot].clear();
    }

    /// Bytes of the vectors; each list is counted at the capacity of the longest one.
    pub fn bytes(&self) -> usize {
        let offsets = self.offsets.as_ref().map_or(0, Table::len);
        let lists = 2 * self.used() * self.longest.next_power_of_two() + self.owners.len();
        8 * (self.values.len() + offsets + 3 * self.used()) + self.mask.len() + 4 * lists
    }
}
