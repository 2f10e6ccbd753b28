//! Clearing the weights of evicted attributes and coordinates: of all features that have one as value or in their set.
//!
//! They are cleared in a hashed table as well, together with other features that share their places. Where so many
//! would have to be cleared that other features lose much, only those with smaller sets are, and at least those of
//! values alone and of attributes beside the constant. The rest can no longer be identified as belonging to evicted
//! names, and would fill the table in time. So one of [`CLEARED`] parts of the table is cleared each time, in turn, except
//! for the places of values alone and of attributes beside the constant.

use super::Explicit;
use super::layout::{first_code, set_count};
use crate::block::{Evicted, below};

/// A hashed table is cleared in this many parts; no more features than one has places are cleared at a time.
pub(super) const CLEARED: usize = 16;

impl Explicit {
    /// Whether this many features can be cleared at a time.
    pub fn can_clear(&self, features: usize) -> bool {
        let places = self.models[0].places();
        !self.map.layout.is_hashed() || features.saturating_mul(CLEARED) <= places
    }

    /// Forget what was learned about evicted attributes and coordinates.
    pub(super) fn clear(&mut self, evicted: &Evicted) {
        let attributes = below(&evicted.attributes, self.map.attributes);
        let coordinates = below(&evicted.coordinates, self.map.coordinates);
        let fits = |order: &usize| self.can_clear(self.count(attributes, coordinates, *order));
        let order = (2..=self.map.gamma()).rev().find(fits).unwrap_or(1);
        let layout = self.map.layout;
        let mut places: Vec<u32> = Vec::new();
        let sets = self.codes(order);
        for &coordinate in coordinates {
            places.extend(sets.iter().map(|&code| layout.place(coordinate, code)));
        }
        if self.map.gamma() > 1 {
            // Beside the constant, which is always present.
            places.extend(attributes.iter().map(|&own| layout.place(0, first_code(own, self.map.gamma()))));
        }
        let with_them: Vec<i64> = attributes.iter().flat_map(|&own| self.codes_with(own, order)).collect();
        // The outer loop is over codes: with listed features there are none, but there may be 10^8 coordinates.
        for code in with_them {
            places.extend((0..self.map.coordinates as u32).map(|coordinate| layout.place(coordinate, code)));
        }
        self.models.iter_mut().for_each(|model| model.clear(&places));
        if order < self.map.gamma() {
            self.clear_next_part();
        }
    }

    /// Clear the next fraction of a hashed table.
    fn clear_next_part(&mut self) {
        let (layout, gamma) = (self.map.layout, self.map.gamma());
        let alone = (0..self.map.coordinates as u32).map(|coordinate| layout.place(coordinate, 0));
        let attributes = 1..self.map.attributes as u32;
        let beside = attributes.map(|own| layout.place(0, first_code(own, gamma)));
        let kept: Vec<u32> = alone.chain(beside).collect();
        let places = self.models[0].places();
        let begin_of = |part: usize| (part * places.div_ceil(CLEARED)).min(places);
        let part = begin_of(self.swept)..begin_of(self.swept + 1);
        self.models.iter_mut().for_each(|model| model.clear_except(part.clone(), &kept));
        self.swept = (self.swept + 1) % CLEARED;
    }

    /// Number of features, with sets of fewer than `order` attributes, that have one of these.
    fn count(&self, attributes: &[u32], coordinates: &[u32], order: usize) -> usize {
        let known = self.map.attributes;
        let with_one = if order == 1 { 0 } else { set_count(known, order - 1) };
        let by_attribute = attributes.len().saturating_mul(with_one).saturating_mul(self.map.coordinates);
        coordinates.len().saturating_mul(set_count(known, order)).saturating_add(by_attribute)
    }

    /// The codes of all sets of fewer than `order` attributes.
    fn codes(&self, order: usize) -> Vec<i64> {
        let attributes = 1..self.map.attributes as u32;
        let others = attributes.flat_map(|upper| self.codes_up_to(upper, order));
        std::iter::once(0).chain(others).collect()
    }

    /// Of these, the codes of sets whose highest attribute is `upper`.
    fn codes_up_to(&self, upper: u32, order: usize) -> impl Iterator<Item = i64> {
        let first = first_code(upper, self.map.gamma());
        let lower = match order {
            1 => 0..0,
            2 => 0..1,
            _ => 0..i64::from(upper),
        };
        lower.map(move |lower| first + lower)
    }

    /// Of these, the codes of sets that contain an attribute.
    fn codes_with(&self, own: u32, order: usize) -> impl Iterator<Item = i64> {
        let (gamma, known) = (self.map.gamma(), self.map.attributes as u32);
        let upper = if order > 2 { own + 1..known } else { 0..0 };
        let with_upper = upper.map(move |upper| first_code(upper, gamma) + i64::from(own));
        self.codes_up_to(own, order).chain(with_upper)
    }
}
