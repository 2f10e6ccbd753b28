//! What several learners have learned since they were as one, their base, as a sum.
//!
//! Counts and sums of the merged model are
//!
//! ```text
//! D S_0 + Σ (S_m - d_m S_0),
//! ```
//!
//! with d_m what a half-life left of the base in part m, and D the product of all d_m: so it does not matter which
//! parts are merged first. Without a half-life all of them are 1.
//!
//! What a part has of a name may be no more than what the base had: then the part says nothing of it. And where it is
//! less, the part has given the name up, and what it has is all its own.

use super::{Form, Subspace};
use crate::math::pow;

/// Counts that differ by no larger share are equal but for rounding.
const EQUAL: f64 = 1e-9;

/// A learner that went on from a base.
pub struct Part<'a> {
    pub learner: &'a Subspace,
    base: &'a Subspace,
    /// What a half-life left of the base.
    fade: f64,
    attributes: Vec<Since>,
    coordinates: Vec<Since>,
}

/// What a part has of an attribute or a coordinate.
#[derive(Clone, Copy, Debug)]
pub struct Since {
    /// How often it came since the base.
    pub gain: f64,
    /// Whether what the base knew is in it.
    holds_base: bool,
}

/// Moments of a learner that are added to others.
pub struct Term<'a> {
    pub learner: &'a Subspace,
    /// What its sums and counts are multiplied by.
    pub factor: f64,
    /// How often it counts: once, or once less.
    pub sign: f64,
    /// Which attributes and coordinates take part.
    pub attributes: Vec<bool>,
    pub coordinates: Vec<bool>,
    /// By attribute: whether the moments of its pairs take part.
    pub pairs: Vec<bool>,
}

impl<'a> Part<'a> {
    pub fn of(learner: &'a Subspace, base: &'a Subspace) -> Self {
        let (fade, growths) = (learner.fade_since(base), (learner.growth, base.growth));
        let since = |own: &[f64], before: &[f64]| {
            let before = before.iter().map(|count| fade * count / growths.1).chain(std::iter::repeat(0.0));
            own.iter().zip(before).map(|(count, before)| Since::of(count / growths.0, before)).collect()
        };
        let ((observed, counts), (observed_before, counts_before)) = (learner.counts(), base.counts());
        let (attributes, coordinates) = (since(observed, observed_before), since(counts, counts_before));
        Self { learner, base, fade, attributes, coordinates }
    }

    /// By coordinate: how often it came since the base.
    pub fn gains(&self) -> impl Iterator<Item = f64> {
        self.coordinates.iter().map(|since| since.gain)
    }

    /// What it adds to the merged moments: its own, less the base's.
    fn terms(&self) -> [Term<'a>; 2] {
        let mask = |all: &[Since], takes: fn(&Since) -> bool| all.iter().map(takes).collect::<Vec<bool>>();
        let is_new = |since: &Since| since.gain > 0.0;
        let is_shared = |since: &Since| since.gain > 0.0 && since.holds_base;
        let (attributes, shared) = (mask(&self.attributes, is_new), mask(&self.attributes, is_shared));
        let shared_pairs = (0..shared.len()).map(|a| shared[a] && self.holds_pairs_of_base(a)).collect();
        let own = Term {
            learner: self.learner,
            factor: 1.0 / self.learner.growth,
            sign: 1.0,
            pairs: attributes.clone(),
            attributes,
            coordinates: mask(&self.coordinates, is_new),
        };
        let base = Term {
            learner: self.base,
            factor: -self.fade / self.base.growth,
            sign: -1.0,
            pairs: shared_pairs,
            attributes: shared,
            coordinates: mask(&self.coordinates, is_shared),
        };
        [own, base]
    }

    /// Whether an attribute has had its slot since the base: it missed no more events than then.
    fn holds_pairs_of_base(&self, attribute: usize) -> bool {
        let missed = |learner: &Subspace| {
            let all = learner.counts().0.get(attribute).copied().unwrap_or(0.0);
            let counted = learner.counted(attribute as u32);
            ((all - counted) / learner.growth, counted / learner.growth)
        };
        let ((now, _), (before, counted)) = (missed(self.learner), missed(self.base));
        now - self.fade * before < 0.5 * self.fade * counted
    }
}

impl Since {
    /// From the counts of a part and of its base, as far as that is not forgotten.
    fn of(count: f64, before: f64) -> Self {
        let holds_base = count >= (1.0 - EQUAL) * before;
        let gain = if holds_base { count - before } else { count };
        Self { gain: if gain > EQUAL * count { gain } else { 0.0 }, holds_base }
    }
}

/// All that the merged moments are the sum of.
pub fn terms<'a>(base: &'a Subspace, parts: &[Part<'a>]) -> Vec<Term<'a>> {
    let (observed, counts) = base.counts();
    let whole = Term {
        learner: base,
        factor: parts.iter().map(|part| part.fade).product::<f64>() / base.growth,
        sign: 1.0,
        attributes: vec![true; observed.len()],
        coordinates: vec![true; counts.len()],
        pairs: vec![true; observed.len()],
    };
    std::iter::once(whole).chain(parts.iter().flat_map(Part::terms)).collect()
}

/// Add some of the numbers of a row to those of another, each so many times.
pub fn add(target: &mut [f64], row: &[f64], takes_part: &[bool], factor: f64) {
    for ((entry, number), _) in target.iter_mut().zip(row).zip(takes_part).filter(|(_, is)| **is) {
        *entry += factor * number;
    }
}

impl Subspace {
    /// Events since it was as the base; all where it has forgotten that.
    pub(super) fn events_since(&self, base: &Self) -> f64 {
        if self.events >= base.events { self.events - base.events } else { self.events }
    }

    /// How often each attribute was observed, and each coordinate had a value.
    fn counts(&self) -> (&[f64], &[f64]) {
        match &self.form {
            Form::Pairs(pairs) => (&pairs.observed, &pairs.value_counts),
            Form::Factor(ppca) => (&ppca.observed, &ppca.value_counts),
        }
    }

    /// How often an attribute was observed while it had a slot, if it has one.
    fn counted(&self, attribute: u32) -> f64 {
        match &self.form {
            Form::Pairs(pairs) => pairs.joint_count(attribute, attribute),
            Form::Factor(_) => 0.0,
        }
    }

    /// What a half-life left of the base.
    fn fade_since(&self, base: &Self) -> f64 {
        let half_life = self.settings.forget;
        if half_life > 0.0 { pow(2.0, -self.events_since(base) / half_life) } else { 1.0 }
    }
}
