//! A process with the names of a merged model, and one of models that learned apart: fitted anew to the latest events of
//! all of them. What it says of an event stays the same under other names: values and targets are as they came.

use super::GaussianProcess;
use crate::change::Change;
use crate::learner::{Learner, Unit};
use crate::learners::moved_codes::dropped_by;
use crate::merging::learned_since;
use crate::state::Refused;

impl GaussianProcess {
    /// Go over to the names and units of a merged model; see [`Learner::carry`].
    pub(super) fn carry_over(&mut self, change: &Change) {
        if change.is_none() {
            return;
        }
        if let Some(fitted) = &mut self.fitted {
            fitted.inputs.forget(&dropped_by(change));
            for input in &mut fitted.inputs.0 {
                input.coordinate = change.coordinate(input.coordinate).unwrap_or(input.coordinate);
            }
        }
        self.refits.carry(change);
    }

    /// Take in what parts have learned; see [`Learner::merge`].
    pub(super) fn merge_parts(&mut self, parts: &[&dyn Learner]) -> Result<(), Refused> {
        let learned = learned_since(self, parts, |part| part.settings == self.settings)?;
        if let [(only, _)] = learned[..] {
            *self = only.clone();
        } else if !learned.is_empty() {
            self.refits.merge(&learned.iter().map(|(part, _)| &part.refits).collect::<Vec<_>>());
            // Neither of the kernels is more likely than the others.
            self.fitted = None;
            self.fit(Unit::NONE);
        }
        Ok(())
    }
}
