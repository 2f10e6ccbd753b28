//! What attributes contribute to the scores: the changes of the scores where a path splits by them.
//!
//! A node's score is that of a leaf with the sums of all leaves below it. The scores of the roots are left to the
//! constant.

use super::RefittedTrees;
use super::ensemble::NONE;
use crate::explaining::Explanation;

impl RefittedTrees {
    /// Explain the event that was predicted last.
    pub(super) fn explain_paths(&self, into: &mut Explanation) {
        let (ensemble, width) = (&self.ensemble, self.slopes.len());
        let (mut slopes, mut curvatures) = (ensemble.slopes.clone(), ensemble.curvatures.clone());
        // Children come after their parents.
        for (at, node) in ensemble.nodes.iter().enumerate().rev().filter(|(_, node)| node.coordinate != NONE)
        {
            for sums in [&mut slopes, &mut curvatures] {
                for k in 0..width {
                    sums[at * width + k] = (node.below as usize..=node.below as usize + 1)
                        .map(|child| sums[child * width + k])
                        .sum();
                }
            }
        }
        let factor = ensemble.unit.map_or(1.0, |own| own.spread / into.unit.spread);
        let prediction = |node: usize, k: usize| {
            factor * ensemble.kind.value(slopes[node * width + k], curvatures[node * width + k])
        };
        for &root in &ensemble.roots {
            let mut at = root as usize;
            while ensemble.nodes[at].coordinate != NONE {
                let coordinate = ensemble.nodes[at].coordinate;
                let next = ensemble.nodes[at].next(self.refits.row.of(coordinate));
                for k in 0..width {
                    into.add(self.refits.row.owner(coordinate), k, prediction(next, k) - prediction(at, k));
                }
                at = next;
            }
        }
    }
}
