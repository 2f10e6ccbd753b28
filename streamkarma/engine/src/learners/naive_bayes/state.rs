//! Saving the labels of terms as arrays, and restoring them with checks.

use super::NaiveBayes;
use crate::learners::rated::labels::Labels;
use crate::learners::rated::table::{LARGEST_SUM, seen_in};
use crate::state::{Refused, State, ensure};

/// Why a state is rejected.
const WHY: &str = "the labels of terms are inconsistent";

impl NaiveBayes {
    pub(super) fn to_state(&self) -> State {
        let Labels { count, sums, seen } = &self.labels;
        let mut state = State::default();
        state.put_i64s("classes", vec![self.classes as i64], &[1]);
        state.put_i64s("steps", vec![self.steps as i64], &[1]);
        state.put_f64s("count", vec![*count], &[1]);
        state.put_f64s("sums", sums.clone(), &[sums.len()]);
        state.put_i64s("seen", vec![*seen as i64], &[1]);
        self.table.put(&mut state);
        state
    }

    /// The same learner with such a state.
    ///
    /// # Errors
    ///
    /// If the state is invalid.
    pub(super) fn restored(&self, state: &State) -> Result<Self, Refused> {
        let [classes, steps] = [one(state, "classes")?, one(state, "steps")?];
        let mut restored = Self { keep: self.keep, classes: classes as usize, steps, ..Self::new(0.0) };
        let (count, shape) = state.f64s("count")?;
        let (sums, sum_shape) = state.f64s("sums")?;
        let fits = shape == [1] && count.len() == 1 && sum_shape == [restored.width()];
        ensure(classes > 0 && fits && sums.len() == restored.width(), WHY)?;
        let is_possible = |each: &f64| (0.0..LARGEST_SUM).contains(each);
        ensure(count.iter().chain(sums).all(is_possible), WHY)?;
        let seen = seen_in(state, "seen", 1)?[0];
        restored.labels = Labels { count: count[0], sums: sums.to_vec(), seen };
        restored.table = restored.empty_table().restored(state, false)?;
        Ok(restored)
    }
}

/// A single count.
fn one(state: &State, name: &str) -> Result<u64, Refused> {
    Ok(seen_in(state, name, 1)?[0])
}
