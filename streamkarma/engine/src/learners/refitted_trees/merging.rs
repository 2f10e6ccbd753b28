//! Trees of models that learned apart: fitted anew to the latest events of all of them.
//!
//! Events keep the step in which they were learned, counted back from where their part ended: the latest of each part
//! are the latest of all, as if the parts had learned side by side. The base's are older than what came since. Of equally
//! old events their content decides which has room. So neither the order of the parts shows, nor whether some were merged
//! before. Of what the base had, the events that every part has dropped since, as they do after a change, do not come
//! back. Errors are watched anew: they were of other trees.

use std::cmp::Ordering;

use super::RefittedTrees;
use crate::learner::{Learner, Unit};
use crate::learners::errors::Errors;
use crate::learners::latest::Kept;
use crate::learners::moved_codes::owners_of;
use crate::merging::{counted_together, learned_since};
use crate::state::Refused;

impl RefittedTrees {
    /// Take in what parts have learned; see [`Learner::merge`].
    pub(super) fn merge_parts(&mut self, parts: &[&dyn Learner]) -> Result<(), Refused> {
        let learned = learned_since(self, parts, |part| part.settings == self.settings)?;
        if let [(only, _)] = learned[..] {
            *self = only.clone();
        } else if !learned.is_empty() {
            self.fit_to(&learned.into_iter().map(|(part, _)| part).collect::<Vec<_>>());
        }
        Ok(())
    }

    fn fit_to(&mut self, parts: &[&Self]) {
        let steps = counted_together(self.steps, parts.iter().map(|part| part.steps));
        let oldest = parts.iter().filter_map(|part| Some(part.latest.events.front()?.step)).min();
        let mut all: Vec<Kept<f64>> = self.latest.whole().collect();
        all.retain(|event| oldest.is_some_and(|oldest| event.step >= oldest));
        for part in parts {
            let since = part.latest.whole().filter(|event| event.step > self.steps);
            all.extend(since.map(|event| Kept { step: steps - (part.steps - event.step), ..event }));
        }
        all.sort_by(|one, other| one.step.cmp(&other.step).then_with(|| by_content(one, other)));
        all.drain(..all.len().saturating_sub(self.latest.most));
        self.row.restore(owners_of(parts.iter().map(|part| &part.row).chain([&self.row])));
        self.latest.refill(all);
        self.steps = steps;
        self.begun = steps - (self.latest.events.len() as u64).min(steps);
        self.errors = Errors::new(1);
        self.asked = steps;
        // Any of their units will do, and that of who has learned most is the most certain.
        let units = parts.iter().filter_map(|part| Some((part.steps, part.ensemble.unit?)));
        let order = |(steps, one): &(u64, Unit), (other_steps, other): &(u64, Unit)| {
            let units = one.centre.total_cmp(&other.centre).then(one.spread.total_cmp(&other.spread));
            steps.cmp(other_steps).then(units)
        };
        self.fit(units.max_by(order).map_or(Unit::NONE, |(_, unit)| unit));
    }
}

fn by_content(one: &Kept<f64>, other: &Kept<f64>) -> Ordering {
    fn bits(event: &Kept<f64>) -> impl Iterator<Item = u64> {
        event.cells.iter().map(|value| value.to_bits())
    }
    let content = |event: &Kept<f64>| (event.label, event.weight);
    let ((label, weight), (other_label, other_weight)) = (content(one), content(other));
    label
        .total_cmp(&other_label)
        .then(weight.total_cmp(&other_weight))
        .then_with(|| one.coordinates.cmp(&other.coordinates))
        .then_with(|| bits(one).cmp(bits(other)))
}
