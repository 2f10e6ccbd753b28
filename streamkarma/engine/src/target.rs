//! Standardised targets of a regression.

use crate::math::within;
use crate::scale::summary::Summary;
use crate::scale::{LARGEST, Scale};
use crate::state::{Refused, ensure};

/// Maximum distance of a target from the mean, in standard deviations.
const FARTHEST: f64 = 1e6;
/// Maximum weight of a target.
const HEAVIEST: f64 = 1e15;

/// A regression target in units that suit a learner on any stream.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Target {
    /// In standard deviations from the mean, this target included, within ±[`CLIP`](crate::scale::CLIP); 0 for a
    /// constant target and for one that is no measurement; NaN if it is missing.
    pub standard: f64,
    /// Added to a scaled score to give a prediction: the mean before this target was observed.
    pub centre: f64,
    /// The factor by which a score is scaled first.
    pub spread: f64,
}

impl Target {
    /// Standardise a target of some weight, NaN if it is missing. With weight 0 it leaves no trace.
    pub fn of(target: f64, weight: f64, seen: &mut Scale, longest: f64) -> Self {
        let (centre, deviation) = seen.mean_and_deviation();
        let spread = if deviation > 0.0 { deviation } else { 1.0 };
        let standard = if target.is_nan() { target } else { seen.standardise(target, weight, longest).value };
        Self { standard, centre, spread }
    }

    /// Like `of`, but only clipped at ±1e6.
    pub fn far(target: f64, weight: f64, seen: &mut Scale, longest: f64) -> Self {
        let before = *seen;
        let near = Self::of(target, weight, seen, longest);
        if target.is_nan() {
            return near;
        }
        let mut after = before;
        let counted = if weight > 0.0 { weight } else { 1.0 };
        let with = after.observe(within(target, LARGEST), counted, longest);
        let standard = if with.deviation > 0.0 { (target - with.mean) / with.deviation } else { 0.0 };
        Self { standard: within(standard, FARTHEST), ..near }
    }

    /// Standardise by what was seen so far, which does not change.
    pub fn fixed(target: f64, seen: &Scale, far: bool) -> Self {
        let (centre, deviation) = seen.mean_and_deviation();
        let spread = if deviation > 0.0 { deviation } else { 1.0 };
        let standard = match target.is_nan() {
            true => target,
            false if far && deviation > 0.0 => within((target - centre) / spread, FARTHEST),
            false => seen.measure(target).value,
        };
        Self { standard, centre, spread }
    }

    /// The target as it is, if nothing is standardised.
    pub fn plain(target: f64) -> Self {
        Self { standard: target, centre: 0.0, spread: 1.0 }
    }
}

/// Statistics of the targets of a regression.
#[derive(Clone, Debug)]
pub struct Targets {
    /// The scale of the targets seen so far.
    pub seen: Scale,
    /// Whether they are standardised.
    pub scale: bool,
    /// How many targets are remembered before older ones fade.
    pub longest: f64,
    /// Whether they are left as far out as they are, instead of being clipped.
    pub far: bool,
    /// Whether `seen` is not updated.
    pub frozen: bool,
    /// The targets collected by a survey, if one is under way.
    pub survey: Option<Summary>,
}

impl Targets {
    /// No targets seen so far.
    pub fn new(scale: bool, longest: f64, far: bool) -> Self {
        Self { seen: Scale::default(), scale, longest, far, frozen: false, survey: None }
    }

    /// Standardise a target of some weight, NaN if it is missing, and learn it. With weight 0 it leaves no trace.
    pub fn encode(&mut self, target: f64, weight: f64) -> Target {
        let weight = weight.min(HEAVIEST);
        if let Some(survey) = self.survey.as_mut().filter(|_| weight > 0.0 && !target.is_nan()) {
            survey.observe(target, weight);
        }
        if !self.scale {
            Target::plain(target)
        } else if self.frozen || self.survey.is_some() {
            Target::fixed(target, &self.seen, self.far)
        } else if self.far {
            Target::far(target, weight, &mut self.seen, self.longest)
        } else {
            Target::of(target, weight, &mut self.seen, self.longest)
        }
    }

    /// What `encode` would return for a target, without leaving a trace.
    pub fn preview(&self, target: f64, weight: f64) -> Target {
        let frozen = self.frozen || self.survey.is_some();
        Self { survey: None, frozen, ..*self }.encode(target, weight)
    }

    /// Only collect targets from now on, until `end_survey`: the result does not depend on their order.
    pub fn begin_survey(&mut self) {
        (self.survey, self.frozen) = (Some(Summary::default()), false);
    }

    /// Add the surveyed targets to the scale.
    pub fn end_survey(&mut self) {
        if let Some(survey) = self.survey.take() {
            let both = [(self.seen, 0.0), (survey.scale(None), 0.0)];
            self.seen = Scale::merged(Scale::default(), &both, self.longest);
        }
    }

