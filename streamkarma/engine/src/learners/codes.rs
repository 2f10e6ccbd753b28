//! An event as a forest reads it: for each coordinate a code, looked up in a table.
//!
//! A code says where among [`CODES`] ordered cells a standardised value lies. Three quarters of the cells are
//! spread by the normal distribution and one quarter evenly, so that tails are told apart as well. A leaf joins
//! codes to the bins of its histograms, and the further down it is, the finer these are.
//!
//! A coordinate without a value is missing if its attribute is. If the attribute is there, with another of its
//! categories, the coordinate has value 0.

use std::hint::select_unpredictable;

use crate::block::{Event, Gone, below};
use crate::math::exp;

/// How many codes there are; values within ±[`REACH`] are told apart by 5 / 1,024.
pub const CODES: u16 = 2048;
/// The code of what is missing: above all others.
pub const MISSING: u16 = u16::MAX;
/// Cells of the table from values to codes; as many as codes.
const CELLS: usize = 2048;
/// Standardised values go no further.
const REACH: f64 = 5.0;
const WIDTH: f64 = 2.0 * REACH / CELLS as f64;
/// The attribute of a coordinate that was never learned.
const NOBODY: u32 = u32::MAX;

/// The event in hand, and to which attributes coordinates belong.
#[derive(Clone, Debug)]
pub struct Codes {
    table: Vec<u16>,
    /// By coordinate: its attribute, or [`NOBODY`].
    attributes: Vec<u32>,
    /// By coordinate: its code in this event.
    codes: Vec<u16>,
    /// By attribute: whether this event has it.
    observed: Vec<bool>,
    /// The coordinates of the event that are known, but for the constant.
    items: Vec<u32>,
    /// The attributes of the event that are known; one may be there several times.
    present: Vec<u32>,
}

impl Codes {
    /// Nothing is known.
    pub fn new() -> Self {
        let (attributes, codes, observed) = (Vec::new(), Vec::new(), Vec::new());
        Self { table: table(), attributes, codes, observed, items: Vec::new(), present: Vec::new() }
    }

    /// Take in the names of an event that is to be learned; returns whether any is new.
    pub fn meet(&mut self, event: &Event) -> bool {
        let mut is_new = false;
        for (&attribute, &coordinate) in event.attributes.iter().zip(event.coordinates) {
            if coordinate as usize >= self.attributes.len() {
                self.attributes.resize(coordinate as usize + 1, NOBODY);
                self.codes.resize(coordinate as usize + 1, MISSING);
            }
            if attribute as usize >= self.observed.len() {
                self.observed.resize(attribute as usize + 1, false);
            }
            is_new |= std::mem::replace(&mut self.attributes[coordinate as usize], attribute) != attribute;
        }
        is_new
    }

    /// To which attributes coordinates belong, -1 for none.
    pub fn owners(&self) -> Vec<i32> {
        self.attributes.iter().map(|&owner| owner as i32).collect()
    }

    /// To which attribute a coordinate belongs.
    pub fn owner(&self, coordinate: u32) -> u32 {
        self.attributes.get(coordinate as usize).copied().unwrap_or(NOBODY)
    }

    /// Take over to which attributes coordinates belong.
    pub fn restore(&mut self, owners: Vec<u32>) {
        let attributes = owners.iter().filter(|&&owner| owner != NOBODY).max();
        self.observed = vec![false; attributes.map_or(0, |&highest| highest as usize + 1)];
        self.codes = vec![MISSING; owners.len()];
        self.attributes = owners;
        self.items.clear();
        self.present.clear();
    }

    /// Read an event in the place of the last.
    pub fn read(&mut self, event: &Event) {
        self.clear();
        let items = event.attributes.iter().zip(event.coordinates).zip(event.values);
        for ((&attribute, &coordinate), &value) in items {
            if coordinate == 0 || attribute as usize >= self.observed.len() {
                continue;
            }
            // An attribute is there with a category that was never learned, too.
            self.observed[attribute as usize] = true;
            self.present.push(attribute);
            if let Some(code) = self.codes.get_mut(coordinate as usize) {
                *code = self.table[cell(value)];
                self.items.push(coordinate);
            }
        }
    }

