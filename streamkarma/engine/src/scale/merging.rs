//! Merges the scales that several models have of one number.
//!
//! Sums of ordinary values are added up (Chan et al.), and what all models began with counts once. Without outliers,
//! the result is that of one pass over all values. Beyond that:
//!
//! - The first values of models with few values are observed again, by the scale of the others.
//! - A common value stays separate if it is the same in all models that have seen more than a few values; otherwise
//!   common values are ordinary ones from then on.
//! - For votes, for values beyond the edge and for the distance of the latest values, the maximum of all models is
//!   taken, so that the result does not depend on the order of merging.
//! - A model with a scale that restarted no longer has the values that all began with. One with a number that moved has
//!   less of them, by the amount that it recorded, and so has the merged scale.

use super::moving::Latest;
use super::{START, Scale, Sums};
use crate::math::{exp, pow, within};

/// A result that should be 0 is at most this fraction of the inputs.
const NOISE: f64 = 1e-9;
/// Bound of shift and stretch from one scale to another. Two that differ by more have nothing to tell each other.
const MOST_APART: f64 = 1e12;

impl Scale {
    /// Merge what `base` and the parts have seen; each part comes with the number of values it has seen since it was
    /// equal to `base`.
    pub fn merged(base: Self, parts: &[(Self, f64)], longest: f64) -> Self {
        let news: Vec<_> = parts.iter().copied().filter(|(part, _)| *part != base).collect();
        match news[..] {
            [] => base,
            [(one, _)] => one,
            _ => {
                let mode = common_mode(&news);
                let pooled = Pool::of(base, &news, longest, mode).scale(mode.unwrap_or_default());
                // If that fails, all of them have restarted.
                let pooled = pooled.or_else(|| {
                    Pool::of(Self::default(), &news, longest, mode).scale(mode.unwrap_or_default())
                });
                pooled.unwrap_or(base).with_votes(&news, mode)
            }
        }
    }

    /// Shift and stretch: a value standardised by this scale is `shift + stretch z`, where z is the value standardised
    /// by `other`; 0 and 1 if one of them has no deviation. Both are bounded, so that what is translated by them stays
    /// finite.
    pub fn change_to(&self, other: &Self) -> (f64, f64) {
        let ((mean, deviation), (other_mean, other_deviation)) =
            (self.mean_and_deviation(), other.mean_and_deviation());
        if deviation > 0.0 && other_deviation > 0.0 {
            let (shift, stretch) = ((other_mean - mean) / deviation, other_deviation / deviation);
            (within(shift, MOST_APART), within(stretch, MOST_APART).max(1.0 / MOST_APART))
        } else {
            (0.0, 1.0)
        }
    }

    /// The scale as it has faded after this many more values, without those values.
    pub(super) fn faded(mut self, values: f64, longest: f64) -> Self {
        let before = (longest - self.count()).floor().max(0.0);
        let fading = values - before;
        if fading > 0.0 {
            let most = self.count() + before;
            self.shrink((longest - 1.0) / most * pow((longest - 1.0) / longest, fading - 1.0));
        }
        self
    }

    /// The scale after it has faded by this much because the number moved.
    fn after_moving(mut self, by: f64) -> Self {
        if by > 0.0 {
            self.shrink(exp(-by));
        }
        self
    }

    /// The same scale, with no mode counted separately except this one.
    fn with_mode(self, mode: Option<f64>) -> Self {
        if self.mode_count == 0.0 || mode == Some(self.mode) {
            return self;
        }
        Self { ordinary: self.joined(), mode_count: 0.0, kept: START, ..self }
    }

    /// The first values, if there are no others except the most common one.
    fn few(&self) -> Option<&[f64]> {
        self.first.get(..self.kept).filter(|_| self.kept < START)
    }

    fn with_votes(mut self, news: &[(Self, f64)], mode: Option<f64>) -> Self {
        let may_lead = |scale: &&Self| mode.is_none_or(|mode| scale.mode == mode);
        let order = |one: &&Self, other: &&Self| {
            one.lead.total_cmp(&other.lead).then(one.mode.total_cmp(&other.mode))
        };
        let scales = || news.iter().map(|(scale, _)| scale);
        if let Some(leader) = scales().filter(may_lead).max_by(order) {
            (self.mode, self.lead) = (leader.mode, leader.lead);
        }
        self.beyond = scales().fold(0.0, |most, scale| scale.beyond.max(most));
        self.latest = scales().fold(Latest::default(), |latest, scale| scale.latest.farther(latest));
        self
    }
}

