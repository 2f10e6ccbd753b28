//! The loops over tiles that the passes consist of.
//!
//! The value of a slot is summed in the order of the items, so that the bits do not depend on how many slots a
//! processor handles at once. It handles as many as it can: `pulp` compiles each loop several times and selects one at
//! run time. The loop must be fully inlined there, hence structs: inlining of closures is not guaranteed.

use pulp::NullaryFnOnce;

use super::table::{TILE, Tile, WIDE};

/// Count the attributes of a set that each slot has, and compute the gains from the counts.
pub struct CountShared<'a> {
    pub mask: &'a [Vec<Tile<u8, WIDE>>],
    /// The rows of the attributes.
    pub rows: &'a [usize],
    pub gamma: u32,
    pub counts: &'a mut [Tile<u8, WIDE>],
    pub gains: &'a mut [Tile<f64>],
}

impl NullaryFnOnce for CountShared<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        // In rounds of as many rows as a byte can count. Counting all tiles first keeps the compiler from counting only
        // as many at once as there are floating-point numbers in a register.
        for begin in (0..self.rows.len().max(1)).step_by(255) {
            let end = self.rows.len().min(begin + 255);
            for (block, counts) in self.mask.iter().zip(&mut *self.counts) {
                counts.0 = counts_of(block, &self.rows[begin..end]);
            }
            for (tile, gains) in self.gains.iter_mut().enumerate() {
                let before = if begin == 0 { [0.0; TILE] } else { gains.0 };
                let overlaps = increased(before, part(self.counts, tile));
                gains.0 = if end < self.rows.len() { overlaps } else { growths(overlaps, self.gamma) };
            }
        }
    }
}

/// `Σ_i gain_i <x, u_i>`.
pub struct Product<'a> {
    pub values: &'a [Vec<Tile<f64>>],
    /// Rows of values, and their factors.
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

/// Bound from above what each pattern keeps of a vector, and return the greatest bound.
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
            for (greatest, &bound) in greatest.iter_mut().zip(&bounds.0) {
                *greatest = if bound > *greatest { bound } else { *greatest };
            }
        }
        greatest.iter().fold(0.0, |greatest, &bound| if bound > greatest { bound } else { greatest })
    }
}

/// List the slots whose bounds are at least `least`, in order.
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

/// Position of the first occurrence of the least number; 0 if there is none.
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

/// The numbers of a narrow tile within wide ones.
#[inline(always)]
fn part<T>(wide: &[Tile<T, WIDE>], tile: usize) -> &[T; TILE] {
    const PARTS: usize = WIDE / TILE;
    &wide[tile / PARTS].0.as_chunks().0[tile % PARTS]
}

/// The number of `rows` that each slot of a block has, up to 255.
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

/// Overlaps increased by counts.
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

/// `kernel::growth` of a whole tile.
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

/// `<x, u_i>` by slot, over the rows of x in a block of values.
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
