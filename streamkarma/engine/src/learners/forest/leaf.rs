//! A leaf: histograms of the coordinates that may split it.

use std::hint::select_unpredictable;

use super::shape::Shape;
use super::split::{self, BINS, MOMENTS, Split};
use super::tree::TreeLesson;
use crate::learners::codes::{CODES, Codes, MISSING};
use crate::math::log;
use crate::random::{Random, mix};

/// Maximum number of coordinates that may split a leaf.
pub const MOST_CANDIDATES: usize = 32;
/// Maximum number of groups of classes that histograms distinguish. With more classes, each leaf has its own grouping.
pub const MOST_GROUPS: usize = 16;
/// Number of coordinates picked from an event while more are wanted.
const PICKS: usize = 2;

/// Above this weight everything learned is halved, so that its numbers do not lose their last digits.
const HEAVIEST: f64 = 1e6;
/// The weight at which a split is first considered.
const FIRST: f64 = 15.0;
/// A split is considered again when the weight has grown by a factor between these.
const AGAIN: [f64; 2] = [1.2, 2.0];
/// log(1 / delta) of Hoeffding's bound for the lead of the best split over the second, at delta = 1 %.
const CONFIDENCE: f64 = 4.6;
/// If the bound is below this, the lead no longer matters: most splits are made this way, after 37 events. With 0.12,
/// after 160 events, errors were a sixth higher on the developers' streams, see [`super::tree`].
const TIE: f64 = 0.25;
/// Minimum total gain of a split, in nats, or in a regression in variances.
const GAIN: f64 = 5.0;

/// A coordinate that may split a leaf, and the codes of its bins.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Candidate {
    /// The coordinate.
    pub coordinate: u32,
    /// The lowest code it has in this leaf.
    pub low: u16,
    /// log2 of the number of codes per bin.
    pub shift: u8,
}

impl Candidate {
    /// A candidate for a coordinate whose codes are from `low` up to, but not including, `high`.
    pub fn new(coordinate: u32, low: u16, high: u16) -> Self {
        let mut shift = 0;
        while usize::from(high.saturating_sub(low + 1) >> shift) >= BINS {
            shift += 1;
        }
        Self { coordinate, low, shift }
    }

    /// The bin of a code; the last one is for missing values.
    pub fn bin(&self, code: u16) -> usize {
        let bin = usize::from(code.saturating_sub(self.low) >> self.shift).min(BINS - 1);
        select_unpredictable(code == MISSING, BINS, bin)
    }

    /// The highest code of a bin; for the last bin, the highest of all codes but [`MISSING`].
    pub fn cut(&self, bin: usize) -> u16 {
        if bin == BINS - 1 {
            return MISSING - 1;
        }
        self.low + (((bin + 1) << self.shift) - 1) as u16
    }
}

/// What a leaf has learned of its events, in addition to the sums that every node has.
#[derive(Clone, Debug, PartialEq)]
pub struct Leaf {
    /// The seed of its own grouping of classes.
    pub salt: u64,
    /// The weight of its events.
    pub weight: f64,
    /// The weight at which a split is next considered.
    pub next: f64,
    /// The step at which a split was last considered, or at which the leaf began.
    pub asked_at: u64,
    /// Targets are stored relative to this.
    pub centre: f64,
    /// Coordinates that may split it.
    pub candidates: Vec<Candidate>,
    /// By candidate: for each bin, and for missing values, the weight of each group, or moments.
    pub cells: Vec<f32>,
}

impl Leaf {
    /// A leaf without data.
    pub fn new(salt: u64, centre: f64, step: u64) -> Self {
        Self {
            salt,
            weight: 0.0,
            next: FIRST,
            asked_at: step,
            centre,
            candidates: Vec::new(),
            cells: Vec::new(),
        }
    }

