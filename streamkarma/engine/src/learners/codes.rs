//! An event as a forest reads it: a code for each coordinate, looked up in a table.
//!
//! A code is the index of the cell, among [`CODES`] ordered cells, in which a standardised value lies. Three quarters
//! of the cells are spread by the normal distribution and one quarter evenly, so that values in the tails are
//! distinguished as well. A leaf merges codes into the bins of its histograms; the deeper the leaf, the finer the bins.

use std::ops::{Deref, DerefMut};

use super::row::{Cell, Row};
use crate::block::Event;
use crate::math::exp;

/// Number of codes; values within ±[`REACH`] are resolved to 5 / 1,024.
pub const CODES: u16 = 2048;
/// Code of a missing value: above all others.
pub const MISSING: u16 = u16::MAX;
/// Number of cells of the table from values to codes; as many as codes.
const CELLS: usize = 2048;
/// Standardised values are clipped to ± this.
const REACH: f64 = 5.0;
const WIDTH: f64 = 2.0 * REACH / CELLS as f64;
impl Cell for u16 {
    const MISSING: Self = MISSING;

    fn is_missing(self) -> bool {
        self == MISSING
    }
}

/// The current event as codes, and the attributes that coordinates belong to.
#[derive(Clone, Debug)]
pub struct Codes {
    table: Vec<u16>,
    row: Row<u16>,
}

impl Deref for Codes {
    type Target = Row<u16>;

    fn deref(&self) -> &Row<u16> {
        &self.row
    }
}

impl DerefMut for Codes {
    fn deref_mut(&mut self) -> &mut Row<u16> {
        &mut self.row
    }
}

impl Codes {
    /// No coordinates are known yet.
    pub fn new() -> Self {
        Self { table: table(), row: Row::new() }
    }

    /// Read an event, replacing the last one.
    pub fn read(&mut self, event: &Event) {
        self.row.fill(event, event.values.iter().map(|&value| self.table[cell(value)]));
    }

    /// The code of a known coordinate.
    pub fn of(&self, coordinate: u32) -> u16 {
        self.row.cell(coordinate, self.table[CELLS / 2])
    }

    /// The code of a coordinate without a value; `gone` tells whether its attribute has no value either.
    pub fn of_nothing(&self, evicted: bool) -> u16 {
        if evicted { MISSING } else { self.table[CELLS / 2] }
    }

    /// For each code, the upper end of the values with codes up to it.
    pub fn ends(&self) -> Vec<f64> {
        let cells = (0..CODES).map(|highest| self.table.partition_point(|&code| code <= highest));
        cells.map(|cells| cells as f64 * WIDTH - REACH).collect()
    }

    /// The highest code of values up to `end`.
    pub fn highest_up_to(&self, end: f64) -> u16 {
        let cells = ((end + REACH) / WIDTH + 0.5) as usize;
        self.table[cells.clamp(1, CELLS) - 1]
    }

    /// Bytes of the tables.
    pub fn bytes(&self) -> usize {
        2 * self.table.len() + self.row.bytes()
    }
}

/// The cell of a value.
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
