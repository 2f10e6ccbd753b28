//! Room for what labels say of categories.
//!
//! Once an attribute has more than [`FEW`] categories, an event that observes one has a number beside it, the
//! attribute `NAME.rate`: what the labels of earlier events with this category say. Events are encoded before
//! these are known, so that the number is left to who learns, see [`rate_key`](crate::rate_key).

use super::rare::FEW;
use super::{Encoder, Item};
use crate::names::Name;
use crate::rate_key::{as_value, key_of};

/// The category of the first of an attribute's rates.
const RATE: &str = "(rate)";

impl Encoder {
    /// The same with so many coordinates for the rates of an attribute, one for two classes or a regression;
    /// 0 for no rates.
    pub fn with_rates(self, rates: usize) -> Self {
        Self { rates, ..self }
    }

    /// How many coordinates the rates of an attribute have.
    pub fn rates(&self) -> usize {
        self.rates
    }

    /// Let attributes that will have rates have so many coordinates for them.
    pub fn set_rates(&mut self, rates: usize) {
        self.rates = rates;
    }

    /// Take note that the event has a category of an attribute.
    pub(super) fn note_category(&mut self, attribute: u32, category: &[u8]) {
        let coordinate = self.rated[attribute as usize];
        if coordinate > 0 {
            self.keys.push((coordinate, key_of(attribute, category)));
        }
    }

    /// Have the rates of the event's categories observed, unless it has an attribute of that name itself.
    pub(super) fn derive_rates(&mut self) {
        for at in 0..self.keys.len() {
            let (coordinate, key) = self.keys[at];
            let attribute = self.vocabulary.owner(coordinate as usize);
            if self.seen[attribute as usize] != self.event {
                // There is nothing by which the event could be known again.
                let (value, scaled) = (f64::NAN, as_value(key));
                self.items.push(Item { attribute, coordinate, is_number: false, value, scaled });
            }
        }
    }

    /// Let an attribute have rates if it has many categories by now.
    pub(super) fn enter_rates(&mut self, attribute: u32) {
        let is_rated = self.rated[attribute as usize] > 0;
        if self.rates == 0 || is_rated || self.vocabulary.category_count(attribute) <= FEW {
            return;
        }
        let name = rate_name(self.vocabulary.name(attribute));
        let room = self.vocabulary.bounds().coordinates - self.vocabulary.coordinate_count();
        if self.find_rates(&name, 1).is_none() && room >= self.rates {
            for number in 0..self.rates {
                _ = self.vocabulary.enter(Name::Text(&name), Some(category(number).as_bytes()));
            }
            self.make_room();
        }
        self.rated[attribute as usize] = self.find_rates(&name, self.rates).unwrap_or(0);
    }

    /// Find the rates that a vocabulary has.
    pub(super) fn restore_rates(&mut self) {
        let attributes = self.vocabulary.attribute_count();
        self.rated = vec![0; attributes];
        for attribute in (0..attributes as u32).filter(|_| self.rates > 0) {
            if self.vocabulary.category_count(attribute) > FEW {
                let name = rate_name(self.vocabulary.name(attribute));
                self.rated[attribute as usize] = self.find_rates(&name, self.rates).unwrap_or(0);
            }
        }
    }

    /// The first of so many coordinates in a row for the rates of that name.
    fn find_rates(&self, name: &[u8], count: usize) -> Option<u32> {
        let attribute = self.vocabulary.find(Name::Text(name))?;
        let find = |number| self.vocabulary.coordinate(attribute, Some(category(number).as_bytes()));
        let first = find(0)?;
        (1..count).all(|number| find(number) == Some(first + number as u32)).then_some(first)
    }
}

/// The attribute for the rates of another.
fn rate_name(name: Name) -> Vec<u8> {
    [name.text(), b".rate"].concat()
}

/// Where the rates of a number stand.
fn category(number: usize) -> String {
    if number == 0 { RATE.to_owned() } else { format!("(rate {number})") }
}
