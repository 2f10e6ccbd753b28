//! Merging the names and statistics of models trained separately.
//!
//! Names of the base keep their indices; others follow in the order of their text, numbers before categories. Counts
//! add up, with those of the base included once. If there are more names than allowed, those of the base that no part
//! has any more are evicted, and of the new ones the most used are kept; then the result may depend on the order in
//! which models are merged.

mod statistics;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use statistics::Statistics;

use super::following::Renew;
use super::rare::FEW;
use super::rates::rate_name;
use super::survey::Survey;
use super::time::CIRCLE;
use super::{Encoder, Following, SeenOnce, Use};
use crate::cleaning::Tally;
use crate::entities::{EntityRules, Remembered};
use crate::scale::Scale;
use crate::state::{Refused, ensure};
use crate::translation::{DROPPED, Translation};
use crate::vocabulary::{Entry, Places, Vocabulary};

/// A model in a merge.
struct Member<'a> {
    encoder: &'a Encoder,
    places: Places,
    /// By new attribute and coordinate: the index in this model, or [`DROPPED`].
    attributes: Vec<u32>,
    coordinates: Vec<u32>,
}

impl Encoder {
    /// Merge in the names and statistics of parts that continued from here, and return how each model, this one first,
    /// changes into the merged one. Where learners are hashed, all names of the base are kept.
    ///
    /// # Errors
    ///
    /// If the parts cannot be merged: why, in one line. The encoder is then unchanged.
    pub fn merge(&mut self, parts: &[&Self], hashed: bool) -> Result<Vec<Translation>, Refused> {
        parts.iter().try_for_each(|part| self.ensure_like(part))?;
        let is_new = self.survey.as_ref().is_none_or(|survey| survey.is_empty());
        ensure(is_new, "surveys can only be merged with what they began with")?;
        let (vocabulary, dropped) = self.all_names(parts, hashed);
        let base = Member::of(self, &vocabulary);
        let parts: Vec<Member> = parts.iter().map(|part| Member::of(part, &vocabulary)).collect();
        let statistics = Statistics::of(&base, &parts, &vocabulary);
        let all = || std::iter::once(&base).chain(&parts);
        let translations = all().map(|member| member.translation(&statistics.scales)).collect();
        let once = SeenOnce::merged(all().map(|member| &member.encoder.once));
        let sum = |count: fn(&Self) -> u64| {
            let since = |part: &Member| count(part.encoder).saturating_sub(count(base.encoder));
            parts.iter().map(since).fold(count(base.encoder), u64::saturating_add)
        };
        let (ignored, evicted) = (sum(|each| each.vocabulary.ignored), sum(Self::evicted));
        let surveys = parts
            .iter()
            .filter_map(|part| Some((part.encoder.survey.as_deref()?, &part.places.coordinates[..])));
        let surveys: Vec<_> = surveys.collect();
        let survey =
            Survey::merged(self.vocabulary.coordinate_count(), &surveys, vocabulary.coordinate_count());
        let following = base.following_with(&parts, &statistics.uses);
        let Statistics { tallies, uses, scales, sentinels, levels } = statistics;
        (self.tallies, self.uses, self.scales) = (tallies, uses, scales);
        (self.sentinels, self.levels, self.once) = (sentinels, levels, once);
        self.vocabulary = vocabulary;
        self.vocabulary.ignored = ignored;
        (self.following, self.survey) = (following, survey);
        self.evicted = evicted.saturating_add(dropped);
        self.derive();
        Ok(translations)
    }

    fn ensure_like(&self, part: &Self) -> Result<(), Refused> {
        let foreign = self.vocabulary.foreign_count() + part.vocabulary.foreign_count();
        ensure(foreign == 0, "models with names that are not strings, such as numbers, cannot be merged")?;
        let bounds = |each: &Self| each.vocabulary.bounds();
        let why =
            "the models have different bounds for names (max_attributes, max_coordinates, max_name_bytes)";
        ensure(bounds(self) == bounds(part), why)?;
        ensure(self.scale == part.scale, "some of the models standardise numbers and others do not (scale)")?;
        ensure(self.longest == part.longest, "the models forget at different rates (forget)")?;
        ensure(
            self.rules == part.rules,
            "the models have different rules for missing values or kinds of attributes",
        )?;
        ensure(
            self.rates == part.rates,
            "the models have different maximum numbers of classes (max_classes)",
        )?;
        // Whether the entity is also an attribute depends on the run that reads, and is in no file.
        let rules = |each: &Self| {
            let following = each.following.as_ref()?;
            Some(EntityRules { is_attribute: true, ..following.rules.clone() })
        };
        ensure(
            rules(self) == rules(part),
            "the models follow different entities, or follow them differently (entity)",
        )
    }

    /// All names, and how many of them do not fit.
    fn all_names(&self, parts: &[&Self], hashed: bool) -> (Vocabulary, u64) {
        let mut new: BTreeMap<Entry, u64> = BTreeMap::new();
        for part in parts {
            for (coordinate, entry) in part.vocabulary.entries() {
                if !self.vocabulary.knows(entry) {
                    let uses = new.entry(entry).or_default();
                    *uses = uses.saturating_add(part.uses[coordinate].count);
                }
            }
        }
        let is_surveying = parts.iter().any(|part| part.survey.is_some());
        let with_new = |own: &Vocabulary| {
            if is_surveying { own.with_names(&new) } else { self.with_entries(own, &new) }
        };
        let (all, dropped) = with_new(&self.vocabulary);
        if dropped == 0 || hashed { (all, dropped) } else { with_new(&self.names_left(parts)) }
    }

