//! What attributes contribute to the votes of trees: the changes of the score where a path splits by them.
//!
//! The effects of splits on missing values, and of normalising the probabilities of several classes, are left to the
//! constant.

use super::split::fast_log;
use super::{FLOOR, Forest};
use crate::explaining::Explanation;

impl Forest {
    /// Explain the event that was predicted last.
    pub(super) fn explain_paths(&self, into: &mut Explanation) {
        let total: f64 = self.trees.iter().map(|tree| tree.vote()).sum();
        for tree in &self.trees {
            let (vote, stages) = (tree.vote() / total, tree.stages(&self.shape));
            for pair in stages.windows(2) {
                let [(coordinate, before), (_, after)] = pair else { continue };
                let attribute = self.codes.owner(*coordinate);
                for column in 0..self.slopes.len() {
                    let change = self.score_of(after, column) - self.score_of(before, column);
                    into.add(attribute, column, vote * change);
                }
            }
        }
    }

    /// The score for a tree's mean or probabilities.
    fn score_of(&self, prediction: &[f64], column: usize) -> f64 {
        let log = |class: usize| fast_log(prediction[class] + FLOOR);
        if self.shape.regression {
            prediction[0]
        } else if self.slopes.len() == 1 {
            log(1) - log(0)
        } else {
            log(column)
        }
    }
}
