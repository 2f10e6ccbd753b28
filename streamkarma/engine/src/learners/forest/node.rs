//! A node of a tree: what it splits by, and what it knows of its events.

use super::LARGEST_TARGET;
use super::leaf::Leaf;
use super::shape::Shape;
use crate::learners::codes::MISSING;

/// The coordinate of a node that is a leaf.
pub const NONE: u32 = u32::MAX;
/// The chance that a parent knows counts as much as so many events of a node; see [`super::tree`] for where this and
/// the constants below are from.
const SHRINK: f64 = 5.0;
/// What a node knows counts for no more events than this, so that it follows its events.
const MEMORY: f64 = 2000.0;
/// What a new node takes over from the histogram of its parent counts for no more events than this.
const LEGACY: f64 = 30.0;

/// A node of a tree.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// What it splits by, or [`NONE`].
    pub coordinate: u32,
    /// The highest code that goes left.
    pub cut: u16,
    /// Whether what is missing goes left.
    pub missing_left: bool,
    /// The left node below it; the right one is the next.
    pub below: u32,
    /// The chance that what is below it is worth nothing.
    pub stay: f64,
    /// The weight of its events, those forgotten aside.
    pub weight: f64,
    /// The step at which it last learned something.
    pub at: u64,
    /// What a leaf has.
    pub leaf: Option<Box<Leaf>>,
}

impl Node {
    /// One that knows nothing.
    pub fn leaf(at: u64, leaf: Leaf) -> Self {
        let (below, stay, weight) = (0, 1.0, 0.0);
        Self {
            coordinate: NONE,
            cut: 0,
            missing_left: false,
            below,
            stay,
            weight,
            at,
            leaf: Some(Box::new(leaf)),
        }
    }

    /// The node below that a code leads to.
    pub fn next(&self, code: u16) -> usize {
        // What is missing is above every cut. Bits, not ways to go, see `Codes::of`.
        let is_left = (code <= self.cut) | ((code == MISSING) & self.missing_left);
        self.below as usize + usize::from(!is_left)
    }

    /// What the node says, from what its parent says, shrunken towards that: the chance of each class, or the mean of a
    /// target and its variance.
    pub fn say(&self, sums: &[f64], shape: &Shape, above: &[f64], own: &mut [f64]) {
        let factor = 1.0 / (self.weight + SHRINK);
        for ((own, above), sum) in own.iter_mut().zip(above).zip(sums) {
            *own = (sum + SHRINK * above) * factor;
        }
        if shape.regression {
            // The sum of a mean is not kept.
            own[0] = (self.weight * sums[0] + SHRINK * above[0]) * factor;
        }
    }

    /// Count an event.
    pub fn count(&mut self, sums: &mut [f64], shape: &Shape, label: f64, weight: f64, step: u64) {
        let mut keep = shape.kept(step - self.at);
        if self.weight > MEMORY {
            keep *= MEMORY / self.weight;
        }
        if keep < 1.0 {
            self.fade(sums, keep, shape);
        }
        self.at = step;
        self.weight += weight;
        if shape.regression {
            let away = label - sums[0];
            sums[0] += weight / self.weight * away;
            sums[1] += weight * away * (label - sums[0]);
        } else {
            sums[label as usize] += weight;
        }
    }

    /// Take over what a histogram says of the node's events; targets are counted from `centre` there. Groups of classes
    /// say nothing.
    pub fn inherit(&mut self, sums: &mut [f64], side: &[f64], shape: &Shape, centre: f64) {
        if shape.regression && side[0] > 0.0 {
            let mean = side[1] / side[0];
            self.weight = side[0];
            sums.copy_from_slice(&[
                (centre + mean).clamp(-LARGEST_TARGET, LARGEST_TARGET),
                (side[2] - mean * side[1]).max(0.0),
            ]);
        } else if side.len() == sums.len() {
            self.weight = side.iter().sum();
            sums.copy_from_slice(side);
        }
        if self.weight > LEGACY {
            self.fade(sums, LEGACY / self.weight, shape);
        }
    }

    /// Let what it knows count less.
    fn fade(&mut self, sums: &mut [f64], keep: f64, shape: &Shape) {
        self.weight *= keep;
        // A mean stays.
        let first = usize::from(shape.regression);
        sums[first..].iter_mut().for_each(|sum| *sum *= keep);
    }
}
