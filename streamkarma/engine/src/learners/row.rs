//! An event as trees read it: a cell for each coordinate.
//!
//! A coordinate without a value is missing if its attribute is. If the attribute is present, with another of its
//! categories, the coordinate has the cell of value 0.

use std::hint::select_unpredictable;

use crate::block::{Event, Evicted, below};
use crate::math::within;
use crate::scale::LARGEST;

/// The attribute of a coordinate that was never learned.
pub const NOBODY: u32 = u32::MAX;

/// The cell of a coordinate in a row: its value, or a code of it.
pub trait Cell: Copy + PartialEq {
    /// The cell of a missing value.
    const MISSING: Self;

    /// Whether it is the cell of a missing value.
    fn is_missing(self) -> bool;
}

/// Raw values.
impl Cell for f64 {
    const MISSING: Self = f64::NAN;

    fn is_missing(self) -> bool {
        self.is_nan()
    }
}

/// The current event, and the attributes that coordinates belong to.
#[derive(Clone, Debug)]
pub struct Row<C> {
    /// By coordinate: its attribute, or [`NOBODY`].
    attributes: Vec<u32>,
    /// By coordinate: its cell in this event.
    cells: Vec<C>,
    /// By attribute: whether this event has it.
    observed: Vec<bool>,
    /// The known coordinates of the event, without the constant.
    items: Vec<u32>,
    /// The known attributes of the event; an attribute may occur several times.
    present: Vec<u32>,
}

impl<C: Cell> Row<C> {
    /// No coordinates are known yet.
    pub fn new() -> Self {
        let (attributes, cells, observed) = (Vec::new(), Vec::new(), Vec::new());
        Self { attributes, cells, observed, items: Vec::new(), present: Vec::new() }
    }

    /// Record the names of an event that is to be learned; returns whether any is new.
    pub fn register(&mut self, event: &Event) -> bool {
        let mut is_new = false;
        for (&attribute, &coordinate) in event.attributes.iter().zip(event.coordinates) {
            if coordinate as usize >= self.attributes.len() {
                self.attributes.resize(coordinate as usize + 1, NOBODY);
                self.cells.resize(coordinate as usize + 1, C::MISSING);
            }
            if attribute as usize >= self.observed.len() {
                self.observed.resize(attribute as usize + 1, false);
            }
            is_new |= std::mem::replace(&mut self.attributes[coordinate as usize], attribute) != attribute;
        }
        is_new
    }

    /// The attribute of each coordinate, -1 for none.
    pub fn owners(&self) -> Vec<i32> {
        self.attributes.iter().map(|&owner| owner as i32).collect()
    }

    /// The attribute of a coordinate, or [`NOBODY`].
    pub fn owner(&self, coordinate: u32) -> u32 {
        self.attributes.get(coordinate as usize).copied().unwrap_or(NOBODY)
    }

    /// Restore the attributes that coordinates belong to.
    pub fn restore(&mut self, owners: Vec<u32>) {
        let attributes = owners.iter().filter(|&&owner| owner != NOBODY).max();
        self.observed = vec![false; attributes.map_or(0, |&highest| highest as usize + 1)];
        self.cells = vec![C::MISSING; owners.len()];
        self.attributes = owners;
        self.items.clear();
        self.present.clear();
    }

    /// Read an event whose items have these cells, replacing the last one.
    pub fn fill(&mut self, event: &Event, cells: impl Iterator<Item = C>) {
        self.clear();
        for ((&attribute, &coordinate), new) in event.attributes.iter().zip(event.coordinates).zip(cells) {
            if coordinate == 0 || attribute as usize >= self.observed.len() {
                continue;
            }
            // An attribute is also present with a category that was never learned.
            self.observed[attribute as usize] = true;
            self.present.push(attribute);
            if let Some(cell) = self.cells.get_mut(coordinate as usize) {
                *cell = new;
                self.items.push(coordinate);
            }
        }
    }

    /// Copy the event's coordinates, without the constant, and their cells.
    pub fn copy(&self, coordinates: &mut Vec<u32>, cells: &mut Vec<C>) {
        coordinates.clone_from(&self.items);
        cells.clear();
        cells.extend(self.items.iter().map(|&coordinate| self.cells[coordinate as usize]));
    }

    /// Load an event with these items, replacing the last one.
    pub fn recall(&mut self, items: impl Iterator<Item = (u32, C)>) {
        self.clear();
        for (coordinate, cell) in items {
            let attribute = self.attributes[coordinate as usize];
            self.cells[coordinate as usize] = cell;
            self.items.push(coordinate);
            self.observed[attribute as usize] = true;
            self.present.push(attribute);
        }
    }

    /// Clear the current event.
    fn clear(&mut self) {
        self.items.drain(..).for_each(|coordinate| self.cells[coordinate as usize] = C::MISSING);
        self.present.drain(..).for_each(|attribute| self.observed[attribute as usize] = false);
    }

    /// The coordinate of an item of the event, without the constant.
    pub fn coordinate(&self, item: usize) -> u32 {
        self.items[item]
    }

    /// Number of known items of the event, without the constant.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// The cell of a known coordinate; `zero` is that of value 0.
    pub fn cell(&self, coordinate: u32, zero: C) -> C {
        let cell = self.cells[coordinate as usize];
        let attribute = self.attributes[coordinate as usize];
        let is_there = self.observed.get(attribute as usize).is_some_and(|&observed| observed);
        // Select a cell instead of branching: which values are missing is unpredictable.
        select_unpredictable(cell.is_missing() & is_there, zero, cell)
    }

    /// The attribute of a known coordinate.
    pub fn attribute(&self, coordinate: u32) -> u32 {
        self.attributes[coordinate as usize]
    }

    /// Forget which attributes evicted coordinates belonged to.
    pub fn forget(&mut self, evicted: &Evicted) {
        for &coordinate in below(&evicted.coordinates, self.attributes.len()) {
            self.attributes[coordinate as usize] = NOBODY;
        }
    }

    /// Number of known coordinates.
    pub fn coordinates(&self) -> usize {
        self.attributes.len()
    }

    /// Memory in bytes.
    pub fn bytes(&self) -> usize {
        size_of_val(&self.cells[..]) + 4 * self.attributes.len() + self.observed.len()
    }
}

impl Row<f64> {
    /// Read an event, replacing the last one; values are clipped to ±[`LARGEST`].
    pub fn read(&mut self, event: &Event) {
        self.fill(event, event.raw.iter().map(|&value| within(value, LARGEST)));
    }

    /// The value of a known coordinate; NaN if it is missing.
    pub fn of(&self, coordinate: u32) -> f64 {
        self.cell(coordinate, 0.0)
    }
}
