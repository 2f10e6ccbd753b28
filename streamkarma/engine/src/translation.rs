//! How a learned model is translated to another one, which has more names or other scales.
//!
//! Models trained separately are merged in three steps, each of which a learner implements:
//!
//! 1. [`relabel`](crate::learner::Learner::relabel): all of them number the classes alike;
//! 2. [`translate`](crate::learner::Learner::translate): all of them get the names and scales of the merged model, see
//!    [`Translation`];
//! 3. [`merge`](crate::learner::Learner::merge): their common base takes in what each has learned since,
//!    `base + Σ (part - base)`, in coordinates where that makes sense.

/// Replaces an index that no longer exists.
pub const DROPPED: u32 = u32::MAX;

/// Translates the names and scales of one model to those of the merged one.
///
/// A standardised value of the model is `shift + stretch z`, where z is its value in the merged model; 0 and 1 where a
/// value is not standardised.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Translation {
    /// The new index of each attribute, the constant first; [`DROPPED`] for free ones.
    pub attributes: Vec<u32>,
    /// The new index of each coordinate, the constant's first; [`DROPPED`] for free ones.
    pub coordinates: Vec<u32>,
    /// By coordinate of the model; below 0 where values change sign, as those of one of two classes do when it becomes
    /// the other one.
    pub stretch: Vec<f64>,
    /// By coordinate of the model.
    pub shift: Vec<f64>,
    /// By attribute of the model: the fraction of its events in which it was present, 1 for the constant.
    pub shares: Vec<f64>,
    /// By coordinate of the model: the attribute to which it belongs; [`DROPPED`] for free ones.
    pub owners: Vec<u32>,
    /// The new number of attributes, the constant and free ones included.
    pub attribute_count: usize,
    /// The new number of coordinates, the constant's and free ones included.
    pub coordinate_count: usize,
    /// In a regression, a standardised target of the model is `target.0 + target.1 y`, where y is its value in the
    /// merged model; (0, 1) for classes.
    pub target: (f64, f64),
}

impl Translation {
    /// The identity, for a model with this many attributes, and coordinates that belong to `owners`.
    pub fn none(attributes: usize, owners: Vec<u32>) -> Self {
        let coordinates = owners.len();
        Self {
            attributes: (0..attributes as u32).collect(),
            coordinates: (0..coordinates as u32).collect(),
            stretch: vec![1.0; coordinates],
            shift: vec![0.0; coordinates],
            shares: vec![1.0; attributes],
            owners,
            attribute_count: attributes,
            coordinate_count: coordinates,
            target: (0.0, 1.0),
        }
    }

    /// Whether every name keeps its index.
    pub fn keeps_names(&self) -> bool {
        let stays = |indices: &[u32]| indices.iter().zip(0..).all(|(&new, old)| new == old);
        stays(&self.attributes) && stays(&self.coordinates)
    }

    /// The new numbers of attributes and coordinates, free ones in between included, for a learner that had learned
    /// this many of them.
    pub fn known(&self, attributes: usize, coordinates: usize) -> (usize, usize) {
        let above = |indices: &[u32], known: usize| {
            let known = indices.iter().take(known).filter(|&&index| index != DROPPED);
            known.max().map_or(0, |&highest| highest as usize + 1)
        };
        (above(&self.attributes, attributes), above(&self.coordinates, coordinates))
    }

    /// The mean number of attributes of the model's events, the constant included.
    pub fn observed(&self) -> f64 {
        self.shares.iter().sum()
    }

    /// Whether a name that still exists gets another index.
    pub fn moves_names(&self) -> bool {
        let moves = |indices: &[u32]| indices.iter().zip(0..).any(|(&new, old)| new != old && new != DROPPED);
        moves(&self.attributes) || moves(&self.coordinates)
    }

    /// Whether nothing changes.
    pub fn is_none(&self) -> bool {
        self.keeps_names() && self.keeps_scales() && self.target == (0.0, 1.0)
    }

    /// The new index of an attribute; None if it was evicted or does not exist.
    pub fn attribute(&self, attribute: u32) -> Option<u32> {
        self.attributes.get(attribute as usize).copied().filter(|&index| index != DROPPED)
    }

    /// The new index of a coordinate; None if it was evicted or does not exist.
    pub fn coordinate(&self, coordinate: u32) -> Option<u32> {
        self.coordinates.get(coordinate as usize).copied().filter(|&index| index != DROPPED)
    }

    /// Whether all values keep their meaning.
    pub fn keeps_scales(&self) -> bool {
        self.stretch.iter().all(|&stretch| stretch == 1.0) && self.shift.iter().all(|&shift| shift == 0.0)
    }

    /// The fraction of the model's events in which the attribute of a coordinate was present.
    pub fn share_of(&self, coordinate: u32) -> f64 {
        match self.owners[coordinate as usize] {
            DROPPED => 0.0,
            owner => self.shares[owner as usize],
        }
    }
}
