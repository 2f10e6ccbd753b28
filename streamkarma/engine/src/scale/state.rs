//! The state of a scale as numbers.

use super::moving::Latest;
use super::{START, Scale, Sums};

/// Maximum of any number in a state.
pub(super) const LARGEST_SUM: f64 = 1e250;

/// Numbers stored per attribute.
pub const WIDTH: usize = PLAIN + START;
/// How many of these are not first values.
const PLAIN: usize = 11;

impl Scale {
    /// As a row of a model file.
    pub fn row(&self) -> [f64; WIDTH] {
        let Sums { count, mean, squares } = self.ordinary;
        let Latest { lag, excess } = self.latest;
        let mut row = [0.0; WIDTH];
        row[..PLAIN].copy_from_slice(&[
            count,
            mean,
            squares,
            self.mode,
            self.mode_count,
            self.lead,
            self.beyond,
            self.kept as f64,
            lag,
            excess,
            self.moved,
        ]);
        row[PLAIN..].copy_from_slice(&self.first);
        row
    }

    /// From a row of a model file; None if no sequence of values could produce it.
    pub fn from_row(row: &[f64]) -> Option<Self> {
        let (&[count, mean, squares, mode, mode_count, lead, beyond, kept, lag, excess, moved], first) =
            row.split_first_chunk::<PLAIN>()?;
        let first = first.try_into().ok()?;
        let bounded = row.iter().all(|number| number.abs() <= LARGEST_SUM);
        let counts = [count, squares, mode_count, lead, beyond, kept, moved];
        let counted = counts.iter().all(|&number| number >= 0.0);
        let whole = kept <= START as f64 && kept == kept.floor();
        (bounded && counted && whole).then_some(Self {
            ordinary: Sums { count, mean, squares },
            mode,
            mode_count,
            lead,
            beyond,
            latest: Latest { lag, excess },
            moved,
            kept: kept as usize,
            first,
        })
    }
}
