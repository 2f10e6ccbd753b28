//! What the trees of a forest have in common: sizes and limits.

use super::leaf::{MOST_CANDIDATES, MOST_GROUPS};
use super::split::{BINS, MOMENTS};
use crate::math::log;

/// What all trees have in common.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shape {
    /// Whether labels are targets.
    pub regression: bool,
    /// Number of classes, two or more; 0 in a regression.
    pub classes: usize,
    /// Events after which the weight of what was learned is halved; 0 for never.
    pub half_life: f64,
}

impl Shape {
    /// Number of sums of a node: the weight of each class, or the mean of the targets and their squared distances from
    /// it.
    pub fn width(&self) -> usize {
        if self.regression { 2 } else { self.classes }
    }

    /// Number of sums of a bin.
    pub fn groups(&self) -> usize {
        if self.regression { MOMENTS } else { self.classes.min(MOST_GROUPS) }
    }

    /// Number of sums of a histogram.
    pub fn cells(&self) -> usize {
        (BINS + 1) * self.groups()
    }

    /// Number of coordinates that may split a leaf.
    pub fn candidates(&self, coordinates: usize) -> usize {
        let some = (coordinates as f64).sqrt() as usize + 3;
        some.min(MOST_CANDIDATES)
    }

    /// Maximum number of nodes of a tree with this many coordinates: a megabyte of sums, and one of histograms.
    pub fn most_nodes(&self, coordinates: usize) -> usize {
        let leaves = (1 << 18) / (self.candidates(coordinates) * self.cells());
        ((1 << 17) / self.width()).min(2 * leaves).clamp(3, 1023)
    }

    /// The fraction that remains after this many steps of forgetting.
    pub fn kept(&self, steps: u64) -> f64 {
        if self.half_life == 0.0 {
            return 1.0;
        }
        // Close to a power of 1/2 for few steps, and never 0.
        1.0 / (1.0 + steps as f64 * (std::f64::consts::LN_2 / self.half_life))
    }

    /// Write the prediction without data.
    pub fn write_prior(&self, prediction: &mut [f64]) {
        if self.regression {
            prediction.copy_from_slice(&[0.0, 1.0]);
        } else {
            prediction.fill(1.0 / self.classes as f64);
        }
    }

    /// The loss of the prediction without data.
    pub fn first_loss(&self) -> f64 {
        if self.regression { 1.0 } else { log(self.classes as f64) }
    }
}
