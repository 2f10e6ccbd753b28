//! Trees with the names, classes and units of a merged model.
//!
//! Their predictions stay the same.

use super::RefittedTrees;
use crate::learner::Learner;
use crate::learners::moved_codes::dropped_by;
use crate::merging::relabelled_rows;
use crate::state::{Refused, ensure};
use crate::translation::Translation;

impl RefittedTrees {
    /// Renumber the classes; see [`Learner::relabel`].
    pub(super) fn renumber(&mut self, places: &[usize]) -> Result<(), Refused> {
        if places.is_sorted() {
            return Ok(());
        }
        ensure(
            places.len() == self.classes().max(2),
            "the number of new class indices differs from the number of classes",
        )?;
        let ensemble = &mut self.ensemble;
        if self.slopes.len() == 1 {
            let signed = [&mut ensemble.base, &mut ensemble.slopes, &mut ensemble.values];
            signed.into_iter().flatten().for_each(|number| *number = -*number);
        } else {
            let all =
                [&mut ensemble.base, &mut ensemble.slopes, &mut ensemble.curvatures, &mut ensemble.values];
            all.into_iter().for_each(|numbers| *numbers = relabelled_rows(numbers, places));
        }
        self.refits
            .latest
            .change(|coordinate, value| Some((coordinate, value)), |class| places[class as usize] as f64);
        Ok(())
    }

    /// Convert to the names and units of a merged model; see [`Learner::translate`].
    pub(super) fn translate_all(&mut self, translation: &Translation) {
        if translation.is_none() {
            return;
        }
        self.ensemble.forget(&dropped_by(translation));
        for node in &mut self.ensemble.nodes {
            node.coordinate = translation.coordinate(node.coordinate).unwrap_or(node.coordinate);
        }
        self.refits.translate(translation);
    }
}
