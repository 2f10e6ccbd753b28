//! Boosted trees as arrays, and back.

use super::ensemble::{NONE, Node};
use super::{BoostedTrees, LARGEST_WEIGHT};
use crate::learner::{Learner, Unit};
use crate::learners::latest::Latest;
use crate::learners::latest_state::Bounds;
use crate::scale;
use crate::state::{Refused, State, ensure};

const WHY: &str = "the arrays of boosted trees do not fit each other, or not this model";
const ARRAYS: usize = 11 + Latest::<f64>::ARRAYS;
const ERRORS: &str = "boosting_errors";
/// No sum of slopes or of curvatures is larger, nor is a score.
const LARGEST: f64 = 1e60;
/// No model has more nodes.
const MOST_NODES: usize = 1 << 20;

impl BoostedTrees {
    /// Everything learned.
    pub(super) fn to_state(&self) -> State {
        let (ensemble, width) = (&self.ensemble, self.slopes.len());
        let nodes = ensemble.nodes.len();
        let mut state = State::default();
        let clock = [self.steps, self.begun, self.fitted, self.due, self.asked, width as u64];
        state.put_i64s("clock", clock.map(|count| count as i64).to_vec(), &[clock.len()]);
        state.put_bools("regression", vec![self.settings.regression], &[1]);
        state.put_i32s("owners", self.row.owners(), &[self.row.coordinates()]);
        self.latest.put(&mut state);
        state.put_f64s("base", ensemble.base.clone(), &[width]);
        let unit: Vec<f64> = ensemble.unit.iter().flat_map(|unit| [unit.centre, unit.spread]).collect();
        let size = unit.len();
        state.put_f64s("unit", unit, &[size]);
        state.put_f64s("deviation", vec![ensemble.deviation], &[1]);
        let roots = ensemble.roots.iter().map(|&root| i64::from(root)).collect();
        state.put_i64s("roots", roots, &[ensemble.roots.len()]);
        state.put_i64s("splits", ensemble.nodes.iter().flat_map(split_of).collect(), &[nodes, 3]);
        state.put_f64s("cuts", ensemble.nodes.iter().map(|node| node.cut).collect(), &[nodes]);
        state.put_f64s("slopes", ensemble.slopes.clone(), &[nodes, width]);
        state.put_f64s("curvatures", ensemble.curvatures.clone(), &[nodes, width]);
        state.put_part(ERRORS, self.errors.state());
        state
    }

    /// The learner of a state, with the settings of this one.
    pub(super) fn restored(
        &self,
        state: &State,
        attributes: usize,
        coordinates: usize,
    ) -> Result<Self, Refused> {
        let mut parts = state.parts();
        let (own, errors) = (parts.remove("").unwrap_or_default(), parts.remove(ERRORS).ok_or(WHY)?);
        ensure(parts.is_empty() && own.0.len() == ARRAYS, WHY)?;
        let mut learner = Self::new(self.settings)?;
        learner.errors = learner.errors.restored(errors)?;
        learner.take_clock(&own)?;
        let owners = own.i32s("owners")?.0;
        ensure(owners.len() <= coordinates, WHY)?;
        ensure(owners.iter().all(|&owner| owner >= -1 && i64::from(owner) < attributes as i64), WHY)?;
        learner.row.restore(owners.iter().map(|&owner| owner as u32).collect());
        let classes = if self.settings.regression { 0 } else { learner.classes().max(2) };
        let bounds = Bounds { classes, target: scale::LARGEST, weight: LARGEST_WEIGHT, steps: learner.steps };
        learner.latest.take(&own, owners, &bounds)?;
        learner.take_trees(&own, owners.len())?;
        Ok(learner)
    }

    fn take_clock(&mut self, state: &State) -> Result<(), Refused> {
        let (clock, shape) = state.i64s("clock")?;
        ensure(state.bools("regression")?.0 == [self.settings.regression], WHY)?;
        ensure(shape == [6] && clock.iter().all(|count| (0..1 << 53).contains(count)), WHY)?;
        let &[steps, begun, fitted, due, asked, width] = clock else { return Err(WHY.to_owned()) };
        ensure(begun <= steps && fitted <= steps && steps < due, WHY)?;
        ensure((1..=1 << 20).contains(&width) && (width == 1 || !self.settings.regression), WHY)?;
        if width > 1 {
            self.widen(width as usize);
        }
        [self.steps, self.begun, self.fitted, self.due, self.asked] =
            [steps, begun, fitted, due, asked].map(|count| count as u64);
        Ok(())
    }

