//! Eviction of indices, and restoring a vocabulary with its free ones.

use super::{Attribute, Coordinate, NOBODY, Sizes, Vocabulary, size};
use crate::names::{Name, Stored, shown};
use crate::state::{Refused, ensure};

impl Vocabulary {
    /// Evict a coordinate, which must not be free; its attribute stays.
    pub fn evict(&mut self, coordinate: u32) {
        let free = Coordinate { attribute: NOBODY, category: None };
        let evicted = std::mem::replace(&mut self.coordinates[coordinate as usize], free);
        let attribute = &mut self.attributes[evicted.attribute as usize];
        self.bytes -= size(attribute.name.name(), evicted.category.as_deref());
        match &evicted.category {
            None => attribute.number = None,
            Some(category) => _ = attribute.categories.remove(category),
        }
        self.free_coordinates.insert(coordinate);
    }

    /// Evict the attributes without any coordinates, except those in `needed`, which is ascending; returns the evicted
    /// ones.
    pub fn evict_empty(&mut self, needed: &[u32]) -> Vec<u32> {
        let is_empty = |&index: &u32| {
            let attribute = &self.attributes[index as usize];
            let has_none = attribute.number.is_none() && attribute.categories.is_empty();
            has_none && !self.is_free(index) && needed.binary_search(&index).is_err()
        };
        let empty: Vec<u32> = (1..self.attributes.len() as u32).filter(is_empty).collect();
        for &index in &empty {
            match std::mem::replace(&mut self.attributes[index as usize], Attribute::free()).name {
                Stored::Text(text) => _ = self.texts.remove(&text),
                Stored::Foreign(foreign) => _ = self.foreign.remove(&foreign.id),
            }
            self.free_attributes.insert(index);
        }
        empty
    }

    /// Whether an attribute has no name.
    pub fn is_free(&self, attribute: u32) -> bool {
        self.free_attributes.contains(&attribute)
    }

    /// Take over this many attributes from another vocabulary, all of them free for now.
    ///
    /// # Errors
    ///
    /// If they exceed the bounds.
    pub fn restore_attributes(&mut self, count: usize) -> Result<(), Refused> {
        ensure(
            (1..=self.bounds.attributes.max(1)).contains(&count),
            "the vocabulary cannot hold so many attributes",
        )?;
        self.attributes.resize_with(count, Attribute::free);
        self.free_attributes = (1..count as u32).collect();
        Ok(())
    }

    /// A copy with only this many coordinates, and with the attributes that they belong to.
    ///
    /// # Errors
    ///
    /// Only if this vocabulary exceeds its own bounds.
    pub fn first(&self, coordinates: usize) -> Result<Self, Refused> {
        let mut first = Self { ignored: 0, notices: self.notices.clone(), ..Self::new(self.bounds) };
        let owners = (0..coordinates).map(|at| self.owner(at));
        first.restore_attributes(owners.filter(|&owner| owner != NOBODY).max().unwrap_or(0) as usize + 1)?;
        for at in 1..coordinates {
            match self.owner(at) {
                NOBODY => first.restore_free()?,
                owner => {
                    let (name, category) = self.describe(at);
                    first.restore(owner, name, category)?;
                }
            }
        }
        Ok(first)
    }

    /// Take over the next coordinate from another vocabulary: a free one.
    ///
    /// # Errors
    ///
    /// If it exceeds the bounds.
    pub fn restore_free(&mut self) -> Result<(), Refused> {
        let index = self.coordinates.len();
        ensure(index < self.bounds.coordinates, "the vocabulary cannot hold so many coordinates")?;
        self.coordinates.push(Coordinate { attribute: NOBODY, category: None });
        self.free_coordinates.insert(index as u32);
        Ok(())
    }

    /// Take over the next coordinate from another vocabulary: one with an owner, and what `describe` returns for it.
    ///
    /// # Errors
    ///
    /// If it exists already, its attribute has another name, or it exceeds the bounds.
    pub fn restore(&mut self, owner: u32, name: Name, category: Option<&[u8]>) -> Result<(), Refused> {
        let index = self.coordinates.len() as u32;
        let known = self.find(name);
        let is_owner = known.unwrap_or(owner) == owner && self.is_free(owner) == known.is_none();
        let is_there = known.is_some_and(|attribute| self.coordinate(attribute, category).is_some());
        let others = Sizes { coordinates: self.coordinates.len(), ..self.used() };
        let fits = self.exceeded_limit(name, true, category, others).is_none();
        let why = || format!("the vocabulary cannot hold '{}'", shown(name.text()));
        if owner == 0 || owner as usize >= self.attributes.len() || !is_owner || is_there || !fits {
            return Err(why());
        }
        if self.free_attributes.remove(&owner) {
            self.name_attribute(owner, name);
        }
        self.put(index, owner, category);
        Ok(())
    }
}
