//! Summarises all values of a number in any order, to make a scale of them once all are known.
//!
//! What a running scale treats as far out depends on the values before. A summary does not depend on order: it has
//! counts and sums of the values in each of its *buckets*, eight per power of two, so that those of parts of the data
//! add up. While there are more than [`MOST`] buckets, pairs of neighbours are merged.

use super::merging::total;
use super::state::LARGEST_SUM;
use super::{CUT, LARGEST, START, START_CUT, Scale, Sums};
use crate::cleaning::{OUT, VOTES};
use crate::math::within;
use crate::state::{Refused, ensure};

/// Maximum number of buckets.
const MOST: usize = 512;
/// The values of a bucket share the sign, the exponent and the leading bits of the mantissa: 52 less this many.
const FINEST: u32 = 49;
/// Maximum number of rounds to find mean and deviation. A few suffice, but values clipped in one may not be in the
/// next.
const ROUNDS: usize = 200;
/// How often keys can be halved: at least a bit of each must remain.
const LONGEST_KEY: f64 = 14.0;
/// Counts are below this: floats do not represent all larger ones.
const MOST_VALUES: f64 = 9_007_199_254_740_992.0;
/// Maximum weight of a value, so that no sum of counts exceeds [`MOST_VALUES`].
const HEAVIEST: f64 = 1e6;

/// Numbers stored per bucket.
pub const WIDTH: usize = 6;

/// A summary of values.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Summary {
    /// How many times neighbouring buckets were merged.
    coarser: u32,
    /// Sorted by key.
    buckets: Vec<(u16, Bucket)>,
}

/// Similar values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bucket {
    sums: Sums,
    least: f64,
    most: f64,
}

impl Bucket {
    /// From a value that occurred this many times.
    fn of(value: f64, count: f64) -> Self {
        Self { sums: Sums { count, mean: value, squares: 0.0 }, least: value, most: value }
    }

    /// Number of values.
    pub fn count(&self) -> f64 {
        self.sums.count
    }

    /// The value, if all of them are equal.
    pub fn only(&self) -> Option<f64> {
        (self.least == self.most).then_some(self.least)
    }

    /// Their mean.
    pub fn mean(&self) -> f64 {
        self.sums.mean
    }

    fn observe(&mut self, value: f64, weight: f64) {
        let Sums { count, mean, squares } = &mut self.sums;
        let away = value - *mean;
        *count += weight;
        let step = weight * away / *count;
        *mean += step;
        *squares += weight * (away * (away - step));
        (self.least, self.most) = (self.least.min(value), self.most.max(value));
    }

    fn add(&mut self, other: &Self) {
        self.sums = total(&[(1.0, self.sums), (1.0, other.sums)]).unwrap_or(self.sums);
        (self.least, self.most) = (self.least.min(other.least), self.most.max(other.most));
    }

    /// Its sums with values clipped to a distance from a centre; if only some of them lie within, the mean decides.
    fn cut(&self, centre: f64, edge: f64) -> Sums {
        if centre - edge <= self.least && self.most <= centre + edge {
            return self.sums;
        }
        let away = self.mean() - centre;
        let squares = if away.abs() < edge { self.sums.squares } else { 0.0 };
        Sums { mean: centre + within(away, edge), squares, ..self.sums }
    }
}

impl Summary {
    /// Add a finite number with a weight, which is at most [`HEAVIEST`].
    pub fn observe(&mut self, value: f64, weight: f64) {
        let (value, weight) = (within(value, LARGEST), weight.min(HEAVIEST));
        let key = self.key(value);
        match self.buckets.binary_search_by_key(&key, |(key, _)| *key) {
            Ok(at) => self.buckets[at].1.observe(value, weight),
            Err(_) => self.put(Bucket::of(value, weight)),
        }
    }

    /// Add all values of another summary.
    pub fn add(&mut self, other: &Self) {
        while self.coarser < other.coarser {
            self.coarsen();
        }
        other.buckets.iter().for_each(|(_, bucket)| self.put(*bucket));
    }

    /// Number of values.
    pub fn count(&self) -> f64 {
        self.buckets().map(Bucket::count).sum()
    }

    /// All buckets.
    pub fn buckets(&self) -> impl Iterator<Item = &Bucket> {
        self.buckets.iter().map(|(_, bucket)| bucket)
    }

    /// Remove a value that has a bucket to itself.
    pub fn forget(&mut self, value: f64) {
        self.buckets.retain(|(_, bucket)| bucket.only() != Some(value));
    }

    fn key(&self, value: f64) -> u16 {
        (value.to_bits() >> (FINEST + self.coarser)) as u16
    }

    fn put(&mut self, bucket: Bucket) {
        let key = self.key(bucket.least);
        match self.buckets.binary_search_by_key(&key, |(key, _)| *key) {
            Ok(at) => self.buckets[at].1.add(&bucket),
            Err(at) => {
                self.buckets.insert(at, (key, bucket));
                while self.buckets.len() > MOST {
                    self.coarsen();
                }
            }
        }
    }

    fn coarsen(&mut self) {
        self.coarser += 1;
        self.buckets.iter_mut().for_each(|(key, _)| *key >>= 1);
        self.buckets.dedup_by(|next, first| {
            let is_same = next.0 == first.0;
            if is_same {
                first.1.add(&next.1);
            }
            is_same
        });
    }

