//! Finds the nearest events of the window.

use pulp::{Arch, NullaryFnOnce};

use super::column::{ABSENT, Item, LANES, Tile};
use super::columns::Columns;

/// Number of distances per group, of which the minimum is kept.
const GROUP: usize = 16;

/// Finds the nearest events and keeps the result.
#[derive(Clone, Debug, Default)]
pub struct Nearest {
    arch: Arch,
    distances: Vec<Tile>,
    /// The minimum distance of each group; in `scratch` unordered, as the bits of these numbers of 0 or more.
    lowest: Vec<f32>,
    scratch: Vec<u32>,
    /// Candidate events as numbers; the nearest, and of equally near ones the latest, have the lowest.
    candidates: Vec<u64>,
    /// Distances and slots in ascending order; of equal distances, those of later events come first.
    pub found: Vec<(f32, usize)>,
}

impl Nearest {
    /// Find the `count` nearest of `events`, the oldest of which is in slot `next`, or 0 if that is past them.
    pub fn find(&mut self, columns: &Columns, items: &[Item], events: usize, next: usize, count: usize) {
        let tiles = events.div_ceil(LANES);
        self.distances.resize(tiles, Tile([0.0; LANES]));
        self.lowest.resize(tiles * (LANES / GROUP), 0.0);
        let (distances, lowest) = (&mut self.distances, &mut self.lowest);
        self.arch.dispatch(Measure { columns, items, distances, lowest });
        if let Some(last) = distances.last_mut() {
            // Slots past the events.
            last.0[events - (tiles - 1) * LANES..].fill(f32::INFINITY);
        }
        self.find_newest(events, next, events, count);
    }

    /// Find the nearest of the `newest` events from the distances computed last. Candidates are no farther than the
    /// `count`-th lowest group minimum, since each of these groups has an event that near.
    pub fn find_newest(&mut self, events: usize, next: usize, newest: usize, count: usize) {
        let age_of = |slot| slot_of(slot, events, next); // which is its own inverse
        let is_new = |group: &usize| {
            let (oldest, latest) = (age_of(group * GROUP), age_of(group * GROUP + GROUP - 1));
            oldest < newest && latest + GROUP - 1 == oldest
        };
        let new_groups = (0..events / GROUP).filter(is_new);
        self.scratch.clear();
        self.scratch.extend(new_groups.map(|group| self.lowest[group].to_bits()));
        let mut bound = f32::MAX;
        if count <= self.scratch.len() {
            bound = f32::from_bits(*self.scratch.select_nth_unstable(count - 1).1);
        }
        self.candidates.clear();
        for (group, _) in self.lowest.iter().enumerate().filter(|(_, lowest)| **lowest <= bound) {
            let begin = group * GROUP;
            let distances = &self.distances[begin / LANES].0[begin % LANES..][..GROUP];
            for (slot, &distance) in (begin..).zip(distances).filter(|(_, distance)| **distance <= bound) {
                let age = age_of(slot);
                if age < newest {
                    self.candidates.push(u64::from(distance.to_bits()) << 32 | age as u64);
                }
            }
        }
        self.keep_nearest(events, next, count);
    }

    /// Move the nearest candidates to `found`.
    fn keep_nearest(&mut self, events: usize, next: usize, count: usize) {
        if self.candidates.len() > count {
            self.candidates.select_nth_unstable(count);
            self.candidates.truncate(count);
        }
        self.candidates.sort_unstable();
        self.found.clear();
        self.found.extend(self.candidates.iter().map(|candidate| {
            let age = (candidate & u64::from(u32::MAX)) as usize;
            (f32::from_bits((candidate >> 32) as u32), slot_of(age, events, next))
        }));
    }
}

/// The slot of the event of a given age, 0 for the latest, if the oldest of `events` is in slot `next`.
fn slot_of(age: usize, events: usize, next: usize) -> usize {
    if age < next { next - 1 - age } else { next + events - 1 - age }
}

/// Computes the distances to all events and the minimum of each group.
///
/// Each distance is summed in the order of the items, so that the bits do not depend on how many a processor handles at
/// once; see `learners/support_vectors/loops.rs`.
struct Measure<'a> {
    columns: &'a Columns,
    items: &'a [Item],
    distances: &'a mut [Tile],
    lowest: &'a mut [f32],
}

impl NullaryFnOnce for Measure<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Self { columns, items, distances, lowest } = self;
        for (tile, (distances, lowest)) in
            distances.iter_mut().zip(lowest.chunks_exact_mut(LANES / GROUP)).enumerate()
        {
            let mut sums = [0.0; LANES];
            for item in items {
                if let Some(column) = &columns.places[item.column] {
                    add(&mut sums, item, column.tile(tile));
                }
            }
            distances.0 = sums;
            for (lowest, group) in lowest.iter_mut().zip(sums.as_chunks::<GROUP>().0) {
                *lowest = lowest_of(*group);
            }
        }
    }
}

#[inline(always)]
fn add(sums: &mut [f32; LANES], item: &Item, values: &Tile) {
    for (sum, &value) in sums.iter_mut().zip(&values.0) {
        let difference = part(item, value);
        *sum += if value == ABSENT { item.missing } else { difference };
    }
}

/// What an item adds to the distance from a value that is present.
#[inline(always)]
pub fn part(item: &Item, value: f32) -> f32 {
    let difference = item.value - value;
    let square = difference * difference;
    item.unit * if square < item.cut { square } else { item.cut }
}

#[inline(always)]
fn lowest_of(mut lanes: [f32; GROUP]) -> f32 {
    let mut width = GROUP;
    while width > 1 {
        width /= 2;
        for i in 0..width {
            lanes[i] = if lanes[width + i] < lanes[i] { lanes[width + i] } else { lanes[i] };
        }
    }
    lanes[0]
}
