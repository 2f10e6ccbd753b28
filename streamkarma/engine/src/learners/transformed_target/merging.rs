//! Merging learners of transformed targets.
//!
//! Each part has transformed its targets by a curve of its own. The merged curve is fitted to the means of the parts'
//! quantiles, weighted by the number of events that each part has learned. The inner learners are merged as if their
//! curves had been the same, which is an approximation: quantiles of one stream differ between parts by some hundredths
//! of a standard deviation.

use super::quantiles::{ALL, LOOKS, Quantiles};
use super::transform::TargetTransform;
use super::{NARROWEST, TransformedTarget, WIDEST};
use crate::merging::Mean;

impl TransformedTarget {
    /// Merge the parts' curves and the mean squared residuals of their inner learners.
    pub(super) fn merge_curves(&mut self, parts: &[&Self]) {
        let learned = parts.iter().map(|part| (*part, part.residuals.saturating_sub(self.residuals)));
        let learned: Vec<_> = learned.filter(|(_, events)| *events > 0).collect();
        match learned[..] {
            [] => {}
            [(part, _)] => {
                (self.transform, self.variance) = (part.transform.clone(), part.variance);
                self.residuals = part.residuals;
            }
            _ => {
                self.residuals += learned.iter().map(|(_, events)| events).sum::<u64>();
                let curves: Vec<_> =
                    learned.iter().map(|&(part, events)| (&part.transform, events as f64)).collect();
                self.transform.merge(&curves, self.residuals);
                let variance = mean(learned.iter().map(|&(part, events)| (part.variance, events as f64)));
                // Rounding may take a mean beyond the bounds of what it is a mean of.
                self.variance = variance.clamp(NARROWEST, WIDEST);
            }
        }
    }
}

impl TargetTransform {
    /// Convert to another scale of targets, see [`Translation::target`](crate::translation::Translation::target).
    pub(super) fn translate(&mut self, (shift, stretch): (f64, f64)) {
        if (shift, stretch) == (0.0, 1.0) {
            return;
        }
        let Quantiles { now, recent, .. } = &mut self.labels;
        let recent = recent.iter_mut().map(|(target, _)| target);
        now.iter_mut().chain(recent).for_each(|target| *target = (*target - shift) / stretch);
        self.refresh();
    }

    /// Average those of the parts by weight; `events` is the number of events learned in total.
    fn merge(&mut self, parts: &[(&Self, f64)], events: u64) {
        let labels: Vec<_> = parts.iter().map(|(part, weight)| (&part.labels, *weight)).collect();
        self.labels.merge(&labels, events);
        let logarithms = parts.iter().map(|(part, weight)| Some((part.logarithms.as_ref()?, *weight)));
        match (&mut self.logarithms, logarithms.collect::<Option<Vec<_>>>()) {
            (Some(own), Some(logarithms)) => own.merge(&logarithms, events),
            _ => self.logarithms = None,
        }
        self.refresh();
    }
}

impl Quantiles {
    /// Average those of the parts by weight; `events` is the number of events learned in total.
    fn merge(&mut self, parts: &[(&Self, f64)], events: u64) {
        for (i, quantile) in self.now.iter_mut().enumerate() {
            *quantile = mean(parts.iter().map(|(part, weight)| (part.now[i], *weight)));
        }
        self.looks = (events / ALL as u64).min(LOOKS);
        if self.looks > 0 {
            self.recent.clear();
            return;
        }
        // No targets have been dropped so far, except those before a leap.
        let before = self.recent.len();
        let new = parts.iter().flat_map(|(part, _)| part.recent.get(before..).unwrap_or_default());
        self.recent.extend(new);
        self.recent[before..]
            .sort_unstable_by(|one, other| one.0.total_cmp(&other.0).then(one.1.total_cmp(&other.1)));
        self.recent.truncate(ALL - 1);
    }
}

/// The weighted mean of numbers.
fn mean(numbers: impl Iterator<Item = (f64, f64)>) -> f64 {
    let mut mean = Mean::default();
    numbers.for_each(|(number, weight)| mean.put(weight, number));
    mean.value()
}
