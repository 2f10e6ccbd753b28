//! Categories that were seen once, of attributes that have many.
//!
//! The first [`FEW`] categories of an attribute have a coordinate from their first occurrence. From then on a category
//! gets one when it recurs; until then it is the attribute's category [`RARE`]. A value that is new in nearly every
//! event, such as an id, thus counts as present and takes no coordinates. If nearly all events have the attribute,
//! even its presence is uninformative, and it is left out.
//!
//! Which categories were seen once is tracked approximately, in a table of [`PLACES`] fingerprints: of two that
//! collide the later one is kept. A fingerprint is 32 bits long: one new category in four thousand million is mistaken
//! for one that was seen before.

use super::{Encoder, Item, NewName, Unclean};
use crate::cleaning::Tally;
use crate::names::Name;
use crate::state::{Refused, ensure};

/// Number of categories of an attribute that need not recur.
pub const FEW: usize = 32;
/// The category of those without a coordinate of their own yet.
pub const RARE: &str = "(rare)";
const PLACES: usize = 1 << 16;
/// Nearly all events have an attribute if at most one event in this many lacks it.
const NEARLY: u64 = 100;
/// An attribute is an identifier if this many of its values were rare, and few were not.
const MANY: u64 = 200;
/// In a survey this many rare values are required, as the decision must not depend on where the survey began.
const SURE: u64 = 4096;

impl Tally {
    /// Whether the values that were not rare, except the first [`FEW`], are at most a tenth of the rare ones.
    fn is_new_mostly(&self) -> bool {
        10 * self.values.saturating_sub(self.rare + FEW as u64) <= self.rare + 1
    }

    /// Whether nearly all values were new.
    pub(super) fn is_of_identifier(&self) -> bool {
        self.rare >= MANY && self.is_new_mostly()
    }

    /// The same after so many values that an attribute of infrequent categories is not mistaken for one.
    fn is_surely_of_identifier(&self) -> bool {
        self.rare >= SURE && self.is_new_mostly()
    }
}

/// Fingerprints of categories that were seen once.
#[derive(Clone, Debug, Default)]
pub struct SeenOnce {
    /// By slot; 0 if free. Empty until the first one.
    fingerprints: Vec<u32>,
}

impl SeenOnce {
    fn find(attribute: Name, category: &[u8]) -> (usize, u32) {
        // FNV-1a, the same on every machine and in every model, with its bits spread by a final multiplication.
        let bytes = attribute.text().iter().chain(&[0xff]).chain(category);
        let fnv = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        let hash = bytes.fold(0xcbf2_9ce4_8422_2325, fnv);
        let spread = (hash ^ (hash >> 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        ((spread >> 40) as usize % PLACES, (spread as u32).max(1))
    }

    /// Whether a category was seen.
    pub fn has(&self, attribute: Name, category: &[u8]) -> bool {
        let (place, fingerprint) = Self::find(attribute, category);
        self.fingerprints.get(place) == Some(&fingerprint)
    }

    /// Remember a category.
    pub fn add(&mut self, attribute: Name, category: &[u8]) {
        let (place, fingerprint) = Self::find(attribute, category);
        self.fingerprints.resize(PLACES, 0);
        self.fingerprints[place] = fingerprint;
    }

    /// Remember one more of several occurrences of a category.
    pub fn add_again(&mut self, attribute: Name, category: &[u8], times: &[u8]) {
        let all = times.iter().map(|time| [category, &[*time]].concat());
        if let Some(next) = all.into_iter().find(|each| !self.has(attribute, each)) {
            self.add(attribute, &next);
        }
    }

    /// Merge several tables; where fingerprints collide, the greatest is kept.
    pub(super) fn merged<'a>(all: impl Iterator<Item = &'a Self>) -> Self {
        let mut merged = Self::default();
        for once in all {
            let size = merged.fingerprints.len().max(once.fingerprints.len());
            merged.fingerprints.resize(size, 0);
            for (one, other) in merged.fingerprints.iter_mut().zip(&once.fingerprints) {
                *one = (*one).max(*other);
            }
        }
        merged
    }

    /// Slots and fingerprints, one pair at a time.
    pub fn rows(&self) -> impl Iterator<Item = [u32; 2]> {
        let used = self.fingerprints.iter().enumerate().filter(|(_, fingerprint)| **fingerprint != 0);
        used.map(|(place, &fingerprint)| [place as u32, fingerprint])
    }

    /// Build from such rows.
    ///
    /// # Errors
    ///
    /// If a slot is beyond the table.
    pub fn from_rows(rows: &[[u32; 2]]) -> Result<Self, Refused> {
        let mut once = Self::default();
        for &[place, fingerprint] in rows {
            ensure((place as usize) < PLACES, "the table of categories seen once is invalid")?;
            once.fingerprints.resize(PLACES, 0);
            once.fingerprints[place as usize] = fingerprint;
        }
        Ok(once)
    }
}

impl Encoder {
    /// Make new categories of attributes that have many rare, except those seen before.
    pub(super) fn take_rare_out(&mut self, learned: bool) {
        let mut at = 0;
        while at < self.new.len() {
            let Some(attribute) = self.rare_at(at, learned) else {
                at += 1;
                continue;
            };
            if learned {
                self.count_rare(attribute);
            }
            if self.is_always_new(attribute) {
                self.new.swap_remove(at);
                self.keys.retain(|key| key.attribute != attribute);
                if learned {
                    self.unclean.push((attribute, Unclean::Present));
                }
                continue;
            }
            match self.vocabulary.coordinate(attribute, Some(RARE.as_bytes())) {
                Some(coordinate) => {
                    self.new.swap_remove(at);
                    let (value, scaled) = (1.0, 1.0);
                    self.items.push(Item { attribute, coordinate, is_number: false, value, scaled });
                }
                None => {
                    self.new[at].category = Some(self.keep(RARE.as_bytes()));
                    at += 1;
                }
            }
        }
    }

