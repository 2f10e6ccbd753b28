//! Passes over all support vectors at once: where the time goes.
//!
//! Past the slots in use, up to whole tiles, tables are 0, and so is what the passes write there.

use super::table::{TILE, Table};

/// Scratch for the passes, one entry per slot.
#[derive(Clone, Debug, Default)]
pub struct Passes {
    counts: Vec<u8>,
    /// `|o ∩ q_i|` for a set of attributes o.
    pub overlaps: Vec<f64>,
    /// G of the overlaps.
    pub gains: Vec<f64>,
}

impl Passes {
    /// Count what a set of attributes shares with each slot, and take the gains of that.
    pub fn meet(&mut self, mask: &Table<u8>, attributes: &[u32], span: usize, gamma: u32) {
        self.overlaps.clear();
        self.overlaps.resize(span, 0.0);
        // Counted in bytes, in rounds of as many as a byte can count.
        for some in attributes.chunks(255) {
            self.counts.clear();
            self.counts.resize(span, 0);
            for &attribute in some.iter().filter(|&&attribute| mask.has(attribute)) {
                for (count, has) in self.counts.iter_mut().zip(mask.row(attribute, 0)) {
                    *count += has;
                }
            }
            for (overlap, &count) in self.overlaps.iter_mut().zip(&self.counts) {
                *overlap += f64::from(count);
            }
        }
        self.gains.clear();
        self.gains.resize(span, 1.0);
        // `kernel::growth` of all at once.
        for _ in 1..gamma {
            for (gain, overlap) in self.gains.iter_mut().zip(&self.overlaps) {
                *gain = *gain * overlap + 1.0;
            }
        }
    }

    /// The slot whose observed set is the one that was met, of so many attributes.
    pub fn same(&self, observed: &[Vec<u32>], size: usize) -> Option<usize> {
        let size = size as f64;
        for (tile, overlaps) in self.overlaps.as_chunks::<TILE>().0.iter().enumerate() {
            if overlaps.iter().fold(false, |any, &overlap| any | (overlap == size)) {
                let mut sets = observed.iter().skip(tile * TILE).zip(overlaps);
                let found = sets.position(|(set, &overlap)| overlap == size && set.len() as f64 == size);
                if let Some(i) = found {
                    return Some(tile * TILE + i);
                }
            }
        }
        None
    }

    /// `Σ_i gain_i <x, u_i>` for one class; `x` by coordinate, all of which have rows.
    pub fn product(&self, values: &Table<f64>, class: usize, x: &[(u32, f64)]) -> f64 {
        let mut total = [0.0; TILE];
        for (tile, gains) in self.gains.as_chunks::<TILE>().0.iter().enumerate() {
            let mut products = [0.0; TILE];
            for &(coordinate, x) in x {
                let values = &values.row(coordinate, class).as_chunks::<TILE>().0[tile];
                for i in 0..TILE {
                    products[i] += x * values[i];
                }
            }
            for i in 0..TILE {
                total[i] += gains[i] * products[i];
            }
        }
        total.iter().sum()
    }

    /// The slot whose pattern keeps most of a vector in the projection onto it; None if none keeps anything.
    ///
    /// That of φ(x, o) onto {φ(u, q)} has the squared norm `G(|o ∩ q|)² / G(|q|) Σ x_k²` over `o ∩ q`
    /// (design, Fact 2). `squares` are the x_k² by attribute, for o that was met; `but` is the slot that
    /// the vector is in, if it is in one.
    pub fn closest(
        &self,
        mask: &Table<u8>,
        squares: &[(u32, f64)],
        inverse: &[f64],
        but: Option<usize>,
    ) -> Option<usize> {
        let total: f64 = squares.iter().map(|&(_, square)| square).sum();
        let (mut most, mut found) = (0.0, None);
        for (slot, (gain, inverse)) in self.gains.iter().zip(inverse).enumerate() {
            let factor = gain * gain * inverse;
            // Hardly any slot could keep more than the best so far, even if it had all of the attributes.
            if factor * total <= most || Some(slot) == but {
                continue;
            }
            let has = |attribute| f64::from(mask.get(attribute, 0, slot));
            let kept =
                factor * squares.iter().map(|&(attribute, square)| has(attribute) * square).sum::<f64>();
            if kept > most {
                (most, found) = (kept, Some(slot));
            }
        }
        found
    }
}

/// Where the least number stands first; 0 if there is none.
pub fn least(numbers: &[f64]) -> usize {
    let (tiles, rest) = numbers.as_chunks::<TILE>();
    let mut lanes = [f64::INFINITY; TILE];
    for tile in tiles {
        for (smallest, &number) in lanes.iter_mut().zip(tile) {
            *smallest = if number < *smallest { number } else { *smallest };
        }
    }
    let smallest = lanes.iter().chain(rest).fold(f64::INFINITY, |smallest, &number| smallest.min(number));
    numbers.iter().position(|&number| number == smallest).unwrap_or(0)
}
