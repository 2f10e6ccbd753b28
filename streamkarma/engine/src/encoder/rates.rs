//! Coordinates for the target statistics of categories.
//!
//! Once an attribute has more than [`FEW`] categories, an event that has one of them also gets a number, the attribute
//! `NAME.rate`: a statistic of the labels of earlier events with this category. Events are encoded before these are
//! known, so the number is left to the learner, see [`rate_key`](crate::rate_key).
//!
//! The same holds for an event with a recurring number, which may be a name: it has two keys, one of its value and one
//! of its neighbourhood, so that the learner can determine whether it is one.
//!
//! The final number of classes is not known either. With several classes an attribute has as many coordinates as there
//! may be rates, and the learner leaves out those that are not needed.

use std::ops::Range;

use super::rare::FEW;
use super::{Encoder, Item, Use};
use crate::encoded::Encoded;
use crate::names::Name;
use crate::rate_key::{as_value, from_value, hash_of, is_term, key_of, neighbourhood_of, term_of};
use crate::vocabulary::{NOBODY, Vocabulary};

/// The category of the first rate.
pub(super) const RATE: &str = "(rate)";

/// Whether the numbers of an attribute get rates is decided once per this many of them.
const AGAIN: u64 = 32;
/// Number of neighbourhoods per deviation.
const NEIGHBOURHOODS: f64 = 8.0;

/// The rates of an attribute.
#[derive(Clone, Debug, Default)]
pub(super) struct RatePlaces {
    /// Their coordinates, ascending; empty if it has none.
    coordinates: Vec<u32>,
    /// A hash of the attribute's name.
    name: u64,
}

impl RatePlaces {
    /// Mark them as used in the event of that number.
    fn mark(&self, uses: &mut [Use], now: u64) {
        self.coordinates.iter().for_each(|&coordinate| uses[coordinate as usize].last = now);
    }
}

/// Placeholder in an event for the rates of an attribute.
#[derive(Clone, Copy, Debug)]
pub(super) struct Key {
    pub(super) attribute: u32,
    /// The first coordinate of its rates.
    coordinate: u32,
    /// The key of the category, the number or the term.
    name: u64,
    /// The key of the number's neighbourhood; None for a category.
    neighbourhood: Option<u64>,
}

impl Encoder {
    /// The same with this many coordinates for the rates of an attribute, one for two classes or a regression; 0 for
    /// no rates.
    pub fn with_rates(self, rates: usize) -> Self {
        Self { rates, ..self }
    }

    /// The same with the terms of texts and tags, for a learner that takes them.
    pub fn with_terms(self, terms: bool) -> Self {
        Self { terms, ..self }
    }

    /// Whether events have terms.
    pub fn terms(&self) -> bool {
        self.terms
    }

    /// Set whether events have terms.
    pub fn set_terms(&mut self, terms: bool) {
        self.terms = terms;
    }

    /// Number of coordinates for the rates of an attribute.
    pub fn rates(&self) -> usize {
        self.rates
    }

    /// Set the number of coordinates for the rates of an attribute.
    pub fn set_rates(&mut self, rates: usize) {
        self.rates = rates;
        self.restore_rates();
    }

    /// Record that the event has a category of an attribute.
    pub(super) fn note_category(&mut self, attribute: u32, category: &[u8]) {
        let rated = &self.rated[attribute as usize];
        if let Some(&coordinate) = rated.coordinates.first() {
            let name = key_of(rated.name, category);
            self.keys.push(Key { attribute, coordinate, name, neighbourhood: None });
        }
    }

    /// Record that the event has a term, which is stored in the event. If it `is_rated` it has rates as a category does.
    pub(super) fn note_term(&mut self, attribute: u32, term: Range<usize>, is_rated: bool) {
        let rated = &self.rated[attribute as usize];
        if let Some(&coordinate) = rated.coordinates.first() {
            let hash = key_of(rated.name, &self.bytes[term]);
            let (category, own) = (is_rated.then_some(hash), self.terms.then_some(term_of(hash)));
            for name in category.into_iter().chain(own) {
                self.keys.push(Key { attribute, coordinate, name, neighbourhood: None });
            }
        }
    }