    /// Merge the statistics of parts that continued from this one, each with the number of targets it has learned
    /// since.
    ///
    /// Returns shift and stretch for this one and each part: a target that it standardised as `shift + stretch y` is y
    /// from now on.
    ///
    /// # Errors
    ///
    /// If a part has other settings. The statistics are then unchanged.
    pub fn merge(&mut self, parts: &[(Self, f64)]) -> Result<Vec<(f64, f64)>, Refused> {
        for (part, _) in parts {
            ensure(
                self.scale == part.scale,
                "some of the models standardise targets and others do not (scale)",
            )?;
            ensure(self.longest == part.longest, "the models forget at different rates (forget)")?;
            ensure(self.far == part.far, "the models treat outlying targets differently")?;
        }
        let is_new = self.survey.as_ref().is_none_or(|survey| *survey == Summary::default());
        ensure(is_new, "surveys can only be merged with what they began with")?;
        for survey in parts.iter().filter_map(|(part, _)| part.survey.as_ref()) {
            self.survey.get_or_insert_default().add(survey);
        }
        let scales: Vec<_> = parts.iter().map(|(part, learned)| (part.seen, *learned)).collect();
        let before = self.seen;
        self.seen = Scale::merged(before, &scales, self.longest);
        let all = std::iter::once(before).chain(scales.iter().map(|(seen, _)| *seen));
        let change = |seen: Scale| if self.scale { seen.change_to(&self.seen) } else { (0.0, 1.0) };
        Ok(all.map(change).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn survey_is_independent_of_how_data_is_split() {
        let base = Targets::new(true, f64::INFINITY, false);
        let look = |from: u32, to: u32| {
            let mut targets = base.clone();
            targets.begin_survey();
            for i in from..to {
                targets.encode(f64::from(i * i % 97), 2.0);
                targets.encode(1e9, 0.0);
                targets.encode(f64::NAN, 1.0);
            }
            (targets, 0.0)
        };
        let [mut all, mut whole] = [base.clone(), base.clone()];
        all.merge(&[look(40, 300), look(0, 40), (base.clone(), 0.0)]).unwrap();
        whole.merge(&[look(0, 300)]).unwrap();
        let found = [all, whole].map(|mut targets| {
            assert!(targets.clone().merge(&[look(0, 1)]).is_err());
            targets.end_survey();
            targets.seen.mean_and_deviation()
        });
        assert!((found[0].0 - found[1].0).abs() < 1e-12 && (found[0].1 - found[1].1).abs() < 1e-12);
        let mean = (0..300).map(|i| f64::from(i * i % 97)).sum::<f64>() / 300.0;
        assert!((found[0].0 - mean).abs() < 1e-10);
    }

    #[test]
    fn extreme_targets_and_weights_keep_the_scale_finite() {
        let mut targets = Targets::new(true, f64::INFINITY, true);
        for t in 0..800 {
            let target = if t % 100 == 99 { 1e100 } else { 1.0 };
            let found = targets.encode(target, [1.0, 0.0, 1e-300, 1e300][t % 4]);
            let numbers = [found.standard, found.centre, found.spread];
            assert!(
                numbers.iter().all(|each| each.is_finite()) && Scale::from_row(&targets.seen.row()).is_some()
            );
        }
    }

    #[test]
    fn previews_have_no_effect_and_tiny_weights_hardly_any() {
        for far in [false, true] {
            let (mut targets, mut plain) =
                (Targets::new(true, f64::INFINITY, far), Targets::new(true, 1e9, far));
            for i in 0..400 {
                let target = f64::from(i * i % 97);
                let (target, weight) = if i % 10 < 3 { (1e4 + target, 1e-9) } else { (target, 2.0) };
                let preview = targets.preview(target, weight);
                assert_eq!(preview, targets.preview(target, weight));
                assert_eq!(preview, targets.encode(target, weight));
                if weight > 1.0 {
                    plain.encode(target, 1.0);
                }
            }
            let (found, expected) = (targets.seen.mean_and_deviation(), plain.seen.mean_and_deviation());
            assert!((found.0 - expected.0).abs() < 0.5 && (found.1 - expected.1).abs() < 0.5, "{found:?}");
        }
    }

    #[test]
    fn merging_translates_standardised_targets() {
        let mut base = Targets::new(true, f64::INFINITY, false);
        let learn = |targets: &Targets, from: u32, to: u32| {
            let mut targets = targets.clone();
            (from..to).for_each(|i| _ = targets.encode(f64::from(i * i % 97), 1.0));
            targets
        };
        let parts = [(learn(&base, 0, 50), 50.0), (learn(&base, 50, 300), 250.0)];
        let changes = base.merge(&parts).unwrap();
        let (mean, deviation) =
            learn(&Targets::new(true, f64::INFINITY, false), 0, 300).seen.mean_and_deviation();
        let found = base.seen.mean_and_deviation();
        assert!((found.0 - mean).abs() < 1e-10 && (found.1 - deviation).abs() < 1e-10);
        assert_eq!(changes[0], (0.0, 1.0));
        base.frozen = true;
        for ((mut part, _), (shift, stretch)) in parts.into_iter().zip(&changes[1..]) {
            part.frozen = true;
            let [old, new] = [part.encode(31.0, 1.0), base.encode(31.0, 1.0)].map(|target| target.standard);
            assert!((old - (shift + stretch * new)).abs() < 1e-12);
            assert_eq!(base.seen.mean_and_deviation(), found);
        }
        let other = Targets::new(true, 100.0, false);
        assert!(base.merge(&[(other, 0.0)]).unwrap_err().contains("(forget)"));
        let mut plain = Targets::new(false, 100.0, false);
        assert_eq!(plain.merge(&[(Targets::new(false, 100.0, false), 1.0)]), Ok(vec![(0.0, 1.0); 2]));
    }
}
