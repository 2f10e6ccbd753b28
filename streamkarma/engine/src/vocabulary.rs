//! Maps names of attributes and categories to indices.
//!
//! An *attribute* is what can be observed or missing; a *coordinate* is the position of a value. A numeric attribute
//! has one coordinate, a categorical one has one per category seen; an attribute that is a number in one event and a
//! text in another has both kinds. Attribute 0 and coordinate 0 are the constant.
//!
//! Indices of evicted names are free, and the lowest free index is reused first.

mod free;
mod merging;

pub use merging::{Entry, Places};

use std::collections::BTreeSet;
use std::sync::Arc;

use foldhash::HashMap;

use crate::names::{Foreign, LimitExceeded, Name, Notices, Stored};

/// Indices from here on stand for names that were seen while predicting and are not stored.
pub const PASSING: u32 = 1 << 30;

/// Maximum bytes of all names and categories: each coordinate adds its attribute's name and its category.
pub const MOST_NAME_BYTES: usize = 16 << 20;

/// The capacity of a vocabulary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Maximum number of attributes, the constant included.
    pub attributes: usize,
    /// Maximum number of coordinates, the constant's included.
    pub coordinates: usize,
    /// Maximum bytes of an attribute's name, and of a category.
    pub name_bytes: usize,
    /// Maximum bytes of all names and categories together.
    pub all_bytes: usize,
}

/// The indices of names.
#[derive(Clone, Debug)]
pub struct Vocabulary {
    bounds: Bounds,
    /// Number of values ignored so far.
    pub ignored: u64,
    notices: Notices,
    bytes: usize,
    // Names are untrusted, so the hash is keyed, and nothing depends on its order.
    texts: HashMap<Arc<[u8]>, u32>,
    foreign: HashMap<u64, u32>,
    attributes: Vec<Attribute>,
    coordinates: Vec<Coordinate>,
    free_attributes: BTreeSet<u32>,
    free_coordinates: BTreeSet<u32>,
}

/// The attribute of a free coordinate.
pub const NOBODY: u32 = u32::MAX;

#[derive(Clone, Debug)]
struct Attribute {
    name: Stored,
    /// The coordinate of its numbers.
    number: Option<u32>,
    categories: HashMap<Arc<[u8]>, u32>,
}

#[derive(Clone, Debug)]
struct Coordinate {
    attribute: u32,
    category: Option<Arc<[u8]>>,
}

/// Usage of the resources that have bounds.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sizes {
    /// Attributes.
    pub attributes: usize,
    /// Coordinates.
    pub coordinates: usize,
    /// Bytes of names and categories.
    pub bytes: usize,
}

impl Sizes {
    /// The sum of both.
    pub fn plus(self, other: Self) -> Self {
        Self {
            attributes: self.attributes + other.attributes,
            coordinates: self.coordinates + other.coordinates,
            bytes: self.bytes + other.bytes,
        }
    }
}

impl Vocabulary {
    /// A vocabulary with nothing but the constant.
    pub fn new(bounds: Bounds) -> Self {
        let most = PASSING as usize;
        let (attributes, coordinates) = (bounds.attributes.min(most), bounds.coordinates.min(most));
        Self {
            bounds: Bounds { attributes, coordinates, ..bounds },
            ignored: 0,
            notices: Notices::default(),
            bytes: 0,
            texts: HashMap::default(),
            foreign: HashMap::default(),
            attributes: vec![Attribute::free()],
            coordinates: vec![Coordinate { attribute: 0, category: None }],
            free_attributes: BTreeSet::new(),
            free_coordinates: BTreeSet::new(),
        }
    }

    /// The bounds.
    pub fn bounds(&self) -> Bounds {
        self.bounds
    }

    /// Number of attribute indices, the constant's and free ones included.
    pub fn attribute_count(&self) -> usize {
        self.attributes.len()
    }

    /// Number of coordinate indices, the constant's and free ones included.
    pub fn coordinate_count(&self) -> usize {
        self.coordinates.len()
    }

    /// Number of attributes and coordinates in use, and bytes of their names.
    pub fn used(&self) -> Sizes {
        Sizes {
            attributes: self.attributes.len() - self.free_attributes.len(),
            coordinates: self.coordinates.len() - self.free_coordinates.len(),
            bytes: self.bytes,
        }
    }

    /// The attribute of a coordinate; [`NOBODY`] if the coordinate is free.
    pub fn owner(&self, coordinate: usize) -> u32 {
        self.coordinates[coordinate].attribute
    }

    /// Whether a coordinate holds numbers, which are to be standardised.
    pub fn is_number(&self, coordinate: usize) -> bool {
        coordinate > 0 && self.coordinates[coordinate].category.is_none()
    }

    /// The attribute's name and, for a categorical coordinate, the category; the coordinate must not be free.
    pub fn describe(&self, coordinate: usize) -> (Name<'_>, Option<&[u8]>) {
        let Coordinate { attribute, category } = &self.coordinates[coordinate];
        (self.name(*attribute), category.as_deref())
    }

