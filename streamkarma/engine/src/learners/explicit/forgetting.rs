//! Which weights belong to what was given up: all whose feature has it, as its value or in its set.
//!
//! In a hashed table they are cleared as well, and with them what others have there. Where so many features
//! would have to be cleared that others lost much by it, all of them stay: who comes next begins with weights
//! of another, as features that share a place do.

use super::Explicit;
use super::layout::{first_code, set_count};
use crate::block::Gone;

/// At most one of so many places of a hashed table is cleared at once.
const CLEARED: usize = 16;

impl Explicit {
    /// Whether so many features can be cleared.
    pub fn can_clear(&self, features: usize) -> bool {
        let places = self.models[0].places();
        !self.map.layout.is_hashed() || features.saturating_mul(CLEARED) <= places
    }

    /// Forget what was learned of these attributes and coordinates.
    pub(super) fn clear(&mut self, gone: &Gone) {
        let (attributes, coordinates) = (self.map.attributes as u32, self.map.coordinates as u32);
        let sets = set_count(attributes as usize, self.map.gamma());
        let gone_attributes: Vec<u32> = known(&gone.attributes, attributes);
        let gone_coordinates: Vec<u32> = known(&gone.coordinates, coordinates);
        let with_them: Vec<i64> = gone_attributes.iter().flat_map(|&own| self.codes_with(own)).collect();
        let features = gone_coordinates.len().saturating_mul(sets);
        if !self.can_clear(features.saturating_add(with_them.len().saturating_mul(coordinates as usize))) {
            return;
        }
        let layout = self.map.layout;
        let mut places: Vec<u32> = Vec::new();
        for &coordinate in &gone_coordinates {
            places.extend((0..sets as i64).map(|code| layout.place(coordinate, code)));
        }
        for coordinate in 0..coordinates {
            places.extend(with_them.iter().map(|&code| layout.place(coordinate, code)));
        }
        self.models.iter_mut().for_each(|model| model.clear(&places));
    }

    /// The codes of the sets that an attribute is in.
    fn codes_with(&self, own: u32) -> Vec<i64> {
        let (gamma, first) = (self.map.gamma(), first_code(own, self.map.gamma()));
        match gamma {
            1 => Vec::new(),
            2 => vec![first],
            _ => {
                let lower = (0..i64::from(own)).map(|other| first + other);
                let upper = own + 1..self.map.attributes as u32;
                lower.chain(upper.map(|other| first_code(other, gamma) + i64::from(own))).collect()
            }
        }
    }
}

/// Those that have weights.
fn known(gone: &[u32], count: u32) -> Vec<u32> {
    gone.iter().copied().filter(|&each| each < count).collect()
}
