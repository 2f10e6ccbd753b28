//! Merges the names of several vocabularies.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::{NOBODY, Vocabulary};
use crate::names::Name;
use crate::translation::DROPPED;

/// The name of an attribute and, for a categorical coordinate, the category; ordered as names get their indices:
/// numbers come before categories.
pub type Entry<'a> = (&'a [u8], Option<&'a [u8]>);

/// The indices in another vocabulary; [`DROPPED`] for what it does not have, and for free indices.
#[derive(Clone, Debug)]
pub struct Places {
    /// By attribute.
    pub attributes: Vec<u32>,
    /// By coordinate.
    pub coordinates: Vec<u32>,
}

impl Vocabulary {
    /// All coordinates with their names and, if they have one, their categories.
    pub fn entries(&self) -> impl Iterator<Item = (usize, Entry<'_>)> {
        let used = (1..self.coordinate_count()).filter(|&coordinate| self.owner(coordinate) != NOBODY);
        used.map(|coordinate| {
            let (name, category) = self.describe(coordinate);
            (coordinate, (name.text(), category))
        })
    }

    /// Whether a name, with a category if there is one, has an index.
    pub fn knows(&self, (name, category): Entry) -> bool {
        let attribute = self.find(Name::Text(name));
        attribute.is_some_and(|attribute| self.coordinate(attribute, category).is_some())
    }

    /// A copy with additional names, each given with how often it was used.
    ///
    /// They get their indices in the order of the names. If there are too many, the least used are left out, and of
    /// equally used ones the last; also returns how many were left out.
    pub fn with_names(&self, new: &BTreeMap<Entry, u64>) -> (Self, u64) {
        let mut all = self.clone();
        if new.keys().all(|&entry| all.fits(entry)) {
            return (all, 0);
        }
        let mut by_use: Vec<_> = new.iter().map(|(&entry, &uses)| (Reverse(uses), entry)).collect();
        by_use.sort_unstable();
        let mut trial = self.clone();
        let mut chosen: Vec<Entry> = Vec::new();
        for &(_, entry) in &by_use {
            if trial.fits(entry) {
                chosen.push(entry);
            } else if let (name, category) = (Name::Text(entry.0), entry.1)
                && let Some(exceeded) =
                    trial.exceeded_limit(name, trial.find(name).is_some(), category, trial.used())
            {
                trial.report_limit(exceeded);
            }
        }
        chosen.sort_unstable();
        let mut most = Self { notices: trial.notices, ..self.clone() };
        chosen.iter().for_each(|&entry| _ = most.fits(entry));
        (most, (new.len() - chosen.len()) as u64)
    }

    fn fits(&mut self, (name, category): Entry) -> bool {
        self.enter(Name::Text(name), category).is_some()
    }

    /// The indices of its attributes and coordinates in another vocabulary.
    pub fn places_in(&self, other: &Self) -> Places {
        let attribute = |index: u32| if self.is_free(index) { None } else { other.find(self.name(index)) };
        let mut attributes = vec![0];
        let others = 1..self.attribute_count() as u32;
        attributes.extend(others.map(|index| attribute(index).unwrap_or(DROPPED)));
        let mut coordinates = vec![DROPPED; self.coordinate_count()];
        coordinates[0] = 0;
        for (at, (_, category)) in self.entries() {
            let attribute = attributes[self.owner(at) as usize];
            if attribute != DROPPED {
                coordinates[at] = other.coordinate(attribute, category).unwrap_or(DROPPED);
            }
        }
        Places { attributes, coordinates }
    }
}
