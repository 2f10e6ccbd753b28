//! Contributions of attributes to the score of a completed event, and how far missing values may be from their means.
//!
//! Completion is linear in the values, as long as the same attributes are observed. So an attribute contributes what
//! the score loses when its values are 0, plus its indicator.

use super::{Form, NOBODY, Subspace};
use crate::block::Event;
use crate::cholesky::Cholesky;
use crate::explaining::Explanation;
use crate::math::dot;

impl Subspace {
    pub(super) fn explain_completed(&mut self, event: &Event, into: &mut Explanation) {
        let mut values = event.values.to_vec();
        let mut scores = vec![0.0; into.scores.len()];
        for attribute in into.attributes().to_vec() {
            let begin = event.attributes.partition_point(|&each| each < attribute);
            let end = event.attributes.partition_point(|&each| each <= attribute);
            values[begin..end].fill(0.0);
            self.write_features(&Event { values: &values, ..*event });
            self.predict_heads(&mut scores);
            values[begin..end].copy_from_slice(&event.values[begin..end]);
            for (column, score) in scores.iter().enumerate() {
                into.add(attribute, column, into.scores[column] - score);
            }
            self.explain_indicator(attribute, into);
        }
    }

    fn explain_indicator(&self, attribute: u32, into: &mut Explanation) {
        if !self.known.get(attribute as usize).is_some_and(|&is| is) {
            return;
        }
        let (classes, place) =
            (self.heads[0].model.classes(), self.settings.rank + 2 * attribute as usize + 1);
        for (number, head) in self.heads.iter().enumerate().filter(|(_, head)| head.indicators) {
            for class in 0..classes {
                into.add(attribute, number * classes + class, head.trusted().weight(class, place));
            }
        }
    }

    /// Mean and variance of every coordinate given an event; the variance is NaN where it is unknown.
    pub(super) fn conditional_moments(&mut self, event: &Event) -> Vec<(f64, f64)> {
        let mut means = vec![0.0; self.owners.len()];
        self.complete(event, &mut means);
        let variances: Vec<f64> = match &self.form {
            Form::Pairs(pairs) => {
                let slot = |k| pairs.coordinates.of(k).filter(|&slot| pairs.moments.active[slot]);
                let variance = |k| slot(k).map_or(f64::NAN, |slot| pairs.moments.conditional_variance(slot));
                (0..self.owners.len() as u32).map(variance).collect()
            }
            Form::Factor(ppca) => {
                let owners = self.owners.iter().enumerate();
                let known = |(k, &owner)| {
                    if owner == NOBODY { f64::NAN } else { ppca.conditional_variance(owner, k) }
                };
                owners.map(known).collect()
            }
        };
        means.into_iter().zip(variances).collect()
    }
}

/// x' A^-1 x for a factorised matrix.
pub fn squared_length(cholesky: &Cholesky, x: &[f64]) -> f64 {
    let mut solved = x.to_vec();
    cholesky.solve(&mut solved);
    dot(x, &solved)
}
