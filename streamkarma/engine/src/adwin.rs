//! Detects changes of the mean of a sequence: ADWIN, with its exponential histogram.
//!
//! A window over the latest values is cut in two where the means of the two parts differ by more than chance would
//! explain, and the older part is dropped. The values are kept in buckets, a few of each size, with each size twice the
//! previous one, so that a window of n values takes O(log n) memory.
//!
//! How far means differ by chance is estimated from the values themselves, because these may come in bunches: see
//! [`scatter`].
//!
//! [B] Bifet, Gavaldà: Learning from Time-Changing Data with Adaptive Windowing, SIAM International Conference on Data
//! Mining 2007, sections 3 and 4.

mod scatter;
pub mod state;

use std::collections::VecDeque;

use self::scatter::Scatter;
use crate::math::log;

/// Maximum number of buckets of one size, before the two oldest are joined: the M of [B].
const MOST_ALIKE: usize = 5;
/// Minimum length of each part of a window when the two are compared.
const SHORTEST: f64 = 5.0;

/// Summary of a run of consecutive values.
#[derive(Clone, Copy, Debug, Default)]
struct Bucket {
    count: f64,
    sum: f64,
    /// Sum of squared deviations from their mean.
    squares: f64,
}

impl Bucket {
    fn mean(self) -> f64 {
        if self.count > 0.0 { self.sum / self.count } else { 0.0 }
    }

    /// Both combined (Chan et al.).
    fn joined(self, other: Self) -> Self {
        let gap = self.mean() - other.mean();
        let count = self.count + other.count;
        let between = if count > 0.0 { gap * gap * self.count * other.count / count } else { 0.0 };
        Self { count, sum: self.sum + other.sum, squares: self.squares + other.squares + between }
    }
}

/// A change of the mean.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Drift {
    /// The mean of the values that were dropped.
    pub before: f64,
    /// The mean of the remaining values.
    pub after: f64,
    /// The number of remaining values.
    pub length: u64,
}

/// A window over values between 0 and 1, which reaches back as far as their mean is constant.
#[derive(Clone, Debug)]
pub struct Adwin {
    delta: f64,
    /// Oldest first.
    buckets: VecDeque<Bucket>,
    all: Bucket,
    scatter: Scatter,
}

impl Adwin {
    /// An empty window; the probability of mistaking chance for a change is at most `delta` per test.
    pub fn new(delta: f64) -> Self {
        Self { delta, buckets: VecDeque::new(), all: Bucket::default(), scatter: Scatter::default() }
    }

    /// The number of values in the window.
    pub fn len(&self) -> u64 {
        self.all.count as u64
    }

    /// Whether the window is empty.
    pub fn is_empty(&self) -> bool {
        self.buckets.is_empty()
    }

    /// The mean of the values in the window; 0 if there are none.
    pub fn mean(&self) -> f64 {
        self.all.mean()
    }

    /// Add a batch of values between 0 and 1: their number, their sum and the sum of their squares. Returns the change
    /// of the mean, if there was one.
    ///
    /// [B] adds values one at a time, and drops them one by one for as long as the window can be cut. Here the window
    /// is cut where the means differ most relative to chance, so that only values from after the change remain.
    pub fn update(&mut self, count: u64, sum: f64, sum_of_squares: f64) -> Option<Drift> {
        if count == 0 {
            return None;
        }
        let count = count as f64;
        let bucket = Bucket { count, sum, squares: (sum_of_squares - sum * sum / count).max(0.0) };
        self.buckets.push_back(bucket);
        self.all = self.all.joined(bucket);
        self.scatter.observe(count, sum);
        self.compress();
        let cut = self.cut()?;
        let dropped = self.buckets.drain(..cut).fold(Bucket::default(), Bucket::joined);
        self.all = self.buckets.iter().copied().fold(Bucket::default(), Bucket::joined);
        Some(Drift { before: dropped.mean(), after: self.mean(), length: self.len() })
    }

    /// Join the two oldest buckets of each size of which there are too many.
    fn compress(&mut self) {
        let mut end = self.buckets.len();
        while end > 0 {
            let size = self.buckets[end - 1].count;
            let begin = self.buckets.partition_point(|bucket| bucket.count > size);
            if end - begin <= MOST_ALIKE {
                return; // no older size has gained a bucket
            }
            if let Some(second) = self.buckets.remove(begin + 1) {
                self.buckets[begin] = self.buckets[begin].joined(second);
            }
            end = begin + 1;
        }
    }

