//! Targets of a regression, standardised.

use crate::scale::{LARGEST, Scale, within};

/// No target is so many deviations from the mean.
const FARTHEST: f64 = 1e6;

/// A target of a regression in units that a learner can take in any stream.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Target {
    /// In standard deviations from the mean, itself included, within ±[`CLIP`](crate::scale::CLIP); 0 for a constant, and for
    /// what is no measurement; NaN where there is none.
    pub standard: f64,
    /// What a score is to be shifted by to be a prediction: the mean before the target was known.
    pub centre: f64,
    /// What it is to be multiplied by before.
    pub spread: f64,
}

impl Target {
    /// Of a target, NaN for none; one of weight 0 leaves no trace.
    pub fn of(target: f64, weight: f64, seen: &mut Scale, longest: f64) -> Self {
        let (centre, deviation) = seen.mean_and_deviation();
        let spread = if deviation > 0.0 { deviation } else { 1.0 };
        let standard =
            if target.is_nan() { target } else { seen.standardise(target, weight > 0.0, longest).value };
        Self { standard, centre, spread }
    }

    /// The same, but as far out as the target is, within ±1e6.
    pub fn far(target: f64, weight: f64, seen: &mut Scale, longest: f64) -> Self {
        let before = *seen;
        let near = Self::of(target, weight, seen, longest);
        if target.is_nan() {
            return near;
        }
        let mut after = before;
        let with = after.observe(within(target, LARGEST), longest);
        let standard = if with.deviation > 0.0 { (target - with.mean) / with.deviation } else { 0.0 };
        Self { standard: within(standard, FARTHEST), ..near }
    }

    /// As it stands, where nothing is standardised.
    pub fn plain(target: f64) -> Self {
        Self { standard: target, centre: 0.0, spread: 1.0 }
    }
}