    fn take_trees(&mut self, state: &State, known: usize) -> Result<(), Refused> {
        let width = self.slopes.len();
        let ((base, shape), (deviation, other_shape)) = (state.f64s("base")?, state.f64s("deviation")?);
        ensure(shape == [width] && base.iter().all(|score| score.abs() < LARGEST), WHY)?;
        ensure(other_shape == [1] && deviation[0] > 0.0 && deviation[0] < LARGEST, WHY)?;
        let ((splits, shape), (roots, roots_shape)) = (state.i64s("splits")?, state.i64s("roots")?);
        let ((splits, rest), (cuts, cuts_shape)) = (splits.as_chunks::<3>(), state.f64s("cuts")?);
        ensure(rest.is_empty() && shape == [splits.len(), 3] && roots_shape == [roots.len()], WHY)?;
        ensure(cuts_shape == [splits.len()] && cuts.iter().all(|cut| cut.abs() <= scale::LARGEST), WHY)?;
        ensure(splits.len() <= MOST_NODES, WHY)?;
        check_trees(splits, roots)?;
        let ((slopes, shape), (curvatures, other_shape)) = (state.f64s("slopes")?, state.f64s("curvatures")?);
        ensure(shape == [splits.len(), width] && other_shape == shape, WHY)?;
        ensure(slopes.iter().all(|slope| slope.abs() < LARGEST), WHY)?;
        ensure(curvatures.iter().all(|curvature| (0.0..LARGEST).contains(curvature)), WHY)?;
        let unit = match *state.f64s("unit")?.0 {
            [] => None,
            [centre, spread] => Some(Unit { centre, spread }),
            _ => return Err(WHY.to_owned()),
        };
        let is_unit =
            |unit: Unit| unit.centre.abs() <= scale::LARGEST && unit.spread > 0.0 && unit.spread.is_finite();
        ensure(unit.is_none_or(|unit| self.settings.regression && is_unit(unit)), WHY)?;
        let ensemble = &mut self.ensemble;
        ensemble.unit = unit;
        (ensemble.base, ensemble.deviation) = (base.to_vec(), deviation[0]);
        ensemble.roots = roots.iter().map(|&root| root as u32).collect();
        for (&[coordinate, missing_left, below], &cut) in splits.iter().zip(cuts) {
            ensure(coordinate == -1 || (0..known as i64).contains(&coordinate), WHY)?;
            ensure((0..=1).contains(&missing_left), WHY)?;
            let (missing_left, below) = (missing_left == 1, below as u32);
            let coordinate = if coordinate == -1 { NONE } else { coordinate as u32 };
            ensemble.nodes.push(Node { coordinate, cut, missing_left, below });
        }
        (ensemble.slopes, ensemble.curvatures) = (slopes.to_vec(), curvatures.to_vec());
        ensemble.evaluate();
        Ok(())
    }
}

fn split_of(node: &Node) -> [i64; 3] {
    let coordinate = if node.coordinate == NONE { -1 } else { i64::from(node.coordinate) };
    [coordinate, i64::from(node.missing_left), i64::from(node.below)]
}

/// Whether each node is a root or below one other node, which comes before it.
fn check_trees(splits: &[[i64; 3]], roots: &[i64]) -> Result<(), Refused> {
    let mut is_known = vec![false; splits.len()];
    for &root in roots {
        let place = usize::try_from(root).ok().and_then(|root| is_known.get_mut(root)).ok_or(WHY)?;
        ensure(!std::mem::replace(place, true), WHY)?;
    }
    for (at, &[coordinate, _, below]) in splits.iter().enumerate() {
        ensure(is_known[at] && (0..=i64::from(u32::MAX)).contains(&below), WHY)?;
        if coordinate != -1 {
            let below = below as usize;
            ensure(below > at && below + 1 < splits.len() && !is_known[below] && !is_known[below + 1], WHY)?;
            is_known[below..=below + 1].fill(true);
        }
    }
    Ok(())
}