    /// The bucket before which the means of the two parts differ most relative to chance; None if no difference exceeds
    /// chance.
    fn cut(&self) -> Option<usize> {
        let Bucket { count, sum, squares } = self.all;
        let (variance, confidence) = (squares / count, log(2.0 * log(count.max(2.0)) / self.delta));
        if variance <= 0.0 {
            return None; // all values are equal
        }
        let least = 2.0 * count * variance * confidence;
        let (mut old, mut best) = (Bucket::default(), None);
        let mut furthest = 1.0;
        for (place, bucket) in self.buckets.iter().enumerate() {
            old = Bucket { count: old.count + bucket.count, sum: old.sum + bucket.sum, squares: 0.0 };
            let new = Bucket { count: count - old.count, sum: sum - old.sum, squares: 0.0 };
            if old.count < SHORTEST || new.count < SHORTEST {
                continue;
            }
            // The first term of the chance bound rules out most positions, and needs no division.
            let apart = old.sum * new.count - new.sum * old.count;
            if apart * apart <= least * (old.count * new.count) {
                continue;
            }
            // As if there were this many times fewer values, but independent ones.
            let alike = self.scatter.variance(variance, old.count.min(new.count)) / variance;
            let inverse = alike * (1.0 / old.count + 1.0 / new.count);
            let chance = (2.0 * inverse * variance * confidence).sqrt() + 2.0 / 3.0 * inverse * confidence;
            let excess = (old.mean() - new.mean()).abs() / chance;
            if excess > furthest {
                (best, furthest) = (Some(place + 1), excess);
            }
        }
        best
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Uniform numbers between 0 and 1.
    fn noise(seed: u64) -> impl Iterator<Item = f64> {
        let mut state = seed;
        std::iter::from_fn(move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            Some((state >> 11) as f64 / (1u64 << 53) as f64)
        })
    }

    #[test]
    fn window_matches_a_plain_list() {
        let mut adwin = Adwin::new(0.002);
        let values: Vec<f64> = noise(1).take(3000).collect();
        assert!(values.iter().all(|&value| adwin.update(1, value, value * value).is_none()));
        let mean = values.iter().sum::<f64>() / 3000.0;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        assert_eq!(adwin.len(), 3000);
        assert!((adwin.mean() - mean).abs() < 1e-12 && (adwin.all.squares - squares).abs() < 1e-9);
        let counted: f64 = adwin.buckets.iter().map(|bucket| bucket.count).sum();
        assert!(counted == 3000.0 && adwin.buckets.len() < 60);
        assert!(adwin.buckets.iter().is_sorted_by(|one, next| one.count >= next.count));
    }

    #[test]
    fn change_is_detected_soon_and_drops_old_values() {
        let before = noise(2).take(2000).map(|u| f64::from(u < 0.1));
        let mut values = before.chain(noise(3).map(|u| f64::from(u < 0.5))).enumerate();
        let mut adwin = Adwin::new(0.002);
        let found = values.find_map(|(t, value)| Some((t, adwin.update(1, value, value)?)));
        let (t, drift) = found.expect("the mean has changed");
        assert!((2000..2100).contains(&t) && drift.before < drift.after, "{t} {drift:?}");
        for (_, value) in values.take(500) {
            adwin.update(1, value, value);
        }
        assert!(adwin.len() < 700 && (adwin.mean() - 0.5).abs() < 0.1, "{}", adwin.len());
    }

    #[test]
    fn noise_raises_no_alarm() {
        for seed in 0..20 {
            let mut adwin = Adwin::new(0.002);
            let wrong: Vec<f64> = noise(seed).take(20_000).map(|u| f64::from(u < 0.1)).collect();
            for batch in wrong.chunks(25) {
                let sum = batch.iter().sum();
                assert_eq!(adwin.update(25, sum, sum), None, "{seed}");
            }
        }
    }

    #[test]
    fn bunches_raise_few_alarms_and_hide_no_change() {
        let mut alarms = 0;
        for seed in 0..10 {
            let mut adwin = Adwin::new(0.002);
            let mut bunches = noise(seed).map(|u| f64::from(u < 0.2));
            let mut teach = |wrong: f64| (0..30).filter(|_| adwin.update(1, wrong, wrong).is_some()).count();
            // Until the bunches have been detected, they may look like changes.
            bunches.by_ref().take(100).for_each(|wrong| _ = teach(wrong));
            bunches.by_ref().take(900).for_each(|wrong| alarms += teach(wrong));
            let change = noise(seed + 100).take(60).map(|u| f64::from(u < 0.9));
            assert!(change.map(teach).sum::<usize>() > 0, "{seed}");
        }
        assert!(alarms <= 2, "{alarms} of 9,000 bunches");
    }

    #[test]
    fn empty_batch_has_no_effect() {
        let mut adwin = Adwin::new(0.5);
        assert_eq!((adwin.update(0, 0.0, 0.0), adwin.update(1, 1.0, 1.0)), (None, None));
        assert_eq!((adwin.len(), adwin.mean()), (1, 1.0));
    }
}
