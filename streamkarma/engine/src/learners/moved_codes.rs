//! Events as trees read them, translated to the names and the units of a merged model.

use super::codes::Codes;
use super::row::{Cell, NOBODY, Row};
use crate::block::Evicted;
use crate::translation::{DROPPED, Translation};

/// Codes, and the upper end of each one, computed once since many are looked up.
pub struct MovedCodes<'a> {
    codes: &'a Codes,
    ends: Vec<f64>,
    translation: &'a Translation,
}

impl<'a> MovedCodes<'a> {
    /// For codes from before a translation.
    pub fn new(codes: &'a Codes, translation: &'a Translation) -> Self {
        Self { codes, ends: codes.ends(), translation }
    }

    /// The conversion of a coordinate's values to new units; None if they stay the same.
    pub fn scaling(&self, coordinate: u32) -> Option<impl Fn(f64) -> f64 + use<>> {
        let at = coordinate as usize;
        let (&shift, &stretch) = (self.translation.shift.get(at)?, self.translation.stretch.get(at)?);
        ((shift, stretch) != (0.0, 1.0)).then_some(move |value: f64| (value - shift) / stretch)
    }

    /// The highest code, in other units, of values with codes up to `highest`; `scaled` converts values.
    pub fn moved(&self, highest: u16, scaled: impl Fn(f64) -> f64) -> u16 {
        self.codes.highest_up_to(scaled(self.ends[usize::from(highest)]))
    }

    /// A coordinate and its code after the translation; None if the coordinate is dropped.
    pub fn item(&self, coordinate: u32, code: u16) -> Option<(u32, u16)> {
        self.translation.attribute(self.codes.owner(coordinate))?;
        let moved = self.scaling(coordinate).map_or(code, |scaled| self.moved(code, scaled));
        Some((self.translation.coordinate(coordinate)?, moved))
    }
}

/// The attribute of each coordinate after a translation.
pub fn moved_owners<C: Cell>(row: &Row<C>, translation: &Translation) -> Vec<u32> {
    let mut owners = Vec::new();
    for (old, &owner) in row.owners().iter().enumerate() {
        let (new, owner) = (translation.coordinate(old as u32), translation.attribute(owner as u32));
        if let (Some(new), Some(owner)) = (new, owner) {
            owners.resize(owners.len().max(new as usize + 1), NOBODY);
            owners[new as usize] = owner;
        }
    }
    owners
}

/// The names that the merged model drops.
pub fn dropped_by(translation: &Translation) -> Evicted {
    let dropped = |indices: &[u32]| {
        (0..).zip(indices).filter(|(_, new)| **new == DROPPED).map(|(old, _)| old).collect()
    };
    Evicted {
        before: 0,
        attributes: dropped(&translation.attributes),
        coordinates: dropped(&translation.coordinates),
    }
}

/// The names that the merged model drops, and coordinates whose sign it flips.
pub fn evicted_by(translation: &Translation) -> Evicted {
    let mut evicted = dropped_by(translation);
    let turned = (0..).zip(&translation.stretch).filter(|(_, stretch)| **stretch < 0.0).map(|(old, _)| old);
    evicted.coordinates.extend(turned);
    evicted.coordinates.sort_unstable();
    evicted
}

/// The attribute of each coordinate in any of several models.
pub fn owners_of<'a, C: Cell + 'a>(models: impl Iterator<Item = &'a Row<C>>) -> Vec<u32> {
    let mut owners = Vec::new();
    for owner_of in models.map(Row::owners) {
        owners.resize(owners.len().max(owner_of.len()), NOBODY);
        owners.iter_mut().zip(owner_of).for_each(|(own, owner)| *own = (*own).min(owner as u32));
    }
    owners
}
