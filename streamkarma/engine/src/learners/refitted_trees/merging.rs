//! Merging trees of models trained separately: they are refitted to the latest events of all of them.
//!
//! The fit is left to the first prediction, since a model may be merged again before it predicts anything.

use super::RefittedTrees;
use super::ensemble::Ensemble;
use crate::learner::{Learner, Unit};
use crate::merging::learned_since;
use crate::state::Refused;

impl RefittedTrees {
    /// Add what parts have learned; see [`Learner::merge`].
    pub(super) fn merge_parts(&mut self, parts: &[&dyn Learner]) -> Result<(), Refused> {
        let learned = learned_since(self, parts, |part| part.settings == self.settings)?;
        if let [(only, _)] = learned[..] {
            *self = only.clone();
        } else if !learned.is_empty() {
            self.gather(&learned.into_iter().map(|(part, _)| part).collect::<Vec<_>>());
        }
        Ok(())
    }

    /// Keep the latest events of all parts; a fit is due.
    fn gather(&mut self, parts: &[&Self]) {
        self.refits.merge(&parts.iter().map(|part| &part.refits).collect::<Vec<_>>());
        // Any of their units would do, and that of the part that has learned most is the most certain.
        let units = parts.iter().filter_map(|part| Some((part.refits.steps, part.ensemble.unit?)));
        let order = |(steps, one): &(u64, Unit), (other_steps, other): &(u64, Unit)| {
            let units = one.centre.total_cmp(&other.centre).then(one.spread.total_cmp(&other.spread));
            steps.cmp(other_steps).then(units)
        };
        let unit = units.max_by(order).map(|(_, unit)| unit);
        self.ensemble = Ensemble::based_on(self.settings.kind, vec![0.0; self.slopes.len()], unit, 1.0);
        self.refits.due = self.refits.steps;
    }
}
