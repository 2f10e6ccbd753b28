//! Names and categories seen for the first time.

use std::cmp::Ordering;
use std::ops::Range;

use super::rates::RatePlaces;
use super::room::Exhausted;
use super::{Encoder, Item, Levels, New, NewName, Use};
use crate::cleaning::{Sentinels, Tally};
use crate::names::Name;
use crate::scale::Scale;
use crate::vocabulary::{PASSING, Sizes, size};

impl Encoder {
    pub(super) fn remember(&mut self, known: Option<u32>, name: Name, category: Option<&[u8]>, value: f64) {
        let name = self.new_name(known, name);
        let category = category.map(|category| self.keep(category));
        self.new.push(New { name, category, value });
    }

    pub(super) fn new_name(&mut self, known: Option<u32>, name: Name) -> NewName {
        match (known, name) {
            (Some(attribute), _) => NewName::Known(attribute),
            (None, Name::Text(text)) => NewName::Text(self.keep(text)),
            (None, Name::Foreign(foreign)) => {
                self.foreign.push(foreign.clone());
                NewName::Foreign(self.foreign.len() - 1)
            }
        }
    }

    pub(super) fn keep(&mut self, text: &[u8]) -> Range<usize> {
        let begin = self.bytes.len();
        self.bytes.extend_from_slice(text);
        begin..self.bytes.len()
    }

    pub(super) fn name_of(&self, name: &NewName) -> Name<'_> {
        match name {
            NewName::Known(attribute) => self.vocabulary.name(*attribute),
            NewName::Text(range) => Name::Text(&self.bytes[range.clone()]),
            NewName::Foreign(index) => Name::Foreign(&self.foreign[*index]),
        }
    }

    /// Order by text, category and kind.
    fn order(&self, one: &New, other: &New) -> Ordering {
        let key = |new| -> (Name, &[u8]) {
            let New { name, category, .. }: &New = new;
            (self.name_of(name), category.clone().map_or(b"", |range| &self.bytes[range]))
        };
        let ((name, category), (other, other_category)) = (key(one), key(other));
        (name.text(), category, name.kind()).cmp(&(other.text(), other_category, other.kind()))
    }

    pub(super) fn sort_new(&mut self) {
        if self.new.len() > 1 {
            let mut new = std::mem::take(&mut self.new);
            new.sort_by(|one, other| self.order(one, other));
            self.new = new;
        }
    }

    pub(super) fn enter(&mut self, new: &[New]) {
        let (bytes, foreign) = (std::mem::take(&mut self.bytes), std::mem::take(&mut self.foreign));
        let mut exhausted = Exhausted::default();
        for each in new.iter().filter(|each| !each.value.is_nan()) {
            let stored;
            let name = match &each.name {
                NewName::Known(attribute) => {
                    stored = self.vocabulary.name(*attribute).stored();
                    stored.name()
                }
                NewName::Text(range) => Name::Text(&bytes[range.clone()]),
                NewName::Foreign(index) => Name::Foreign(&foreign[*index]),
            };
            let category = each.category.clone().map(|range| &bytes[range]);
            self.ensure_room(new, name, category, &mut exhausted);
            let Some(coordinate) = self.vocabulary.enter(name, category) else {
                self.vocabulary.ignore(name, category);
                continue;
            };
            let attribute = self.vocabulary.owner(coordinate as usize);
            self.grow();
            self.uses[coordinate as usize].last = self.now();
            if category.is_some() {
                self.enter_rates(attribute);
            }
            let (value, is_number) = (each.value, category.is_none());
            let mut scaled = value;
            if is_number {
                if let Some(given) = self.rules.sentinels.get(name.text()) {
                    self.sentinels[coordinate as usize] = Sentinels::given(given);
                    self.has_sentinels = true;
                }
                if self.scale && !self.survey_number(coordinate, value) {
                    let scale = &mut self.scales[coordinate as usize];
                    scaled = scale.standardise(value, 1.0, self.longest).value;
                }
                self.watch(coordinate, value);
            }
            self.items.push(Item { attribute, coordinate, is_number, value, scaled });
        }
        (self.bytes, self.foreign) = (bytes, foreign);
    }

    pub(super) fn grow(&mut self) {
        let (attributes, coordinates) = self.counts();
        self.uses.resize(coordinates, Use::default());
        self.scales.resize(coordinates, Scale::default());
        self.sentinels.resize(coordinates, Sentinels::default());
        self.levels.resize(coordinates, Levels::default());
        self.tallies.resize(attributes, Tally::default());
        self.seen.resize(attributes, 0);
        self.rated.resize(attributes, RatePlaces::default());
        self.fit_survey(None);
    }

    fn counts(&self) -> (usize, usize) {
        (self.vocabulary.attribute_count(), self.vocabulary.coordinate_count())
    }

    /// Numbers of a name never learned are encoded as what standardising a first value yields, 0, so that the event
    /// looks as it will when it is learned.
    pub(super) fn pass(&mut self, new: &[New]) {
        let mut before = Sizes::default();
        let (used, mut kept) = (self.vocabulary.used(), None);
        // The last unknown attribute and its index; words and tags are several items of one attribute.
        let mut last: Option<(&NewName, u32)> = None;
        let (carried, mut passing) = (self.carried(), Vec::new());
        for each in new.iter().filter(|each| !each.value.is_nan()) {
            let name = self.name_of(&each.name);
            let known = match each.name {
                NewName::Known(attribute) => Some(attribute),
                _ => last
                    .filter(|(other, _)| is_same(self.name_of(other), name))
                    .map(|(_, attribute)| attribute),
            };
            let category = each.category.clone().map(|range| &self.bytes[range]);
            let lacks = |others: Sizes| {
                let exceeded =
                    self.vocabulary.exceeded_limit(name, known.is_some(), category, others.plus(before));
                exceeded.is_some()
            };
            if lacks(used) && lacks(*kept.get_or_insert_with(|| self.kept(new))) {
                continue;
            }
            let (value, is_scaled) = (each.value, self.scale && category.is_none());
            let attribute = known.unwrap_or(PASSING + before.attributes as u32);
            let coordinate = PASSING + before.coordinates as u32;
            if known.is_none() {
                if carried.iter().any(|(carried, ..)| carried == name.text()) {
                    passing.push(attribute);
                }
                before.attributes += 1;
                last = Some((&each.name, attribute));
            }
            before.coordinates += 1;
            before.bytes += size(name, category);
            let scaled = if is_scaled { 0.0 } else { value };
            self.items.push(Item { attribute, coordinate, is_number: false, value, scaled });
        }
        if let Some(following) = &mut self.following {
            following.passing = passing;
        }
    }
}

fn is_same(one: Name, other: Name) -> bool {
    (one.text(), one.kind()) == (other.text(), other.kind())
}
