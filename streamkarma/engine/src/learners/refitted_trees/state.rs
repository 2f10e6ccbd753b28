//! Refitted trees to arrays, and back.

use super::ensemble::Ensemble;
use super::{Kind, RefittedTrees, Settings};
use crate::learner::Learner;
use crate::learners::refits::Refits;
use crate::state::{Refused, State, ensure};

const WHY: &str = "the arrays of refitted trees do not fit each other, or not this model";
const ARRAYS: usize = 1 + Refits::ARRAYS + Ensemble::ARRAYS;

impl RefittedTrees {
    /// Everything learned.
    pub(super) fn to_state(&self) -> State {
        let mut state = State::default();
        let Settings { kind, regression, .. } = self.settings;
        let kind = [i64::from(regression), i64::from(kind == Kind::Randomised), self.slopes.len() as i64];
        state.put_i64s("kind", kind.to_vec(), &[kind.len()]);
        self.refits.put(&mut state);
        self.ensemble.put(&mut state);
        state
    }

    /// The learner of a state, with the settings of this one.
    pub(super) fn restored(
        &self,
        state: &State,
        attributes: usize,
        coordinates: usize,
    ) -> Result<Self, Refused> {
        let Settings { kind, regression, .. } = self.settings;
        let mut learner = Self::new(self.settings)?;
        let (own, shape) = state.i64s("kind")?;
        let &[is_regression, is_randomised, width] = own else { return Err(WHY.to_owned()) };
        ensure([is_regression, is_randomised] == [regression, kind == Kind::Randomised].map(i64::from), WHY)?;
        ensure(shape == [3] && (1..=1 << 20).contains(&width) && (width == 1 || !regression), WHY)?;
        if width > 1 {
            learner.widen(width as usize);
        }
        let classes = if regression { 0 } else { learner.classes().max(2) };
        let own = learner.refits.take(state, attributes, coordinates, classes)?;
        ensure(own.0.len() == ARRAYS, WHY)?;
        learner.ensemble.take(&own, learner.refits.row.coordinates(), regression)?;
        Ok(learner)
    }
}
