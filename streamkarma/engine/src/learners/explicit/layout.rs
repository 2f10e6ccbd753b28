//! The places of features in a table, for any number of attributes and coordinates.
//!
//! The place of a feature is `(k << set_bits) + code`, for coordinate k and the code of a set S of attributes. Codes do
//! not depend on the number of attributes: 0 for the empty set, `i` (gamma 2) or `1 + i (i - 1) / 2` (gamma 3) for one
//! attribute i, and `1 + j (j - 1) / 2 + i` for two, i < j. Once there are too many features for that, the place is a
//! hash of k and the code, and features that collide share a weight.

/// Odd multipliers that spread bits, below 2^63.
const SPREAD: i64 = 0x2545_F491_4F6C_DD1D;
const SPREAD_AGAIN: i64 = 0x1B87_3593_CC9E_2D51;

/// Maps features to places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// Each feature has its own place.
    Plain {
        /// Number of bits of the code of a set.
        set_bits: u32,
    },
    /// The place of each feature is its hash.
    Hashed {
        /// Number of bits of the hash, 1 or more.
        bits: u32,
    },
}

impl Layout {
    /// Whether features may collide.
    pub fn is_hashed(self) -> bool {
        matches!(self, Self::Hashed { .. })
    }

    /// The layout for this many attributes and coordinates, and the number of bits of a place. It is hashed if these
    /// would be more than `most`, and remains hashed from then on.
    pub fn grown(self, gamma: usize, attributes: usize, coordinates: usize, most: u32) -> (Self, u32) {
        let set_bits = bits_below(set_count(attributes, gamma));
        let bits = set_bits + bits_below(coordinates);
        if self.is_hashed() || bits > most {
            (Self::Hashed { bits: most }, most)
        } else {
            (Self::Plain { set_bits }, bits)
        }
    }

    /// The place of the feature with a coordinate and the code of a set.
    pub fn place(self, coordinate: u32, code: i64) -> u32 {
        match self {
            Self::Plain { set_bits } => (coordinate << set_bits) + code as u32,
            Self::Hashed { bits } => hash(mix(i64::from(coordinate)), mix(!code), bits),
        }
    }

    /// The coordinate and code of the feature at a place; None if hashed.
    pub fn feature(self, place: u32) -> Option<(u32, i64)> {
        match self {
            Self::Plain { set_bits } => Some((place >> set_bits, i64::from(place & ((1 << set_bits) - 1)))),
            Self::Hashed { .. } => None,
        }
    }

    /// The new place of the feature at `place` of an earlier layout.
    pub fn moved(self, earlier: Self, place: u32) -> u32 {
        match (earlier, self) {
            (Self::Plain { set_bits: old }, Self::Plain { set_bits }) => {
                (place >> old << set_bits) + (place & ((1 << old) - 1))
            }
            (Self::Plain { .. }, Self::Hashed { .. }) => {
                earlier.feature(place).map_or(place, |(coordinate, code)| self.place(coordinate, code))
            }
            (Self::Hashed { bits: old }, Self::Hashed { bits }) => place >> (old - bits),
            (Self::Hashed { .. }, Self::Plain { .. }) => place, // never: hashed layouts remain hashed
        }
    }
}

/// Number of sets of fewer than `order` attributes; `attributes` includes the constant, which is in no set.
pub fn set_count(attributes: usize, order: usize) -> usize {
    match order {
        1 => 1,
        2 => attributes.max(1),
        _ => 1 + attributes.saturating_mul(attributes.saturating_sub(1)) / 2,
    }
}

/// The lowest code of the sets whose highest attribute is this one.
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

/// The hash of a coordinate and a code, both mixed. It consists of the upper bits, so that a hash with one bit less is
/// this one halved.
pub fn hash(coordinate: i64, code: i64, bits: u32) -> u32 {
    (((coordinate ^ code).wrapping_mul(SPREAD) as u64) >> (64 - bits)) as u32
}

/// Number of bits of the numbers below `limit`.
fn bits_below(limit: usize) -> u32 {
    usize::BITS - limit.saturating_sub(1).leading_zeros()
}
