//! A scale as numbers.

use super::{START, Scale, Sums};

/// No number of a state is larger.
pub(super) const LARGEST_SUM: f64 = 1e250;

/// How many numbers are kept of an attribute.
pub const WIDTH: usize = 8 + START;

impl Scale {
    /// As a row of a model file.
    pub fn row(&self) -> [f64; WIDTH] {
        let Sums { count, mean, squares } = self.ordinary;
        let mut row = [0.0; WIDTH];
        row[..8].copy_from_slice(&[
            count,
            mean,
            squares,
            self.mode,
            self.mode_count,
            self.lead,
            self.beyond,
            self.kept as f64,
        ]);
        row[8..].copy_from_slice(&self.first);
        row
    }

    /// From a row of a model file; None if no values leave such a row.
    pub fn from_row(row: &[f64]) -> Option<Self> {
        let (&[count, mean, squares, mode, mode_count, lead, beyond, kept], first) =
            row.split_first_chunk()?;
        let first = first.try_into().ok()?;
        let bounded = row.iter().all(|number| number.abs() <= LARGEST_SUM);
        let counted = [count, squares, mode_count, lead, beyond, kept].iter().all(|&number| number >= 0.0);
        let whole = kept <= START as f64 && kept == kept.floor();
        (bounded && counted && whole).then_some(Self {
            ordinary: Sums { count, mean, squares },
            mode,
            mode_count,
            lead,
            beyond,
            kept: kept as usize,
            first,
        })
    }
}
