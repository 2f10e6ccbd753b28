//! Turning a survey into the state of an encoder.

use std::collections::BTreeMap;

use super::Survey;
use crate::cleaning::Sentinels;
use crate::encoder::kinds::spell;
use crate::encoder::marks::MARK;
use crate::encoder::rare::FEW;
use crate::encoder::rates::RATE;
use crate::encoder::time::CIRCLE;
use crate::encoder::{Encoder, Following, RARE, Use};
use crate::names::Name;
use crate::scale::summary::Summary;
use crate::scale::{CLIP, FAR, Scale};
use crate::state::Refused;
use crate::vocabulary::NOBODY;

/// Categories that get a coordinate: attribute and category, with their counts.
type Found = BTreeMap<(Vec<u8>, Vec<u8>), u64>;

impl Encoder {
    /// Derive what is known from now on from a survey: scales, sentinels, and which categories are rare.
    ///
    /// Nothing is remembered of entities or of latest times, since the events to come may be those surveyed.
    pub fn end_survey(&mut self) {
        let Some(survey) = self.survey.take() else { return };
        let Survey { known, numbers } = *survey;
        let mut found = self.take_single_categories(known);
        for (at, summary) in numbers.into_iter().enumerate() {
            if summary.count() > 0.0 && self.vocabulary.owner(at) != NOBODY {
                self.settle_number(at, summary, &mut found);
            }
        }
        self.enter_found(&found);
        self.tallies.iter_mut().for_each(|tally| tally.times = [0; 2]);
        if let Some(following) = &mut self.following {
            **following = Following::new(following.rules.clone(), following.longest_name);
        }
        self.derive();
        if let Ok(ordered) = self.in_order(known) {
            *self = ordered;
        }
    }

    /// The same with its names in order, except those known before: evicted coordinates leave no gaps.
    fn in_order(&self, known: usize) -> Result<Self, Refused> {
        let mut ordered = Self::new(self.vocabulary.bounds(), self.scale, self.longest)
            .with_rules(self.rules.clone())
            .with_rates(self.rates);
        ordered.vocabulary = self.vocabulary.first(known)?;
        ordered.following.clone_from(&self.following);
        ordered.grow();
        ordered.merge(&[self], false)?;
        Ok(ordered)
    }

    /// Make new categories of attributes that have many rare if they occurred once.
    fn take_single_categories(&mut self, known: usize) -> Found {
        let attributes = 0..self.vocabulary.attribute_count() as u32;
        let has_many: Vec<bool> = attributes.map(|attribute| self.has_rare(attribute)).collect();
        let mut found = Found::new();
        for at in known..self.vocabulary.coordinate_count() {
            let owner = self.vocabulary.owner(at);
            if owner == NOBODY || !has_many[owner as usize] || self.uses[at].count > 1 || self.is_pair(at) {
                continue;
            }
            let (name, category) = self.vocabulary.describe(at);
            let Some(category) = category.filter(|category| *category != RARE.as_bytes()) else { continue };
            self.once.add(name, category);
            *found.entry((name.text().to_vec(), RARE.as_bytes().to_vec())).or_default() +=
                self.uses[at].count;
            self.vocabulary.evict(at as u32);
            self.uses[at] = Use { generation: self.uses[at].generation, ..Use::default() };
        }
        found
    }

    /// Whether single categories of an attribute are rare: it has many, which are neither parts of times nor rates.
    fn has_rare(&self, attribute: u32) -> bool {
        let has = |category: &str| self.vocabulary.coordinate(attribute, Some(category.as_bytes())).is_some();
        self.vocabulary.category_count(attribute) > FEW && !has(CIRCLE) && !has(RATE)
    }

    /// Whether a coordinate is that of a pair of words, which occurred several times before it got the coordinate.
    fn is_pair(&self, at: usize) -> bool {
        let is_prose = self.tallies[self.vocabulary.owner(at) as usize].prose > 0;
        is_prose && self.vocabulary.describe(at).1.is_some_and(|category| category.contains(&b' '))
    }

    /// Turn a summary into a scale, with values that are not measurements removed or marked.
    fn settle_number(&mut self, at: usize, mut summary: Summary, found: &mut Found) {
        let owner = self.vocabulary.owner(at) as usize;
        let name = self.vocabulary.describe(at).0.text().to_vec();
        let mut missing = 0;
        let mut mark = |what: &str, category: &str, count: u64| {
            let mark = ([&name, what.as_bytes()].concat(), category.as_bytes().to_vec());
            *found.entry(mark).or_default() += count;
            missing += count;
        };
        let mut sentinels = self.sentinels[at];
        let usual =
            |sentinels: &Sentinels| self.levels[at].usual().filter(|(usual, _)| !sentinels.contain(*usual));
        while self.finds_sentinels(owner as u32)
            && let Some((value, count)) = summary.sentinel(&summary.first_scale(usual(&sentinels)))
            && sentinels.add(value)
        {
            summary.forget(value);
            mark(".sentinel", &spell(value), count as u64);
            self.tallies[owner].sentinels += count as u64;
        }
        let scale = summary.scale(usual(&sentinels));
        for bucket in summary.buckets() {
            let (distance, count) = (scale.measure(bucket.mean()).distance, bucket.count() as u64);
            if distance >= FAR {
                mark(if bucket.mean() > 0.0 { ".far_high" } else { ".far_low" }, MARK, count);
                self.tallies[owner].far += count;
            } else if distance > CLIP {
                self.tallies[owner].clipped += count;
            }
        }
        let is_there = |value: f64| !sentinels.contain(value) && scale.measure(value).distance < FAR;
        self.levels[at].retain(is_there);
        for (value, times) in self.levels[at].exceptions() {
            *found.entry((name.clone(), spell(value).into_bytes())).or_default() += times;
        }
        for count in [&mut self.tallies[owner].values, &mut self.uses[at].count] {
            *count = count.saturating_sub(missing);
        }
        self.sentinels[at] = sentinels;
        let both = [(self.scales[at], 0.0), (scale, 0.0)];
        self.scales[at] = Scale::merged(Scale::default(), &both, self.longest);
    }

    /// Give what was found coordinates, and count it.
    fn enter_found(&mut self, found: &Found) {
        let entries =
            || found.iter().map(|((name, category), &count)| ((&name[..], Some(&category[..])), count));
        let new = entries().filter(|(entry, _)| !self.vocabulary.knows(*entry)).collect();
        let (vocabulary, dropped) = self.with_entries(&self.vocabulary, &new);
        self.vocabulary = vocabulary;
        self.evicted += dropped;
        self.grow();
        let events = self.tallies[0].values;
        for ((name, category), count) in entries() {
            let Some(attribute) = self.vocabulary.find(Name::Text(name)) else { continue };
            let Some(at) = self.vocabulary.coordinate(attribute, category) else { continue };
            let place = &mut self.uses[at as usize];
            (place.count, place.last) = (place.count.saturating_add(count), events);
            let tally = &mut self.tallies[attribute as usize];
            if category == Some(RARE.as_bytes()) {
                tally.rare = if tally.is_of_identifier() { tally.rare } else { place.count };
            } else if self.vocabulary.coordinate(attribute, None).is_none() {
                // The values of marks, which did not exist before.
                tally.values = tally.values.saturating_add(count);
            }
        }
        // Rates count as just used.
        self.uses.iter_mut().filter(|place| place.count == 0).for_each(|place| place.last = events);
    }
}
