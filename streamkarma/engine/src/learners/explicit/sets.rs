//! Sets of attributes, and their conversion from and to codes.

use super::layout::first_code;
use crate::translation::Translation;

/// At most three attributes, ascending.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Set {
    attributes: [u32; 3],
    len: usize,
}

impl Set {
    /// The set with this code.
    pub fn of(code: i64, gamma: usize) -> Self {
        let empty = Self::default();
        let code = code as u32; // below the number of places of a table
        match gamma {
            _ if code == 0 => empty,
            1 | 2 => empty.with(code),
            _ => {
                let upper = ((8 * u64::from(code - 1) + 1).isqrt() as u32).div_ceil(2);
                let lower = i64::from(code) - first_code(upper, gamma);
                if lower == 0 { empty.with(upper) } else { empty.with(lower as u32).with(upper) }
            }
        }
    }

    /// The set of one attribute; for the constant, the empty one.
    pub fn of_one(attribute: u32) -> Self {
        let empty = Self::default();
        if attribute > 0 { empty.with(attribute) } else { empty }
    }

    /// The code of this set, which must have fewer than gamma attributes.
    pub fn code(self, gamma: usize) -> i64 {
        match *self.attributes() {
            [] => 0,
            [only] => first_code(only, gamma),
            [lower, upper, ..] => first_code(upper, gamma) + i64::from(lower),
        }
    }

    /// The attributes of this set.
    pub fn attributes(&self) -> &[u32] {
        &self.attributes[..self.len]
    }

    /// This set with an attribute, which it may already contain; otherwise there must be room for it.
    #[must_use]
    pub fn with(mut self, attribute: u32) -> Self {
        if !self.attributes().contains(&attribute) {
            self.attributes[self.len] = attribute;
            self.len += 1;
            self.attributes[..self.len].sort_unstable();
        }
        self
    }

    /// All sets of fewer than `order` of these attributes, which must ascend.
    pub fn of_fewer_than(order: usize, attributes: &[u32]) -> impl Iterator<Item = Self> {
        let empty = Self::default();
        let alone = attributes.iter().enumerate().filter(move |_| order > 1);
        std::iter::once(empty).chain(alone.flat_map(move |(j, &upper)| {
            let lower = attributes[..j].iter().filter(move |_| order > 2);
            let single = empty.with(upper);
            std::iter::once(single).chain(lower.map(move |&lower| single.with(lower)))
        }))
    }

    /// The union with another set; there must be room for it.
    #[must_use]
    pub fn joined(self, other: Self) -> Self {
        other.attributes().iter().fold(self, |set, &attribute| set.with(attribute))
    }

    /// This set without an attribute.
    #[must_use]
    pub fn without(self, attribute: u32) -> Self {
        let others = self.attributes().iter().filter(|&&other| other != attribute);
        others.fold(Self::default(), |set, &other| set.with(other))
    }

    /// The same attributes at their new indices; None if one of them was evicted.
    pub fn translated(self, translation: &Translation) -> Option<Self> {
        let all = self.attributes().iter();
        all.map(|&attribute| translation.attribute(attribute))
            .try_fold(Self::default(), |set, attribute| Some(set.with(attribute?)))
    }
}
