//! Entities by name, and in the order in which they were seen.

mod fetching;

use std::hash::BuildHasher;

use foldhash::fast::RandomState;
use hashbrown::HashTable;

use super::label::Label;
use super::{MEAN_VALUES, PastLabel, PastLabels};

/// No entity.
const NONE: u32 = u32::MAX;
/// Number of hash tables.
const TABLES: usize = 32;

/// The last value of an attribute.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Remembered {
    /// The attribute.
    pub attribute: u32,
    /// Its coordinate.
    pub coordinate: u32,
    /// How often the coordinate had been evicted by then: once reused, it has another meaning.
    pub generation: u32,
    /// The raw value.
    pub value: f64,
    /// When it came.
    pub time: f64,
}

/// The state of an entity: 80 bytes, since much of the time is spent waiting for them to come from memory.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Entity {
    pub(super) name: Label,
    /// Sorted by attribute.
    pub(super) values: Vec<Remembered>,
    /// The number of its events, and the time of the last one.
    pub(super) count: u64,
    pub(super) seen: f64,
    /// The event predicted last, if none came after it.
    #[expect(clippy::box_collection, reason = "few have any, and in place it would be three times as long")]
    pub(super) asked: Option<Box<Vec<Remembered>>>,
    /// Its past labels, if any.
    pub(super) labels: Option<Box<PastLabels>>,
}

/// The neighbours in the order in which entities were last seen.
#[derive(Clone, Copy, Debug)]
struct Links {
    newer: u32,
    older: u32,
}

/// A bounded store of entities.
#[derive(Clone, Debug)]
pub struct Entities {
    most: usize,
    // Names are untrusted, so the hash is keyed. Half of each hash is stored next to the index, so that nothing else is
    // touched when a table grows; and there are several tables that grow independently, since with a million entities a
    // single one would take longer to grow than an event should wait.
    hasher: RandomState,
    tables: [HashTable<(u32, u32)>; TABLES],
    entities: Vec<Entity>,
    // Separate from the entities, since every event touches three of them.
    links: Vec<Links>,
    newest: u32,
    oldest: u32,
    /// Number of values of all entities, those of their last predicted events included.
    values: usize,
    /// The highest attribute of any entity.
    attributes: usize,
    /// Number of entities evicted.
    pub evicted: u64,
}

impl Entities {
    /// An empty store of at most this many entities.
    pub fn new(most: usize) -> Self {
        Self {
            most: most.clamp(1, NONE as usize),
            hasher: RandomState::default(),
            tables: std::array::from_fn(|_| HashTable::new()),
            entities: Vec::new(),
            links: Vec::new(),
            newest: NONE,
            oldest: NONE,
            values: 0,
            attributes: 0,
            evicted: 0,
        }
    }

    /// Number of entities.
    pub fn len(&self) -> usize {
        self.entities.len()
    }

    /// Whether there are no entities.
    pub fn is_empty(&self) -> bool {
        self.entities.is_empty()
    }

    /// Memory usage in bytes.
    pub fn bytes(&self) -> usize {
        let value = size_of::<Remembered>();
        let asked = |entity: &Entity| entity.asked.as_ref().map_or(0, |asked| asked.capacity());
        let labels = |entity: &Entity| entity.labels.as_ref().map_or(0, |labels| labels.bytes());
        let elsewhere = |entity: &Entity| {
            entity.name.bytes() + (entity.values.capacity() + asked(entity)) * value + labels(entity)
        };
        let own = size_of::<Entity>() + size_of::<Links>() + size_of::<(u32, u32)>();
        self.entities.iter().map(elsewhere).sum::<usize>() + self.entities.len() * own
    }

    /// The index of the entity with that name, valid until another one is remembered.
    pub fn find(&self, name: &[u8]) -> Option<u32> {
        let (table, half) = self.slot_of(name);
        let is_it = |&(own, at): &(u32, u32)| own == half && *self.entities[at as usize].name == *name;
        self.tables[table].find(spread(half), is_it).map(|&(_, at)| at)
    }

    /// The values of the entity at an index, sorted by attribute.
    pub fn values_at(&self, at: u32) -> &[Remembered] {
        &self.entities[at as usize].values
    }

    /// The past labels of the entity at an index.
    pub fn labels_at(&self, at: u32) -> Option<&PastLabels> {
        self.entities[at as usize].labels.as_deref()
    }

    /// Remember a label of the entity with the most recently remembered event.
    pub fn add_label(&mut self, label: PastLabel, time: f64) {
        if let Some(entity) = self.entities.get_mut(self.newest as usize) {
            entity.add_label(label, time);
        }
    }