    /// Record that the event has a number that may be a name.
    pub(super) fn note_number(&mut self, attribute: u32, place: u32, value: f64, scaled: f64) {
        let rated = &self.rated[attribute as usize];
        if let Some(&coordinate) = rated.coordinates.first() {
            let around = (scaled * NEIGHBOURHOODS).floor();
            let name = key_of(rated.name, &value.to_bits().to_le_bytes());
            let neighbourhood = Some(neighbourhood_of(rated.name, &around.to_bits().to_le_bytes()));
            self.keys.push(Key { attribute, coordinate, name, neighbourhood });
        } else if self.rates > 0 && self.uses[place as usize].count.is_multiple_of(AGAIN) {
            self.unrated.push(attribute);
        }
    }

    /// Give rates to attributes whose numbers recur, if there is capacity.
    pub(super) fn rate_numbers(&mut self) {
        let mut unrated = std::mem::take(&mut self.unrated);
        // The result must not depend on the order of names in an event.
        unrated.sort_unstable_by_key(|&attribute| self.vocabulary.name(attribute).text().to_vec());
        for attribute in unrated.drain(..) {
            if !self.is_of_times(attribute) {
                self.make_rates(attribute);
            }
        }
        self.unrated = unrated;
    }

    /// Observe the rates of the event's categories, unless the event has an attribute of that name itself.
    ///
    /// Each has one item, at the first of its coordinates.
    pub(super) fn derive_rates(&mut self) {
        for at in 0..self.keys.len() {
            let Key { attribute: rated, coordinate, name, .. } = self.keys[at];
            let attribute = self.vocabulary.owner(coordinate as usize);
            if self.seen[attribute as usize] != self.event {
                // There is no raw value by which the event could be recognised again.
                let (value, scaled) = (f64::NAN, as_value(name));
                self.items.push(Item { attribute, coordinate, is_number: false, value, scaled });
                self.has_several |= at > 0 && self.keys[at - 1].attribute == rated;
            }
        }
    }

    /// The coordinates of the event's rates.
    pub(super) fn rates_in_hand(&self) -> impl Iterator<Item = u32> {
        self.keys.iter().flat_map(|key| self.rated[key.attribute as usize].coordinates.iter().copied())
    }

    /// Mark the event's rates as used in it.
    pub(super) fn keep_rates(&mut self, now: u64) {
        for key in &self.keys {
            self.rated[key.attribute as usize].mark(&mut self.uses, now);
        }
    }

    /// Count the uses of the event's rates beyond the first coordinate, which has an item.
    pub(super) fn tally_rates(&mut self, now: u64) {
        for keys in self.keys.chunk_by(|one, next| one.attribute == next.attribute) {
            for &coordinate in self.rated[keys[0].attribute as usize].coordinates.iter().skip(1) {
                self.uses[coordinate as usize].record(now);
            }
        }
    }

    /// Drop rates that were evicted, and those of attributes that have few categories left: a restored model has none
    /// of these either.
    pub(super) fn forget_rates(&mut self) {
        let all = (0..).zip(&mut self.rated);
        for (attribute, rated) in all.filter(|(_, rated)| !rated.coordinates.is_empty()) {
            let has_gone = |&coordinate: &u32| self.vocabulary.owner(coordinate as usize) == NOBODY;
            if !may_have_rates(&self.vocabulary, attribute) || rated.coordinates.iter().any(has_gone) {
                *rated = RatePlaces::default();
            }
        }
        self.keys.retain(|key| !self.rated[key.attribute as usize].coordinates.is_empty());
    }