    /// Copy the event's coordinates, but for the constant, and their codes.
    pub fn copy(&self, coordinates: &mut Vec<u32>, codes: &mut Vec<u16>) {
        coordinates.clone_from(&self.items);
        codes.clear();
        codes.extend(self.items.iter().map(|&coordinate| self.codes[coordinate as usize]));
    }

    /// Have such an event in the place of the last.
    pub fn recall(&mut self, items: impl Iterator<Item = (u32, u16)>) {
        self.clear();
        for (coordinate, code) in items {
            let attribute = self.attributes[coordinate as usize];
            self.codes[coordinate as usize] = code;
            self.items.push(coordinate);
            self.observed[attribute as usize] = true;
            self.present.push(attribute);
        }
    }

    /// Have no event in hand.
    fn clear(&mut self) {
        self.items.drain(..).for_each(|coordinate| self.codes[coordinate as usize] = MISSING);
        self.present.drain(..).for_each(|attribute| self.observed[attribute as usize] = false);
    }

    /// The coordinates of the event, but for the constant.
    pub fn coordinate(&self, item: usize) -> u32 {
        self.items[item]
    }

    /// How many items the event has that are known, but for the constant.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// The code of a coordinate that is known.
    pub fn of(&self, coordinate: u32) -> u16 {
        let code = self.codes[coordinate as usize];
        let attribute = self.attributes[coordinate as usize];
        let is_there = self.observed.get(attribute as usize).is_some_and(|&observed| observed);
        // Chosen from two codes, not between two ways to go: what will be missing nobody can foresee.
        select_unpredictable((code == MISSING) & is_there, self.table[CELLS / 2], code)
    }

    /// The attribute of a coordinate that is known.
    pub fn attribute(&self, coordinate: u32) -> u32 {
        self.attributes[coordinate as usize]
    }

    /// The code of what has no value; `gone` says whether its attribute has none, either.
    pub fn of_nothing(&self, gone: bool) -> u16 {
        if gone { MISSING } else { self.table[CELLS / 2] }
    }

    /// Where values with codes up to each one end.
    pub fn ends(&self) -> Vec<f64> {
        let cells = (0..CODES).map(|highest| self.table.partition_point(|&code| code <= highest));
        cells.map(|cells| cells as f64 * WIDTH - REACH).collect()
    }

    /// The highest code of values up to this one.
    pub fn highest_up_to(&self, end: f64) -> u16 {
        let cells = ((end + REACH) / WIDTH + 0.5) as usize;
        self.table[cells.clamp(1, CELLS) - 1]
    }

    /// Forget to whom coordinates belonged.
    pub fn forget(&mut self, gone: &Gone) {
        for &coordinate in below(&gone.coordinates, self.attributes.len()) {
            self.attributes[coordinate as usize] = NOBODY;
        }
    }

    /// How many coordinates are known.
    pub fn coordinates(&self) -> usize {
        self.attributes.len()
    }

    /// Bytes of the tables.
    pub fn bytes(&self) -> usize {
        2 * self.table.len() + 6 * self.attributes.len() + self.observed.len()
    }
}

/// In which cell a value is.
fn cell(value: f64) -> usize {
    let cell = (value + REACH) * (CELLS as f64 / (2.0 * REACH));
    (cell as usize).min(CELLS - 1)
}

/// The code of each cell, ascending.
fn table() -> Vec<u16> {
    let density = |cell: usize| {
        let z = (cell as f64 + 0.5) * WIDTH - REACH;
        exp(-0.5 * z * z)
    };
    let total: f64 = (0..CELLS).map(density).sum();
    let mut below = 0.0;
    let mut code = |cell: usize| {
        let share = below / total;
        below += density(cell);
        ((0.75 * share + 0.25 * cell as f64 / CELLS as f64) * f64::from(CODES)) as u16
    };
    (0..CELLS).map(&mut code).collect()
}