    /// A value that stands for "no reading", and its count: it lies far out, and outnumbers all others there by enough
    /// votes.
    pub fn sentinel(&self, scale: &Scale) -> Option<(f64, f64)> {
        let (mean, deviation) = scale.mean_and_deviation();
        let out: Vec<_> =
            self.buckets().filter(|each| (each.mean() - mean).abs() > OUT * deviation).collect();
        let all: f64 = out.iter().map(|bucket| bucket.count()).sum();
        let alone = out.iter().filter_map(|bucket| Some((bucket.only()?, bucket.count())));
        let (value, count) =
            alone.max_by(|one, other| one.1.total_cmp(&other.1).then(one.0.total_cmp(&other.0)))?;
        (2.0 * count - all >= VOTES).then_some((value, count))
    }

    /// As rows of numbers.
    pub fn rows(&self) -> impl Iterator<Item = [f64; WIDTH]> {
        self.buckets().map(|&Bucket { sums: Sums { count, mean, squares }, least, most }| {
            [f64::from(self.coarser), count, mean, squares, least, most]
        })
    }

    /// Restore from such rows.
    ///
    /// # Errors
    ///
    /// If no values could produce them.
    pub fn from_rows(rows: &[[f64; WIDTH]]) -> Result<Self, Refused> {
        const WHY: &str = "the summaries of numbers are invalid";
        let coarser = rows.first().map_or(0.0, |row| row[0]);
        ensure((0.0..=LONGEST_KEY).contains(&coarser) && coarser.fract() == 0.0 && rows.len() <= MOST, WHY)?;
        let mut summary = Self { coarser: coarser as u32, buckets: Vec::new() };
        for &[own, count, mean, squares, least, most] in rows {
            let fits = own == coarser
                && (0.0 < count && count < MOST_VALUES)
                && (0.0..=LARGEST_SUM).contains(&squares);
            ensure(
                fits && least <= most && [mean, least, most].iter().all(|each| each.abs() <= LARGEST),
                WHY,
            )?;
            summary.put(Bucket { sums: Sums { count, mean, squares }, least, most });
        }
        ensure(summary.buckets.len() == rows.len() && summary.coarser == coarser as u32, WHY)?;
        Ok(summary)
    }

    /// A scale of all values, with outliers clipped as a running scale does in the end.
    ///
    /// A value that makes up more than half of them is counted separately: `usual` with its count, if it is given, or
    /// one that has a bucket to itself.
    pub fn scale(&self, usual: Option<(f64, f64)>) -> Scale {
        self.scale_after(ROUNDS, usual)
    }

    /// The scale that a running one would begin with: clipped by the median distance from the median. By this scale a
    /// value is far out even if it is too frequent to be clipped in the end.
    pub fn first_scale(&self, usual: Option<(f64, f64)>) -> Scale {
        self.scale_after(1, usual)
    }

    fn scale_after(&self, rounds: usize, usual: Option<(f64, f64)>) -> Scale {
        let all = self.count();
        let alone = self.buckets().filter_map(|bucket| Some((bucket.only()?, bucket.count())));
        let usual = usual.into_iter().chain(alone).find(|(_, count)| 2.0 * count > all && *count < all);
        let mut others: Vec<Bucket> = self.buckets().copied().collect();
        if let Some((value, count)) = usual {
            for bucket in others.iter_mut().filter(|each| each.least <= value && value <= each.most) {
                let own = [(1.0, bucket.sums), (-1.0, Bucket::of(value, count).sums)];
                bucket.sums = total(&own).unwrap_or(bucket.sums);
            }
            others.retain(|bucket| bucket.count() > 0.0);
        }
        let (mode, mode_count) = usual.unwrap_or_default();
        let scale = Scale { mode, mode_count, lead: (2.0 * mode_count - all).max(0.0), ..Scale::default() };
        settled(&others, scale, rounds)
    }
}

/// A scale with the mean and deviation of the values in some buckets, clipped by that same mean and deviation.
fn settled(buckets: &[Bucket], mut scale: Scale, rounds: usize) -> Scale {
    let means = buckets.iter().map(|bucket| (bucket.mean(), bucket.count()));
    let mut centre = median(means.collect()).unwrap_or_default();
    let distances = buckets.iter().map(|bucket| {
        let (away, Sums { count, squares, .. }) = (bucket.mean() - centre, bucket.sums);
        ((away * away + squares / count).sqrt(), count)
    });
    let distance = median(distances.filter(|(distance, _)| *distance > 0.0).collect());
    let mut edge = distance.map_or(f64::INFINITY, |distance| START_CUT * distance);
    for _ in 0..rounds {
        let cut: Vec<_> = buckets.iter().map(|bucket| (1.0, bucket.cut(centre, edge))).collect();
        scale.ordinary = total(&cut).unwrap_or_default();
        let next = (scale.ordinary.mean, CUT * scale.unit().sqrt());
        if next == (centre, edge) || next.1 == 0.0 {
            break;
        }
        (centre, edge) = next;
    }
    scale.kept = START;
    scale
}

/// The weighted median.
fn median(mut values: Vec<(f64, f64)>) -> Option<f64> {
    values.sort_unstable_by(|one, other| one.0.total_cmp(&other.0));
    let mut left = values.iter().map(|(_, weight)| weight).sum::<f64>() / 2.0;
    let middle = values.iter().find(|(_, weight)| {
        left -= weight;
        left < 0.0
    });
    middle.or(values.last()).map(|(value, _)| *value)
}
