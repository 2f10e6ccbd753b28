//! Trees with the names, classes and units of a merged model.
//!
//! What they say stays the same under other names. In other units, thresholds are rounded to cells of codes, see
//! [`crate::learners::codes`]; a split by a coordinate that is turned round sends every event where what is missing goes.

use super::{BoostedTrees, LARGEST_TARGET};
use crate::change::Change;
use crate::learner::Learner;
use crate::learners::codes::CODES;
use crate::learners::moved_codes::{MovedCodes, gone_by};
use crate::merging::relabelled_rows;
use crate::state::{Refused, ensure};

impl BoostedTrees {
    /// Number the classes anew; see [`Learner::relabel`].
    pub(super) fn renumber(&mut self, places: &[usize]) -> Result<(), Refused> {
        if places.is_sorted() {
            return Ok(());
        }
        ensure(places.len() == self.classes().max(2), "there are not as many places as classes")?;
        let ensemble = &mut self.ensemble;
        if self.slopes.len() == 1 {
            let signed = [&mut ensemble.base, &mut ensemble.slopes, &mut ensemble.values];
            signed.into_iter().flatten().for_each(|number| *number = -*number);
        } else {
            let all =
                [&mut ensemble.base, &mut ensemble.slopes, &mut ensemble.curvatures, &mut ensemble.values];
            all.into_iter().for_each(|numbers| *numbers = relabelled_rows(numbers, places));
        }
        self.latest
            .change(|coordinate, code| Some((coordinate, code)), |class| places[class as usize] as f64);
        Ok(())
    }

    /// Go over to the names and units of a merged model; see [`Learner::carry`].
    pub(super) fn carry_over(&mut self, change: &Change) {
        if change.is_none() {
            return;
        }
        self.forget(&gone_by(change));
        let codes = MovedCodes::new(&self.codes, change);
        for node in &mut self.ensemble.nodes {
            let Some(new) = change.coordinate(node.coordinate) else { continue };
            // The highest code stays so: a cut there tells what is observed from what is not.
            if node.cut < CODES - 1
                && let Some(scaled) = codes.scaling(node.coordinate)
            {
                node.cut = codes.moved(node.cut, scaled);
            }
            node.coordinate = new;
        }
        let (shift, stretch) = if self.settings.regression { change.target } else { (0.0, 1.0) };
        let scaled = |target: f64| ((target - shift) / stretch).clamp(-LARGEST_TARGET, LARGEST_TARGET);
        self.latest.change(
            |coordinate, code| codes.item(coordinate, code),
            |label| if (shift, stretch) == (0.0, 1.0) { label } else { scaled(label) },
        );
        if (shift, stretch) != (0.0, 1.0) {
            let ensemble = &mut self.ensemble;
            ensemble.base[0] = scaled(ensemble.base[0]);
            ensemble.deviation /= stretch;
            ensemble.slopes.iter_mut().for_each(|slope| *slope /= stretch);
            ensemble.values.clear();
            ensemble.evaluate();
        }
        let owners = codes.owners();
        self.codes.restore(owners);
    }
}
