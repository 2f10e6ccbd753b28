//! What the events of the window have of an attribute.

use crate::change::Change;

/// Events come in multiples of this: loops over a tile of them are unrolled and vectorised.
pub const LANES: usize = 64;
/// In place of what is missing: more than any value and any category.
pub const ABSENT: f32 = f32::MAX;
/// Categories from here on, none of which was ever learned, cannot be told apart.
const CATEGORIES: u32 = 1 << 24;
/// Values beyond this are cut, so that squares stay finite.
pub const LARGEST: f64 = 1e15;
/// No weight of an attribute, of which the mean is 1, is below this.
pub const LEAST_WEIGHT: f32 = 1e-3;

/// The squared distance of two numbers is cut here, at three deviations.
const FAR: f32 = 9.0;
/// That of two different categories: what 0 and 1 on two coordinates come to.
const DIFFERENT: f32 = 2.0;
/// What is missing counts for half of what is to be expected, and the same of a category. On developers'
/// streams of which 30 % were removed the errors were 2 % lower than with the whole, as an event is one of
/// the nearest for what else it has.
const MISSING: f32 = 0.5;

/// The numbers of as many events, where a processor loads them fastest.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub struct Tile(pub [f32; LANES]);

/// What the values of an attribute are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Categories: the coordinates are kept. So it is as long as all values are 1.
    Category,
    /// Numbers, those at one coordinate; what else the attribute has, such as marks, is not looked at.
    Number(u32),
}

/// What the events of the window have of an attribute.
#[derive(Clone, Debug)]
pub struct Column {
    /// Whose it is.
    pub attribute: u32,
    /// What it holds.
    pub kind: Kind,
    /// How much it counts in a distance.
    pub weight: f32,
    /// How many events have it.
    pub observed: usize,
    /// Slot by slot, or ABSENT.
    pub values: Vec<Tile>,
}

/// What an event has in a column.
#[derive(Clone, Copy, Debug)]
pub struct Item {
    /// Its place.
    pub column: usize,
    /// What the event has there.
    pub value: f32,
    /// Where the squared difference from another value is cut.
    pub cut: f32,
    /// What it is then multiplied by.
    pub unit: f32,
    /// What counts in place of that where the other is missing.
    pub missing: f32,
}

impl Column {
    /// One in which no event has anything.
    pub fn new(attribute: u32, kind: Kind, tiles: usize) -> Self {
        Self { attribute, kind, weight: 1.0, observed: 0, values: vec![Tile([ABSENT; LANES]); tiles] }
    }

    /// What an event has here (there is one zero), of an item of the attribute; None if that does not fit the kind.
    pub fn read(&self, coordinate: u32, value: f64) -> Option<f32> {
        match self.kind {
            Kind::Category => (value == 1.0).then(|| code(coordinate)),
            Kind::Number(own) => (own == coordinate).then(|| value.clamp(-LARGEST, LARGEST) as f32 + 0.0),
        }
    }

    /// What an event has, or ABSENT.
    pub fn get(&self, slot: usize) -> f32 {
        self.values[slot / LANES].0[slot % LANES]
    }

    /// What the events of a tile have.
    pub fn tile(&self, tile: usize) -> &Tile {
        &self.values[tile]
    }

    /// Let an event have a value, or ABSENT.
    pub fn set(&mut self, slot: usize, value: f32) {
        let own = &mut self.values[slot / LANES].0[slot % LANES];
        self.observed += usize::from(value != ABSENT);
        self.observed -= usize::from(*own != ABSENT);
        *own = value;
    }

    /// Put other values in the place of those that are there.
    pub fn replace(&mut self, by: impl Fn(f32) -> f32) {
        for own in self.values.iter_mut().flat_map(|tile| &mut tile.0).filter(|own| **own != ABSENT) {
            *own = by(*own);
            self.observed -= usize::from(*own == ABSENT);
        }
    }

    /// What an event has, or ABSENT, as a column of some kind would have it.
    pub fn get_as(&self, kind: Kind, slot: usize) -> f32 {
        match (self.kind, kind) {
            (own, wanted) if own == wanted => self.get(slot),
            (Kind::Category, Kind::Number(own)) if self.get(slot) == code(own) => 1.0,
            _ => ABSENT,
        }
    }

    /// Go over to other names and units; whether it has a name.
    pub fn carry(&mut self, change: &Change) -> bool {
        let Some(attribute) = change.attribute(self.attribute) else { return false };
        self.attribute = attribute;
        match self.kind {
            Kind::Category => {
                // Those that cannot be told apart have no coordinate.
                let moved =
                    |own: f32| if own < 0.0 { Some(own) } else { change.coordinate(own as u32).map(code) };
                self.replace(|own| moved(own).unwrap_or(ABSENT));
                true
            }
            Kind::Number(old) => {
                let Some(own) = change.coordinate(old) else { return false };
                self.kind = Kind::Number(own);
                let (shift, stretch) = (change.shift[old as usize], change.stretch[old as usize]);
                let scaled =
                    |value: f32| ((f64::from(value) - shift) / stretch).clamp(-LARGEST, LARGEST) as f32;
                self.replace(|value| scaled(value) + 0.0);
                true
            }
        }
    }

    /// A value other than 1 has come: these are numbers.
    pub fn become_number(&mut self, coordinate: u32) {
        self.kind = Kind::Number(coordinate);
        let own = code(coordinate);
        self.replace(|code| if code == own { 1.0 } else { ABSENT });
    }

    /// Whether it can be of no more use once some coordinates are given up, and these are forgotten.
    pub fn forgets(&mut self, coordinates: &[u32]) -> bool {
        match self.kind {
            Kind::Number(own) => coordinates.binary_search(&own).is_ok(),
            Kind::Category => {
                let is_gone = |code: f32| coordinates.binary_search(&(code as u32)).is_ok();
                self.replace(|code| if is_gone(code) { ABSENT } else { code });
                false
            }
        }
    }

    /// What an event that is predicted has here.
    pub fn item(&self, column: usize, value: f32) -> Item {
        let (cut, unit, expected) = match self.kind {
            Kind::Category => (1.0, DIFFERENT, DIFFERENT),
            Kind::Number(_) => (FAR, 1.0, 1.0 + value * value),
        };
        let missing = self.weight * (MISSING * expected).min(FAR);
        Item { column, value, cut, unit: self.weight * unit, missing }
    }
}

/// A category as a number; different ones differ by 1 or more.
fn code(coordinate: u32) -> f32 {
    if coordinate < CATEGORIES { coordinate as f32 } else { -1.0 }
}
