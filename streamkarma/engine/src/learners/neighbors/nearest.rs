//! The nearest events of the window.

use pulp::{Arch, NullaryFnOnce};

use super::columns::{ABSENT, Columns, Item, LANES, Tile};

/// Finds them, and remembers those found last.
#[derive(Clone, Debug, Default)]
pub struct Nearest {
    arch: Arch,
    distances: Vec<Tile>,
    /// The least distance of each tile.
    least: Vec<f32>,
    /// Distances and slots, ascending; of equal distances those of later events first.
    pub found: Vec<(f32, usize)>,
}

impl Nearest {
    /// Find the so many nearest of `events`, of which the oldest has the slot `next`, or 0 if there is none.
    pub fn find(&mut self, columns: &Columns, items: &[Item], events: usize, next: usize, count: usize) {
        let tiles = events.div_ceil(LANES);
        self.distances.resize(tiles, Tile([0.0; LANES]));
        self.least.resize(tiles, 0.0);
        let (distances, least) = (&mut self.distances, &mut self.least);
        self.arch.dispatch(Measure { columns, items, distances, least });
        self.found.clear();
        let next = next.min(events);
        for (begin, mut end) in [(0, next), (next, events)] {
            while end > begin {
                let tile = (end - 1) / LANES;
                let first = begin.max(tile * LANES);
                if self.least[tile] < self.bound(count) {
                    (first..end).rev().for_each(|slot| self.offer(slot, count));
                }
                end = first;
            }
        }
    }

    /// What a distance must be below.
    fn bound(&self, count: usize) -> f32 {
        if self.found.len() < count { f32::INFINITY } else { self.found[count - 1].0 }
    }

    fn offer(&mut self, slot: usize, count: usize) {
        let distance = self.distances[slot / LANES].0[slot % LANES];
        if distance < self.bound(count) {
            self.found.truncate(count - 1);
            let at = self.found.partition_point(|(other, _)| *other <= distance);
            self.found.insert(at, (distance, slot));
        }
    }
}

/// Distances to all events, and the least of each tile.
///
/// Each is summed up in the order of the items, so that the bits do not depend on how many a processor takes
/// at once; see `learners/support_vectors/loops.rs`.
struct Measure<'a> {
    columns: &'a Columns,
    items: &'a [Item],
    distances: &'a mut [Tile],
    least: &'a mut [f32],
}

impl NullaryFnOnce for Measure<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Self { columns, items, distances, least } = self;
        for (tile, (distances, least)) in distances.iter_mut().zip(least).enumerate() {
            let mut sums = [0.0; LANES];
            for item in items {
                if let Some(column) = &columns.places[item.column] {
                    add(&mut sums, item, column.tile(tile));
                }
            }
            distances.0 = sums;
            *least = lowest(&sums);
        }
    }
}

#[inline(always)]
fn add(sums: &mut [f32; LANES], item: &Item, values: &Tile) {
    for i in 0..LANES {
        let difference = part(item, values.0[i]);
        sums[i] += if values.0[i] == ABSENT { item.missing } else { difference };
    }
}

/// What an item adds to the distance from a value that is there.
#[inline(always)]
pub fn part(item: &Item, value: f32) -> f32 {
    let difference = item.value - value;
    let square = difference * difference;
    item.unit * if square < item.cut { square } else { item.cut }
}

#[inline(always)]
fn lowest(numbers: &[f32; LANES]) -> f32 {
    let mut lanes = *numbers;
    let mut width = LANES;
    while width > 1 {
        width /= 2;
        for i in 0..width {
            lanes[i] = if lanes[width + i] < lanes[i] { lanes[width + i] } else { lanes[i] };
        }
    }
    lanes[0]
}
