//! The latest events, column by column.

use super::latest::Latest;
use super::row::Row;

/// Maximum number of columns: of more coordinates, those that occur in the most events.
const MOST: usize = 512;

/// The values of the kept events.
pub struct Table {
    /// The coordinate of each column.
    pub coordinates: Vec<u32>,
    /// One column after another; NaN for missing values.
    values: Vec<f64>,
    events: usize,
}

impl Table {
    /// A table of the coordinates that at least `rarest` events have.
    pub fn new(latest: &Latest<f64>, row: &mut Row<f64>, rarest: usize) -> Self {
        let mut counts = vec![0; row.coordinates()];
        for event in &latest.events {
            latest.items(event).for_each(|(coordinate, _)| counts[coordinate as usize] += 1);
        }
        let mut wanted: Vec<u32> =
            (0..counts.len()).filter(|&k| counts[k] >= rarest).map(|k| k as u32).collect();
        wanted.sort_by_key(|&k| std::cmp::Reverse(counts[k as usize]));
        wanted.truncate(MOST);
        wanted.sort_unstable();
        let events = latest.events.len();
        let mut values = vec![f64::NAN; wanted.len() * events];
        for (at, event) in latest.events.iter().enumerate() {
            row.recall(latest.items(event));
            for (column, &coordinate) in wanted.iter().enumerate() {
                values[column * events + at] = row.of(coordinate);
            }
        }
        Self { coordinates: wanted, values, events }
    }

    /// Number of events.
    pub fn events(&self) -> usize {
        self.events
    }

    /// The values of a column, event by event.
    pub fn column(&self, column: usize) -> &[f64] {
        &self.values[column * self.events..][..self.events]
    }
}
