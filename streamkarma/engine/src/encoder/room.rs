//! Eviction: when the bounds are reached, the least used names and categories make room for new ones.
//!
//! A name or category is evicted the sooner, the longer ago it last occurred and the fewer events had it: the
//! criterion is the number of events since then, divided by the square root of its count. Neither alone would do: by
//! time, a name that occurs now and then is evicted before one that occurred twice recently; by count, a name that was
//! once common stays for ever. One in [`EVICTED_PART`] is evicted at a time, so that the search costs little per new
//! name.

use super::rates::RatePlaces;
use super::{Encoder, Levels, New, NewName, Sentinels, Tally};
use crate::encoded::Encoded;
use crate::names::{LimitExceeded, Name};
use crate::scale::Scale;
use crate::vocabulary::{NOBODY, PASSING, Sizes, size};

/// One in this many is evicted when none is free.
const EVICTED_PART: usize = 16;

/// When something last occurred, and how often.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Use {
    /// The number of the learned event, from 1; 0 for never.
    pub last: u64,
    /// The number of events that had it.
    pub count: u64,
    /// How often the coordinate was evicted before.
    pub generation: u32,
}

/// Whether the current event itself uses all there is.
#[derive(Debug, Default)]
pub struct Exhausted {
    attributes: bool,
    coordinates: bool,
}

impl Use {
    /// Record an occurrence in the event of that number.
    pub(super) fn record(&mut self, now: u64) {
        self.last = now;
        self.count = self.count.saturating_add(1);
    }

    /// Merge uses in `base` and in parts that started from it, each with the number of its events. In the end there
    /// are `events`, and what last occurred so many events ago in a part did so as many events ago overall.
    pub(super) fn merged((base, before): (Self, u64), parts: &[(Self, u64)], events: u64) -> Self {
        let count = |sum: u64, part: &Self| sum.saturating_add(part.count.saturating_sub(base.count));
        let later = parts.iter().filter(|(part, _)| part.last > before);
        let least = later.map(|(part, now)| now.saturating_sub(part.last)).min();
        Self {
            last: least.map_or(base.last, |age| events.saturating_sub(age)),
            count: parts.iter().map(|(part, _)| part).fold(base.count, count),
            ..base
        }
    }

    /// How little it is used: the criterion of eviction.
    fn eviction_priority(self, now: u64) -> f64 {
        (now - self.last) as f64 / (self.count.max(1) as f64).sqrt()
    }
}

impl Encoder {
    /// The number of the current event among the learned ones, if it is learned.
    pub(super) fn now(&self) -> u64 {
        self.tallies[0].values + 1
    }

    /// Evict others to make room for a name or category, one of those in `new`, if necessary and possible.
    ///
    /// `exhausted` records what the current event itself turns out to use up.
    pub(super) fn ensure_room(
        &mut self,
        new: &[New],
        name: Name,
        category: Option<&[u8]>,
        exhausted: &mut Exhausted,
    ) {
        let known = self.vocabulary.find(name).is_some();
        while let Some(exceeded) =
            self.vocabulary.exceeded_limit(name, known, category, self.vocabulary.used())
        {
            let exhausted = match exceeded {
                LimitExceeded::Name(_) | LimitExceeded::Category(_) => return,
                LimitExceeded::Attributes(_) => &mut exhausted.attributes,
                LimitExceeded::Coordinates(_) | LimitExceeded::Bytes(_) => &mut exhausted.coordinates,
            };
            // The search is not repeated, as an event may have a million names.
            *exhausted = *exhausted || !self.make_room(new, exceeded);
            if *exhausted {
                return;
            }
        }
    }

    /// Evict some of what is lacking; false if the event needs all of it.
    fn make_room(&mut self, new: &[New], exceeded: LimitExceeded) -> bool {
        let (now, before) = (self.now(), self.vocabulary.used());
        for item in &self.items {
            self.uses[item.coordinate as usize].last = now;
        }
        self.keep_rates(now);
        match exceeded {
            LimitExceeded::Attributes(_) => self.evict_attributes(now, &needed(new)),
            _ => self.evict_coordinates(now),
        }
        self.forget_rates();
        let left = self.vocabulary.used();
        let is_less = (left.coordinates, left.attributes) < (before.coordinates, before.attributes);
        if is_less {
            self.vocabulary.report_limit(exceeded);
        }
        is_less
    }

    fn evict_coordinates(&mut self, now: u64) {
        let uses = self.uses.iter().zip(0..).skip(1);
        let is_candidate = |each: &Use, k| each.last < now && self.vocabulary.owner(k as usize) != NOBODY;
        let candidates: Vec<(f64, u32)> = uses
            .filter(|&(each, k)| is_candidate(each, k))
            .map(|(each, k)| (each.eviction_priority(now), k))
            .collect();
        let most = self.vocabulary.used().coordinates / EVICTED_PART;
        least_used(candidates, most).into_iter().for_each(|coordinate| self.evict(coordinate));
    }

