//! What the labels of categories were, by key, in a table of a fixed size.

use crate::rate_key::KEYS;
use crate::state::{Refused, State, ensure};

/// A key may be at one of so many places in its bucket; of more that meet there, the one that had no label
/// for the longest time gives way.
const WAYS: usize = 8;
const BUCKETS: usize = 1 << 13;

/// No label, or nobody's place: keys are not 0.
const NOBODY: u64 = 0;

/// No number of a state is larger.
pub const LARGEST_SUM: f64 = 1e250;

/// How many labels, and their sums: of classes, how many were of each.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Labels {
    pub count: f64,
    pub sums: Vec<f64>,
}

/// Labels by key. Empty until the first one.
#[derive(Clone, Debug, Default)]
pub struct Table {
    keys: Vec<u64>,
    /// The number of the last label of each.
    times: Vec<u64>,
    /// How many labels each had.
    counts: Vec<f64>,
    /// Their sums, so many of each.
    sums: Vec<f64>,
    width: usize,
    /// Labels so far.
    clock: u64,
}

impl Table {
    /// One that knows nothing, for so many sums of each key.
    pub fn new(width: usize) -> Self {
        Self { width, ..Self::default() }
    }

    /// How many keys it has.
    pub fn len(&self) -> usize {
        self.keys.iter().filter(|key| **key != NOBODY).count()
    }

    /// The room that it takes.
    pub fn bytes(&self) -> u64 {
        8 * (3 * self.keys.len() + self.sums.len()) as u64
    }

    /// The count and the sums of a key, if it has any.
    pub fn find(&self, key: u64) -> Option<(f64, &[f64])> {
        let bucket = bucket(key);
        let ways = self.keys.get(bucket..bucket + WAYS)?;
        let place = bucket + ways.iter().position(|&other| other == key)?;
        Some((self.counts[place], &self.sums[place * self.width..][..self.width]))
    }

    /// The same of a key that gets a label, and a place if it has none.
    pub fn enter(&mut self, key: u64) -> (&mut f64, &mut [f64]) {
        if self.keys.is_empty() {
            self.make_room();
        }
        self.clock += 1;
        let place = self.place(key);
        if self.keys[place] != key {
            self.keys[place] = key;
            self.counts[place] = 0.0;
            self.sums[place * self.width..][..self.width].fill(0.0);
        }
        self.times[place] = self.clock;
        (&mut self.counts[place], &mut self.sums[place * self.width..][..self.width])
    }

    fn make_room(&mut self) {
        let size = BUCKETS * WAYS;
        (self.keys, self.times) = (vec![NOBODY; size], vec![0; size]);
        (self.counts, self.sums) = (vec![0.0; size], vec![0.0; size * self.width]);
    }

    /// Where a key is, or is to be. Free places have the least time.
    fn place(&self, key: u64) -> usize {
        let places = bucket(key)..bucket(key) + WAYS;
        let own = places.clone().find(|&place| self.keys[place] == key);
        own.or_else(|| places.min_by_key(|&place| self.times[place])).unwrap_or(0)
    }

    /// Go to so many sums of each key, as `widen` makes them of those before and the count.
    pub fn widen(&mut self, width: usize, widen: impl Fn(f64, &[f64], &mut [f64])) {
        let mut sums = vec![0.0; self.keys.len() * width];
        for (place, to) in sums.chunks_exact_mut(width).enumerate() {
            widen(self.counts[place], &self.sums[place * self.width..][..self.width], to);
        }
        (self.sums, self.width) = (sums, width);
    }

    /// Put all there is into a state.
    pub fn put(&self, state: &mut State) {
        let places: Vec<usize> = (0..self.keys.len()).filter(|&place| self.keys[place] != NOBODY).collect();
        let size = places.len();
        let mut times: Vec<i64> = places.iter().map(|&place| self.times[place] as i64).collect();
        times.push(self.clock as i64);
        let sums = places.iter().flat_map(|&place| &self.sums[place * self.width..][..self.width]);
        state.put_f64s("key_sums", sums.copied().collect(), &[size, self.width]);
        state.put_u64s("keys", places.iter().map(|&place| self.keys[place]).collect(), &[size]);
        state.put_f64s("key_counts", places.iter().map(|&place| self.counts[place]).collect(), &[size]);
        state.put_i64s("key_times", times, &[size + 1]);
    }

    /// From a state, with so many sums of each key, which may be below 0 or not.
    ///
    /// # Errors
    ///
    /// If no labels leave such a state.
    pub fn from_state(state: &State, width: usize, is_signed: bool) -> Result<Self, Refused> {
        const WHY: &str = "what labels said of categories contradicts itself";
        let (keys, shape) = state.u64s("keys")?;
        let ((counts, count_shape), (sums, sum_shape)) = (state.f64s("key_counts")?, state.f64s("key_sums")?);
        let (times, time_shape) = state.i64s("key_times")?;
        let size = keys.len();
        ensure(shape == [size] && count_shape == [size] && time_shape == [size + 1], WHY)?;
        ensure(sum_shape == [size, width] && counts.len() == size && times.len() == size + 1, WHY)?;
        ensure(sums.len() == size * width && size <= BUCKETS * WAYS, WHY)?;
        let clock = times[size];
        ensure(times.iter().all(|time| (0..=clock).contains(time)) && clock < 1 << 53, WHY)?;
        ensure(counts.iter().all(|count| (0.0..LARGEST_SUM).contains(count)), WHY)?;
        ensure(sums.iter().all(|&sum| sum.abs() < LARGEST_SUM && (is_signed || sum >= 0.0)), WHY)?;
        let mut table = Self::new(width);
        for (at, &key) in keys.iter().enumerate() {
            ensure((1..KEYS).contains(&key) && table.find(key).is_none(), WHY)?;
            let (count, to) = table.enter(key);
            *count = counts[at];
            to.copy_from_slice(&sums[at * width..][..width]);
            let place = table.place(key);
            table.times[place] = times[at] as u64;
        }
        ensure(table.len() == size, WHY)?;
        table.clock = clock as u64;
        Ok(table)
    }
}

/// Where the places of a key begin.
fn bucket(key: u64) -> usize {
    key as usize % BUCKETS * WAYS
}
