//! The labels of categories or terms, by key, in a table of fixed size.

use std::cmp::Reverse;

use super::labels::{Labels, LabelsMut};
use crate::rate_key::KEYS;
use crate::state::{Refused, State, ensure};

/// Number of slots in a bucket; when more keys collide in one, the key without a label for the longest time is
/// evicted.
const WAYS: usize = 8;
/// Number of buckets for the categories of all attributes.
const BUCKETS: usize = 1 << 13;

/// Marks a free slot: keys are not 0.
const NOBODY: u64 = 0;

/// Upper bound on the numbers of a state.
pub const LARGEST_SUM: f64 = 1e250;

/// Labels by key. Empty until the first one.
#[derive(Clone, Debug, Default)]
pub struct Table {
    keys: Vec<u64>,
    /// The number of each key's last label.
    times: Vec<u64>,
    /// The weighted number of labels of each key.
    counts: Vec<f64>,
    /// Their sums, `width` for each key.
    sums: Vec<f64>,
    /// The unweighted number of labels of each key.
    seen: Vec<u64>,
    width: usize,
    buckets: usize,
    /// Number of labels so far.
    clock: u64,
}

impl Table {
    /// An empty table, with this many sums per key.
    pub fn new(width: usize) -> Self {
        Self::with_buckets(width, BUCKETS)
    }

    /// The same with room for eight times as many keys as there are buckets.
    pub fn with_buckets(width: usize, buckets: usize) -> Self {
        Self { width, buckets, ..Self::default() }
    }

    /// Number of keys.
    pub fn count(&self) -> usize {
        self.keys.iter().filter(|key| **key != NOBODY).count()
    }

    /// Memory used, in bytes.
    pub fn bytes(&self) -> u64 {
        8 * (4 * self.keys.len() + self.sums.len()) as u64
    }

    /// Number of labels so far.
    pub fn clock(&self) -> u64 {
        self.clock
    }

    /// The number of a key's last label, if it has any.
    pub fn last(&self, key: u64) -> Option<u64> {
        Some(self.times[self.find_place(key)?])
    }

    /// The count and the sums of a key, if it has any.
    pub fn find(&self, key: u64) -> Option<(f64, &[f64])> {
        let place = self.find_place(key)?;
        Some((self.counts[place], self.sums_at(place)))
    }

    fn find_place(&self, key: u64) -> Option<usize> {
        let bucket = self.bucket(key);
        let ways = self.keys.get(bucket..bucket + WAYS)?;
        Some(bucket + ways.iter().position(|&other| other == key)?)
    }

    fn sums_at(&self, place: usize) -> &[f64] {
        &self.sums[place * self.width..][..self.width]
    }