    /// Remember a label of the entity with that name, if there is one.
    pub fn add_label_of(&mut self, name: &[u8], label: PastLabel, time: f64) {
        if let Some(at) = self.find(name) {
            self.entities[at as usize].add_label(label, time);
        }
    }

    /// Remember an event of an entity, which is at index `at` if it is known: its `own` values, sorted by attribute, at
    /// the time `now`.
    ///
    /// If the event is only predicted (`asked`), it may come again to be learned: it is set apart until then.
    pub fn remember(&mut self, at: Option<u32>, name: &[u8], own: &[Remembered], now: f64, asked: bool) {
        let at = at.unwrap_or_else(|| self.enter(name));
        self.make_newest(at);
        let room = self.room_for(own);
        let entity = &mut self.entities[at as usize];
        entity.seen = now;
        if asked {
            let before = entity.held();
            entity.asked = Some(Box::new(own.to_vec()));
            self.values = self.values - before + entity.held();
        } else {
            entity.count += 1;
            self.values += entity.update_values(own, room);
        }
        // The entity itself is kept, however many values it has.
        while self.values > self.most.saturating_mul(MEAN_VALUES) && self.entities.len() > 1 {
            self.drop_oldest();
        }
    }

    /// Settle the last predicted event of an entity, now that an event with these `own` values has come: if the values
    /// are the same, it is that event again, and counts once.
    pub fn settle(&mut self, at: u32, own: &[Remembered]) {
        let room = self.room_for(own);
        let entity = &mut self.entities[at as usize];
        let Some(before) = entity.asked.take() else { return };
        self.values -= before.len();
        if !is_same(&before, own) {
            entity.count += 1;
            self.values += entity.update_values(&before, room);
        }
    }

    /// The capacity that an entity gets when it has to grow: twice the mean number of values per entity, but no more
    /// than there are attributes.
    fn room_for(&mut self, own: &[Remembered]) -> usize {
        self.attributes = self.attributes.max(own.last().map_or(0, |value| value.attribute as usize));
        self.attributes.min(2 * self.values.div_ceil(self.entities.len()))
    }

    /// An empty store with the same bounds.
    pub(super) fn emptied(&self) -> Self {
        Self { evicted: self.evicted, ..Self::new(self.most) }
    }

    /// Maximum number of entities.
    pub fn most(&self) -> usize {
        self.most
    }

    /// Whether there is an entity with that name.
    pub fn knows(&self, name: &[u8]) -> bool {
        self.find(name).is_some()
    }

    /// Create an entity, as the newest; returns its index.
    fn enter(&mut self, name: &[u8]) -> u32 {
        if self.entities.len() == self.most {
            self.drop_oldest();
        }
        self.push(Entity::new(name))
    }

    /// Add a new entity, as the newest.
    pub(super) fn push(&mut self, mut entity: Entity) -> u32 {
        // Values that were read or merged may have spare capacity.
        entity.values.shrink_to_fit();
        let (at, (table, half)) = (self.entities.len() as u32, self.slot_of(&entity.name));
        self.tables[table].insert_unique(spread(half), (half, at), |&(half, _)| spread(half));
        self.values += entity.held();
        self.entities.push(entity);
        self.links.push(Links { newer: NONE, older: NONE });
        self.link_newest(at);
        at
    }

    /// All entities, those first that were not seen for the longest time.
    pub(super) fn oldest_first(&self) -> impl Iterator<Item = &Entity> {
        let next = |at: &u32| Some(self.links[*at as usize].newer).filter(|&at| at != NONE);
        let first = Some(self.oldest).filter(|&at| at != NONE);
        std::iter::successors(first, next).map(|at| &self.entities[at as usize])
    }

    fn make_newest(&mut self, at: u32) {
        if self.newest != at {
            self.unlink(at);
            self.link_newest(at);
        }
    }

    fn link_newest(&mut self, at: u32) {
        let before = std::mem::replace(&mut self.newest, at);
        *self.newer_of(before) = at;
        self.links[at as usize] = Links { newer: NONE, older: before };
    }

    fn unlink(&mut self, at: u32) {
        let Links { newer, older } = self.links[at as usize];
        *self.older_of(newer) = older;
        *self.newer_of(older) = newer;
    }

    /// The link to what is older than an index; for none, `newest`.
    fn older_of(&mut self, at: u32) -> &mut u32 {
        self.links.get_mut(at as usize).map_or(&mut self.newest, |links| &mut links.older)
    }

    /// The link to what is newer than an index; for none, `oldest`.
    fn newer_of(&mut self, at: u32) -> &mut u32 {
        self.links.get_mut(at as usize).map_or(&mut self.oldest, |links| &mut links.newer)
    }

