//! What several learners have learned since their common base, as a sum.
//!
//! Counts and sums of the merged model are
//!
//! ```text
//! D S_0 + Σ (S_m - d_m S_0),
//! ```
//!
//! where d_m is what a half-life left of the base in part m, and D the product of all d_m, so that the order of merging
//! does not matter. Without a half-life all of them are 1.
//!
//! Where a part's count of a name equals the base's, the part contributes nothing to that name. Where it is lower, the
//! part has evicted the name since, and its whole count is its own.

use super::{Form, Subspace};
use crate::math::pow;

/// Counts that differ by no larger fraction are equal up to rounding.
const EQUAL: f64 = 1e-9;

/// A learner that continued from a base.
pub struct Part<'a> {
    pub learner: &'a Subspace,
    base: &'a Subspace,
    /// The fraction of the base that a half-life left.
    fade: f64,
    attributes: Vec<Since>,
    coordinates: Vec<Since>,
}

/// A part's record of an attribute or a coordinate.
#[derive(Clone, Copy, Debug)]
pub struct Since {
    /// Its count since the base.
    pub gain: f64,
    /// Whether the part's count includes that of the base.
    holds_base: bool,
}

/// The moments of a learner, as a term of a sum.
pub struct Term<'a> {
    pub learner: &'a Subspace,
    /// Factor of its sums and counts.
    pub factor: f64,
    /// Factor of what does not decay: plus or minus one.
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

    /// By coordinate: its count since the base.
    pub fn gains(&self) -> impl Iterator<Item = f64> {
        self.coordinates.iter().map(|since| since.gain)
    }

    /// Its terms in the merged moments: its own, less the base's.
    fn terms(&self) -> [Term<'a>; 2] {
        let mask = |all: &[Since], takes: fn(&Since) -> bool| all.iter().map(takes).collect::<Vec<bool>>();
        let is_new = |since: &Since| since.gain > 0.0;
        let is_shared = |since: &Since| since.gain > 0.0 && since.holds_base;
        let (attributes, shared) = (mask(&self.attributes, is_new), mask(&self.attributes, is_shared));
        let shared_pairs = (0..shared.len()).map(|a| shared[a] && self.holds_pairs_of_base(a)).collect();
        let own_pairs = (0..attributes.len()).map(|a| attributes[a] && !self.holds_pairs_lost_by_base(a));
        let own = Term {
            learner: self.learner,
            factor: 1.0 / self.learner.growth,
            sign: 1.0,
            pairs: own_pairs.collect(),
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

    /// Whether an attribute has kept its slot since the base: it has missed no more events than it had then.
    fn holds_pairs_of_base(&self, attribute: usize) -> bool {
        let (before, counted) = missed(self.base, attribute);
        missed(self.learner, attribute).0 - self.fade * before < 0.5 * self.fade * counted
    }

    /// Whether an attribute has kept its slot since the base, which lost it with all coordinates that it knew: what the
    /// part has counted since cannot be told from what the base had.
    fn holds_pairs_lost_by_base(&self, attribute: usize) -> bool {
        let (before, counted) = missed(self.base, attribute);
        let (now, since) = missed(self.learner, attribute);
        counted == 0.0 && since > 0.0 && now < (1.0 - EQUAL) * self.fade * before
    }
}

/// The events with an attribute that its slot missed, and those that it counted.
fn missed(learner: &Subspace, attribute: usize) -> (f64, f64) {
    let all = learner.counts().0.get(attribute).copied().unwrap_or(0.0);
    let counted = learner.counted(attribute as u32);
    ((all - counted) / learner.growth, counted / learner.growth)
}

impl Since {
    /// From the count of a part, and the count of its base as far as it is not forgotten.
    fn of(count: f64, before: f64) -> Self {
        let holds_base = count >= (1.0 - EQUAL) * before;
        let gain = if holds_base { count - before } else { count };
        Self { gain: if gain > EQUAL * count { gain } else { 0.0 }, holds_base }
    }
}

/// All terms of the merged moments; `owners` has the attribute of each coordinate that any part still has.
pub fn terms<'a>(owners: &[u32], parts: &[Part<'a>]) -> Vec<Term<'a>> {
    let whole = |base: &'a Subspace| {
        let attributes: Vec<bool> =
            (0..base.counts().0.len()).map(|a| owners.contains(&(a as u32))).collect();
        Term {
            learner: base,
            factor: parts.iter().map(|part| part.fade).product::<f64>() / base.growth,
            sign: 1.0,
            pairs: attributes.clone(),
            attributes,
            coordinates: owners.iter().zip(&base.owners).map(|(now, before)| now == before).collect(),
        }
    };
    let base = parts.first().map(|part| whole(part.base));
    base.into_iter().chain(parts.iter().flat_map(Part::terms)).collect()
}

/// Add the numbers of a row, where they take part, to those of another, times `factor`.
pub fn add(target: &mut [f64], row: &[f64], takes_part: &[bool], factor: f64) {
    for ((entry, number), _) in target.iter_mut().zip(row).zip(takes_part).filter(|(_, is)| **is) {
        *entry += factor * number;
    }
}

impl Subspace {
    /// Number of events since the base; all events if it has forgotten the base.
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

    /// The fraction of the base that a half-life left.
    fn fade_since(&self, base: &Self) -> f64 {
        let half_life = self.settings.half_life;
        if half_life > 0.0 { pow(2.0, -self.events_since(base) / half_life) } else { 1.0 }
    }
}
