//! Merging the pairs of several learners.
//!
//! Counts and sums add up, in any order. If there are more coordinates than slots, the attributes that are worth most
//! to the parts keep theirs, then those with the most events: which these are, and the statistics of those that only
//! some parts have counted, depend slightly on the order of merging. Before weights are merged, if attributes of a part
//! lose their slots, their weights are moved to the coordinates that explain them.

use super::pairs::Pairs;
use super::pairwise_moments::PairwiseMoments;
use super::parts::{Term, add};
use super::redundant::Redundant;
use super::selection::WIDEST;
use super::state::attributes_of;
use super::{Form, NOBODY};

/// The pairs of a part, and the number of events they are based on.
pub struct Counted<'a> {
    pub pairs: &'a Pairs,
    pub events: f64,
    /// See [`super::correlations`].
    pub noise: f64,
}

/// An attribute that some parts have counted with others.
struct Claim {
    attribute: u32,
    worth: f64,
    events: f64,
    coordinates: Vec<u32>,
}

impl Pairs {
    /// Number of events that observed both of two attributes while they had slots.
    pub(super) fn joint_count(&self, one: u32, other: u32) -> f64 {
        let slots = self.attributes.of(one).zip(self.attributes.of(other));
        slots.map_or(0.0, |(a, b)| self.moments.joint_count(a as u32, b as u32))
    }

    /// The merged pairs of the parts; `owners` has the attribute of each coordinate.
    pub(super) fn merged(most: usize, owners: &[u32], terms: &[Term], parts: &[Counted]) -> Self {
        let mut merged = Self::new(most);
        merged.grow(attributes_of(owners), owners.len());
        terms.iter().for_each(|term| merged.add_totals(term));
        hold_above_zero([&mut merged.observed, &mut merged.value_counts, &mut merged.turns]);
        merged.seat_all(owners, parts);
        terms.iter().for_each(|term| merged.add_moments(owners, term));
        hold_above_zero([merged.moments.counts.values_mut()]);
        merged.next_turn = parts.iter().map(|part| part.pairs.next_turn).fold(merged.next_turn, f64::max);
        merged
    }

    /// Mark the coordinates without a slot that are redundant in all parts that have observed them. Returns for each
    /// part the redundant ones of its attributes that lose their slots: their weights go to others, as in
    /// [`super::selection`].
    pub(super) fn find_redundant(&mut self, parts: &[Counted]) -> Vec<Vec<Redundant>> {
        let (mut redundant, mut plain) =
            (vec![false; self.is_redundant.len()], vec![false; self.is_redundant.len()]);
        let mut all = Vec::new();
        for part in parts {
            let mut pairs = part.pairs.clone();
            let seated = pairs.seated().into_iter();
            let leaving = seated.filter(|&(_, attribute)| self.attributes.of(attribute).is_none());
            let leaving: Vec<usize> = leaving.map(|(home, _)| home).collect();
            all.push(pairs.redundant(&leaving, part.noise));
            for (k, (&is, &count)) in pairs.is_redundant.iter().zip(&pairs.value_counts).enumerate() {
                redundant[k] |= is;
                plain[k] |= !is && count > 0.0;
            }
        }
        for (k, is) in self.is_redundant.iter_mut().enumerate() {
            *is = redundant[k] && !plain[k] && self.coordinates.of(k as u32).is_none();
        }
        all
    }

    fn add_totals(&mut self, term: &Term) {
        let Some(pairs) = term.pairs() else { return };
        add(&mut self.observed, &pairs.observed, &term.attributes, term.factor);
        add(&mut self.turns, &pairs.turns, &term.attributes, term.sign);
        add(&mut self.value_counts, &pairs.value_counts, &term.coordinates, term.factor);
        add(&mut self.sums, &pairs.sums, &term.coordinates, term.factor);
    }

    /// Give slots to all coordinates, or to those of the attributes that are worth most.
    fn seat_all(&mut self, owners: &[u32], parts: &[Counted]) {
        let mut seats: Vec<u32> = (0..owners.len() as u32).collect();
        if self.is_wide() {
            let mut room = self.most;
            seats.clear();
            for claim in self.claims(owners, parts) {
                if claim.coordinates.len() <= room {
                    room -= claim.coordinates.len();
                    seats.extend(claim.coordinates);
                }
            }
            seats.sort_unstable();
        }
        for k in seats {
            if owners[k as usize] != NOBODY {
                self.assign_slot(owners[k as usize], k);
            }
        }
    }

