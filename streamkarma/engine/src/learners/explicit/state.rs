//! What goes into a model file, and what may come from one.

use super::{Explicit, LinearModel};
use crate::state::{Refused, State, ensure};

impl Explicit {
    /// Everything learned, of weights only those that were touched.
    pub(super) fn to_state(&self) -> State {
        let (index, mut state) = (self.model.touched(), State::default());
        self.model.put_state(&index, "clock", &mut state);
        state.put_i64s("known", vec![self.map.attributes as i64, self.map.coordinates as i64], &[2]);
        state.put_bools("hashed", vec![self.map.layout.is_hashed()], &[1]);
        state.put_i64s("index", index.iter().map(|&place| i64::from(place)).collect(), &[index.len()]);
        state
    }

    /// The learner of a state, with the settings of this one.
    pub(super) fn restored(
        &self,
        state: &State,
        attributes: usize,
        coordinates: usize,
    ) -> Result<Self, Refused> {
        let why = "the weights contradict each other";
        let ((known, known_shape), (index, index_shape)) = (state.i64s("known")?, state.i64s("index")?);
        let (hashed, hashed_shape) = state.bools("hashed")?;
        ensure(state.0.len() == 6 && known_shape == [2] && hashed_shape == [1], why)?;
        let step = *self.model.settings();
        let mut model = LinearModel::restored(step, "clock", state, 1 << self.table_bits)?;
        ensure(index_shape == [model.places()], why)?;

        let mut learner = Self::new(self.map.gamma(), self.map.normalize(), step, self.table_bits)?;
        let within =
            |number: i64, limit: usize| usize::try_from(number).ok().filter(|number| *number <= limit);
        let (Some(attributes), Some(coordinates)) =
            (within(known[0], attributes), within(known[1], coordinates))
        else {
            return Err(why.to_owned());
        };
        (learner.map.attributes, learner.map.coordinates) = (attributes, coordinates);
        let (layout, bits) = learner.layout(model.classes());
        // Once it is hashed it stays so, but then it is for what is known that there is no room.
        ensure(layout.is_hashed() == hashed[0] && index.is_sorted_by(|one, next| one < next), why)?;
        ensure(index.iter().all(|place| (0..1 << bits).contains(place)), why)?;
        let from: Vec<u32> = (0..index.len() as u32).collect();
        let to: Vec<u32> = index.iter().map(|&place| place as u32).collect();
        model.relocate(&from, &to, 1 << bits);
        learner.map.layout = layout;
        Ok(Self { model, ..learner })
    }
}