    /// The base's names that some part still has.
    fn names_left(&self, parts: &[&Self]) -> Vocabulary {
        let mut left = self.vocabulary.clone();
        for (coordinate, entry) in self.vocabulary.entries() {
            if !parts.iter().any(|part| part.vocabulary.knows(entry)) {
                left.evict(coordinate as u32);
            }
        }
        left.evict_empty(&[]);
        left
    }

    /// Names and new ones, including missing rates, and how many do not fit.
    pub(super) fn with_entries(&self, own: &Vocabulary, new: &BTreeMap<Entry, u64>) -> (Vocabulary, u64) {
        let (vocabulary, dropped) = own.with_names(new);
        let rates = self.missing_rates(&vocabulary);
        if rates.is_empty() {
            return (vocabulary, dropped);
        }
        let mut all = new.clone();
        all.extend(rates.iter().map(|(name, category)| ((&name[..], Some(category.as_bytes())), 0)));
        (own.with_names(&all).0, dropped)
    }

    /// Rates of attributes that have too few categories for them in any single model.
    fn missing_rates(&self, vocabulary: &Vocabulary) -> Vec<(Vec<u8>, String)> {
        let mut room = vocabulary.bounds().coordinates.saturating_sub(vocabulary.used().coordinates);
        let mut missing = Vec::new();
        for attribute in (1..vocabulary.attribute_count() as u32).filter(|&index| !vocabulary.is_free(index))
        {
            let is_of_times = vocabulary.coordinate(attribute, Some(CIRCLE.as_bytes())).is_some();
            if vocabulary.category_count(attribute) <= FEW || is_of_times {
                continue;
            }
            let name = rate_name(vocabulary.name(attribute));
            let is_missing = |category: &String| !vocabulary.knows((&name, Some(category.as_bytes())));
            let own: Vec<String> = self.rate_categories().filter(is_missing).collect();
            if own.len() <= room {
                room -= own.len();
                missing.extend(own.into_iter().map(|category| (name.clone(), category)));
            }
        }
        missing
    }
}

impl<'a> Member<'a> {
    fn of(encoder: &'a Encoder, vocabulary: &Vocabulary) -> Self {
        let places = encoder.vocabulary.places_in(vocabulary);
        let attributes = inverse(&places.attributes, vocabulary.attribute_count());
        let coordinates = inverse(&places.coordinates, vocabulary.coordinate_count());
        Self { encoder, places, attributes, coordinates }
    }

    /// Number of events it has learned.
    fn events(&self) -> u64 {
        self.encoder.tallies[0].values
    }

    /// Merge what this model and the parts remember of entities, for a model with these uses.
    fn following_with(&self, parts: &[Self], merged: &[Use]) -> Option<Box<Following>> {
        let following = |member: &Member<'a>| member.encoder.following.as_deref();
        let others = parts.iter().filter_map(|part| Some((following(part)?, part.renewal(merged))));
        let others: Vec<_> = others.collect();
        Some(Box::new(following(self)?.merged(&self.renewal(merged), &others)))
    }

    /// How the values it remembers of entities map to a model with these uses.
    fn renewal<'b>(&'b self, merged: &'b [Use]) -> Renew<'b> {
        let place =
            |places: &[u32], index: u32| places.get(index as usize).copied().filter(|&at| at != DROPPED);
        Box::new(move |each| {
            let is_current = each.generation == self.encoder.uses[each.coordinate as usize].generation;
            let coordinate = place(&self.places.coordinates, each.coordinate).filter(|_| is_current)?;
            let attribute = place(&self.places.attributes, each.attribute)?;
            let generation = merged[coordinate as usize].generation;
            Some(Remembered { attribute, coordinate, generation, ..*each })
        })
    }

    /// How it changes into a merged model with these scales.
    fn translation(&self, scales: &[Scale]) -> Translation {
        let Encoder { vocabulary, tallies, .. } = self.encoder;
        let places = &self.places.coordinates;
        let moved = |(coordinate, &place): (usize, &u32)| {
            let is_number = vocabulary.is_number(coordinate) && place != DROPPED;
            if is_number {
                self.encoder.scales[coordinate].change_to(&scales[place as usize])
            } else {
                (0.0, 1.0)
            }
        };
        let (shift, stretch) = places.iter().enumerate().map(moved).unzip();
        let share = |tally: &Tally| (tally.values as f64 / self.events().max(1) as f64).min(1.0);
        let mut shares: Vec<f64> = tallies.iter().map(share).collect();
        shares[0] = 1.0;
        Translation {
            attributes: self.places.attributes.clone(),
            coordinates: places.clone(),
            stretch,
            shift,
            shares,
            owners: (0..places.len()).map(|coordinate| vocabulary.owner(coordinate)).collect(),
            attribute_count: self.attributes.len(),
            coordinate_count: self.coordinates.len(),
            target: (0.0, 1.0),
        }
    }
}

/// The old index by new index, or [`DROPPED`].
fn inverse(places: &[u32], count: usize) -> Vec<u32> {
    let mut olds = vec![DROPPED; count];
    for (&new, old) in places.iter().zip(0..) {
        if let Some(place) = olds.get_mut(new as usize) {
            *place = old;
        }
    }
    olds
}