    fn drop_oldest(&mut self) {
        let at = self.oldest;
        self.unlink(at);
        self.forget_place(at);
        let entity = self.entities.swap_remove(at as usize);
        self.links.swap_remove(at as usize);
        self.values -= entity.held();
        self.evicted += 1;
        // The last entity has taken its index.
        let last = self.entities.len() as u32;
        if let Some(moved) = self.entities.get(at as usize) {
            let (table, half) = self.slot_of(&moved.name);
            let Links { newer, older } = self.links[at as usize];
            if let Some(place) = self.tables[table].find_mut(spread(half), |&(_, place)| place == last) {
                place.1 = at;
            }
            *self.older_of(newer) = at;
            *self.newer_of(older) = at;
        }
    }

    /// The table for a name, and half of its hash.
    fn slot_of(&self, name: &[u8]) -> (usize, u32) {
        let hash = self.hasher.hash_one(name);
        ((hash >> 32) as usize % TABLES, hash as u32)
    }

    fn forget_place(&mut self, at: u32) {
        let (table, half) = self.slot_of(&self.entities[at as usize].name);
        if let Ok(place) = self.tables[table].find_entry(spread(half), |&(_, place)| place == at) {
            place.remove();
        }
    }
}

impl Entity {
    pub(super) fn new(name: &[u8]) -> Self {
        let (values, asked, labels) = (Vec::new(), None, None);
        Self { name: name.into(), values, count: 0, seen: 0.0, asked, labels }
    }

    fn add_label(&mut self, label: PastLabel, time: f64) {
        match &mut self.labels {
            Some(labels) => labels.add(label, time),
            None => self.labels = Some(Box::new(PastLabels::new(label, time))),
        }
    }

    /// Number of its values, those of the last predicted event included.
    fn held(&self) -> usize {
        self.values.len() + self.asked.as_ref().map_or(0, |asked| asked.len())
    }

    /// Update the last values of attributes; returns how many values were added.
    ///
    /// If the values have to grow, they get capacity for `room` of them: growing each time costs more than all the
    /// rest.
    fn update_values(&mut self, own: &[Remembered], room: usize) -> usize {
        let (mut at, before) = (0, self.values.len());
        for each in own {
            // Usually next to the one before.
            let is_before = |value: &Remembered| value.attribute < each.attribute;
            let known = &self.values[..before];
            at += usize::from(known.get(at).is_some_and(is_before));
            if known.get(at).is_some_and(is_before) {
                at += known[at..].partition_point(is_before);
            }
            let is_it =
                |&at: &usize| self.values.get(at).is_some_and(|value| value.attribute == each.attribute);
            match [at, self.values.len().saturating_sub(1)].into_iter().find(is_it) {
                Some(at) => self.values[at] = *each,
                None => {
                    if self.values.len() == self.values.capacity() {
                        let more = room.max(own.len()).saturating_sub(self.values.len());
                        self.values.reserve_exact(more.max(1 + before / 2));
                    }
                    self.values.push(*each);
                }
            }
        }
        let added = self.values.len() - before;
        if added > 0 && before > 0 {
            self.values.sort_by_key(|each| each.attribute);
        }
        added
    }
}

/// Expand half a hash to a full one: tables use both the first and the last bits.
fn spread(half: u32) -> u64 {
    u64::from(half).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

/// Whether two events of an entity have the same values, regardless of their times.
fn is_same(one: &[Remembered], other: &[Remembered]) -> bool {
    let key = |each: &Remembered| (each.coordinate, each.value.to_bits());
    one.len() == other.len() && one.iter().map(key).eq(other.iter().map(key))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn last_value_of_each_attribute_is_kept() {
        let (mut entity, mut all) = (Entity::new(b"one"), BTreeMap::new());
        // Adjacent attributes, attributes far apart, new ones between others, and a duplicate.
        let events: [&[u32]; 6] =
            [&[5, 9], &[1, 5, 9], &[2, 3, 3, 40], &[], &[40], &[0, 1, 2, 3, 5, 7, 9, 40, 41]];
        for (time, attributes) in (0..).zip(events) {
            let own: Vec<Remembered> = (0..)
                .zip(attributes)
                .map(|(n, &attribute)| Remembered {
                    attribute,
                    value: f64::from(n),
                    time: f64::from(time),
                    ..Default::default()
                })
                .collect();
            let before = all.len();
            all.extend(own.iter().map(|each| (each.attribute, *each)));
            assert_eq!(entity.update_values(&own, 3), all.len() - before);
            assert!(entity.values.iter().eq(all.values()));
        }
        assert_eq!(size_of::<Entity>(), 80);
    }
}
