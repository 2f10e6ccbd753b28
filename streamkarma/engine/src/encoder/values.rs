//! Reading the names and values of an event.

use super::{Encoder, Item, New, NewName, Unclean};
use crate::kinds::EPOCH;
use crate::names::Name;
use crate::spelled::spelled_number;

impl Encoder {
    /// Read a number for the attribute of that name; NaN means missing.
    pub fn number(&mut self, name: Name, value: f64) {
        if value.is_nan() {
            return self.missing(name);
        }
        if self.is_past_label(name) {
            return self.observe(name, None, value);
        }
        let is_sentinel = |value| self.rules.is_given(name.text(), value);
        if let Some(following) = &mut self.following
            && following.take_number(name.text(), value, is_sentinel)
        {
            return;
        }
        self.measure(name, value);
    }

    /// Read an integer whose `digits` a float cannot all hold. All of them are used where the integer identifies
    /// something: an entity or a value of a non-numeric kind.
    pub fn integer(&mut self, name: Name, digits: &str, value: f64) {
        let is_sentinel = |value| self.rules.is_given(name.text(), value);
        if let Some(following) = &mut self.following
            && following.take_integer(name.text(), digits, value, is_sentinel)
        {
            return;
        }
        match self.rules.kind_of(name.text()).filter(|kind| !kind.is_numeric()) {
            Some(kind) => self.text_as(kind, name, digits.as_bytes()),
            None => self.measure(name, value),
        }
    }

    /// Whether an identifier in the event was given as a float and may be an integer with more digits.
    pub fn lacks_digits(&self) -> bool {
        self.lacks_digits || self.following.as_ref().is_some_and(|following| following.lacks_digits)
    }

    /// Whether all digits of an integer of that name are used.
    pub fn wants_digits(&self, name: Name) -> bool {
        self.is_entity(name.text()) || self.rules.kind_of(name.text()).is_some_and(|kind| !kind.is_numeric())
    }

    /// Read a number that is not NaN and gives neither the entity nor the time of the event.
    #[inline]
    fn measure(&mut self, name: Name, value: f64) {
        let may_be_odd = value >= EPOCH || !self.rules.kinds.is_empty();
        if !(may_be_odd && self.odd_number(name, value)) {
            self.observe(name, None, value);
        }
    }

    /// Read a text for the attribute of that name: missing if it stands for nothing, a time or a number if it is one,
    /// words, or otherwise a category.
    pub fn text(&mut self, name: Name, text: &[u8]) {
        if self.is_past_label(name) {
            return self.observe(name, Some(text), 1.0);
        }
        if self.rules.is_nothing(text) {
            self.count(name, Unclean::Nothing);
            return self.missing(name);
        }
        let is_sentinel = |value| self.rules.is_given(name.text(), value);
        if let Some(following) = &mut self.following
            && following.take_text(name.text(), text, is_sentinel)
        {
            return;
        }
        if let Some(kind) = self.rules.kind_of(name.text()) {
            return self.text_as(kind, name, text);
        }
        if self.moment_in(name, text) {
            return;
        }
        if self.is_wordy(name, text) {
            return self.words(name, text);
        }
        match spelled_number(text) {
            Some(value) => {
                self.count(name, Unclean::Spelled);
                // Entities were handled above: there, "007" is not 7.
                self.measure(name, value);
            }
            None => self.observe(name, Some(text), 1.0),
        }
    }

    pub(super) fn count(&mut self, name: Name, what: Unclean) {
        if let Some(attribute) = self.vocabulary.find(name) {
            self.unclean.push((attribute, what));
        }
    }

    /// The attribute of that name is missing. This is recorded only in order to detect repeated names.
    pub fn missing(&mut self, name: Name) {
        match self.vocabulary.find(name) {
            Some(attribute) => self.mark(attribute),
            None => self.remember(None, name, None, f64::NAN),
        }
    }

    /// The coordinate of the numbers of that name.
    pub fn place_of(&mut self, name: Name) -> Option<u32> {
        let attribute = self.vocabulary.find(name)?;
        self.vocabulary.coordinate(attribute, None)
    }

    /// Read a number at a known coordinate, of an attribute that has not occurred in the event yet, without looking up
    /// a name.
    pub fn number_at(&mut self, coordinate: u32, value: f64) {
        let attribute = self.vocabulary.owner(coordinate as usize);
        self.mark(attribute);
        let value = value + 0.0;
        self.items.push(Item { attribute, coordinate, is_number: true, value, scaled: value });
    }

    /// A name that occurs twice in the event, if any.
    pub fn repeated(&mut self) -> Option<Name<'_>> {
        if let Some(attribute) = self.repeated {
            return Some(self.vocabulary.name(attribute));
        }
        self.sort_new();
        let twice = |pair: &[New]| match (&pair[0].name, &pair[1].name) {
            (NewName::Text(one), NewName::Text(other)) => {
                self.bytes[one.clone()] == self.bytes[other.clone()]
            }
            _ => false,
        };
        let at = self.new.windows(2).position(twice)?;
        Some(self.name_of(&self.new[at].name))
    }

    /// Whether a name occurs in this event.
    pub fn has(&mut self, name: Name) -> bool {
        match self.vocabulary.find(name) {
            Some(attribute) => self.seen[attribute as usize] == self.event,
            None => self.new.iter().any(|new| self.name_of(&new.name).text() == name.text()),
        }
    }

    /// Read a value without any rules: a number, or a category with the value 1.
    pub(super) fn observe(&mut self, name: Name, category: Option<&[u8]>, value: f64) {
        // Normalise negative zero, which would be another number where values are counted.
        let value = value + 0.0;
        let Some(attribute) = self.vocabulary.find(name) else {
            return self.remember(None, name, category, value);
        };
        self.mark(attribute);
        if let Some(category) = category {
            self.note_category(attribute, category);
        }
        match self.vocabulary.coordinate(attribute, category) {
            Some(coordinate) => {
                let is_number = category.is_none();
                self.items.push(Item { attribute, coordinate, is_number, value, scaled: value });
            }
            None => self.remember(Some(attribute), name, category, value),
        }
    }

    pub(super) fn mark(&mut self, attribute: u32) {
        let seen = &mut self.seen[attribute as usize];
        if *seen == self.event {
            self.repeated = Some(attribute);
        }
        *seen = self.event;
    }
}
