//! The values of the window's events, one column per attribute.

use super::column::{ABSENT, Column, Item, Kind, LANES, Tile};
use crate::block::Event;
use crate::translation::Translation;

/// Maximum number of attributes at a time.
pub const MOST: usize = 64;

/// The columns, each with a fixed position.
#[derive(Clone, Debug)]
pub struct Columns {
    /// Some positions are free.
    pub places: Vec<Option<Column>>,
    /// The position of each attribute, ascending by attribute.
    index: Vec<(u32, usize)>,
    tiles: usize,
}

impl Columns {
    /// No columns yet, with capacity for this many events.
    pub fn new(events: usize) -> Self {
        Self { places: Vec::new(), index: Vec::new(), tiles: events.div_ceil(LANES) }
    }

    /// Ensure capacity for a slot.
    fn make_room(&mut self, slot: usize) {
        if slot >= self.tiles * LANES {
            self.tiles += 1;
            self.iter_mut().for_each(|column| column.values.push(Tile([ABSENT; LANES])));
        }
    }

    /// The number of columns.
    pub fn len(&self) -> usize {
        self.index.len()
    }

    /// The columns in use.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Column> {
        self.places.iter_mut().flatten()
    }

    fn find(&self, attribute: u32) -> Result<usize, usize> {
        self.index.binary_search_by_key(&attribute, |(attribute, _)| *attribute)
    }

    /// The column of an attribute.
    pub fn of(&self, attribute: u32) -> Option<&Column> {
        self.places[self.index[self.find(attribute).ok()?].1].as_ref()
    }

    /// The attributes that have a column, ascending.
    pub fn attributes(&self) -> impl Iterator<Item = u32> {
        self.index.iter().map(|&(attribute, _)| attribute)
    }

    /// Translate all columns to other names and units; their positions do not change.
    pub fn translate(&mut self, translation: &Translation) {
        self.index.clear();
        for place in 0..self.places.len() {
            if let Some(mut column) = self.places[place].take()
                && column.translate(translation)
            {
                self.take(place, column);
            }
        }
    }

    /// List those items of an event that have a column, in the order of the columns.
    pub fn read(&self, event: &Event, items: &mut Vec<Item>) {
        items.clear();
        for (at, &attribute) in event.attributes.iter().enumerate() {
            let Ok(found) = self.find(attribute) else { continue };
            let place = self.index[found].1;
            let Some(column) = &self.places[place] else { continue };
            // If there are several categories at once, only the first is used.
            if items.last().is_some_and(|last| last.column == place) {
                continue;
            }
            let value = column.read(event.coordinates[at], event.values[at]);
            items.extend(value.map(|value| column.item(place, value)));
        }
        items.sort_unstable_by_key(|item| item.column);
    }

    /// Put an event into a slot, replacing what was there; attributes without capacity are left out.
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

    /// The position of an attribute; a new one if it has none and there is capacity.
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

    /// A position without a column, or with one for which no event of the window has a value.
    fn free_place(&mut self) -> Option<usize> {
        let is_free = |place: &Option<Column>| place.as_ref().is_none_or(|column| column.observed == 0);
        let found = self.places.iter().position(Option::is_none);
        if found.is_none() && self.places.len() < MOST {
            self.places.push(None);
            return Some(self.places.len() - 1);
        }
        found.or_else(|| self.places.iter().position(is_free))
    }

    /// Put a column at a position.
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

    /// Keep only the events of the given slots, in that order; the columns keep their positions.
    pub fn retain(&mut self, slots: &[usize]) {
        self.tiles = slots.len().div_ceil(LANES);
        for place in 0..self.places.len() {
            let Some(old) = self.places[place].take() else { continue };
            let mut new = self.empty(old.attribute, old.kind, old.weight);
            slots.iter().enumerate().for_each(|(to, &from)| new.set(to, old.get(from)));
            self.places[place] = Some(new);
        }
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
