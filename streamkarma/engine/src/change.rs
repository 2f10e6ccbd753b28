//! How what a model has learned goes over into another, which has more names or other scales.
//!
//! Models that learned apart are made one in three steps, each of which a learner knows how to take:
//!
//! 1. [`relabel`](crate::learner::Learner::relabel): all of them number the classes alike;
//! 2. [`carry`](crate::learner::Learner::carry): all of them have the names and scales of the merged model, see
//!    [`Change`];
//! 3. [`merge`](crate::learner::Learner::merge): what they all began with takes in what each has learned since,
//!    `base + Σ (part - base)`, in coordinates where that makes sense.

/// In place of an index: what was there has no place any more.
pub const DROPPED: u32 = u32::MAX;

/// From the names and scales of one model to those of the merged one.
///
/// A standardised value of the model is `shift + stretch z`, where z is what the merged model has for it; 0 and 1
/// where a value is not standardised.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Change {
    /// The index that each attribute has from now on, the constant first; [`DROPPED`] for free ones.
    pub attributes: Vec<u32>,
    /// The index that each coordinate has from now on, the constant's first; [`DROPPED`] for free ones.
    pub coordinates: Vec<u32>,
    /// By coordinate of the model; below 0 where values are turned round, as those of a class are that becomes the
    /// other one of two.
    pub stretch: Vec<f64>,
    /// By coordinate of the model.
    pub shift: Vec<f64>,
    /// By attribute of the model: in what share of its events it was there, 1 for the constant.
    pub shares: Vec<f64>,
    /// By coordinate of the model: to which of its attributes it belongs; [`DROPPED`] for free ones.
    pub owners: Vec<u32>,
    /// How many attributes there are from now on, the constant and free ones included.
    pub attribute_count: usize,
    /// How many coordinates there are from now on, the constant's and free ones included.
    pub coordinate_count: usize,
    /// Of a regression: a standardised target of the model is `target.0 + target.1 y`, where y is what the
    /// merged model has for it; (0, 1) for classes.
    pub target: (f64, f64),
}

impl Change {
    /// One that leaves a model of so many attributes, and of coordinates that belong to `owners`, as it is.
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

    /// How many attributes and coordinates, of which so many were known, there are, free ones between them
    /// included.
    pub fn known(&self, attributes: usize, coordinates: usize) -> (usize, usize) {
        let above = |indices: &[u32], known: usize| {
            let known = indices.iter().take(known).filter(|&&index| index != DROPPED);
            known.max().map_or(0, |&highest| highest as usize + 1)
        };
        (above(&self.attributes, attributes), above(&self.coordinates, coordinates))
    }

    /// How many attributes an event of the model has on average, the constant included.
    pub fn observed(&self) -> f64 {
        self.shares.iter().sum()
    }

    /// Whether a name that there still is has another index.
    pub fn moves_names(&self) -> bool {
        let moves = |indices: &[u32]| indices.iter().zip(0..).any(|(&new, old)| new != old && new != DROPPED);
        moves(&self.attributes) || moves(&self.coordinates)
    }

    /// Whether nothing changes.
    pub fn is_none(&self) -> bool {
        self.keeps_names() && self.keeps_scales() && self.target == (0.0, 1.0)
    }

    /// The index that an attribute has from now on; none if it is given up, or there is no such attribute.
    pub fn attribute(&self, attribute: u32) -> Option<u32> {
        self.attributes.get(attribute as usize).copied().filter(|&index| index != DROPPED)
    }

    /// The index that a coordinate has from now on; none if it is given up, or there is no such coordinate.
    pub fn coordinate(&self, coordinate: u32) -> Option<u32> {
        self.coordinates.get(coordinate as usize).copied().filter(|&index| index != DROPPED)
    }

    /// Whether values mean what they meant.
    pub fn keeps_scales(&self) -> bool {
        self.stretch.iter().all(|&stretch| stretch == 1.0) && self.shift.iter().all(|&shift| shift == 0.0)
    }

    /// In what share of the model's events the attribute of a coordinate was there.
    pub fn share_of(&self, coordinate: u32) -> f64 {
        match self.owners[coordinate as usize] {
            DROPPED => 0.0,
            owner => self.shares[owner as usize],
        }
    }
}
