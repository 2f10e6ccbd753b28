//! The weights and the replayed examples in a model file.

use super::Subspace;
use super::heads::Head;
use super::linear::LinearModel;
use super::replay::Replayed;
use super::state::{WHY, not_negative, numbers};
use crate::learner::Learner;
use crate::state::{Refused, State, ensure};

/// Name of the part with the examples.
const EXAMPLES: &str = "examples";

impl Subspace {
    /// Put the weights at these places.
    pub(super) fn put_heads(&self, used: &[u32], state: &mut State) {
        self.heads[0].model.put_state(used, "steps", state);
        for (number, head) in self.heads.iter().enumerate() {
            if number > 0 {
                state.put_part(&number.to_string(), state_of(&head.model, used));
            }
            if let Some(replayed) = &head.replayed {
                let mut part = state_of(&replayed.model, used);
                part.put_f64s("losses", replayed.losses.to_vec(), &[2]);
                state.put_part(&replayed_name(number), part);
            }
        }
        if self.is_replaying() {
            state.put_part(EXAMPLES, self.examples.to_state());
        }
    }

    /// Restore the heads from a state, with so many places each; also returns the state of the examples.
    pub(super) fn restored_heads(
        &self,
        state: &State,
        places: usize,
    ) -> Result<(Vec<Head>, Option<State>), Refused> {
        let mut parts = state.parts();
        let examples = parts.remove(EXAMPLES);
        let mut heads: Vec<Head> = Vec::new();
        for (number, head) in self.heads.iter().enumerate() {
            let name = if number == 0 { String::new() } else { number.to_string() };
            let part = parts.remove(name.as_str()).ok_or(WHY)?;
            let model = restored_model(&head.model, &part, places)?;
            let classes = heads.first().map_or(model.classes(), |first| first.model.classes());
            ensure(model.classes() == classes, WHY)?;
            let replayed = parts.remove(replayed_name(number).as_str());
            ensure(replayed.is_some() == examples.is_some(), WHY)?;
            let replayed = replayed.map(|part| Replayed::restored(&model, &part)).transpose()?;
            heads.push(Head { indicators: head.indicators, model, replayed });
        }
        ensure(parts.is_empty(), WHY)?;
        Ok((heads, examples))
    }

    /// Whether a number is a valid label.
    pub(super) fn is_label(&self, label: f64) -> bool {
        match self.classes() {
            1 => self.settings.regression || label.abs() == 1.0,
            classes => (0..classes).any(|class| label == class as f64),
        }
    }
}

impl Replayed {
    fn restored(plain: &LinearModel, part: &State) -> Result<Self, Refused> {
        let model = restored_model(plain, part, plain.places())?;
        ensure(model.classes() == plain.classes(), WHY)?;
        let losses = numbers(part, "losses", &[2])?;
        ensure(not_negative(&[&losses]), WHY)?;
        Ok(Self::new(model, [losses[0], losses[1]]))
    }
}

/// Name of the part with the weights of a head that learn by replay.
fn replayed_name(number: usize) -> String {
    format!("replayed_{number}")
}

fn state_of(model: &LinearModel, used: &[u32]) -> State {
    let mut state = State::default();
    model.put_state(used, "steps", &mut state);
    state
}

/// Restore a model from a state, with the settings of `made` and so many places.
fn restored_model(made: &LinearModel, state: &State, places: usize) -> Result<LinearModel, Refused> {
    // Each class has at least one weight.
    let most = state.f64s("weights").map_err(|_| WHY)?.0.len();
    let model = LinearModel::restored(*made.settings(), "steps", state, most).map_err(|_| WHY)?;
    ensure(model.places() == places, WHY)?;
    Ok(model)
}