    /// Output an item for rates, once per coordinate, followed by the neighbourhood of a number; or a term. The key of
    /// the `next` item is probably the one after its own.
    pub(super) fn push_rates(&self, item: &Item, next: &mut usize, out: &mut Encoded) {
        if from_value(item.scaled).is_some_and(is_term) {
            return out.push(item.attribute, item.coordinate, item.scaled, item.value);
        }
        let is_own = |key: &Key| key.coordinate == item.coordinate;
        if !self.keys.get(*next).is_some_and(is_own) {
            let Some(found) = self.keys.iter().position(is_own) else { return };
            *next = found;
        }
        let own = self.keys[*next];
        *next += 1;
        for &coordinate in &self.rated[own.attribute as usize].coordinates {
            out.push(item.attribute, coordinate, item.scaled, item.value);
        }
        if let Some(neighbourhood) = own.neighbourhood {
            out.push(item.attribute, item.coordinate, as_value(neighbourhood), item.value);
        }
    }

    /// Give an attribute rates if it has many categories by now.
    pub(super) fn enter_rates(&mut self, attribute: u32) {
        let is_rated = !self.rated[attribute as usize].coordinates.is_empty();
        let has_many = self.vocabulary.category_count(attribute) > FEW && !self.is_of_times(attribute);
        if self.rates > 0 && !is_rated && has_many && self.survey.is_none() {
            self.make_rates(attribute);
        }
    }

    fn make_rates(&mut self, attribute: u32) {
        let name = rate_name(self.vocabulary.name(attribute));
        let missing: Vec<String> =
            self.rate_categories().filter(|each| self.rate(&name, each).is_none()).collect();
        let room = self.vocabulary.bounds().coordinates - self.vocabulary.used().coordinates;
        if missing.len() <= room {
            for category in missing {
                _ = self.vocabulary.enter(Name::Text(&name), Some(category.as_bytes()));
            }
            self.grow();
        }
        self.find_rates(attribute);
        let now = self.now();
        self.rated[attribute as usize].mark(&mut self.uses, now);
    }

    /// Find the rates that attributes have.
    pub(super) fn restore_rates(&mut self) {
        let attributes = self.vocabulary.attribute_count();
        self.rated = vec![RatePlaces::default(); attributes];
        for attribute in 0..attributes as u32 {
            if may_have_rates(&self.vocabulary, attribute) {
                self.find_rates(attribute);
            }
        }
    }

    /// Find the rates of an attribute, if it has all of them.
    fn find_rates(&mut self, attribute: u32) {
        let name = self.vocabulary.name(attribute);
        let (hash, rates) = (hash_of(0, name.text()), rate_name(name));
        let found: Option<Vec<u32>> =
            self.rate_categories().map(|category| self.rate(&rates, &category)).collect();
        let mut coordinates = found.unwrap_or_default();
        coordinates.sort_unstable();
        self.rated[attribute as usize] = RatePlaces { coordinates, name: hash };
    }

    /// One of the coordinates of the rates of that name.
    fn rate(&self, name: &[u8], category: &str) -> Option<u32> {
        let attribute = self.vocabulary.find(Name::Text(name))?;
        self.vocabulary.coordinate(attribute, Some(category.as_bytes()))
    }

    /// The categories of the coordinates.
    pub(super) fn rate_categories(&self) -> impl Iterator<Item = String> + use<> {
        (0..self.rates).map(|number| if number == 0 { RATE.to_owned() } else { format!("(rate {number})") })
    }
}

/// Whether an attribute has many categories, or numbers.
fn may_have_rates(vocabulary: &Vocabulary, attribute: u32) -> bool {
    vocabulary.category_count(attribute) > FEW || vocabulary.coordinate(attribute, None).is_some()
}

/// The name of the attribute for the rates of another.
pub(super) fn rate_name(name: Name) -> Vec<u8> {
    [name.text(), b".rate"].concat()
}
