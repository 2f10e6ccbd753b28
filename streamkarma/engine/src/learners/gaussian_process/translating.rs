//! Renaming coordinates for a merged model, and merging processes trained separately, which refits to the latest events
//! of all parts. Renaming does not change predictions, because values and targets are stored in their original units.

use super::GaussianProcess;
use crate::learner::{Learner, Unit};
use crate::learners::moved_codes::dropped_by;
use crate::merging::learned_since;
use crate::state::Refused;
use crate::translation::Translation;

impl GaussianProcess {
    /// Translate to the names and units of a merged model; see [`Learner::translate`].
    pub(super) fn translate_all(&mut self, translation: &Translation) {
        if translation.is_none() {
            return;
        }
        if let Some(fitted) = &mut self.fitted {
            fitted.inputs.forget(&dropped_by(translation));
            for input in &mut fitted.inputs.0 {
                input.coordinate = translation.coordinate(input.coordinate).unwrap_or(input.coordinate);
            }
        }
        self.refits.translate(translation);
    }

    /// Merge what the parts have learned; see [`Learner::merge`].
    pub(super) fn merge_parts(&mut self, parts: &[&dyn Learner]) -> Result<(), Refused> {
        let learned = learned_since(self, parts, |part| part.settings == self.settings)?;
        if let [(only, _)] = learned[..] {
            *self = only.clone();
        } else if !learned.is_empty() {
            self.refits.merge(&learned.iter().map(|(part, _)| &part.refits).collect::<Vec<_>>());
            // No part's kernel is preferable to the others.
            self.fitted = None;
            self.fit(Unit::NONE);
        }
        Ok(())
    }
}
