//! Carrying past values of an entity into its later events.
//!
//! With `fill` an event looks as if it repeated its entity's last value of each attribute that it lacks, for the
//! running scales too. With `last` each attribute, present or not, has its entity's previous value beside it, as an
//! attribute of its own, and the age of that value.
//!
//! Numbers and categories are remembered; texts, tags and points in time belong to their event. A category without a
//! coordinate of its own yet is remembered as the rare one. In addition, the entity's last label and the mean of its
//! latest labels are carried.

use std::borrow::Cow;
use std::collections::BTreeSet;

use super::{Encoder, Following, Item, New, NewName, RARE};
use crate::encoded::Encoded;
use crate::entities::{Carry, EntityRules, PastLabel, PastLabels, Remembered};
use crate::math::log1p;
use crate::names::Name;
use crate::vocabulary::NOBODY;

impl Encoder {
    /// Follow entities from now on, or stop following them.
    pub fn set_following(&mut self, following: Option<Following>) {
        self.following = following.map(Box::new);
    }

    /// Set whether later events that are not learned may come again to be learned, and whether events are complete,
    /// with the past values of their entities.
    pub fn set_awaiting(&mut self, awaiting: bool, is_whole: bool) {
        if let Some(following) = &mut self.following {
            (following.awaiting, following.pauses) = (awaiting, is_whole);
        }
    }

    /// Whether a name is that of the entity or the time of events.
    pub fn is_followed(&self, name: &[u8]) -> bool {
        self.following.as_ref().is_some_and(|following| {
            let EntityRules { entity, time, .. } = &following.rules;
            **entity == *name || time.as_deref() == Some(name)
        })
    }

    /// Whether a name is that of the entity of events.
    pub(super) fn is_entity(&self, name: &[u8]) -> bool {
        self.following.as_ref().is_some_and(|following| *following.rules.entity == *name)
    }

    /// The past values of entities, if they are followed.
    pub fn following(&self) -> Option<&Following> {
        self.following.as_deref()
    }

    /// The same, mutable.
    pub fn following_mut(&mut self) -> Option<&mut Following> {
        self.following.as_deref_mut()
    }

    /// Remember the label of the event that was finished last, if entities are followed.
    pub fn add_label(&mut self, label: Option<PastLabel>) {
        if let (Some(following), Some(label)) = (&mut self.following, label) {
            following.add_label(label);
        }
    }

    /// What was carried into the event that was encoded last: names, categories and values.
    pub fn carried(&self) -> Vec<Carried> {
        let Some(following) = &self.following else { return Vec::new() };
        let each = following.carried.iter();
        let values = each.flat_map(|(each, age)| self.as_attributes(following.rules.carry, each, *age));
        values.chain(following.labels.iter().flat_map(label_attributes)).collect()
    }

    /// Mark the carried items of the current event, the first item of which is at `begin`.
    pub(super) fn mark_carried(&self, begin: usize, out: &mut Encoded) {
        let carried = self.carried_attributes();
        if carried.is_empty() {
            return;
        }
        for at in begin..out.values.len() {
            if carried.binary_search(&out.attributes[at]).is_ok() {
                out.carried.push(at);
            }
        }
    }

    /// The attributes that were carried into the event, ascending.
    fn carried_attributes(&self) -> Vec<u32> {
        let Some(following) = &self.following else { return vec![] };
        let find = |(name, ..): Carried| self.vocabulary.find(Name::Text(&name));
        let mut carried: Vec<u32> = match following.rules.carry {
            Carry::Off => vec![],
            Carry::Fill => following.carried.iter().map(|(each, _)| each.attribute).collect(),
            Carry::Last => {
                let is_own = |attribute: &u32| following.own.iter().any(|each| each.attribute == *attribute);
                let each = following.carried.iter();
                let beside = each.flat_map(|(each, age)| self.as_attributes(Carry::Last, each, *age));
                beside.filter_map(find).filter(|attribute| !is_own(attribute)).collect()
            }
        };
        carried.extend(following.labels.iter().flat_map(label_attributes).filter_map(find));
        carried.extend(&following.passing);
        carried.sort_unstable();
        carried
    }

    /// A remembered value as attributes of an event.
    fn as_attributes(&self, carry: Carry, each: &Remembered, age: f64) -> Vec<Carried> {
        if each.generation != self.uses[each.coordinate as usize].generation {
            return vec![]; // evicted since
        }
        let (name, category) = self.vocabulary.describe(each.coordinate as usize);
        let (name, category) = (name.text().to_vec(), category.map(<[u8]>::to_vec));
        match carry {
            Carry::Off => vec![],
            Carry::Fill => vec![(name, category, each.value)],
            Carry::Last => {
                let age = ([&name, AGE].concat(), None, log1p(age));
                vec![([&name, LAST].concat(), category, each.value), age]
            }
        }
    }