/// The value that is counted separately by all models that have seen more than a few values.
fn common_mode(news: &[(Scale, f64)]) -> Option<f64> {
    let scales = news.iter().map(|(scale, _)| scale);
    let mut many = scales.filter(|scale| scale.kept == START || scale.mode_count > 0.0);
    let first = many.next()?;
    let is_apart = |scale: &Scale| scale.mode_count > 0.0 && scale.mode == first.mode;
    (is_apart(first) && many.all(is_apart)).then_some(first.mode)
}

/// All values of a number that several models have seen.
#[derive(Default)]
struct Pool {
    /// Sums of ordinary values, with their signs: 1 to add them, -1 to take them out.
    sums: Vec<(f64, Sums)>,
    /// Values of models that have only a few.
    few: Vec<f64>,
    /// The sum of their weights.
    few_count: f64,
    mode_count: f64,
    /// How much of what all began with has faded because the number moved, as in a scale.
    moved: f64,
}

impl Pool {
    fn of(base: Scale, news: &[(Scale, f64)], longest: f64, mode: Option<f64>) -> Self {
        let mut pool = Self::default();
        let (mut is_held, mut moved) = (false, 0.0);
        for &(part, values) in news {
            let since = part.moved - base.moved;
            let before = base.faded(values, longest).after_moving(since).with_mode(mode);
            let part = part.with_mode(mode);
            let holds = since >= 0.0 && part.count() >= before.count();
            pool.add(part, if holds { before } else { Scale::default() });
            is_held |= holds;
            moved += if holds { since } else { 0.0 };
        }
        if is_held {
            let values = news.iter().map(|(_, values)| values).sum();
            pool.add(base.faded(values, longest).after_moving(moved).with_mode(mode), Scale::default());
            pool.moved = base.moved + moved;
        }
        pool
    }

    /// Add what a model has seen since it was equal to `before`.
    fn add(&mut self, scale: Scale, before: Scale) {
        self.mode_count += scale.mode_count - before.mode_count;
        match scale.few() {
            Some(values) => {
                let mut own = values.to_vec();
                for each in before.few().unwrap_or_default() {
                    if let Some(at) = own.iter().position(|value| value == each) {
                        own.swap_remove(at);
                    }
                }
                self.few_count += scale.ordinary.count * (own.len() as f64 / values.len().max(1) as f64);
                self.few.extend(own);
            }
            None => self.sums.extend([(1.0, scale.ordinary), (-1.0, before.ordinary)]),
        }
    }

    /// The scale of the pool, with `mode` counted separately; None if more is taken out than there is.
    fn scale(mut self, mode: f64) -> Option<Scale> {
        self.few.sort_unstable_by(f64::total_cmp);
        let ordinary = total(&self.sums)?;
        if self.mode_count < 0.0 {
            return None;
        }
        let (mode_count, moved) = (self.mode_count, self.moved);
        let mut scale = Scale { ordinary, mode, mode_count, moved, kept: START, ..Scale::default() };
        if ordinary.count > 0.0 {
            let weight = self.few_count / self.few.len() as f64;
            self.few.iter().for_each(|&value| _ = scale.advance(value, weight, true));
            return Some(scale);
        }
        if !self.few.is_empty() {
            scale.ordinary = Sums::of_few(&self.few, self.few_count);
        }
        if let Some(first) = scale.first.get_mut(..self.few.len()).filter(|first| first.len() < START) {
            first.copy_from_slice(&self.few);
            scale.kept = self.few.len();
        }
        Some(scale)
    }
}

/// Add up sums, or take them out if their sign is -1; None if more is taken out than there is.
pub(super) fn total(sums: &[(f64, Sums)]) -> Option<Sums> {
    // Relative to the mean of the largest, distances are as small as possible.
    let order =
        |one: &Sums, other: &Sums| one.count.total_cmp(&other.count).then(one.mean.total_cmp(&other.mean));
    let Some(largest) = sums.iter().map(|(_, each)| *each).max_by(order) else {
        return Some(Sums::default());
    };
    let (mut count, mut away, mut squares) = (0.0, 0.0, 0.0);
    let (mut all, mut all_squares) = (0.0, 0.0);
    for &(sign, each) in sums {
        let gap = each.mean - largest.mean;
        let own = each.squares + each.count * gap * gap;
        count += sign * each.count;
        away += sign * each.count * gap;
        squares += sign * own;
        all += each.count;
        all_squares += own;
    }
    if count <= NOISE * all {
        return (count >= -NOISE * all).then(Sums::default);
    }
    let gap = away / count;
    squares -= count * gap * gap;
    let sum = Sums { count, mean: largest.mean + gap, squares: squares.max(0.0) };
    (squares >= -NOISE * all_squares).then_some(sum)
}
