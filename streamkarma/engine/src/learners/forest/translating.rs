//! Forests with the names and units of a merged model.
//!
//! Predictions stay the same under other names. In other units, thresholds are rounded to cells of codes, see
//! [`crate::learners::codes`], and the content of a histogram's bin moves to the bin that now contains the upper end of
//! its codes. What was learned of a coordinate whose sign flips is forgotten.

use super::leaf::{Candidate, Leaf};
use super::node::{NONE, Node};
use super::shape::Shape;
use super::split::{BINS, MOMENTS};
use super::{Forest, LARGEST_TARGET};
use crate::learner::Learner;
use crate::learners::codes::CODES;
use crate::learners::moved_codes::{MovedCodes, evicted_by, moved_owners};
use crate::translation::Translation;

/// Maximum for squares of targets.
const MOST_SQUARES: f64 = 1e59;

impl Forest {
    /// Convert to the names and units of a merged model; see [`Learner::translate`].
    pub(super) fn translate_all(&mut self, translation: &Translation) {
        if translation.is_none() {
            return;
        }
        self.forget(&evicted_by(translation));
        let (shape, codes) = (&self.shape, &MovedCodes::new(&self.codes, translation));
        for tree in &mut self.trees {
            for node in &mut tree.nodes {
                node.translate(codes, shape, translation);
            }
            if shape.regression && translation.target != (0.0, 1.0) {
                tree.sums.chunks_exact_mut(2).for_each(|sums| change_target(sums, translation.target));
            }
        }
        self.replays.change(
            |coordinate, code| codes.item(coordinate, code),
            |label| {
                let mut target = [label, 0.0];
                if shape.regression {
                    change_target(&mut target, translation.target);
                }
                target[0]
            },
        );
        let owners = moved_owners(&self.codes, translation);
        self.codes.restore(owners);
    }
}

/// Convert the mean of targets and their squared distances from it to other units.
fn change_target(sums: &mut [f64], (shift, stretch): (f64, f64)) {
    sums[0] = ((sums[0] - shift) / stretch).clamp(-LARGEST_TARGET, LARGEST_TARGET);
    sums[1] = (sums[1] / (stretch * stretch)).min(MOST_SQUARES);
}

impl Node {
    fn translate(&mut self, codes: &MovedCodes, shape: &Shape, translation: &Translation) {
        if self.coordinate != NONE {
            let old = self.coordinate;
            self.coordinate = translation.coordinate(old).unwrap_or(old);
            // Other cuts separate observed from missing values.
            if self.cut < CODES
                && let Some(scaled) = codes.scaling(old)
            {
                self.cut = codes.moved(self.cut, scaled);
            }
        }
        if let Some(leaf) = &mut self.leaf {
            leaf.translate(codes, shape, translation);
        }
    }
}

impl Leaf {
    fn translate(&mut self, codes: &MovedCodes, shape: &Shape, translation: &Translation) {
        let (size, groups, mut before) = (shape.cells(), shape.groups(), Vec::new());
        for (candidate, cells) in self.candidates.iter_mut().zip(self.cells.chunks_exact_mut(size)) {
            let old = *candidate;
            let coordinate = translation.coordinate(old.coordinate).unwrap_or(old.coordinate);
            candidate.coordinate = coordinate;
            let Some(scaled) = codes.scaling(old.coordinate) else { continue };
            let moved = |code: u16| codes.moved(code.min(CODES - 1), &scaled);
            // The last code that the bins distinguish.
            let last = old.cut(BINS - 2).saturating_add(1 << old.shift);
            let low = if old.low == 0 { 0 } else { moved(old.low - 1).saturating_add(1).min(CODES - 1) };
            *candidate = Candidate::new(coordinate, low, moved(last).max(low) + 1);
            before.clear();
            before.extend_from_slice(&cells[..BINS * groups]);
            cells[..BINS * groups].fill(0.0);
            let sums = before.chunks_exact(groups).enumerate();
            for (bin, sums) in sums.filter(|(_, sums)| sums.iter().any(|&sum| sum != 0.0)) {
                let end = if bin == BINS - 1 { last } else { old.cut(bin) };
                let to = candidate.bin(moved(end)) * groups;
                cells[to..to + groups].iter_mut().zip(sums).for_each(|(to, sum)| *to += sum);
            }
        }
        if shape.regression && translation.target != (0.0, 1.0) {
            let mut centre = [self.centre, 0.0];
            change_target(&mut centre, translation.target);
            self.centre = centre[0];
            let stretch = translation.target.1 as f32;
            for moments in self.cells.chunks_exact_mut(MOMENTS) {
                moments[1] = (moments[1] / stretch).clamp(f32::MIN, f32::MAX);
                moments[2] = (moments[2] / (stretch * stretch)).clamp(f32::MIN, f32::MAX);
            }
        }
    }
}
