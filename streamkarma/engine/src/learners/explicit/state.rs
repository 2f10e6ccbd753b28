//! Writing the model to a file, and validating what is read from one.

use super::forgetting::CLEARED;
use super::{Explicit, LinearModel, Step};
use crate::state::{Refused, State, ensure};
use crate::vocabulary::PASSING;

const WHY: &str = "the weights contradict each other";

impl Explicit {
    /// Everything learned; of the weights, only those touched. The weights of the second model and of each further one
    /// are in a part of their own.
    pub(super) fn to_state(&self) -> State {
        let mut state = weights_of(&self.models[0]);
        let known = [self.map.attributes, self.map.coordinates, self.swept];
        state.put_i64s("known", known.map(|number| number as i64).to_vec(), &[3]);
        state.put_bools("hashed", vec![self.map.layout.is_hashed()], &[1]);
        for (number, model) in self.models.iter().enumerate().skip(1) {
            state.put_part(&number.to_string(), weights_of(model));
        }
        state
    }

    /// The learner with a given state and the settings of this one.
    pub(super) fn restored(
        &self,
        state: &State,
        attributes: usize,
        coordinates: usize,
    ) -> Result<Self, Refused> {
        let ((known, known_shape), (hashed, hashed_shape)) = (state.i64s("known")?, state.bools("hashed")?);
        // Beside these two, there are four arrays per model.
        let arrays = 2 + 4 * self.models.len();
        ensure(state.0.len() == arrays && known_shape == [3] && hashed_shape == [1], WHY)?;
        let step = *self.models[0].settings();
        let mut learner = Self::new(self.map.gamma(), self.map.normalize(), step, self.table_bits)?
            .with_most(self.map.most());
        let within =
            |number: i64, limit: usize| usize::try_from(number).ok().filter(|number| *number <= limit);
        // Merging may have dropped the last names, while hashed weights stay in place.
        let most = |limit: usize| if hashed[0] { limit.max(PASSING as usize) } else { limit };
        let (Some(attributes), Some(coordinates)) =
            (within(known[0], most(attributes)), within(known[1], most(coordinates)))
        else {
            return Err(WHY.to_owned());
        };
        (learner.map.attributes, learner.map.coordinates) = (attributes, coordinates);
        learner.swept = within(known[2], CLEARED - 1).ok_or(WHY)?;
        let parts = state.parts();
        let mut models = Vec::new();
        for (number, model) in self.models.iter().enumerate() {
            let name = if number == 0 { String::new() } else { number.to_string() };
            let part = parts.get(name.as_str()).ok_or(WHY)?;
            models.push(learner.restored_model(*model.settings(), part)?);
        }
        ensure(models.iter().all(|model| model.classes() == models[0].classes()), WHY)?;
        let (layout, _) = learner.layout(models[0].classes());
        // A hashed table stays hashed, but then the known features must be too many for a plain one.
        ensure(layout.is_hashed() == hashed[0], WHY)?;
        learner.map.layout = layout;
        Ok(Self { models, ..learner })
    }

    /// The model in a state's part, with each weight at its place in the layout for all known features.
    fn restored_model(&self, step: Step, part: &State) -> Result<LinearModel, Refused> {
        let mut model = LinearModel::restored(step, "clock", part, 1 << self.table_bits)?;
        let (index, shape) = part.i64s("index")?;
        let (_, bits) = self.layout(model.classes());
        ensure(shape == [model.places()] && index.is_sorted_by(|one, next| one < next), WHY)?;
        ensure(index.iter().all(|place| (0..1 << bits).contains(place)), WHY)?;
        let from: Vec<u32> = (0..index.len() as u32).collect();
        let to: Vec<u32> = index.iter().map(|&place| place as u32).collect();
        LinearModel::check_room(model.classes(), 1 << bits)?;
        model.relocate(&from, &to, 1 << bits);
        Ok(model)
    }
}

/// The touched weights of a model, and their places.
fn weights_of(model: &LinearModel) -> State {
    let (index, mut state) = (model.touched(), State::default());
    model.put_state(&index, "clock", &mut state);
    state.put_i64s("index", index.iter().map(|&place| i64::from(place)).collect(), &[index.len()]);
    state
}
