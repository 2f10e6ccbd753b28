//! Counts and sums of labels.

use super::statistics::SHRINKS;
use crate::math::pow;

/// The number of labels, and their sums: for classes, the number of labels of each.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Labels {
    /// Older labels have less weight.
    pub count: f64,
    /// One for each class that is counted, or that of the targets.
    pub sums: Vec<f64>,
    /// The unweighted number of labels.
    pub seen: u64,
}

/// The number of labels and their sums, like [`Labels`], borrowed from where they are stored.
pub struct LabelsMut<'a> {
    /// See [`Labels`].
    pub count: &'a mut f64,
    /// See [`Labels`].
    pub sums: &'a mut [f64],
    /// See [`Labels`].
    pub seen: &'a mut u64,
}

impl LabelsMut<'_> {
    /// Add the value of a label for each sum, with a weight; the previous labels decay by `keep`.
    pub fn take(self, own: &[f64], weight: f64, keep: f64) {
        *self.seen += 1;
        *self.count = *self.count * keep + weight;
        self.sums.iter_mut().zip(own).for_each(|(sum, label)| *sum = *sum * keep + weight * label);
    }
}

/// The statistics of an attribute that has rates.
#[derive(Clone, Debug)]
pub struct Attribute {
    /// Those of all events with a category.
    pub labels: Labels,
    /// The gains of its numbers as names over their neighbourhoods: the sum, and the sum of squares.
    pub gains: Labels,
    /// The squared errors of each [weight](super::statistics::SHRINKS) of the average.
    pub errors: Labels,
}

impl Labels {
    /// No labels so far.
    pub fn new(width: usize) -> Self {
        Self { sums: vec![0.0; width], ..Self::default() }
    }

    /// A mutable reference, to add labels.
    pub fn as_mut(&mut self) -> LabelsMut<'_> {
        LabelsMut { count: &mut self.count, sums: &mut self.sums, seen: &mut self.seen }
    }

    /// Merge the labels of parts, each of which started from `base`; with each label, the previous ones decay by
    /// `keep`. Sums are below 0 only where they are signed.
    pub fn merged<'a>(
        base: &Self,
        parts: impl Iterator<Item = &'a Self>,
        keep: f64,
        is_signed: bool,
    ) -> Self {
        let positive = |sum: f64| if is_signed { sum } else { sum.max(0.0) };
        let (mut left, mut new) = (1.0, Self::new(base.sums.len()));
        for part in parts {
            // Labels counted from scratch include nothing of the base.
            let (since, is_held) =
                part.seen.checked_sub(base.seen).map_or((part.seen, 0.0), |since| (since, 1.0));
            if since == 0 {
                continue;
            }
            let faded = pow(keep, since as f64);
            left *= faded;
            new.seen += since;
            new.count += (part.count - is_held * faded * base.count).max(0.0);
            for ((sum, &whole), &before) in new.sums.iter_mut().zip(&part.sums).zip(&base.sums) {
                *sum += positive(whole - is_held * faded * before);
            }
        }
        let sums = new.sums.iter().zip(&base.sums).map(|(new, before)| left * before + new).collect();
        Self { count: left * base.count + new.count, sums, seen: base.seen + new.seen }
    }
}

impl Attribute {
    /// An attribute without labels.
    pub fn new(width: usize) -> Self {
        Self { labels: Labels::new(width), gains: Labels::new(2), errors: Labels::new(SHRINKS.len()) }
    }

    /// Change the number of rates.
    pub fn widen(&mut self, width: usize) {
        let Labels { count, sums, .. } = &mut self.labels;
        let before = std::mem::replace(sums, vec![0.0; width]);
        widened(*count, &before, sums);
    }
}

/// Translate the sum of the second of two classes to those of more classes.
pub fn widened(count: f64, before: &[f64], sums: &mut [f64]) {
    sums[..before.len()].copy_from_slice(before);
    if before.len() == 1 && sums.len() > 1 {
        sums[1] = (count - before[0]).max(0.0);
    }
}
