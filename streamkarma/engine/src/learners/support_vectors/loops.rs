//! The loops over tiles that the passes are made of.
//!
//! What a slot gets is summed up in the order of the items, so that the bits do not depend on how many slots
//! a processor takes at once: as many as it can, for which `pulp` compiles each loop several times, and
//! chooses when the program runs. It must be inlined there whole, hence structs: closures are not for sure.

use pulp::NullaryFnOnce;

use super::table::{TILE, Tile, WIDE};

/// Count what a set of attributes shares with each slot, and take the gains of that.
pub struct Meet<'a> {
    pub mask: &'a [Vec<Tile<u8, WIDE>>],
    /// The rows of the attributes.
    pub rows: &'a [usize],
    pub gamma: u32,
    pub counts: &'a mut [Tile<u8, WIDE>],
    pub overlaps: &'a mut [Tile<f64>],
    pub gains: &'a mut [Tile<f64>],
}

impl NullaryFnOnce for Meet<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        // In rounds of as many as a byte can count. To count all tiles first keeps the compiler from counting
        // as few at once as there are floating-point numbers in a register.
        for begin in (0..self.rows.len().max(1)).step_by(255) {
            let some = &self.rows[begin..self.rows.len().min(begin + 255)];
            for (block, counts) in self.mask.iter().zip(&mut *self.counts) {
                counts.0 = counts_of(block, some);
            }
            let tiles = self.overlaps.iter_mut().zip(&mut *self.gains);
            for (tile, (overlaps, gains)) in tiles.enumerate() {
                let before = if begin == 0 { [0.0; TILE] } else { overlaps.0 };
                overlaps.0 = increased(before, part(self.counts, tile));
                gains.0 = growths(overlaps.0, self.gamma);
            }
        }
    }
}

/// Find the slot whose observed set is the one that was met.
pub struct Same<'a> {
    pub overlaps: &'a [Tile<f64>],
    pub inverse: &'a [f64],
    pub observed: &'a [Vec<u32>],
    pub size: usize,
    /// `1 / G(size)`.
    pub wanted: f64,
}

impl NullaryFnOnce for Same<'_> {
    type Output = Option<usize>;

    #[inline(always)]
    fn call(self) -> Option<usize> {
        let size = self.size as f64;
        let tiles = self.overlaps.iter().zip(self.inverse.as_chunks::<TILE>().0);
        for (tile, (overlaps, inverse)) in tiles.enumerate() {
            let pairs = overlaps.0.iter().zip(inverse);
            let is_same = |(&overlap, &inverse)| (overlap == size) & (inverse == self.wanted);
            // All of a tile is looked at, which takes less time than to stop early.
            let any = pairs.fold(false, |any, pair| any | is_same(pair));
            if any {
                let mut sets = self.observed.iter().skip(tile * TILE).zip(&overlaps.0);
                let found = sets.position(|(set, &overlap)| overlap == size && set.len() == self.size);
                if let Some(i) = found {
                    return Some(tile * TILE + i);
                }
            }
        }
        None
    }
}

/// `Σ_i gain_i <x, u_i>`.
pub struct Product<'a> {
    pub values: &'a [Vec<Tile<f64>>],
    /// Rows of values, and what they are multiplied by.
    pub items: &'a [(usize, f64)],
    pub gains: &'a [Tile<f64>],
}

impl NullaryFnOnce for Product<'_> {
    type Output = f64;

    #[inline(always)]
    fn call(self) -> f64 {
        let mut total = [0.0; TILE];
        for (block, gains) in self.values.iter().zip(self.gains) {
            let products = products_of(block, self.items);
            for i in 0..TILE {
                total[i] += gains.0[i] * products[i];
            }
        }
        total.iter().sum()
    }
}

/// Bound what each pattern keeps of a vector from above, and return the greatest bound.
pub struct Bound<'a> {
    pub mask: &'a [Vec<Tile<u8, WIDE>>],
    /// Rows of the mask, and their shares of the vector's square, rounded up.
    pub shares: &'a [(usize, u16)],
    pub sums: &'a mut [Tile<u16, WIDE>],
    pub gains: &'a [Tile<f64>],
    pub inverse: &'a [f64],
    pub bounds: &'a mut [Tile<f64>],
}

impl NullaryFnOnce for Bound<'_> {
    type Output = f64;

    #[inline(always)]
    fn call(self) -> f64 {
        for (block, sums) in self.mask.iter().zip(&mut *self.sums) {
            sums.0 = sums_of(block, self.shares);
        }
        let mut greatest = [0.0; TILE];
        let tiles = self.gains.iter().zip(self.inverse.as_chunks::<TILE>().0).zip(self.bounds);
        for (tile, ((gains, inverse), bounds)) in tiles.enumerate() {
            bounds.0 = bounds_of(gains.0, *inverse, part(self.sums, tile));
            for i in 0..TILE {
                greatest[i] = if bounds.0[i] > greatest[i] { bounds.0[i] } else { greatest[i] };
            }
        }
        greatest.iter().fold(0.0, |greatest, &bound| if bound > greatest { bound } else { greatest })
    }
}