    /// The attributes that parts have counted, in the order in which they are kept.
    fn claims(&self, owners: &[u32], parts: &[Counted]) -> Vec<Claim> {
        let mut coordinates: Vec<Vec<u32>> = vec![Vec::new(); self.observed.len()];
        for (k, &owner) in owners.iter().enumerate().filter(|(_, owner)| **owner != NOBODY) {
            if parts.iter().any(|part| part.pairs.coordinates.of(k as u32).is_some())
                && parts.iter().all(|part| part.pairs.counts_whole(owner, k as u32))
            {
                coordinates[owner as usize].push(k as u32);
            }
        }
        let all = coordinates.into_iter().enumerate().filter(|(_, coordinates)| !coordinates.is_empty());
        let mut claims: Vec<Claim> = all.map(|(a, own)| self.claim(a as u32, own, parts)).collect();
        claims.sort_by(|one, other| {
            let order = other.worth.total_cmp(&one.worth).then(other.events.total_cmp(&one.events));
            order.then(one.attribute.cmp(&other.attribute))
        });
        claims
    }

    fn claim(&self, attribute: u32, mut coordinates: Vec<u32>, parts: &[Counted]) -> Claim {
        let (mut worth, mut events) = (0.0, 0.0);
        for part in parts {
            let home = part.pairs.attributes.of(attribute);
            worth += part.events * home.and_then(|home| part.pairs.worth(home)).unwrap_or(0.0);
            events += part.pairs.joint_count(attribute, attribute);
        }
        if coordinates.first() == Some(&0) {
            // The constant is never evicted.
            worth = f64::INFINITY;
        }
        coordinates.sort_by(|&j, &k| self.value_counts[k as usize].total_cmp(&self.value_counts[j as usize]));
        coordinates.truncate((self.most / WIDEST).max(1));
        Claim { attribute, worth, events, coordinates }
    }

    /// Whether a coordinate has had its slot for as long as its attribute.
    fn counts_whole(&self, attribute: u32, coordinate: u32) -> bool {
        let is_seated = self.coordinates.of(coordinate).is_some();
        let is_new = self.value_counts.get(coordinate as usize).is_none_or(|&count| count == 0.0);
        is_seated || is_new || self.attributes.of(attribute).is_none()
    }

    fn add_moments(&mut self, owners: &[u32], term: &Term) {
        let Some(pairs) = term.pairs() else { return };
        let takes_part = |mask: &[bool], item: u32| mask.get(item as usize).is_some_and(|&is| is);
        let homes = in_order(self.attributes.items(), |a| a).into_iter();
        let homes = homes.filter(|&(_, a)| takes_part(&term.pairs, a));
        let homes = homes.filter_map(|(home, a)| Some((home, pairs.attributes.of(a)?)));
        self.moments.add_counts(&homes.collect::<Vec<_>>(), &pairs.moments, term.factor);
        let slots = self.coordinates_in_order(owners).into_iter();
        let slots = slots.filter(|&(_, k)| {
            takes_part(&term.coordinates, k) && takes_part(&term.pairs, owners[k as usize])
        });
        let slots = slots.filter_map(|(slot, k)| Some((slot, pairs.coordinates.of(k)?)));
        self.moments.add_products(&slots.collect::<Vec<_>>(), &pairs.moments, term.factor);
    }

    /// The taken slots and their coordinates, in the order of the coordinates in events.
    pub(super) fn coordinates_in_order(&self, owners: &[u32]) -> Vec<(usize, u32)> {
        in_order(self.coordinates.items(), |k| (owners[k as usize], k))
    }
}

impl PairwiseMoments {
    /// Add the counts of `others` times `factor`; `slots` pairs the slots here with those there.
    pub(super) fn add_counts(&mut self, slots: &[(usize, usize)], others: &Self, factor: f64) {
        for (n, &(slot, there)) in slots.iter().enumerate() {
            let row = self.counts.row_mut(slot);
            for &(other, other_there) in &slots[..=n] {
                row[other] += factor * others.joint_count(there as u32, other_there as u32);
            }
        }
    }

    /// The same for sums.
    fn add_products(&mut self, slots: &[(usize, usize)], others: &Self, factor: f64) {
        for (n, &(slot, there)) in slots.iter().enumerate() {
            let row = self.sums.row_mut(slot);
            slots[..=n].iter().for_each(|&(other, at)| row[other] += factor * others.product(there, at));
        }
    }
}

impl<'a> Term<'a> {
    fn pairs(&self) -> Option<&'a Pairs> {
        if let Form::Pairs(pairs) = &self.learner.form { Some(pairs) } else { None }
    }
}

/// The taken slots and their items, in the order of the items in events.
fn in_order<T: Ord>(items: &[u32], place: impl Fn(u32) -> T) -> Vec<(usize, u32)> {
    let mut taken: Vec<(usize, u32)> =
        items.iter().copied().enumerate().filter(|(_, item)| *item != NOBODY).collect();
    taken.sort_by_key(|&(_, item)| place(item));
    taken
}

/// Set to 0 what rounding left below 0.
fn hold_above_zero<const N: usize>(tables: [&mut Vec<f64>; N]) {
    tables.into_iter().flatten().for_each(|entry| *entry = entry.max(0.0));
}
