//! What the events of the window have, one column for each attribute.

use crate::block::Event;

/// Events come in multiples of this: loops over a tile of them are unrolled and vectorised.
pub const LANES: usize = 64;
/// Most attributes at a time.
pub const MOST: usize = 64;
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
    observed: usize,
    values: Vec<Tile>,
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
    fn new(attribute: u32, kind: Kind, tiles: usize) -> Self {
        Self { attribute, kind, weight: 1.0, observed: 0, values: vec![Tile([ABSENT; LANES]); tiles] }
    }

    /// What an event has here (there is one zero), of an item of the attribute; None if that does not fit the kind.
    fn read(&self, coordinate: u32, value: f64) -> Option<f32> {
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

    fn replace(&mut self, by: impl Fn(f32) -> f32) {
        for own in self.values.iter_mut().flat_map(|tile| &mut tile.0).filter(|own| **own != ABSENT) {
            *own = by(*own);
            self.observed -= usize::from(*own == ABSENT);
        }
    }

    /// A value other than 1 has come: these are numbers.
    fn become_number(&mut self, coordinate: u32) {
        self.kind = Kind::Number(coordinate);
        let own = code(coordinate);
        self.replace(|code| if code == own { 1.0 } else { ABSENT });
    }

    /// Whether it can be of no more use once some coordinates are given up, and these are forgotten.
    fn forgets(&mut self, coordinates: &[u32]) -> bool {
        match self.kind {
            Kind::Number(own) => coordinates.binary_search(&own).is_ok(),
            Kind::Category => {
                let is_gone = |code: f32| coordinates.binary_search(&(code as u32)).is_ok();
                self.replace(|code| if is_gone(code) { ABSENT } else { code });
                false
            }
        }
    }

    fn item(&self, column: usize, value: f32) -> Item {
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

/// The columns, each at a place that remains its own.
#[derive(Clone, Debug)]
pub struct Columns {
    /// Some are free.
    pub places: Vec<Option<Column>>,
    /// Where each attribute is, ascending.
    index: Vec<(u32, usize)>,
    tiles: usize,
}

impl Columns {
    /// None yet, with room for so many events.
    pub fn new(events: usize) -> Self {
        Self { places: Vec::new(), index: Vec::new(), tiles: events.div_ceil(LANES) }
    }

    /// Have room for an event in a slot.
    fn make_room(&mut self, slot: usize) {
        if slot >= self.tiles * LANES {
            self.tiles += 1;
            self.iter_mut().for_each(|column| column.values.push(Tile([ABSENT; LANES])));
        }
    }

    /// The columns that there are.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Column> {
        self.places.iter_mut().flatten()
    }

    fn find(&self, attribute: u32) -> Result<usize, usize> {
        self.index.binary_search_by_key(&attribute, |(attribute, _)| *attribute)
    }

    /// List what an event has that is known, in the order of the columns.
    pub fn read(&self, event: &Event, items: &mut Vec<Item>) {
        items.clear();
        for (at, &attribute) in event.attributes.iter().enumerate() {
            let Ok(found) = self.find(attribute) else { continue };
            let place = self.index[found].1;
            let Some(column) = &self.places[place] else { continue };
            // Of several categories at once only the first counts.
            if items.last().is_some_and(|last| last.column == place) {
                continue;
            }
            let value = column.read(event.coordinates[at], event.values[at]);
            items.extend(value.map(|value| column.item(place, value)));
        }
        items.sort_unstable_by_key(|item| item.column);
    }

    /// Put an event into a slot, in place of what was there; an attribute for which there is no room is left out.
    pub fn put(&mut self, event: &Event, slot: usize) {
        self.make_room(slot);
        self.iter_mut().for_each(|column| column.set(slot, ABSENT));
        let mut has_room = true;
        for (at, &attribute) in event.attributes.iter().enumerate() {
            let (coordinate, value) = (event.coordinates[at], event.values[at]);
            if attribute == 0 {
                continue; // the constant
            }
            let Some(place) = self.place_of(attribute, coordinate, value, &mut has_room) else { continue };
            let Some(column) = &mut self.places[place] else { continue };
            if column.kind == Kind::Category && value != 1.0 {
                column.become_number(coordinate);
            }
            let own = column.read(coordinate, value);
            if let Some(value) = own.filter(|_| column.get(slot) == ABSENT) {
                column.set(slot, value);
            }
        }
    }

    /// The place of an attribute, a new one if it has none and there is room.
    fn place_of(
        &mut self,
        attribute: u32,
        coordinate: u32,
        value: f64,
        has_room: &mut bool,
    ) -> Option<usize> {
        match self.find(attribute) {
            Ok(found) => Some(self.index[found].1),
            Err(_) if !*has_room => None,
            Err(_) => {
                let place = self.free_place();
                *has_room = place.is_some();
                let kind = if value == 1.0 { Kind::Category } else { Kind::Number(coordinate) };
                self.take(place?, Column::new(attribute, kind, self.tiles));
                place
            }
        }
    }

    /// A place without a column, or with one that no event of the window has.
    fn free_place(&mut self) -> Option<usize> {
        let is_free = |place: &Option<Column>| place.as_ref().is_none_or(|column| column.observed == 0);
        let found = self.places.iter().position(Option::is_none);
        if found.is_none() && self.places.len() < MOST {
            self.places.push(None);
            return Some(self.places.len() - 1);
        }
        found.or_else(|| self.places.iter().position(is_free))
    }

    /// Put a column at a place.
    pub fn take(&mut self, place: usize, column: Column) {
        self.drop_at(place);
        if let Err(at) = self.find(column.attribute) {
            self.index.insert(at, (column.attribute, place));
            self.places[place] = Some(column);
        }
    }

    /// A column without values.
    pub fn empty(&self, attribute: u32, kind: Kind, weight: f32) -> Column {
        Column { weight, ..Column::new(attribute, kind, self.tiles) }
    }

    fn drop_at(&mut self, place: usize) {
        if self.places[place].take().is_some() {
            self.index.retain(|(_, own)| *own != place);
        }
    }

    /// Forget attributes and coordinates, both ascending.
    pub fn forget(&mut self, attributes: &[u32], coordinates: &[u32]) {
        for place in 0..self.places.len() {
            let Some(column) = &mut self.places[place] else { continue };
            if attributes.binary_search(&column.attribute).is_ok() || column.forgets(coordinates) {
                self.drop_at(place);
            }
        }
    }

    /// The memory of the values.
    pub fn bytes(&self) -> usize {
        self.places.iter().flatten().map(|column| size_of_val(&column.values[..])).sum()
    }
}