    /// Whether an attribute is an identifier that nearly every event has, so that its presence is uninformative.
    fn is_always_new(&self, attribute: u32) -> bool {
        let tally = &self.tallies[attribute as usize];
        tally.is_of_identifier() && tally.values >= self.tallies[0].values / NEARLY * (NEARLY - 1)
    }

    /// The attribute of a new category, if the category is to be rare.
    fn rare_at(&mut self, at: usize, learned: bool) -> Option<u32> {
        let new = &self.new[at];
        let (&NewName::Known(attribute), Some(category)) = (&new.name, &new.category) else { return None };
        let (name, category) = (self.vocabulary.name(attribute), &self.bytes[category.clone()]);
        if self.vocabulary.category_count(attribute) < FEW || self.comes_again(name, category) {
            return None;
        }
        if self.survey.is_some() && !self.tallies[attribute as usize].is_surely_of_identifier() {
            if learned {
                self.count_rare(attribute);
            }
            return None;
        }
        if learned {
            self.once.add(name, category);
        }
        Some(attribute)
    }

    /// Whether a category was seen before, so that it gets a coordinate now.
    pub(super) fn comes_again(&self, name: Name, category: &[u8]) -> bool {
        !self.frozen && self.once.has(name, category)
    }

    fn count_rare(&mut self, attribute: u32) {
        self.unclean.push((attribute, Unclean::Rare));
        let tally = &self.tallies[attribute as usize];
        if tally.rare + 1 == MANY && tally.is_new_mostly() {
            let is_label = self.is_carried_label(self.vocabulary.name(attribute));
            self.vocabulary.report_identifier(attribute, is_label);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_added_categories_are_found() {
        let mut once = SeenOnce::default();
        let names: Vec<String> = (0..200).map(|i| format!("category {i}")).collect();
        let (attribute, other) = (Name::Text(b"three"), Name::Text(b"four"));
        names.iter().for_each(|name| once.add(attribute, name.as_bytes()));
        // Of 200 in 65,536 slots hardly any collide.
        assert!(names.iter().filter(|name| once.has(attribute, name.as_bytes())).count() >= 195);
        assert!(!names.iter().any(|name| once.has(other, name.as_bytes())));
        let rows: Vec<_> = once.rows().collect();
        assert_eq!(SeenOnce::from_rows(&rows).unwrap().fingerprints, once.fingerprints);
        assert!(SeenOnce::from_rows(&[[1 << 16, 1]]).is_err());
    }
}