    /// The entry of a key that gets a label, and a slot if it has none.
    pub fn enter(&mut self, key: u64) -> LabelsMut<'_> {
        if self.keys.is_empty() {
            self.make_room();
        }
        self.clock += 1;
        let place = self.place(key);
        if self.keys[place] != key {
            self.keys[place] = key;
            (self.counts[place], self.seen[place]) = (0.0, 0);
            self.sums[place * self.width..][..self.width].fill(0.0);
        }
        self.times[place] = self.clock;
        let sums = &mut self.sums[place * self.width..][..self.width];
        LabelsMut { count: &mut self.counts[place], sums, seen: &mut self.seen[place] }
    }

    fn make_room(&mut self) {
        let size = self.buckets * WAYS;
        (self.keys, self.times) = (vec![NOBODY; size], vec![0; size]);
        (self.counts, self.sums) = (vec![0.0; size], vec![0.0; size * self.width]);
        self.seen = vec![0; size];
    }

    /// The slot of a key, or the one it will get. Free slots have the least time.
    fn place(&self, key: u64) -> usize {
        let places = self.bucket(key)..self.bucket(key) + WAYS;
        let own = places.clone().find(|&place| self.keys[place] == key);
        own.or_else(|| places.min_by_key(|&place| (self.times[place], self.keys[place]))).unwrap_or(0)
    }

    /// Set the labels of a key, and the number of the last one.
    fn fill(&mut self, key: u64, labels: Labels, time: u64) {
        let LabelsMut { count, sums, seen } = self.enter(key);
        (*count, *seen) = (labels.count, labels.seen);
        sums.copy_from_slice(&labels.sums);
        let place = self.place(key);
        self.times[place] = time;
    }

    /// Merge in the labels of parts, each of which started from this one; with each label of a key, the previous ones
    /// decay by `keep`.
    ///
    /// Where more keys collide than there is capacity for, those with the most labels are kept. Only then does the
    /// result depend on whether some of the parts were merged before.
    pub fn merge(&mut self, parts: &[&Self], keep: impl Fn(u64) -> f64, is_signed: bool) {
        let all = || std::iter::once(&*self).chain(parts.iter().copied());
        let mut keys: Vec<u64> =
            all().flat_map(|each| &each.keys).copied().filter(|&key| key != NOBODY).collect();
        keys.sort_unstable_by_key(|&key| self.order(key));
        keys.dedup();
        let mut merged = Self::with_buckets(self.width, self.buckets);
        let since = parts.iter().map(|part| part.clock.saturating_sub(self.clock));
        let clock = self.clock + since.sum::<u64>();
        for keys in keys.chunk_by(|&one, &other| self.bucket(one) == self.bucket(other)) {
            let found = keys.iter().map(|&key| (key, self.merged(key, parts, keep(key), is_signed)));
            let mut found: Vec<_> = found.collect();
            found.sort_by_key(|(_, (labels, _))| Reverse(labels.seen));
            for (key, (labels, time)) in found.into_iter().take(WAYS) {
                merged.fill(key, labels, time.min(clock));
            }
        }
        *self = Self { clock, ..merged };
    }

    /// The labels of a key, and the number of the last one.
    fn merged(&self, key: u64, parts: &[&Self], keep: f64, is_signed: bool) -> (Labels, u64) {
        let before = self.labels(key);
        let (base, time) = before.unwrap_or_else(|| (Labels::new(self.width), 0));
        let own: Vec<_> = parts.iter().filter_map(|part| part.labels(key)).collect();
        let time = own.iter().fold(time, |last, (_, time)| last.max(*time));
        (Labels::merged(&base, own.iter().map(|(labels, _)| labels), keep, is_signed), time)
    }

    fn labels(&self, key: u64) -> Option<(Labels, u64)> {
        let place = self.find_place(key)?;
        let (count, sums, seen) = (self.counts[place], self.sums_at(place).to_vec(), self.seen[place]);
        Some((Labels { count, sums, seen }, self.times[place]))
    }

    /// Change the number of sums per key; `widen` computes them from the count and the previous ones.
    pub fn widen(&mut self, width: usize, widen: impl Fn(f64, &[f64], &mut [f64])) {
        let mut sums = vec![0.0; self.keys.len() * width];
        for (place, to) in sums.chunks_exact_mut(width).enumerate() {
            widen(self.counts[place], self.sums_at(place), to);
        }
        (self.sums, self.width) = (sums, width);
    }

    /// Save everything to a state.
    pub fn put(&self, state: &mut State) {
        let is_taken = |place: &usize| self.keys[*place] != NOBODY;
        let mut places: Vec<usize> = (0..self.keys.len()).filter(is_taken).collect();
        places.sort_by_key(|&place| self.order(self.keys[place]));
        let size = places.len();
        let mut times: Vec<i64> = places.iter().map(|&place| self.times[place] as i64).collect();
        times.push(self.clock as i64);
        let sums = places.iter().flat_map(|&place| self.sums_at(place));
        state.put_f64s("key_sums", sums.copied().collect(), &[size, self.width]);
        state.put_u64s("keys", places.iter().map(|&place| self.keys[place]).collect(), &[size]);
        state.put_f64s("key_counts", places.iter().map(|&place| self.counts[place]).collect(), &[size]);
        state.put_i64s("key_times", times, &[size + 1]);
        state.put_i64s("key_seen", places.iter().map(|&place| self.seen[place] as i64).collect(), &[size]);
    }

    /// Restore a state to an empty table; its sums may be below 0 if `is_signed`.
    ///
    /// # Errors
    ///
    /// If the state is invalid.
    pub fn restored(self, state: &State, is_signed: bool) -> Result<Self, Refused> {
        const WHY: &str = "the target statistics of categories are inconsistent";
        let (keys, shape) = state.u64s("keys")?;
        let ((counts, count_shape), (sums, sum_shape)) = (state.f64s("key_counts")?, state.f64s("key_sums")?);
        let (times, time_shape) = state.i64s("key_times")?;
        let (size, width) = (keys.len(), self.width);
        ensure(shape == [size] && count_shape == [size] && time_shape == [size + 1], WHY)?;
        ensure(sum_shape == [size, width] && counts.len() == size && times.len() == size + 1, WHY)?;
        ensure(sums.len() == size * width && size <= self.buckets * WAYS, WHY)?;
        let clock = times[size];
        ensure(times.iter().all(|time| (0..=clock).contains(time)) && clock < 1 << 53, WHY)?;
        ensure(counts.iter().all(|count| (0.0..LARGEST_SUM).contains(count)), WHY)?;
        ensure(sums.iter().all(|&sum| sum.abs() < LARGEST_SUM && (is_signed || sum >= 0.0)), WHY)?;
        let (mut table, seen) = (self, seen_in(state, "key_seen", size)?);
        for (at, &key) in keys.iter().enumerate() {
            ensure((1..2 * KEYS).contains(&key) && table.find(key).is_none(), WHY)?;
            let sums = sums[at * width..][..width].to_vec();
            table.fill(key, Labels { count: counts[at], sums, seen: seen[at] }, times[at] as u64);
        }
        ensure(table.count() == size, WHY)?;
        table.clock = clock as u64;
        Ok(table)
    }

    /// The first slot of a key's bucket.
    fn bucket(&self, key: u64) -> usize {
        key as usize % self.buckets * WAYS
    }

    /// Keys of a bucket are adjacent.
    fn order(&self, key: u64) -> (usize, u64) {
        (self.bucket(key), key)
    }
}

/// The numbers of labels under a name of a state, of which there must be `size`.
///
/// # Errors
///
/// If the state is invalid.
pub fn seen_in(state: &State, name: &str, size: usize) -> Result<Vec<u64>, Refused> {
    let seen = state.i64s(name)?.0;
    let fits = seen.len() == size && seen.iter().all(|each| (0..1 << 53).contains(each));
    ensure(fits, "the target statistics are inconsistent")?;
    Ok(seen.iter().map(|&each| each as u64).collect())
}
