//! Passes over all support vectors at once: this is where the time is spent.
//!
//! They cover whole tiles: past the slots in use, tables are 0 and contribute nothing.

use pulp::Arch;

use super::loops::{AtLeast, Bound, CountShared, Least, Product};
use super::table::{TILE, Table, Tile, WIDE};
use crate::kernel::growth;

/// The whole square of a vector, in the units of its shares.
const WHOLE: f64 = 65_000.0;
/// Relative slack of a bound, more than rounding errors can amount to.
const SLACK: f64 = 1e-9;

/// Scratch for the passes.
#[derive(Clone, Debug, Default)]
pub struct Passes {
    arch: Arch,
    /// Rows of the mask to count; rows of values or of the mask, with their factors; rows of the mask, with shares of a
    /// vector's square.
    rows: Vec<usize>,
    items: Vec<(usize, f64)>,
    shares: Vec<(usize, u16)>,
    /// By slot: counts of attributes, sums of shares.
    counts: Vec<Tile<u8, WIDE>>,
    sums: Vec<Tile<u16, WIDE>>,
    /// `G(|o ∩ q_i|)` for a set of attributes o.
    gains: Vec<Tile<f64>>,
    /// G of the whole set o.
    largest: f64,
    /// Upper bounds of what patterns keep of a vector.
    bounds: Vec<Tile<f64>>,
    /// The slots found.
    found: Vec<usize>,
}

impl Passes {
    /// Count the attributes of a set that each slot has, and compute the gains from the counts.
    pub fn count_shared(&mut self, mask: &Table<u8, WIDE>, attributes: &[u32], gamma: u32) {
        let tiles = mask.blocks().len() * (WIDE / TILE);
        self.rows.clear();
        self.rows.extend(attributes.iter().filter_map(|&attribute| mask.row(attribute)));
        self.largest = growth(self.rows.len() as f64, gamma);
        self.counts.resize(mask.blocks().len(), Tile([0; WIDE]));
        self.gains.resize(tiles, Tile([0.0; TILE]));
        self.arch.dispatch(CountShared {
            mask: mask.blocks(),
            rows: &self.rows,
            gamma,
            counts: &mut self.counts,
            gains: &mut self.gains,
        });
    }

    /// G of the attributes that a slot shares with the set of the last `count_shared`.
    pub fn gain(&self, slot: usize) -> f64 {
        self.gains[slot / TILE].0[slot % TILE]
    }

    /// `Σ_i gain_i <x, u_i>` for one class; `x` is by coordinate.
    pub fn product(&mut self, values: &Table<f64>, class: usize, coordinates: &[u32], x: &[f64]) -> f64 {
        self.items.clear();
        self.items.extend(coordinates.iter().zip(x).filter_map(|(&k, &x)| Some((values.row(k)? + class, x))));
        self.arch.dispatch(Product { values: values.blocks(), items: &self.items, gains: &self.gains })
    }

    /// The slot whose pattern keeps most of a vector when it is projected onto it; None if none keeps anything.
    ///
    /// The projection of φ(x, o) onto {φ(u, q)} has the squared norm `G(|o ∩ q|)² / G(|q|) Σ x_k²` over `o ∩ q`
    /// (design, Fact 2). `squares` are the x_k² by attribute, for the set o of the last `count_shared`; `inverse` has the
    /// `1 / G(|q|)` of whole tiles, 0 for a slot that must not be found.
    pub fn closest(
        &mut self,
        mask: &Table<u8, WIDE>,
        squares: &[(u32, f64)],
        inverse: &[f64],
    ) -> Option<usize> {
        let enough = self.bound(mask, squares, inverse);
        self.arch.dispatch(AtLeast { bounds: &self.bounds, least: enough, found: &mut self.found });
        let (mut most, mut best) = (0.0, None);
        for &slot in &self.found {
            let kept = self.kept(mask, slot, inverse);
            if kept > most {
                (most, best) = (kept, Some(slot));
            }
        }
        best
    }

    /// What a pattern keeps of the vector whose squares are in `items`.
    fn kept(&self, mask: &Table<u8, WIDE>, slot: usize, inverse: &[f64]) -> f64 {
        let block = &mask.blocks()[slot / WIDE];
        let has = |row: usize| f64::from(block[row].0[slot % WIDE]);
        let shared = self.items.iter().map(|&(row, square)| has(row) * square).sum::<f64>();
        self.gain(slot) * self.gain(slot) * inverse[slot] * shared
    }

    /// Bound from above what each pattern keeps, in shares, and return a lower bound of what the best one keeps.
    ///
    /// A share of the square is held in sixteen bits, rounded up by at most one per item; a sum beyond sixteen bits
    /// exceeds the whole anyway. The factor of the sum is at most G of the whole set.
    fn bound(&mut self, mask: &Table<u8, WIDE>, squares: &[(u32, f64)], inverse: &[f64]) -> f64 {
        let total: f64 = squares.iter().map(|&(_, square)| square).sum();
        let unit = WHOLE / total;
        let known = squares.iter().filter_map(|&(attribute, square)| Some((mask.row(attribute)?, square)));
        self.items.clear();
        self.items.extend(known);
        self.shares.clear();
        let shares =
            self.items.iter().map(|&(row, square)| (row, ((square * unit) as u16).saturating_add(1)));
        self.shares.extend(shares);
        self.sums.resize(mask.blocks().len(), Tile([0; WIDE]));
        self.bounds.resize(self.gains.len(), Tile([0.0; TILE]));
        let greatest = self.arch.dispatch(Bound {
            mask: mask.blocks(),
            shares: &self.shares,
            sums: &mut self.sums,
            gains: &self.gains,
            inverse,
            bounds: &mut self.bounds,
        });
        (greatest - self.largest * self.items.len() as f64) * (1.0 - SLACK)
    }

    /// Position of the first occurrence of the least number; 0 if there is none.
    pub fn least(&self, numbers: &[f64]) -> usize {
        self.arch.dispatch(Least(numbers))
    }
}
