//! Where features sit in a table, for as many attributes and coordinates as there are.
//!
//! A feature sits at `(k << set_bits) + code`, for coordinate k and the code of a set S of attributes.
//! Codes do not depend on how many attributes there are: 0 of the empty set, `i` (gamma 2) or
//! `1 + i (i - 1) / 2` (gamma 3) of one attribute i, and `1 + j (j - 1) / 2 + i` of two, i < j. Once there
//! are too many for that, a feature sits at a hash of the two, and features that meet share their weight.

/// Odd numbers that spread bits, below 2^63.
const SPREAD: i64 = 0x2545_F491_4F6C_DD1D;
const SPREAD_AGAIN: i64 = 0x1B87_3593_CC9E_2D51;

/// Where features sit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// Each has a place of its own.
    Plain {
        /// Bits of the code of a set.
        set_bits: u32,
    },
    /// Each is at its hash.
    Hashed {
        /// Bits of the hash, 1 or more.
        bits: u32,
    },
}

impl Layout {
    /// Whether features may meet.
    pub fn is_hashed(self) -> bool {
        matches!(self, Self::Hashed { .. })
    }

    /// The layout for so many attributes and coordinates, and how many bits a place has then: hashed if
    /// that would be more than `most`, and once it is hashed for good.
    pub fn grown(self, gamma: usize, attributes: usize, coordinates: usize, most: u32) -> (Self, u32) {
        let set_bits = bits_below(set_count(attributes, gamma));
        let bits = set_bits + bits_below(coordinates);
        if self.is_hashed() || bits > most {
            (Self::Hashed { bits: most }, most)
        } else {
            (Self::Plain { set_bits }, bits)
        }
    }

    /// Where the feature of a coordinate and the code of a set sits.
    pub fn place(self, coordinate: u32, code: i64) -> u32 {
        match self {
            Self::Plain { set_bits } => (coordinate << set_bits) + code as u32,
            Self::Hashed { bits } => hash(mix(i64::from(coordinate)), mix(!code), bits),
        }
    }

    /// The coordinate and the code of the feature at a place, unless it is hashed.
    pub fn feature(self, place: u32) -> Option<(u32, i64)> {
        match self {
            Self::Plain { set_bits } => Some((place >> set_bits, i64::from(place & ((1 << set_bits) - 1)))),
            Self::Hashed { .. } => None,
        }
    }

    /// Where the feature at `place` of an earlier layout goes.
    pub fn moved(self, earlier: Self, place: u32) -> u32 {
        match (earlier, self) {
            (Self::Plain { set_bits: old }, Self::Plain { set_bits }) => {
                (place >> old << set_bits) + (place & ((1 << old) - 1))
            }
            (Self::Plain { .. }, Self::Hashed { .. }) => {
                earlier.feature(place).map_or(place, |(coordinate, code)| self.place(coordinate, code))
            }
            (Self::Hashed { bits: old }, Self::Hashed { bits }) => place >> (old - bits),
            (Self::Hashed { .. }, Self::Plain { .. }) => place, // never: what is hashed stays so
        }
    }
}

/// How many sets of fewer than `order` attributes there are, the constant counted as one of them but in
/// no set.
pub fn set_count(attributes: usize, order: usize) -> usize {
    match order {
        1 => 1,
        2 => attributes.max(1),
        _ => 1 + attributes.saturating_mul(attributes.saturating_sub(1)) / 2,
    }
}

/// The first of the codes of sets whose highest attribute is this one.
pub fn first_code(attribute: u32, gamma: usize) -> i64 {
    let attribute = i64::from(attribute);
    if gamma == 2 { attribute } else { 1 + attribute * (attribute - 1) / 2 }
}

/// Spread the bits of a number.
pub fn mix(number: i64) -> i64 {
    let number = number.wrapping_mul(SPREAD);
    let number = (number ^ (number >> 29)).wrapping_mul(SPREAD_AGAIN);
    number ^ (number >> 32)
}

/// The hash of a coordinate and a code, both mixed: the upper bits, so that a hash of one bit less is
/// this one halved.
pub fn hash(coordinate: i64, code: i64, bits: u32) -> u32 {
    (((coordinate ^ code).wrapping_mul(SPREAD) as u64) >> (64 - bits)) as u32
}

/// How many bits the numbers below `limit` have.
fn bits_below(limit: usize) -> u32 {
    usize::BITS - limit.saturating_sub(1).leading_zeros()
}
