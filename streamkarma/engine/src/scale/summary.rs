//! All values of a number in short, whatever their order: what a scale can be made of once all are known.
//!
//! What a running scale takes for far out depends on what came before. A summary does not: it has counts and sums of
//! the values in each of its *buckets*, eight to each power of two, so that those of parts of the data add up. Where
//! there are more buckets than [`MOST`], pairs of neighbours become one, until there are not.

use super::merging::total;
use super::state::LARGEST_SUM;
use super::{CUT, LARGEST, START, START_CUT, Scale, Sums, within};
use crate::cleaning::{OUT, VOTES};
use crate::state::{Refused, ensure};

/// Most buckets.
const MOST: usize = 512;
/// A bucket has the sign, the exponent and so many bits of the mantissa of its values in common: 52 less this.
const FINEST: u32 = 49;
/// Mean and deviation are found after a few rounds; values that are cut in one may not be in the next.
const ROUNDS: usize = 200;
/// What is left of a key has a bit at least.
const LONGEST_KEY: f64 = 14.0;
/// Counts are below this: a number holds no more.
const MOST_VALUES: f64 = 9_007_199_254_740_992.0;
/// A value counts at most so often, so that no sum of counts is larger.
const HEAVIEST: f64 = 1e6;

/// How many numbers are kept of a bucket.
pub const WIDTH: usize = 6;

/// Values in short.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Summary {
    /// How many times neighbours became one.
    coarser: u32,
    /// In ascending order of their keys.
    buckets: Vec<(u16, Bucket)>,
}

/// Values that are alike.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bucket {
    sums: Sums,
    least: f64,
    most: f64,
}

impl Bucket {
    /// Of a value that came so many times.
    fn of(value: f64, count: f64) -> Self {
        Self { sums: Sums { count, mean: value, squares: 0.0 }, least: value, most: value }
    }

    /// How many values it has.
    pub fn count(&self) -> f64 {
        self.sums.count
    }

    /// The value, if all of them are one.
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

    /// With its values cut to so far from a centre; where some are within and some are not, by their mean.
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
    /// Take in a finite number that counts so often, at most [`HEAVIEST`].
    pub fn observe(&mut self, value: f64, weight: f64) {
        let (value, weight) = (within(value, LARGEST), weight.min(HEAVIEST));
        let key = self.key(value);
        match self.buckets.binary_search_by_key(&key, |(key, _)| *key) {
            Ok(at) => self.buckets[at].1.observe(value, weight),
            Err(_) => self.put(Bucket::of(value, weight)),
        }
    }

    /// Take in what another one has.
    pub fn add(&mut self, other: &Self) {
        while self.coarser < other.coarser {
            self.coarsen();
        }
        other.buckets.iter().for_each(|(_, bucket)| self.put(*bucket));
    }

    /// How many values there are.
    pub fn count(&self) -> f64 {
        self.buckets().map(Bucket::count).sum()
    }

    /// All that there are.
    pub fn buckets(&self) -> impl Iterator<Item = &Bucket> {
        self.buckets.iter().map(|(_, bucket)| bucket)
    }

    /// Without a value that a bucket has alone.
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

    /// A value that stands for no reading, and how often it came: it lies far out, and is by so many the most
    /// frequent one out there.
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

    /// From such rows.
    ///
    /// # Errors
    ///
    /// If no values leave them.
    pub fn from_rows(rows: &[[f64; WIDTH]]) -> Result<Self, Refused> {
        const WHY: &str = "the summaries of numbers make no sense";
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

    /// A scale of all values, far ones cut as a running scale does in the end.
    ///
    /// One value that makes up more than half of them is counted apart: `usual`, with how often it came, if somebody
    /// knows, or one that a bucket has alone.
    pub fn scale(&self, usual: Option<(f64, f64)>) -> Scale {
        self.scale_after(ROUNDS, usual)
    }

    /// The same as a running scale begins: cut by the median distance from the median. By that a value lies far out
    /// even if it comes too often to be cut in the end.
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

/// A scale with mean and deviation of what is in some buckets, cut as they say themselves.
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

/// The value in the middle by weight.
fn median(mut values: Vec<(f64, f64)>) -> Option<f64> {
    values.sort_unstable_by(|one, other| one.0.total_cmp(&other.0));
    let mut left = values.iter().map(|(_, weight)| weight).sum::<f64>() / 2.0;
    let middle = values.iter().find(|(_, weight)| {
        left -= weight;
        left < 0.0
    });
    middle.or(values.last()).map(|(value, _)| *value)
}
