//! Trees to arrays, and back: the splits of nodes that are split, and the sums of the leaves.

use super::ensemble::{Ensemble, NONE, Node};
use crate::learner::Unit;
use crate::scale;
use crate::state::{Refused, State, ensure};

const WHY: &str = "the arrays of trees do not fit each other, or not this model";
/// Bound on sums of slopes and of curvatures, and on scores.
const LARGEST: f64 = 1e60;
/// Maximum number of nodes of a model.
const MOST_NODES: usize = 1 << 20;

impl Ensemble {
    /// Number of arrays.
    pub const ARRAYS: usize = 8;

    /// Put the trees into a state.
    pub fn put(&self, state: &mut State) {
        let width = self.base.len();
        state.put_f64s("base", self.base.clone(), &[width]);
        let unit: Vec<f64> = self.unit.iter().flat_map(|unit| [unit.centre, unit.spread]).collect();
        let size = unit.len();
        state.put_f64s("unit", unit, &[size]);
        state.put_f64s("deviation", vec![self.deviation], &[1]);
        let roots = self.roots.iter().map(|&root| root as i32).collect();
        state.put_i32s("roots", roots, &[self.roots.len()]);
        state.put_i32s("splits", self.nodes.iter().flat_map(split_of).collect(), &[self.nodes.len(), 3]);
        let cuts: Vec<f64> =
            self.nodes.iter().filter(|node| node.coordinate != NONE).map(|node| node.cut).collect();
        let (size, leaves) = (cuts.len(), self.nodes.len() - cuts.len());
        state.put_f64s("cuts", cuts, &[size]);
        for (name, sums) in [("slopes", &self.slopes), ("curvatures", &self.curvatures)] {
            let rows = self.nodes.iter().zip(sums.chunks_exact(width));
            let of_leaves = rows.filter(|(node, _)| node.coordinate == NONE).flat_map(|(_, row)| row);
            state.put_f64s(name, of_leaves.copied().collect(), &[leaves, width]);
        }
    }

    /// Take the trees from a state; `known` is the number of known coordinates.
    ///
    /// # Errors
    ///
    /// If they contradict each other, or point outside of what is known.
    pub fn take(&mut self, state: &State, known: usize, is_regression: bool) -> Result<(), Refused> {
        let width = self.base.len();
        let ((base, shape), (deviation, other_shape)) = (state.f64s("base")?, state.f64s("deviation")?);
        ensure(shape == [width] && base.iter().all(|score| score.abs() < LARGEST), WHY)?;
        ensure(other_shape == [1] && deviation[0] > 0.0 && deviation[0] < LARGEST, WHY)?;
        let unit = match *state.f64s("unit")?.0 {
            [] => None,
            [centre, spread] => Some(Unit { centre, spread }),
            _ => return Err(WHY.to_owned()),
        };
        let is_unit =
            |unit: Unit| unit.centre.abs() <= scale::LARGEST && unit.spread > 0.0 && unit.spread.is_finite();
        ensure(unit.is_none_or(|unit| is_regression && is_unit(unit)), WHY)?;
        (self.base, self.deviation, self.unit) = (base.to_vec(), deviation[0], unit);
        self.take_nodes(state, known)?;
        let ((slopes, shape), (curvatures, other_shape)) = (state.f64s("slopes")?, state.f64s("curvatures")?);
        let leaves = self.nodes.iter().filter(|node| node.coordinate == NONE).count();
        ensure(shape == [leaves, width] && other_shape == shape, WHY)?;
        ensure(slopes.iter().all(|slope| slope.abs() < LARGEST), WHY)?;
        ensure(curvatures.iter().all(|curvature| (0.0..LARGEST).contains(curvature)), WHY)?;
        (self.slopes, self.curvatures) = (self.of_nodes(slopes), self.of_nodes(curvatures));
        self.evaluate();
        Ok(())
    }

    fn take_nodes(&mut self, state: &State, known: usize) -> Result<(), Refused> {
        let ((splits, shape), (roots, roots_shape)) = (state.i32s("splits")?, state.i32s("roots")?);
        let ((splits, rest), (cuts, cuts_shape)) = (splits.as_chunks::<3>(), state.f64s("cuts")?);
        ensure(rest.is_empty() && shape == [splits.len(), 3] && roots_shape == [roots.len()], WHY)?;
        let split = splits.iter().filter(|&&[coordinate, ..]| coordinate != -1).count();
        ensure(cuts_shape == [split] && cuts.iter().all(|cut| cut.abs() <= scale::LARGEST), WHY)?;
        ensure(splits.len() <= MOST_NODES, WHY)?;
        check_trees(splits, roots)?;
        self.roots = roots.iter().map(|&root| root as u32).collect();
        let mut cuts = cuts.iter().copied();
        for &[coordinate, missing_left, below] in splits {
            if coordinate == -1 {
                self.nodes.push(Node::LEAF);
                continue;
            }
            ensure((0..known as i64).contains(&coordinate.into()) && (0..=1).contains(&missing_left), WHY)?;
            let (coordinate, cut) = (coordinate as u32, cuts.next().ok_or(WHY)?);
            self.nodes.push(Node { coordinate, cut, missing_left: missing_left == 1, below: below as u32 });
        }
        Ok(())
    }

    /// The rows of all nodes, from the rows of leaves; 0 where a node is split.
    fn of_nodes(&self, of_leaves: &[f64]) -> Vec<f64> {
        let (width, mut rows) = (self.base.len(), of_leaves.chunks_exact(self.base.len()));
        let mut all = vec![0.0; self.nodes.len() * width];
        for (node, own) in self.nodes.iter().zip(all.chunks_exact_mut(width)) {
            if let Some(row) = (node.coordinate == NONE).then(|| rows.next()).flatten() {
                own.copy_from_slice(row);
            }
        }
        all
    }
}

fn split_of(node: &Node) -> [i32; 3] {
    let coordinate = if node.coordinate == NONE { -1 } else { node.coordinate as i32 };
    [coordinate, i32::from(node.missing_left), node.below as i32]
}

/// Check that each node is a root or below one other node, which comes before it.
fn check_trees(splits: &[[i32; 3]], roots: &[i32]) -> Result<(), Refused> {
    let mut is_known = vec![false; splits.len()];
    for &root in roots {
        let place = usize::try_from(root).ok().and_then(|root| is_known.get_mut(root)).ok_or(WHY)?;
        ensure(!std::mem::replace(place, true), WHY)?;
    }
    for (at, &[coordinate, _, below]) in splits.iter().enumerate() {
        ensure(is_known[at] && below >= 0, WHY)?;
        if coordinate != -1 {
            let below = below as usize;
            ensure(below > at && below + 1 < splits.len() && !is_known[below] && !is_known[below + 1], WHY)?;
            is_known[below..=below + 1].fill(true);
        }
    }
    Ok(())
}
