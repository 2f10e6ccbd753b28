//! The events of a window as columns of bins, for splits to be found by histograms.

use crate::learners::latest::Latest;
use crate::learners::row::Row;
use crate::scale::LARGEST;

/// Most bins of a column: at the quantiles of its values.
const BINS: usize = 64;
/// And least values of one, but for the last.
const LEAST: usize = 3;
/// Most columns: of more coordinates, those that most events have.
const MOST: usize = 512;
/// A coordinate that fewer events have splits nothing.
const RAREST: usize = 5;

/// A coordinate.
pub struct Column {
    /// Which one it is.
    pub coordinate: u32,
    /// By event: its bin; what is missing is in one above all others.
    pub bins: Vec<u8>,
    /// By bin: where it ends.
    pub cuts: Vec<f64>,
}

impl Column {
    /// Of values, NaN for what is missing.
    pub fn new(coordinate: u32, values: &[f64]) -> Self {
        let mut sorted: Vec<f64> = values.iter().copied().filter(|value| !value.is_nan()).collect();
        sorted.sort_unstable_by(f64::total_cmp);
        let mut cuts = Vec::new();
        let mut rest = &sorted[..];
        while !rest.is_empty() {
            let size = rest.len().div_ceil(BINS - cuts.len()).max(LEAST.min(rest.len()));
            let last = rest[size - 1];
            // Equal values share a bin.
            rest = &rest[rest.partition_point(|&value| value <= last)..];
            // All that is observed is below the last cut, also what is above all values so far.
            cuts.push(rest.first().map_or(LARGEST, |&next| between(last, next)));
        }
        let absent = cuts.len() as u8;
        let bin = |value: &f64| {
            if value.is_nan() { absent } else { cuts.partition_point(|cut| cut < value) as u8 }
        };
        Self { coordinate, bins: values.iter().map(bin).collect(), cuts }
    }

    /// How many bins there are, that of what is missing included.
    pub fn len(&self) -> usize {
        self.cuts.len() + 1
    }

    /// Whether it tells any two events apart.
    fn is_constant(&self) -> bool {
        self.bins.iter().all(|&bin| bin == self.bins[0])
    }
}

/// The columns of the events that are kept.
pub fn columns_of(latest: &Latest<f64>, row: &mut Row<f64>) -> Vec<Column> {
    let mut counts = vec![0; row.coordinates()];
    for event in &latest.events {
        latest.items(event).for_each(|(coordinate, _)| counts[coordinate as usize] += 1);
    }
    let mut wanted: Vec<u32> = (0..counts.len()).filter(|&k| counts[k] >= RAREST).map(|k| k as u32).collect();
    wanted.sort_by_key(|&k| std::cmp::Reverse(counts[k as usize]));
    wanted.truncate(MOST);
    wanted.sort_unstable();
    let events = latest.events.len();
    let mut table = vec![f64::NAN; wanted.len() * events];
    for (at, event) in latest.events.iter().enumerate() {
        row.recall(latest.items(event));
        for (column, &coordinate) in wanted.iter().enumerate() {
            table[column * events + at] = row.of(coordinate);
        }
    }
    let all = wanted.iter().zip(table.chunks_exact(events.max(1)));
    all.map(|(&coordinate, values)| Column::new(coordinate, values))
        .filter(|column| !column.is_constant())
        .collect()
}

/// A number half-way between two, above or at the lower one and below the other.
fn between(low: f64, high: f64) -> f64 {
    let middle = 0.5 * low + 0.5 * high;
    if middle < high { middle.max(low) } else { low }
}
