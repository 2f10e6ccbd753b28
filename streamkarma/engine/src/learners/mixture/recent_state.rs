//! Saving, restoring, widening and merging the memory of the latest errors.

use super::averaging::Shared;
use super::recent::{KEPT, MEANS, NARROWEST, OF_CLASSES, Recent, TARGETS, prior_variances};
use super::state::{are_shares, copy_arrays, is_covariance};
use crate::math::pow;
use crate::merging::relabelled_rows;
use crate::state::{Refused, State, count_of, ensure};

/// Why a state is rejected.
const CONTRADICTION: &str = "the memory of the latest errors is inconsistent";
/// Number of arrays that `state` writes.
const ARRAYS: usize = 10;

impl Recent {
    /// Everything learned.
    pub fn state(&self) -> State {
        let size = self.parameters.len();
        let mut state = State::default();
        state.put_f64s("parameters", self.parameters.clone(), &[size]);
        state.put_f64s("covariance", self.covariance.clone(), &[size, size]);
        state.put_f64s("shares", self.shares.weights.clone(), &[2]);
        state.put_f64s("mean_shares", self.shares.means.clone(), &[2]);
        state.put_f64s("variance", vec![self.variance], &[1]);
        state.put_f64s("spread", vec![self.spread], &[1]);
        state.put_f64s("residuals", self.residuals.clone(), &[MEANS, self.classes]);
        state.put_f64s("labels", self.labels.clone(), &[self.labels.len()]);
        state.put_i64s("counts", vec![self.events as i64, self.known as i64], &[2]);
        state.put_u64s("asked", vec![self.asked], &[1]);
        state
    }

    /// Restore a state with so many columns of scores.
    ///
    /// # Errors
    ///
    /// If the arrays contradict each other or this model.
    pub fn restored(&self, state: &State, classes: usize) -> Result<Self, Refused> {
        let mut restored = self.begun(classes);
        restored.take(state).filter(|()| restored.is_sound()).ok_or(CONTRADICTION)?;
        Ok(restored)
    }

    fn take(&mut self, state: &State) -> Option<()> {
        let shapes = self.state();
        ensure(state.0.len() == ARRAYS, CONTRADICTION).ok()?;
        let ((&[events, known], _), (&[asked], _)) = (state.i64s("counts").ok()?, state.u64s("asked").ok()?)
        else {
            return None;
        };
        (self.events, self.known, self.asked) = (count_of(events)?, usize::try_from(known).ok()?, asked);
        copy_arrays(
            state,
            &shapes,
            [
                ("parameters", &mut self.parameters[..]),
                ("covariance", &mut self.covariance),
                ("shares", &mut self.shares.weights),
                ("mean_shares", &mut self.shares.means),
                ("variance", std::slice::from_mut(&mut self.variance)),
                ("spread", std::slice::from_mut(&mut self.spread)),
                ("residuals", &mut self.residuals),
                ("labels", &mut self.labels),
            ],
        )
    }

    /// Whether a run could have produced these numbers.
    fn is_sound(&self) -> bool {
        let is_mean = |each: &f64| self.regression || each.abs() <= 1.0;
        self.known <= TARGETS
            && self.residuals.iter().chain(&self.labels).all(is_mean)
            && [&self.shares.weights, &self.shares.means].iter().all(|shares| are_shares(shares))
            && self.shares.weights.iter().all(|&each| each > 0.0)
            && self.variance >= NARROWEST
            && self.spread > 0.0
            && is_covariance(&self.covariance, prior_variances(self.classes, self.regression))
    }

    /// Widen to so many classes; what was learned about the existing ones stays.
    pub fn widen(&mut self, classes: usize) {
        if self.regression || classes <= self.classes {
            return;
        }
        let (before, mut wide) = (self.classes, self.begun(classes));
        let each = [(&mut wide.residuals, &self.residuals, false), (&mut wide.labels, &self.labels, true)];
        for (to, from, are_labels) in each {
            let rows = to.chunks_exact_mut(classes).zip(from.chunks_exact(before));
            for ((to, from), kept) in rows.zip(KEPT) {
                match *from {
                    [both] if are_labels => {
                        // This fraction of the mean stems from labels, the rest from its initial value.
                        let known = 1.0 - pow(kept, self.events as f64);
                        to[..2].copy_from_slice(&[(known - both) / 2.0, (known + both) / 2.0]);
                    }
                    [both] => to[..2].copy_from_slice(&[-both, both]),
                    _ => to[..before].copy_from_slice(from),
                }
            }
        }
        // The difference of two log-odds contains each residual twice.
        let factor = |at: usize| if before == 1 && at < MEANS { 0.5 } else { 1.0 };
        wide.parameters = (0..).zip(&self.parameters).map(|(at, each)| factor(at) * each).collect();
        let places = (0..OF_CLASSES * OF_CLASSES).map(|at| factor(at / OF_CLASSES) * factor(at % OF_CLASSES));
        wide.covariance = places.zip(&self.covariance).map(|(factor, each)| factor * each).collect();
        (wide.shares, wide.events, wide.asked) = (self.shares.clone(), self.events, self.asked);
        *self = wide;
    }

    /// Renumber the classes.
    pub fn relabel(&mut self, places: &[usize]) {
        if self.classes > 1 {
            self.residuals = relabelled_rows(&self.residuals, places);
            self.labels = relabelled_rows(&self.labels, places);
        } else if places == [1, 0] && !self.regression {
            self.residuals.iter_mut().chain(&mut self.labels).for_each(|each| *each = -*each);
        }
    }

    /// Translate to another scale of the targets, see [`Translation::target`](crate::translation::Translation::target).
    /// In units of the targets' root mean square, numbers become `rate` times what they were.
    pub fn translate(&mut self, (shift, stretch): (f64, f64), rate: f64) {
        self.residuals.iter_mut().for_each(|each| *each /= stretch);
        self.labels[..self.known].iter_mut().for_each(|each| *each = (*each - shift) / stretch);
        self.spread *= stretch;
        self.variance = (self.variance * (rate / stretch) * (rate / stretch)).max(NARROWEST);
    }

    /// Merge what parts have learned since they started from this one, as an aggregator does. If there are several, the
    /// next event follows the events of none of them.
    pub fn merge(&mut self, parts: &[&Self]) {
        let learned = parts.iter().map(|part| (*part, part.events.saturating_sub(self.events)));
        let learned: Vec<_> = learned.filter(|(_, events)| *events > 0).collect();
        match learned[..] {
            [] => {}
            [(part, _)] => *self = part.clone(),
            _ => {
                self.events += learned.iter().map(|(_, events)| events).sum::<u64>();
                let parts = Shared::of(learned);
                (self.parameters, self.covariance) =
                    parts.estimate(|part| (&part.parameters, &part.covariance));
                self.shares.weights = parts.weights(|part| &part.shares.weights);
                self.shares.means = parts.mean(|part| &part.shares.means);
                self.variance = parts.mean(|part| std::slice::from_ref(&part.variance))[0].max(NARROWEST);
                self.forget_last();
            }
        }
    }
}