    /// The group of a class.
    pub fn group(&self, class: usize, shape: &Shape) -> usize {
        if shape.classes <= MOST_GROUPS {
            return class;
        }
        (mix(self.salt ^ mix(class as u64 + 1)) % MOST_GROUPS as u64) as usize
    }

    /// Pick coordinates from an event, unless there are as many as wanted.
    pub fn pick(
        &mut self,
        codes: &Codes,
        shape: &Shape,
        random: &mut Random,
        range: impl Fn(u32) -> [u16; 2],
    ) {
        let wanted = shape.candidates(codes.coordinates());
        for _ in 0..PICKS {
            if self.candidates.len() >= wanted || codes.len() == 0 {
                return;
            }
            let coordinate = codes.coordinate(random.below(codes.len()));
            if self.candidates.iter().all(|candidate| candidate.coordinate != coordinate) {
                let [low, high] = range(coordinate);
                self.candidates.push(Candidate::new(coordinate, low.min(CODES - 1), high));
                self.cells.resize(self.candidates.len() * shape.cells(), 0.0);
            }
        }
    }

    /// Count an event.
    pub fn learn(&mut self, lesson: &TreeLesson) {
        let TreeLesson { codes, shape, label, weight, .. } = *lesson;
        self.weight += weight;
        if self.weight > HEAVIEST {
            self.fade(0.5);
            self.next *= 0.5;
        }
        let (cells, groups) = (shape.cells(), shape.groups());
        let group = if shape.regression { 0 } else { self.group(label as usize, shape) };
        let away = label - self.centre;
        for (candidate, histogram) in self.candidates.iter().zip(self.cells.chunks_exact_mut(cells)) {
            let at = candidate.bin(codes.of(candidate.coordinate)) * groups;
            if shape.regression {
                let cell = &mut histogram[at..at + MOMENTS];
                cell[0] += weight as f32;
                cell[1] += (weight * away) as f32;
                cell[2] += (weight * away * away) as f32;
            } else {
                histogram[at + group] += weight as f32;
            }
        }
    }

    /// Scale down the weight of what it has learned.
    pub fn fade(&mut self, keep: f64) {
        if keep < 1.0 {
            self.weight *= keep;
            self.cells.iter_mut().for_each(|cell| *cell *= keep as f32);
        }
    }

    /// The histogram of a candidate.
    pub fn histogram(&self, candidate: usize, shape: &Shape) -> &[f32] {
        &self.cells[candidate * shape.cells()..(candidate + 1) * shape.cells()]
    }

    /// Drop the candidates that `keep` rejects.
    pub fn retain(&mut self, shape: &Shape, keep: impl Fn(u32) -> bool) {
        let cells = shape.cells();
        for candidate in (0..self.candidates.len()).rev() {
            if !keep(self.candidates[candidate].coordinate) {
                self.candidates.remove(candidate);
                self.cells.drain(candidate * cells..(candidate + 1) * cells);
            }
        }
    }

    /// The candidate to split by, and where; None for not yet.
    pub fn decide(&mut self, shape: &Shape) -> Option<(usize, Split)> {
        let (mut best, mut most, mut second) = (None, 0.0, 0.0);
        for number in 0..self.candidates.len() {
            let histogram = self.histogram(number, shape);
            let Some((split, weight)) = split::best(histogram, shape.groups(), shape.regression) else {
                continue;
            };
            let gain = split.gain * weight / self.weight;
            if gain > most {
                (best, second, most) = (Some((number, split)), most, gain);
            } else if gain > second {
                second = gain;
            }
        }
        let gained = most * self.weight;
        // The total gain grows with the weight.
        self.next = self.weight * (GAIN / gained.max(1e-9)).clamp(AGAIN[0], AGAIN[1]);
        let range = if shape.regression { 1.0 } else { log(shape.groups() as f64) };
        let bound = (CONFIDENCE / (2.0 * self.weight)).sqrt();
        let is_clear = most - second > bound * range || bound < TIE;
        best.filter(|_| is_clear && gained > GAIN)
    }
}