    /// Attributes that are `needed` are kept, whether they have coordinates or not.
    fn evict_attributes(&mut self, now: u64, needed: &[u32]) {
        let owners: Vec<u32> = (0..self.uses.len()).map(|k| self.vocabulary.owner(k)).collect();
        let mut joint = vec![Use::default(); self.vocabulary.attribute_count()];
        for (each, &owner) in self.uses.iter().zip(&owners).filter(|(_, owner)| **owner != NOBODY) {
            let sum = &mut joint[owner as usize];
            *sum = Use { last: sum.last.max(each.last), count: sum.count.saturating_add(each.count), ..*sum };
        }
        let uses = joint.iter().zip(0..).skip(1).filter(|(each, _)| each.last < now);
        let candidates: Vec<(f64, u32)> = uses
            .filter(|&(_, a)| needed.binary_search(&a).is_err() && !self.vocabulary.is_free(a))
            .map(|(each, a)| (each.eviction_priority(now), a))
            .collect();
        let mut is_evicted = vec![false; joint.len()];
        for attribute in least_used(candidates, self.vocabulary.used().attributes / EVICTED_PART) {
            is_evicted[attribute as usize] = true;
        }
        for (&owner, k) in owners.iter().zip(0..) {
            if owner != NOBODY && is_evicted[owner as usize] {
                self.evict(k);
            }
        }
        self.evict_empty(needed);
    }

    fn evict(&mut self, coordinate: u32) {
        let k = coordinate as usize;
        self.levels[k] = Levels::default();
        self.vocabulary.evict(coordinate);
        let generation = self.uses[k].generation.saturating_add(1);
        (self.uses[k], self.scales[k]) = (Use { generation, ..Use::default() }, Scale::default());
        self.sentinels[k] = Sentinels::default();
        self.fit_survey(Some(coordinate));
        self.latest_evicted.coordinates.push(coordinate);
        self.evicted += 1;
    }

    fn evict_empty(&mut self, needed: &[u32]) {
        let empty = self.vocabulary.evict_empty(needed);
        for &attribute in &empty {
            self.tallies[attribute as usize] = Tally::default();
            self.seen[attribute as usize] = 0;
            self.rated[attribute as usize] = RatePlaces::default();
        }
        self.latest_evicted.attributes.extend(empty);
    }

    /// Report to the learners what was evicted for the next event.
    pub(super) fn report_evicted(&mut self, out: &mut Encoded) {
        self.evict_empty(&[]);
        let mut latest = std::mem::take(&mut self.latest_evicted);
        latest.before = out.values.len();
        latest.attributes.sort_unstable();
        latest.coordinates.sort_unstable();
        out.evicted.push(latest);
    }

    /// The size of what the event itself uses, including the constant, which cannot be evicted for another item.
    pub(super) fn kept(&self, new: &[New]) -> Sizes {
        let known = self.items.iter().map(|item| item.coordinate).filter(|&k| k < PASSING);
        let coordinates = sorted(known.chain(self.rates_in_hand()).chain([0]).collect());
        let owners = coordinates.iter().map(|&k| self.vocabulary.owner(k as usize));
        let attributes = sorted(owners.chain(needed(new)).collect());
        let bytes = |&k: &u32| {
            let (name, category) = self.vocabulary.describe(k as usize);
            size(name, category)
        };
        Sizes {
            attributes: attributes.len(),
            coordinates: coordinates.len(),
            bytes: coordinates.iter().map(bytes).sum(),
        }
    }
}

/// The attributes that new categories belong to, in ascending order.
fn needed(new: &[New]) -> Vec<u32> {
    let attribute = |each: &New| match each.name {
        NewName::Known(attribute) if !each.value.is_nan() => Some(attribute),
        _ => None,
    };
    sorted(new.iter().filter_map(attribute).collect())
}

fn sorted(mut indices: Vec<u32>) -> Vec<u32> {
    indices.sort_unstable();
    indices.dedup();
    indices
}

/// The candidates with the most disuse, `most` of them, but at least one if there is any; ties go to the first.
fn least_used(mut candidates: Vec<(f64, u32)>, most: usize) -> Vec<u32> {
    let count = most.max(1).min(candidates.len());
    if count > 0 {
        candidates.select_nth_unstable_by(count - 1, |(one, index), (other, other_index)| {
            other.total_cmp(one).then(index.cmp(other_index))
        });
    }
    candidates[..count].iter().map(|(_, index)| *index).collect()
}