    /// The name of an attribute.
    pub fn name(&self, attribute: u32) -> Name<'_> {
        self.attributes[attribute as usize].name.name()
    }

    /// Number of names with an index that are not texts.
    pub fn foreign_count(&self) -> usize {
        self.foreign.len()
    }

    /// Whether a name that is not a text has an index.
    pub fn has_foreign(&self, id: u64) -> bool {
        self.foreign.contains_key(&id)
    }

    /// The attribute with that name.
    pub fn find(&self, name: Name) -> Option<u32> {
        match name {
            Name::Text(text) => self.texts.get(text).copied(),
            Name::Foreign(foreign) => self.foreign.get(&foreign.id).copied(),
        }
    }

    /// The coordinate of an attribute's numbers, or of one of its categories.
    pub fn coordinate(&self, attribute: u32, category: Option<&[u8]>) -> Option<u32> {
        let attribute = &self.attributes[attribute as usize];
        match category {
            None => attribute.number,
            Some(category) => attribute.categories.get(category).copied(),
        }
    }

    /// Why a new coordinate cannot get an index in addition to `others`; None if it can.
    pub fn exceeded_limit(
        &self,
        name: Name,
        known: bool,
        category: Option<&[u8]>,
        others: Sizes,
    ) -> Option<LimitExceeded> {
        let Bounds { attributes, coordinates, name_bytes, all_bytes } = self.bounds;
        if name.size() > name_bytes {
            Some(LimitExceeded::Name(name_bytes))
        } else if category.is_some_and(|category| category.len() > name_bytes) {
            Some(LimitExceeded::Category(name_bytes))
        } else if others.coordinates >= coordinates {
            Some(LimitExceeded::Coordinates(coordinates))
        } else if !known && others.attributes >= attributes {
            Some(LimitExceeded::Attributes(attributes))
        } else if others.bytes + size(name, category) > all_bytes {
            Some(LimitExceeded::Bytes(all_bytes))
        } else {
            None
        }
    }

    /// Assign an index to a new name, or to a new category of one; None if a bound would be exceeded.
    pub fn enter(&mut self, name: Name, category: Option<&[u8]>) -> Option<u32> {
        let known = self.find(name);
        if self.exceeded_limit(name, known.is_some(), category, self.used()).is_some() {
            return None;
        }
        let owner = known.unwrap_or_else(|| {
            let index = self.free_attributes.pop_first().unwrap_or(self.attributes.len() as u32);
            self.name_attribute(index, name);
            index
        });
        let coordinate = self.free_coordinates.pop_first().unwrap_or(self.coordinates.len() as u32);
        self.put(coordinate, owner, category);
        Some(coordinate)
    }

    /// Assign a name to an unnamed attribute.
    fn name_attribute(&mut self, index: u32, name: Name) {
        let stored = name.stored();
        match &stored {
            Stored::Text(text) => _ = self.texts.insert(text.clone(), index),
            Stored::Foreign(foreign) => _ = self.foreign.insert(foreign.id, index),
        }
        if index as usize == self.attributes.len() {
            self.attributes.push(Attribute::of(stored));
        } else {
            self.attributes[index as usize].name = stored;
        }
    }

    /// Assign a free coordinate, or the one after the last, to an attribute.
    fn put(&mut self, coordinate: u32, owner: u32, category: Option<&[u8]>) {
        let attribute = &mut self.attributes[owner as usize];
        self.bytes += size(attribute.name.name(), category);
        let category: Option<Arc<[u8]>> = category.map(Into::into);
        match &category {
            None => attribute.number = Some(coordinate),
            Some(category) => _ = attribute.categories.insert(category.clone(), coordinate),
        }
        let entry = Coordinate { attribute: owner, category };
        match self.coordinates.get_mut(coordinate as usize) {
            Some(free) => *free = entry,
            None => self.coordinates.push(entry),
        }
    }

    /// Count a value that has no index, and report it if it is among the first ones.
    pub fn ignore(&mut self, name: Name, category: Option<&[u8]>) {
        self.ignored += 1;
        let known = self.find(name).is_some();
        if let Some(exceeded) = self.exceeded_limit(name, known, category, self.used()) {
            self.notices.report_ignored(name, exceeded);
        }
    }

    /// Number of categories of an attribute.
    pub fn category_count(&self, attribute: u32) -> usize {
        self.attributes[attribute as usize].categories.len()
    }

    /// The categories of an attribute, in no particular order.
    pub fn categories(&self, attribute: u32) -> impl Iterator<Item = &[u8]> {
        self.attributes[attribute as usize].categories.keys().map(|category| &**category)
    }

    /// Report that names are evicted in favour of new ones from now on.
    pub fn report_limit(&mut self, exceeded: LimitExceeded) {
        self.notices.report_limit(exceeded);
    }

    /// Report that nearly all values of an attribute are new.
    pub fn report_identifier(&mut self, attribute: u32, is_label: bool) {
        let name = self.attributes[attribute as usize].name.name();
        self.notices.report_identifier(name, is_label);
    }

    /// Report that an attribute is treated as points in time.
    pub fn report_time(&mut self, attribute: u32) {
        let name = self.attributes[attribute as usize].name.name();
        self.notices.report_time(name);
    }

    /// Report that an attribute is treated as text.
    pub fn report_text(&mut self, attribute: u32) {
        let name = self.attributes[attribute as usize].name.name();
        self.notices.report_text(name);
    }

    /// Report that an attribute has a sentinel.
    pub fn report_sentinel(&mut self, attribute: u32, value: f64) {
        let name = self.attributes[attribute as usize].name.name();
        self.notices.report_sentinel(name, value);
    }

    /// Messages on attributes since the last call, such as those with ignored values.
    pub fn notices(&mut self) -> Vec<String> {
        self.notices.take()
    }
}

impl Attribute {
    /// An attribute without a name, like the constant and free ones.
    fn free() -> Self {
        Self::of(Stored::Foreign(Foreign::default()))
    }

    fn of(name: Stored) -> Self {
        Self { name, number: None, categories: HashMap::default() }
    }
}

/// How many bytes a coordinate adds to those of all names.
pub fn size(name: Name, category: Option<&[u8]>) -> usize {
    name.size() + category.map_or(0, <[u8]>::len)
}
