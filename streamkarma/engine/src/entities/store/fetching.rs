//! What will be looked up soon.
//!
//! With many entities most of the time goes by until what is known of one has come from memory: its place in
//! a table, then the entity, then its values, each of which says where the next is. Of several entities at
//! once, the processor waits for all together.

use std::hint::black_box;

use super::{Entities, Links, Remembered, spread};

/// What is known of fewer entities is in the caches of the processor anyway.
const MANY: usize = 4096;
/// Values in a line of a cache.
const VALUES_IN_A_LINE: usize = 64 / size_of::<Remembered>();

impl Entities {
    /// Whether there are so many that it is worth while to fetch them.
    pub fn are_many(&self) -> bool {
        self.len() >= MANY
    }

    /// Have what is known of entities at hand when it is looked up. Nothing else comes of it.
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

    /// Where the entity of a name is if there is one; another may have the same half of a hash.
    fn guess(&self, name: &[u8]) -> Option<usize> {
        let (table, half) = self.slot_of(name);
        self.tables[table].find(spread(half), |&(own, _)| own == half).map(|&(_, at)| at as usize)
    }
}
