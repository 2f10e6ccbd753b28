//! Which attributes have slots if there are more coordinates than slots.
//!
//! Each time the number of events has grown by a fifth, attributes that proved worthless give way to others, and so do
//! the least valuable of the active ones while these have more than three quarters of the slots. Those with the fewest
//! turns come first; of these, numbers before categories, and then the most often observed. Turns get longer, which
//! reveals smaller correlations. An attribute with too few events is no candidate: it could not prove anything.

use super::pairs::Pairs;
use super::{Form, NOBODY, Subspace};

/// The first turn ends after this many events; each later one after as many, or after `LATER_TURNS` times the events so
/// far if that is more.
pub const FIRST_TURN: f64 = 200.0;
const LATER_TURNS: f64 = 0.2;

/// One in so many slots is reserved for trials, even if all coordinates with slots are worth something.
const TRIED: usize = 4;

/// No attribute takes more than one in so many slots.
pub const WIDEST: usize = 8;

/// Minimum number of events in which a candidate was observed.
const FEWEST: f64 = 32.0;

/// An attribute without active coordinates.
struct Candidate {
    attribute: u32,
    turns: f64,
    is_category: bool,
    observed: f64,
    /// Its most frequent coordinates.
    coordinates: Vec<u32>,
}

impl Subspace {
    /// Let the next attributes take their turn, if it is due.
    pub(super) fn take_turns(&mut self) {
        let Form::Pairs(pairs) = &mut self.form else { return };
        if !pairs.is_wide() || self.events < pairs.next_turn {
            return;
        }
        let (half_life, fewest) = (self.settings.half_life, FEWEST * self.growth);
        let memory = if half_life > 0.0 { self.events.min(half_life) } else { self.events };
        pairs.next_turn = self.events + (memory * LATER_TURNS).floor().max(FIRST_TURN);
        let leaving = pairs.least_worth();
        let redundant = pairs.redundant(&leaving, self.noise);
        pairs.end_turns(&leaving);
        let candidates = pairs.candidates(&self.owners, fewest);
        pairs.fill(&candidates);
        let rank = self.settings.rank;
        for model in self.models_mut() {
            redundant.iter().for_each(|each| each.move_weights(model, rank));
        }
    }
}

impl Pairs {
    /// The slots of an attribute's coordinates.
    pub(super) fn slots_of(&self, home: usize) -> Vec<usize> {
        (0..self.owners.len()).filter(|&slot| self.owners[slot] == home as u32).collect()
    }

    /// The worth of an attribute per slot; None if it has no active coordinates.
    pub(super) fn worth(&self, home: usize) -> Option<f64> {
        let slots = self.slots_of(home);
        let worth: f64 = slots.iter().map(|&slot| self.moments.worths[slot]).sum();
        slots.iter().any(|&slot| self.moments.active[slot]).then(|| worth / slots.len() as f64)
    }

    /// The taken slots of attributes and their attributes, except the constant's.
    pub(super) fn seated(&self) -> Vec<(usize, u32)> {
        let constant = self.owners.first().copied().unwrap_or(NOBODY) as usize;
        let items = self.attributes.items().iter().copied().enumerate();
        items.filter(|&(home, attribute)| home != constant && attribute != NOBODY).collect()
    }

    /// The least valuable of the active attributes, beyond three quarters of the slots.
    fn least_worth(&self) -> Vec<usize> {
        let worths = self.seated().into_iter().filter_map(|(home, _)| Some((self.worth(home)?, home)));
        let mut active: Vec<(f64, usize)> = worths.collect();
        active.sort_by(|one, other| other.0.total_cmp(&one.0));
        let mut room = self.most - (self.most / TRIED).max(1);
        let mut leaving = Vec::new();
        for (_, home) in active {
            match room.checked_sub(self.slots_of(home).len()) {
                Some(left) => room = left,
                None => leaving.push(home),
            }
        }
        leaving
    }

    /// Free the slots of these, and count a turn for them and for attributes without active coordinates.
    fn end_turns(&mut self, leaving: &[usize]) {
        for (home, attribute) in self.seated() {
            if leaving.contains(&home) {
                self.leave(home);
            } else if self.worth(home).is_some() {
                continue;
            }
            self.turns[attribute as usize] += 1.0;
        }
    }

    /// Free the slots of an attribute.
    fn leave(&mut self, home: usize) {
        self.slots_of(home).into_iter().for_each(|slot| self.vacate(slot));
    }

    /// Attributes without active coordinates, in the order of their turns.
    fn candidates(&self, owners: &[u32], fewest: f64) -> Vec<Candidate> {
        let mut coordinates: Vec<Vec<u32>> = vec![Vec::new(); self.observed.len()];
        for (k, &owner) in owners.iter().enumerate().skip(1).filter(|(_, owner)| **owner != NOBODY) {
            coordinates[owner as usize].push(k as u32);
        }
        let waiting = |a: u32| self.attributes.of(a).is_none_or(|home| self.worth(home).is_none());
        let attributes = coordinates.into_iter().zip(0..).filter(|(own, _)| !own.is_empty());
        let waiting = attributes.filter(|&(_, a)| self.observed[a as usize] >= fewest && waiting(a));
        let mut candidates: Vec<Candidate> = waiting.map(|(own, a)| self.candidate(a, own)).collect();
        candidates.sort_by(|one, other| {
            let order = one.turns.total_cmp(&other.turns).then(one.is_category.cmp(&other.is_category));
            order.then(other.observed.total_cmp(&one.observed))
        });
        candidates
    }

    fn candidate(&self, attribute: u32, mut coordinates: Vec<u32>) -> Candidate {
        let (turns, observed) = (self.turns[attribute as usize], self.observed[attribute as usize]);
        // The value of a category is always 1.
        let is_category = coordinates.iter().all(|&k| self.sums[k as usize] == self.value_counts[k as usize]);
        coordinates.sort_by(|&j, &k| self.value_counts[k as usize].total_cmp(&self.value_counts[j as usize]));
        coordinates.truncate((self.most / WIDEST).max(1));
        Candidate { attribute, turns, is_category, observed, coordinates }
    }

    /// Give slots to as many candidates as there is room for; those that already had some keep their counts.
    fn fill(&mut self, candidates: &[Candidate]) {
        let slots = |home: usize| self.slots_of(home).len();
        let active = self.seated().into_iter().filter(|&(home, _)| self.worth(home).is_some());
        let mut room =
            self.coordinates.items().len() - 1 - active.map(|(home, _)| slots(home)).sum::<usize>();
        let mut chosen = vec![false; self.observed.len()];
        for Candidate { attribute, coordinates, .. } in candidates {
            let needed = self.attributes.of(*attribute).map_or(coordinates.len(), slots);
            if needed <= room {
                room -= needed;
                chosen[*attribute as usize] = true;
            }
        }
        for (home, attribute) in self.seated() {
            if self.worth(home).is_none() && !chosen[attribute as usize] {
                self.leave(home);
            }
        }
        for Candidate { attribute, coordinates, .. } in candidates {
            if chosen[*attribute as usize] && self.attributes.of(*attribute).is_none() {
                coordinates.iter().for_each(|&k| self.assign_slot(*attribute, k));
            }
        }
    }
}