    /// Observe the past values of the event's entity; `read` is the number of items and of new names read for the
    /// current event.
    pub(super) fn carry(&mut self, read: (usize, usize)) {
        let Some(mut following) = self.following.take() else { return };
        self.vocabulary.ignored += u64::from(following.has_no_time);
        if let Some(name) = following.entity.take_if(|name| name.len() > following.longest_name)
            && !following.rules.is_attribute
        {
            self.vocabulary.ignore(Name::Text(&following.rules.entity), Some(&name));
        }
        if !following.pauses
            && let Some(name) = following.entity.take()
        {
            let (in_bags, now) = (self.in_bags(), following.now());
            self.find_own(&mut following, &in_bags, read);
            following.place = following.entities.find(&name);
            if let Some(at) = following.place {
                let mut own = Cow::Borrowed(&following.own);
                if !following.new.is_empty() {
                    // As it was remembered if it was predicted.
                    self.add_new(&following.new, now, own.to_mut());
                }
                following.entities.settle(at, &own);
                if following.rules.carry != Carry::Off {
                    self.find_carried(&mut following, at, &in_bags);
                }
            }
            following.entity = Some(name);
            if following.rules.carry == Carry::Last {
                // The last value of an attribute called label would have the same name.
                self.carry_labels(&mut following);
            }
            for (each, age) in &following.carried {
                match following.rules.carry {
                    Carry::Off => {}
                    Carry::Fill => self.fill(each),
                    Carry::Last => self.put_beside(each, *age),
                }
            }
            if following.rules.carry != Carry::Last {
                self.carry_labels(&mut following);
            }
        }
        self.following = Some(following);
    }

    /// Collect the event's own values, except those `in_bags` and those that count as missing; marks come after what
    /// was `read`.
    fn find_own(&self, following: &mut Following, in_bags: &[u32], read: (usize, usize)) {
        let now = following.now();
        let rules = &following.rules;
        let is_attribute = rules.is_attribute.then(|| self.vocabulary.find(Name::Text(&rules.entity)));
        let entity = is_attribute.flatten();
        for item in self.items[..read.0].iter().filter(|item| item.attribute != NOBODY) {
            if Some(item.attribute) != entity && !in_bags.contains(&item.attribute) {
                following.own.push(self.remembered(item.attribute, item.coordinate, item.value, now));
            }
        }
        following.own.sort_unstable_by_key(|each| each.attribute);
        let is_named = |new: &&New| self.name_of(&new.name).text() != &*following.rules.entity;
        let new = self.new[..read.1].iter().filter(|new| !new.value.is_nan());
        following.new.extend(new.filter(is_named).cloned());
    }

    /// Collect the past values of its entity that apply.
    fn find_carried(&self, following: &mut Following, at: u32, in_bags: &[u32]) {
        let now = following.now();
        let Following { rules, entities, own, new, carried, .. } = following;
        let known = |new: &New| if let NewName::Known(attribute) = new.name { Some(attribute) } else { None };
        let new: BTreeSet<u32> = new.iter().filter_map(known).collect();
        // Both are ascending.
        let mut present = own.iter().map(|each| each.attribute).peekable();
        for each in entities.values_at(at) {
            let attribute = each.attribute;
            while present.next_if(|&own| own < attribute).is_some() {}
            let mut is_there = || {
                present.peek() == Some(&attribute) || new.contains(&attribute) || in_bags.contains(&attribute)
            };
            if rules.carry != Carry::Last && is_there() {
                continue;
            }
            // The difference between two extreme times may overflow.
            let age = (now - each.time).clamp(0.0, f64::MAX);
            let coordinate = each.coordinate as usize;
            // A model file may claim anything of an owner.
            let is_current = each.generation == self.uses[coordinate].generation
                && self.vocabulary.owner(coordinate) == attribute;
            // It may have turned out to be a sentinel since.
            let is_value = !self.has_sentinels || !self.sentinels[coordinate].contain(each.value);
            if is_current && is_value && age <= rules.longest {
                carried.push((*each, age));
            }
        }
    }

    /// Attributes for which the event has words, tags or a time.
    fn in_bags(&self) -> Vec<u32> {
        self.bags.iter().filter_map(|bag| self.vocabulary.find(self.name_of(bag.name()))).collect()
    }

    fn remembered(&self, attribute: u32, coordinate: u32, value: f64, time: f64) -> Remembered {
        Remembered {
            attribute,
            coordinate,
            generation: self.uses[coordinate as usize].generation,
            value,
            time,
        }
    }

    /// Observe an attribute with its last value.
    fn fill(&mut self, each: &Remembered) {
        let &Remembered { attribute, coordinate, value, .. } = each;
        self.seen[attribute as usize] = self.event;
        let category = self.vocabulary.describe(coordinate as usize).1.map(<[u8]>::to_vec);
        let is_number = category.is_none();
        if let Some(category) = category.filter(|category| category != RARE.as_bytes()) {
            self.note_category(attribute, &category);
        }
        self.items.push(Item { attribute, coordinate, is_number, value, scaled: value });
    }

    /// Observe the last value of an attribute, and its age, as attributes of their own, unless the event has some of
    /// these names.
    fn put_beside(&mut self, each: &Remembered, age: f64) {
        for (name, category, value) in self.as_attributes(Carry::Last, each, age) {
            if !self.has(Name::Text(&name)) {
                self.observe(Name::Text(&name), category.as_deref(), value);
            }
        }
    }

