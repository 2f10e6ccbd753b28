//! Prefetches what will be looked up soon.
//!
//! With many entities, most of the time is spent waiting for memory: for an entity's slot in a table, then for the
//! entity, then for its values, each of which points to the next. For several entities at once, the processor waits for
//! all of them together.

use std::hint::black_box;

use super::{Entities, Links, Remembered, spread};

/// With fewer entities, everything is in the processor's caches anyway.
const MANY: usize = 4096;
/// Values per cache line.
const VALUES_IN_A_LINE: usize = 64 / size_of::<Remembered>();

impl Entities {
    /// Whether there are enough entities for prefetching to pay off.
    pub fn are_many(&self) -> bool {
        self.len() >= MANY
    }

    /// Prefetch the state of entities before it is looked up. This has no other effect.
    pub fn fetch(&self, names: &[&[u8]]) {
        let places: Vec<usize> = names.iter().filter_map(|name| self.guess(name)).collect();
        for &at in &places {
            let (entity, Links { newer, older }) = (&self.entities[at], self.links[at]);
            black_box((entity.name.bytes(), entity.values.len(), entity.asked.is_some(), newer, older));
        }
        for &at in &places {
            for value in self.entities[at].values.iter().step_by(VALUES_IN_A_LINE) {
                black_box(value.time);
            }
            black_box(self.entities[at].labels.as_ref().map(|labels| labels.time));
            let Links { newer, older } = self.links[at];
            black_box([newer, older].map(|at| self.links.get(at as usize).copied()));
        }
    }

    /// The index of the entity with that name if there is one, else perhaps that of another with the same half of a
    /// hash.
    fn guess(&self, name: &[u8]) -> Option<usize> {
        let (table, half) = self.slot_of(name);
        self.tables[table].find(spread(half), |&(own, _)| own == half).map(|&(_, at)| at as usize)
    }
}