/// List the slots whose bounds are no less than a number, in order.
pub struct AtLeast<'a> {
    pub bounds: &'a [Tile<f64>],
    pub least: f64,
    pub found: &'a mut Vec<usize>,
}

impl NullaryFnOnce for AtLeast<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        self.found.clear();
        for (tile, bounds) in self.bounds.iter().enumerate() {
            if bounds.0.iter().fold(false, |any, &bound| any | (bound >= self.least)) {
                let slots = (tile * TILE..).zip(&bounds.0).filter(|&(_, &bound)| bound >= self.least);
                self.found.extend(slots.map(|(slot, _)| slot));
            }
        }
    }
}

/// Where the least number stands first; 0 if there is none.
pub struct Least<'a>(pub &'a [f64]);

impl NullaryFnOnce for Least<'_> {
    type Output = usize;

    #[inline(always)]
    fn call(self) -> usize {
        let (tiles, rest) = self.0.as_chunks::<TILE>();
        let mut lanes = [f64::INFINITY; TILE];
        for tile in tiles {
            for i in 0..TILE {
                lanes[i] = if tile[i] < lanes[i] { tile[i] } else { lanes[i] };
            }
        }
        let least = lanes.iter().chain(rest).fold(f64::INFINITY, |least, &number| least.min(number));
        for (i, tile) in tiles.iter().enumerate() {
            if tile.iter().fold(false, |any, &number| any | (number == least)) {
                return i * TILE + tile.iter().position(|&number| number == least).unwrap_or(0);
            }
        }
        rest.iter().position(|&number| number == least).map_or(0, |i| tiles.len() * TILE + i)
    }
}

/// The numbers of a narrow tile, where the tiles are wide.
#[inline(always)]
fn part<T>(wide: &[Tile<T, WIDE>], tile: usize) -> &[T; TILE] {
    const PARTS: usize = WIDE / TILE;
    &wide[tile / PARTS].0.as_chunks().0[tile % PARTS]
}

/// How many of some rows each slot of a block has, up to 255.
#[inline(always)]
fn counts_of(block: &[Tile<u8, WIDE>], rows: &[usize]) -> [u8; WIDE] {
    let mut counts = [0; WIDE];
    for &row in rows {
        let has = &block[row].0;
        for i in 0..WIDE {
            counts[i] += has[i];
        }
    }
    counts
}

/// What slots had, and as much more.
#[inline(always)]
fn increased(mut overlaps: [f64; TILE], counts: &[u8; TILE]) -> [f64; TILE] {
    for i in 0..TILE {
        overlaps[i] += f64::from(counts[i]);
    }
    overlaps
}

/// `G(|o ∩ q|)² / G(|q|)` times sums of shares.
#[inline(always)]
fn bounds_of(gains: [f64; TILE], inverse: [f64; TILE], sums: &[u16; TILE]) -> [f64; TILE] {
    let mut bounds = [0.0; TILE];
    for i in 0..TILE {
        bounds[i] = gains[i] * gains[i] * inverse[i] * f64::from(sums[i]);
    }
    bounds
}

/// `kernel::growth` of a tile at once.
#[inline(always)]
fn growths(overlaps: [f64; TILE], gamma: u32) -> [f64; TILE] {
    let mut gains = [1.0; TILE];
    for _ in 1..gamma {
        for i in 0..TILE {
            gains[i] = gains[i] * overlaps[i] + 1.0;
        }
    }
    gains
}

/// `<x, u_i>` by slot, for the rows of x in a block of values.
#[inline(always)]
fn products_of(block: &[Tile<f64>], items: &[(usize, f64)]) -> [f64; TILE] {
    let mut products = [0.0; TILE];
    for &(row, x) in items {
        let values = &block[row].0;
        for i in 0..TILE {
            products[i] += x * values[i];
        }
    }
    products
}

/// The sum of the shares that each slot of a block has.
#[inline(always)]
fn sums_of(block: &[Tile<u8, WIDE>], shares: &[(usize, u16)]) -> [u16; WIDE] {
    let mut sums = [0u16; WIDE];
    for &(row, share) in shares {
        let has = &block[row].0;
        for i in 0..WIDE {
            sums[i] = sums[i].saturating_add(share * u16::from(has[i]));
        }
    }
    sums
}