    /// Observe the past labels of the event's entity as attributes of their own, unless the event has some of these
    /// names. If there are many different texts, shares would be as many attributes, and are left out.
    fn carry_labels(&mut self, following: &mut Following) {
        let Following { rules, entities, .. } = &*following;
        let Some(labels) = following.place.and_then(|at| entities.labels_at(at)) else { return };
        let age = (following.now() - labels.time).clamp(0.0, f64::MAX);
        if age > rules.longest || [LABEL_LAST, LABEL_MEAN].iter().any(|name| self.has(Name::Text(name))) {
            return;
        }
        match &labels.last {
            PastLabel::Number(value) => {
                self.observe(Name::Text(LABEL_LAST), None, *value);
                self.observe(Name::Text(LABEL_MEAN), None, labels.mean);
            }
            PastLabel::Text(_) => {
                let mut labels = labels.clone();
                let known = self.vocabulary.find(Name::Text(LABEL_LAST));
                if known.is_some_and(|last| self.vocabulary.category_count(last) > MOST_TEXTS) {
                    labels.shares.clear();
                }
                let attributes = label_attributes(&labels);
                if attributes.iter().any(|(name, ..)| self.has(Name::Text(name))) {
                    return;
                }
                for (name, category, value) in attributes {
                    self.observe(Name::Text(&name), category.as_deref(), value);
                }
                following.labels = Some(labels);
                return;
            }
        }
        following.labels = Some(labels.clone());
    }

    /// Whether a name is that of a past label in a complete event, where it keeps the form in which it was carried.
    pub(super) fn is_past_label(&self, name: Name) -> bool {
        self.following.as_ref().is_some_and(|following| following.pauses && following.rules.labels)
            && (*name.text() == *LABEL_LAST || name.text().starts_with(LABEL_MEAN))
    }

    /// Whether a name is that of the last label, which is carried into events.
    pub(super) fn is_carried_label(&self, name: Name) -> bool {
        self.following.as_ref().is_some_and(|following| following.rules.labels) && *name.text() == *LABEL_LAST
    }

    /// Remember the event's own values, now that everything that gets a coordinate has one.
    pub(super) fn remember_own(&mut self, learned: bool) {
        let Some(mut following) = self.following.take() else { return };
        let now = following.now();
        if !following.pauses
            && let Some(name) = following.entity.take()
        {
            if !following.new.is_empty() {
                self.add_new(&std::mem::take(&mut following.new), now, &mut following.own);
            }
            let awaiting = following.awaiting && !learned;
            following.entities.remember(following.place, &name, &following.own, now, awaiting);
            following.is_remembered = true;
            following.spare = name;
        }
        if !following.pauses && (learned || !following.awaiting) {
            following.advance(now);
        }
        self.following = Some(following);
    }

    /// Add new values, at the coordinates they have by now, to an event's own.
    fn add_new(&self, new: &[New], now: f64, own: &mut Vec<Remembered>) {
        for new in new {
            if let Some((attribute, coordinate)) = self.place_of_new(new) {
                own.push(self.remembered(attribute, coordinate, new.value, now));
            }
        }
        own.sort_unstable_by_key(|each| each.attribute);
    }

    /// The attribute and the coordinate of something new.
    fn place_of_new(&self, new: &New) -> Option<(u32, u32)> {
        let attribute = self.vocabulary.find(self.name_of(&new.name))?;
        let category = new.category.clone().map(|range| &self.bytes[range]);
        let rare = || category.and_then(|_| self.vocabulary.coordinate(attribute, Some(RARE.as_bytes())));
        let coordinate = self.vocabulary.coordinate(attribute, category).or_else(rare)?;
        Some((attribute, coordinate))
    }
}

/// Labels as attributes: the last one, and the mean of numbers or the share of each text.
fn label_attributes(labels: &PastLabels) -> Vec<Carried> {
    let last = |category, value| (LABEL_LAST.to_vec(), category, value);
    match &labels.last {
        PastLabel::Number(value) => vec![last(None, *value), (LABEL_MEAN.to_vec(), None, labels.mean)],
        PastLabel::Text(text) => {
            let share = |(text, share): &(Box<[u8]>, f64)| ([LABEL_MEAN, b".", text].concat(), None, *share);
            let shares = labels.shares.iter().map(share);
            std::iter::once(last(Some(text.to_vec()), 1.0)).chain(shares).collect()
        }
    }
}

/// Name, category if there is one, and value.
pub type Carried = (Vec<u8>, Option<Vec<u8>>, f64);

/// Suffixes of the names of an attribute's last value and its age.
const LAST: &[u8] = b".last";
const AGE: &[u8] = b".age";

/// The names of an entity's last label, and of the mean of its latest ones.
const LABEL_LAST: &[u8] = b"label.last";
const LABEL_MEAN: &[u8] = b"label.mean";
/// With more different texts than this among the last labels of entities, their shares are not carried.
const MOST_TEXTS: usize = 16;
