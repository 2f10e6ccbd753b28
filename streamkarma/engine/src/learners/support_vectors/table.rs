//! Tables with the slots of support vectors as columns.

use crate::merging::relabelled_rows;

/// The number of slots is a multiple of this: loops over a tile of them are unrolled and vectorised.
pub const TILE: usize = 32;

/// The same for numbers of one or two bytes, of which a processor handles more at once.
pub const WIDE: usize = 4 * TILE;

/// The numbers of one tile of slots, aligned for the fastest loads.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub struct Tile<T, const N: usize = TILE>(pub [T; N]);

/// Marks an index without a row.
const NONE: u32 = u32::MAX;

/// A row for each index, with one number for each class and slot; rows that are not needed are left out.
///
/// All rows of a tile of slots are adjacent, so that a pass over tiles stays within few pages of memory, and new slots
/// can be added without moving anything.
#[derive(Clone, Debug)]
pub struct Table<T, const N: usize = TILE> {
    /// For each tile of slots, the tiles of all rows and classes.
    blocks: Vec<Vec<Tile<T, N>>>,
    /// The row of each index.
    places: Vec<u32>,
    rows: usize,
    classes: usize,
}

impl<T: Copy + Default, const N: usize> Table<T, N> {
    /// An empty table, without rows and slots.
    pub fn new(classes: usize) -> Self {
        Self { blocks: Vec::new(), places: Vec::new(), rows: 0, classes }
    }

    /// Numbers in a row per slot.
    pub fn classes(&self) -> usize {
        self.classes
    }

    /// Capacity in slots.
    pub fn slots(&self) -> usize {
        self.blocks.len() * N
    }

    /// Capacity in numbers.
    pub fn len(&self) -> usize {
        self.rows * self.classes * self.slots()
    }

    /// The position, in each of the [`Self::blocks`], of an index's tile for class 0, which those of the other classes
    /// follow; None if there is no such row.
    pub fn row(&self, index: u32) -> Option<usize> {
        let place = self.places.get(index as usize).copied().filter(|&place| place != NONE);
        place.map(|place| place as usize * self.classes)
    }

    /// The tiles of all rows and classes, by tile of slots.
    pub fn blocks(&self) -> &[Vec<Tile<T, N>>] {
        &self.blocks
    }

    /// One number; 0 if there is no such row.
    pub fn get(&self, index: u32, class: usize, slot: usize) -> T {
        self.row(index).map_or_else(T::default, |row| self.blocks[slot / N][row + class].0[slot % N])
    }

    /// One number, mutable; its row is created if there is none.
    pub fn at(&mut self, index: u32, class: usize, slot: usize) -> &mut T {
        let row = self.row(index).unwrap_or_else(|| self.new_row(index));
        &mut self.blocks[slot / N][row + class].0[slot % N]
    }

    fn new_row(&mut self, index: u32) -> usize {
        let index = index as usize;
        if index >= self.places.len() {
            self.places.resize(index + 1, NONE);
        }
        self.places[index] = self.rows as u32;
        self.rows += 1;
        for block in &mut self.blocks {
            block.resize(self.rows * self.classes, Tile([T::default(); N]));
        }
        (self.rows - 1) * self.classes
    }

    /// Replace all numbers by functions of them.
    pub fn replace(&mut self, by: impl Fn(T) -> T) {
        let numbers = self.blocks.iter_mut().flatten().flat_map(|tile| &mut tile.0);
        numbers.for_each(|number| *number = by(*number));
    }

    /// Renumber the classes: class c becomes `places[c]`.
    pub fn permute(&mut self, places: &[usize]) {
        self.blocks.iter_mut().for_each(|block| *block = relabelled_rows(block, places));
    }

    /// Grow to this many classes and slots, at least the current numbers; new numbers are 0.
    pub fn grow(&mut self, classes: usize, slots: usize) {
        let empty = vec![Tile([T::default(); N]); self.rows * classes];
        if classes > self.classes {
            for block in &mut self.blocks {
                let mut wider = empty.clone();
                for (new, old) in wider.chunks_exact_mut(classes).zip(block.chunks_exact(self.classes)) {
                    new[..self.classes].copy_from_slice(old);
                }
                *block = wider;
            }
            self.classes = classes;
        }
        self.blocks.resize(slots.div_ceil(N), empty);
    }
}
