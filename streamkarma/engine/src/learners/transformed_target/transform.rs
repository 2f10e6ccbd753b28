//! The curve fitted to the targets so far, or to their logarithms if all are above 0.

use super::johnson::{Johnson, MOST_LIFT};
use super::quantiles::{Quantiles, are_tied};
use crate::learner::{Lesson, Unit};
use crate::math::{exp, log, within};
use crate::scale::LARGEST;
use crate::state::{Refused, State};

/// Quantiles of the targets so far and the curve fitted to them.
#[derive(Clone, Debug)]
pub struct TargetTransform {
    /// Quantiles of the standardised targets.
    pub(super) labels: Quantiles,
    /// Quantiles of the targets' logarithms; None once a target was not above 0.
    pub(super) logarithms: Option<Quantiles>,
    pub(super) curve: Curve,
}

impl Default for TargetTransform {
    fn default() -> Self {
        Self::through(Quantiles::default(), Some(Quantiles::default()))
    }
}

impl TargetTransform {
    pub(super) fn through(labels: Quantiles, logarithms: Option<Quantiles>) -> Self {
        let curve = Curve::through(&labels, logarithms.as_ref());
        Self { labels, logarithms, curve }
    }

    /// Observe the target of a lesson. From time to time the curve is refitted.
    pub fn observe(&mut self, lesson: &Lesson) {
        // The curve must not stay one of logarithms, which a model that is saved now would no longer have.
        let ends = lesson.target <= 0.0 && self.logarithms.take().is_some();
        let logarithms = self.logarithms.as_mut();
        let has_moved = logarithms.is_some_and(|own| own.observe(log(lesson.target), lesson.weight));
        if self.labels.observe(lesson.label, lesson.weight) || has_moved || ends {
            self.refresh();
        }
    }

    /// Fit the curve to the current quantiles.
    pub(super) fn refresh(&mut self) {
        self.curve = Curve::through(&self.labels, self.logarithms.as_ref());
    }

    /// Memory in bytes.
    pub fn bytes(&self) -> usize {
        self.labels.bytes() + self.logarithms.as_ref().map_or(0, Quantiles::bytes)
    }

    /// Everything learned.
    pub fn state(&self) -> State {
        let mut state = self.labels.state();
        if let Some(logarithms) = &self.logarithms {
            state.put_part("logarithms", logarithms.state());
        }
        state
    }

    /// Restore from a state, which may contain other arrays as well.
    ///
    /// # Errors
    ///
    /// If no sequence of targets could have produced these numbers.
    pub fn restored(state: &State) -> Result<Self, Refused> {
        let logarithms = state.parts().get("logarithms").map(Quantiles::restored).transpose()?;
        Ok(Self::through(Quantiles::restored(state)?, logarithms))
    }
}

/// Maps a target to z, which is nearly Gaussian, and z back to a score in the event's unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Curve {
    /// Whether the curve is applied to logarithms.
    is_logarithmic: bool,
    johnson: Johnson,
    /// Whether many targets are equal. Near these the curve is steep, and residuals are far from Gaussian.
    pub is_tied: bool,
}

impl Curve {
    /// Fit the curve to logarithms if their tails are closer to a Gaussian's than those of the targets themselves.
    ///
    /// The curve is then nearly a line. Fitted to four quantiles of log-normal targets instead, it changes whenever
    /// they are updated, most of all far out in the tails. On twelve log-normal streams the mean absolute error of
    /// the mixture was 2.2 % smaller with the absolute loss and 1.3 % smaller with the squared loss, and on 346
    /// numbers of R's tables .1 % larger.
    fn through(labels: &Quantiles, logarithms: Option<&Quantiles>) -> Self {
        let non_normality = Johnson::non_normality(&labels.now);
        let logarithms = logarithms.filter(|own| Johnson::non_normality(&own.now) < non_normality);
        let quantiles = &logarithms.unwrap_or(labels).now;
        let (johnson, is_tied) = (Johnson::through(quantiles), are_tied(quantiles));
        Self { is_logarithmic: logarithms.is_some(), johnson, is_tied }
    }

