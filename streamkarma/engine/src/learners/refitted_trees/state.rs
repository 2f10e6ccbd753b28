//! Refitted trees as arrays, and back.

use super::ensemble::Ensemble;
use super::{Kind, LARGEST_WEIGHT, RefittedTrees};
use crate::learner::Learner;
use crate::learners::latest::Latest;
use crate::learners::latest_state::Bounds;
use crate::scale;
use crate::state::{Refused, State, ensure};

const WHY: &str = "the arrays of refitted trees do not fit each other, or not this model";
const ARRAYS: usize = 3 + Ensemble::ARRAYS + Latest::<f64>::ARRAYS;
const ERRORS: &str = "tree_errors";
impl RefittedTrees {
    /// Everything learned.
    pub(super) fn to_state(&self) -> State {
        let width = self.slopes.len();
        let mut state = State::default();
        let clock = [self.steps, self.begun, self.fitted, self.due, self.asked, width as u64];
        state.put_i64s("clock", clock.map(|count| count as i64).to_vec(), &[clock.len()]);
        let (kind, regression) = (self.settings.kind, self.settings.regression);
        state.put_bools("settings", vec![regression, kind == Kind::Randomised], &[2]);
        state.put_i32s("owners", self.row.owners(), &[self.row.coordinates()]);
        self.latest.put(&mut state);
        self.ensemble.put(&mut state);
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
        learner.ensemble.take(&own, owners.len(), self.settings.regression)?;
        Ok(learner)
    }

    fn take_clock(&mut self, state: &State) -> Result<(), Refused> {
        let (clock, shape) = state.i64s("clock")?;
        let is_randomised = self.settings.kind == Kind::Randomised;
        ensure(state.bools("settings")?.0 == [self.settings.regression, is_randomised], WHY)?;
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
}
