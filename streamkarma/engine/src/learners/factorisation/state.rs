//! Saving to and restoring from a model file.

use super::rows::{Row, Rows, SLOTS};
use super::{FactorisationMachine, LARGEST, wakes_up};
use crate::learner::Learner;
use crate::learners::linear::LARGEST_GROWTH;
use crate::state::{Refused, State, ensure};

const WHY: &str = "the factors contradict each other";
/// Number of arrays that `to_state` produces.
const ARRAYS: usize = 6;

impl FactorisationMachine {
    /// Everything learned; only rows that were touched in any class.
    pub(super) fn to_state(&self) -> State {
        let Rows { rows, factor, .. } = &self.rows;
        let (places, classes) = (self.rows.places(), self.slopes.len());
        let is_touched = |place: &usize| (0..classes).any(|c| rows[c * places + place] != Row::default());
        let index: Vec<usize> = (0..places).filter(is_touched).collect();
        let picked = || (0..classes).flat_map(|c| index.iter().map(move |place| &rows[c * places + place]));
        let shape = [classes, index.len(), SLOTS];
        let mut state = State::default();
        state.put_i64s("known", vec![self.attributes as i64, self.coordinates as i64], &[2]);
        state.put_bools("awake", vec![self.awake], &[1]);
        state.put_f64s("clock", vec![self.steps as f64, *factor], &[2]);
        state.put_i64s("index", index.iter().map(|&place| place as i64).collect(), &[index.len()]);
        state.put_f64s("moved", picked().flat_map(|row| row.moved).collect(), &shape);
        state.put_f64s("moments", picked().flat_map(|row| row.moments).collect(), &shape);
        state
    }

    /// The learner of a state, with the settings of this one.
    pub(super) fn restored(
        &self,
        state: &State,
        attributes: usize,
        coordinates: usize,
    ) -> Result<Self, Refused> {
        let ((known, known_shape), (awake, awake_shape)) = (state.i64s("known")?, state.bools("awake")?);
        ensure(state.0.len() == ARRAYS && known_shape == [2] && awake_shape == [1], WHY)?;
        let within = |number: i64, limit: usize| usize::try_from(number).ok().filter(|each| *each <= limit);
        let mut learner = Self::new(self.rows.settings)?;
        learner.attributes = within(known[0], attributes).ok_or(WHY)?;
        learner.coordinates = within(known[1], coordinates).ok_or(WHY)?;
        learner.awake = awake[0];
        ensure(learner.awake || !wakes_up(learner.attributes, learner.coordinates), WHY)?;
        learner.take_clock(state)?;
        learner.take_rows(state)?;
        Ok(learner)
    }

    fn take_clock(&mut self, state: &State) -> Result<(), Refused> {
        let (clock, shape) = state.f64s("clock")?;
        let &[steps, factor] = clock else { return Err(WHY.to_owned()) };
        ensure(shape == [2] && (0.0..2f64.powi(53)).contains(&steps) && steps.fract() == 0.0, WHY)?;
        ensure((1.0..=LARGEST_GROWTH).contains(&factor), WHY)?;
        (self.steps, self.rows.factor) = (steps as u64, factor);
        Ok(())
    }

    fn take_rows(&mut self, state: &State) -> Result<(), Refused> {
        let ((index, index_shape), (moved, shape)) = (state.i64s("index")?, state.f64s("moved")?);
        let (moments, moments_shape) = state.f64s("moments")?;
        let &[classes, touched, SLOTS] = shape else { return Err(WHY.to_owned()) };
        ensure(shape == moments_shape && index_shape == [touched] && classes > 0, WHY)?;
        ensure(classes <= 1 << self.rows.settings.table_bits, WHY)?;
        if classes > 1 {
            self.widen(classes);
        }
        if self.awake {
            self.rows.make_room(self.coordinates);
        }
        let places = self.rows.places();
        ensure(index.is_sorted_by(|one, next| one < next), WHY)?;
        ensure(index.iter().all(|place| (0..places as i64).contains(place)), WHY)?;
        ensure(moved.iter().all(|each| each.abs() <= LARGEST), WHY)?;
        ensure(moments.iter().all(|each| each.is_finite() && *each >= 0.0), WHY)?;
        let (moved, moments) = (moved.as_chunks::<SLOTS>().0, moments.as_chunks::<SLOTS>().0);
        for (number, (&moved, &moments)) in moved.iter().zip(moments).enumerate() {
            let (class, place) = (number / touched, index[number % touched] as usize);
            self.rows.rows[class * places + place] = Row { moved, moments };
        }
        Ok(())
    }
}