    /// The target of a lesson, transformed to be nearly standard Gaussian.
    pub fn transform(&self, lesson: &Lesson) -> f64 {
        let number =
            if self.is_logarithmic { log(lesson.target.max(f64::MIN_POSITIVE)) } else { lesson.label };
        self.johnson.transform(number)
    }

    /// The score of the target that is transformed to z. Medians are mapped to medians.
    pub fn median(&self, z: f64, unit: Unit) -> f64 {
        self.score(self.johnson.median(z), unit)
    }

    /// The score of the mean target, if transformed targets are Gaussian around z.
    pub fn mean(&self, z: f64, variance: f64, unit: Unit) -> f64 {
        if self.is_logarithmic {
            let lift = 0.5 * variance * self.johnson.steepness(z).powi(2);
            self.score(self.johnson.median(z) + lift.min(MOST_LIFT), unit)
        } else {
            self.johnson.mean(z, variance)
        }
    }

    fn score(&self, number: f64, unit: Unit) -> f64 {
        if self.is_logarithmic { within(unit.standard(exp(number)), LARGEST) } else { number }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learners::transformed_target::quantiles::ALL;
    use crate::test_random::TestRandom;

    fn transformed(targets: impl Fn(f64) -> f64) -> TargetTransform {
        let (mut random, mut transform) = (TestRandom(5), TargetTransform::default());
        for _ in 0..4 * ALL {
            transform.observe(&Lesson::of(targets(random.gaussian())));
        }
        transform
    }

    #[test]
    fn logarithms_are_bent_if_closer_to_gaussian() {
        let log_normal = transformed(|z| exp(1.5 * z + 3.0));
        assert!(log_normal.curve.is_logarithmic);
        for z in [-3.0, 0.5, 3.0] {
            let (target, unit) = (exp(1.5 * z + 3.0), Unit { centre: 7.0, spread: 0.1 });
            let transformed = log_normal.curve.transform(&Lesson::of(target));
            assert!((transformed - z).abs() < 0.4, "{z} {transformed}");
            let back = unit.plain(log_normal.curve.median(transformed, unit));
            assert!((back / target - 1.0).abs() < 1e-9);
            let mean = unit.plain(log_normal.curve.mean(transformed, 0.2, unit));
            assert!((mean / target - exp(0.5 * 0.2 * 1.5 * 1.5)).abs() < 0.1, "{z} {mean}");
        }
        // With a long left tail, the tail of the logarithms is even longer.
        assert!(!transformed(|z| (60.0 - exp(z)).max(1.0)).curve.is_logarithmic);
        let few = transformed(|z| exp(z) * if z > 3.0 { -1.0 } else { 1.0 });
        assert!(few.logarithms.is_none() && !few.curve.is_logarithmic);
        for transform in [log_normal, few] {
            let back = TargetTransform::restored(&transform.state()).unwrap();
            assert_eq!((back.curve, back.state()), (transform.curve, transform.state()));
        }
    }

    #[test]
    fn bending_restarts_after_a_few_targets_in_another_unit() {
        for factor in [100.0, 0.01] {
            let (mut random, mut transform) = (TestRandom(6), transformed(exp));
            for t in 0..20 {
                let far = transform.curve.transform(&Lesson::of(factor)).abs();
                assert_eq!(far < 2.0, t >= 8, "{factor} {t} {far}");
                transform.observe(&Lesson::of(factor * exp(0.3 * random.gaussian())));
            }
        }
        // Targets of negligible weight do not count as a leap.
        let mut transform = transformed(exp);
        let before = transform.curve;
        (0..20).for_each(|_| transform.observe(&Lesson { weight: 1e-9, ..Lesson::of(1e6) }));
        assert_eq!(transform.curve, before);
    }
}
