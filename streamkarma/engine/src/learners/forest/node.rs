//! A node of a tree: its split, and what it has learned of its events.

use super::LARGEST_TARGET;
use super::leaf::Leaf;
use super::shape::Shape;
use crate::learners::codes::MISSING;

/// The coordinate of a node that is a leaf.
pub const NONE: u32 = u32::MAX;
/// The number of a node's events that its parent's prediction is worth; see [`super::tree`] for the origin of this and
/// the constants below.
const SHRINK: f64 = 5.0;
/// Maximum weight of what a node has learned, so that it follows its events.
const MEMORY: f64 = 2000.0;
/// Maximum weight of what a new node takes over from its parent's histogram.
const LEGACY: f64 = 30.0;

/// A node of a tree.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// The coordinate it splits by, or [`NONE`].
    pub coordinate: u32,
    /// The highest code that goes left.
    pub cut: u16,
    /// Whether missing values go left.
    pub missing_left: bool,
    /// The left child; the right child is the next node.
    pub below: u32,
    /// The probability that what is below it is worth nothing.
    pub stay: f64,
    /// The weight of its events, after forgetting.
    pub weight: f64,
    /// The step at which it last learned an event.
    pub at: u64,
    /// The histograms of a leaf.
    pub leaf: Option<Box<Leaf>>,
}

impl Node {
    /// A leaf without data.
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

    /// The child that a code leads to.
    pub fn next(&self, code: u16) -> usize {
        // Missing values are above every cut. Bits instead of branches, see `Codes::of`.
        let is_left = (code <= self.cut) | ((code == MISSING) & self.missing_left);
        self.below as usize + usize::from(!is_left)
    }

    /// The node's prediction, shrunk towards its parent's: the probability of each class, or the mean of a target and
    /// its variance.
    pub fn write_prediction(&self, sums: &[f64], shape: &Shape, above: &[f64], own: &mut [f64]) {
        let factor = 1.0 / (self.weight + SHRINK);
        for ((own, above), sum) in own.iter_mut().zip(above).zip(sums) {
            *own = (sum + SHRINK * above) * factor;
        }
        if shape.regression {
            // The mean is stored instead of a sum.
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
            // Rounding may turn the sign of a product of nearly 0.
            sums[1] = (sums[1] + weight * away * (label - sums[0])).max(0.0);
        } else {
            sums[label as usize] += weight;
        }
    }

    /// Take over the sums of the node's events in a histogram, where targets are relative to `centre`. Groups of
    /// classes are no use for this.
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

    /// Scale down the weight of what it has learned.
    fn fade(&mut self, sums: &mut [f64], keep: f64, shape: &Shape) {
        self.weight *= keep;
        // A mean is not scaled.
        let first = usize::from(shape.regression);
        sums[first..].iter_mut().for_each(|sum| *sum *= keep);
    }
}
