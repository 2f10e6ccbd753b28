//! The events of a window as columns of bins, for splits to be found by histograms.

use crate::learners::codes::{CODES, Codes, MISSING};
use crate::learners::latest::Latest;

/// Most bins of a column: at the quantiles of its values.
const BINS: usize = 64;
/// And least values of one, but for the last.
const LEAST: u32 = 3;
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
    /// By bin: its highest code.
    pub cuts: Vec<u16>,
}

impl Column {
    fn new(coordinate: u32, codes: &[u16]) -> Self {
        let mut counts = [0u32; CODES as usize];
        for &code in codes.iter().filter(|&&code| code != MISSING) {
            counts[usize::from(code)] += 1;
        }
        let mut left: u32 = counts.iter().sum();
        let (mut cuts, mut of, mut inside) = (Vec::new(), [0u8; CODES as usize], 0);
        for (code, count) in (0..CODES).zip(counts) {
            of[usize::from(code)] = cuts.len() as u8;
            inside += count;
            if left > 0 && inside >= left.div_ceil((BINS - cuts.len()) as u32).max(LEAST.min(left)) {
                cuts.push(code);
                left -= inside;
                inside = 0;
            }
        }
        // All that is observed is below the last cut, also what is above all values so far.
        if let Some(last) = cuts.last_mut() {
            *last = CODES - 1;
        }
        let absent = cuts.len() as u8;
        let bins = codes.iter().map(|&code| if code == MISSING { absent } else { of[usize::from(code)] });
        Self { coordinate, bins: bins.collect(), cuts }
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
pub fn columns_of(latest: &Latest, codes: &mut Codes) -> Vec<Column> {
    let mut counts = vec![0; codes.coordinates()];
    for event in &latest.events {
        latest.items(event).for_each(|(coordinate, _)| counts[coordinate as usize] += 1);
    }
    let mut wanted: Vec<u32> = (0..counts.len()).filter(|&k| counts[k] >= RAREST).map(|k| k as u32).collect();
    wanted.sort_by_key(|&k| std::cmp::Reverse(counts[k as usize]));
    wanted.truncate(MOST);
    wanted.sort_unstable();
    let events = latest.events.len();
    let mut table = vec![MISSING; wanted.len() * events];
    for (at, event) in latest.events.iter().enumerate() {
        codes.recall(latest.items(event));
        for (column, &coordinate) in wanted.iter().enumerate() {
            table[column * events + at] = codes.of(coordinate);
        }
    }
    let all = wanted.iter().zip(table.chunks_exact(events.max(1)));
    all.map(|(&coordinate, codes)| Column::new(coordinate, codes))
        .filter(|column| !column.is_constant())
        .collect()
}
