//! Labels that are counted.

use crate::math::pow;
use crate::scale::Scale;

/// How many labels, and their sums: of classes, how many were of each.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Labels {
    /// The older ones count less.
    pub count: f64,
    pub sums: Vec<f64>,
    /// How many there were, each of which counts once.
    pub seen: u64,
}

/// The same, wherever they are kept.
pub struct LabelsMut<'a> {
    pub count: &'a mut f64,
    pub sums: &'a mut [f64],
    pub seen: &'a mut u64,
}

impl LabelsMut<'_> {
    /// Take in what a label is of each sum, with a weight; `keep` is left of those before.
    pub fn take(self, own: &[f64], weight: f64, keep: f64) {
        *self.seen += 1;
        *self.count = *self.count * keep + weight;
        self.sums.iter_mut().zip(own).for_each(|(sum, label)| *sum = *sum * keep + weight * label);
    }
}

/// What is known of an attribute that has rates.
#[derive(Clone, Debug)]
pub struct Attribute {
    pub labels: Labels,
    /// Of the rates of each class.
    pub scales: Vec<Scale>,
    /// What its numbers tell as names, beside what their neighbourhoods do: the sum of the gains, and of their squares.
    pub gains: Labels,
}

impl Labels {
    /// None so far.
    pub fn new(width: usize) -> Self {
        Self { sums: vec![0.0; width], ..Self::default() }
    }

    /// To be counted on.
    pub fn as_mut(&mut self) -> LabelsMut<'_> {
        LabelsMut { count: &mut self.count, sums: &mut self.sums, seen: &mut self.seen }
    }

    /// All labels that parts have, each of which was once as `base` is; with each label, `keep` is left of those
    /// before. Sums are below 0 only where they are signed.
    pub fn merged<'a>(
        base: &Self,
        parts: impl Iterator<Item = &'a Self>,
        keep: f64,
        is_signed: bool,
    ) -> Self {
        let positive = |sum: f64| if is_signed { sum } else { sum.max(0.0) };
        let (mut left, mut new) = (1.0, Self::new(base.sums.len()));
        for part in parts {
            // What was counted anew has nothing of the base.
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
    /// One of which no label is known.
    pub fn new(width: usize) -> Self {
        Self { labels: Labels::new(width), scales: vec![Scale::default(); width], gains: Labels::new(2) }
    }

    /// Go to so many rates.
    pub fn widen(&mut self, width: usize) {
        let Labels { count, sums, .. } = &mut self.labels;
        let before = std::mem::replace(sums, vec![0.0; width]);
        widened(*count, &before, sums);
        self.scales.resize(width, Scale::default());
    }
}

/// From the labels of the second of two classes to those of more.
pub fn widened(count: f64, before: &[f64], sums: &mut [f64]) {
    sums[..before.len()].copy_from_slice(before);
    if before.len() == 1 && sums.len() > 1 {
        sums[1] = (count - before[0]).max(0.0);
    }
}
