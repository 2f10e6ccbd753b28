//! Values of attributes whose kind is declared.

use super::rates::RATE;
use super::{Encoder, RARE, Unclean};
use crate::json::EXACT;
use crate::kinds::{EPOCH, Kind, is_plainly_time, told_moment, truth};
use crate::names::Name;
use crate::spelled::{name_of, spelled_number};
use crate::times::{Moment, moment};

/// Numbers of at least this size are written with an exponent.
const LARGEST_WHOLE: f64 = 1e16;

impl Encoder {
    /// Read a text as a value of that kind; a text that is not of the kind is missing, and counted.
    pub(super) fn text_as(&mut self, kind: Kind, name: Name, text: &[u8]) {
        let number = match kind {
            Kind::Category => return self.observe(name, Some(text), 1.0),
            Kind::Identifier => return self.observe(name, Some(RARE.as_bytes()), 1.0),
            Kind::Text => return self.words(name, text),
            Kind::Tags => return self.split(name, text),
            Kind::Time => match told_moment(text) {
                Some(moment) => return self.time(name, moment),
                None => None,
            },
            Kind::Boolean => truth(text).map(|truth| f64::from(u8::from(truth))),
            Kind::Number => spelled_number(text),
        };
        match number {
            Some(number) => {
                self.count(name, Unclean::Spelled);
                self.observe(name, None, number);
            }
            None => {
                self.count(name, Unclean::Nothing);
                self.missing(name);
            }
        }
    }

    /// Handle a number that may not be a plain one; false if it is.
    pub(super) fn odd_number(&mut self, name: Name, value: f64) -> bool {
        let Some(kind) = self.rules.kind_of(name.text()) else {
            if value < EPOCH || !is_plainly_time(name.text(), value) {
                return false;
            }
            let Some(moment) = Moment::since_1970(value) else { return false };
            self.time(name, moment);
            return true;
        };
        if kind.is_numeric() {
            return false;
        }
        match Moment::since_1970(value).filter(|_| kind == Kind::Time) {
            // As a text, a number of eight digits may be a date.
            Some(moment) => self.time(name, moment),
            None => {
                self.lacks_digits |= value.abs() >= EXACT as f64;
                self.text_as(kind, name, name_of(value).as_bytes());
            }
        }
        true
    }

    /// Read a text as a point in time if it is one, without a declared kind.
    pub(super) fn moment_in(&mut self, name: Name, text: &[u8]) -> bool {
        let Some(moment) = moment(text) else { return false };
        self.time(name, moment);
        true
    }

    /// The name of an attribute's kind, or `mixed`.
    pub fn kind(&self, attribute: u32) -> &'static str {
        let told = self.rules.kind_of(self.vocabulary.name(attribute).text());
        let tally = &self.tallies[attribute as usize];
        let has_numbers = self.vocabulary.coordinate(attribute, None).is_some();
        let is_name = |category: &[u8]| category != RARE.as_bytes() && spelled_number(category).is_none();
        let has = |category: &str| self.vocabulary.coordinate(attribute, Some(category.as_bytes())).is_some();
        let kind = match told {
            Some(kind) => kind,
            None if self.is_of_times(attribute) => Kind::Time,
            None if 2 * tally.prose > tally.values => Kind::Text,
            None if tally.tags > 0 => Kind::Tags,
            None if has_numbers && self.vocabulary.categories(attribute).any(is_name) => return "mixed",
            None if has_numbers || has(RATE) => Kind::Number,
            None if tally.is_of_identifier() => Kind::Identifier,
            None => Kind::Category,
        };
        kind.name()
    }

    fn split(&mut self, name: Name, text: &[u8]) {
        let bag = self.bag(name);
        for tag in text.split(|byte| b",;|".contains(byte)).map(<[u8]>::trim_ascii) {
            self.tag(bag, tag);
        }
    }
}

/// A number as a category: beside its numeric coordinate, or of a mark.
pub(super) fn spell(value: f64) -> String {
    if value.abs() < LARGEST_WHOLE { format!("{value}") } else { format!("{value:e}") }
}
