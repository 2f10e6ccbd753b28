//! Translating what was learned of a subspace to other names and scales.
//!
//! With x = shift + stretch x', the statistics of x' follow from those of x, with one exception: the sum of x_i over
//! the events that observe j as well is not kept, and is taken to be its mean times their number. Correlations are
//! unchanged, except for the sign of those with a reversed coordinate.
//!
//! Weights are stretched, and the effect of a shift goes to the constant. Completed events have all values, so scores
//! are unchanged; residuals have no mean, so nothing needs to be shifted. Only for coordinates that are features as
//! observed, if there are more of them than slots, the constant gets the effect on average.

use super::examples::{Example, Examples};
use super::linear::Move;
use super::pairs::Pairs;
use super::ppca::Ppca;
use super::state::attributes_of;
use super::{Form, NOBODY, Subspace};
use crate::block::Evicted;
use crate::translation::{DROPPED, Translation};

impl Subspace {
    /// See [`crate::learner::Learner::translate`].
    pub(super) fn translate_all(&mut self, translation: &Translation) {
        if translation.keeps_names() && translation.keeps_scales() && translation.target == (0.0, 1.0) {
            return;
        }
        let is_owned = |(_, owner): &(usize, &u32)| **owner != NOBODY;
        let owned = self.owners.iter().enumerate().filter(is_owned);
        let dropped = owned.filter(|&(k, &owner)| translation.place_of(owner, k as u32).is_none());
        let coordinates: Vec<u32> = dropped.map(|(k, _)| k as u32).collect();
        let counts = self.attribute_counts().into_iter().map(|counts| counts.clone()).collect::<Vec<_>>();
        if !coordinates.is_empty() {
            self.clear(&Evicted { coordinates, ..Evicted::default() });
        }
        self.examples.translate(translation);
        let moves = self.moves(translation);
        self.translate_form(translation);
        self.restore_counts(&counts, translation);
        let room = self.room_for_weights();
        let constant = self.settings.rank as u32;
        for model in self.models_mut() {
            model.transfer(&moves, room);
            if room > constant as usize {
                model.retarget(translation.target, constant, 1.0);
            }
        }
        let unit = translation.target.1 * translation.target.1;
        for replayed in self.heads.iter_mut().filter_map(|head| head.replayed.as_mut()) {
            replayed.losses.iter_mut().for_each(|loss| *loss /= unit);
        }
    }

    /// Keep the counts of attributes that lost all their coordinates, which those that continued from here include.
    fn restore_counts(&mut self, counts: &[Vec<f64>], translation: &Translation) {
        let counted = |before: &[f64]| -> Vec<(usize, f64)> {
            let all = translation.attributes.iter().zip(before);
            let kept = all.filter(|(to, count)| **to != DROPPED && **count > 0.0);
            kept.map(|(&to, &count)| (to as usize, count)).collect()
        };
        let counts: Vec<_> = counts.iter().map(|before| counted(before)).collect();
        let attributes = counts.iter().flatten().map(|(to, _)| to + 1).max().unwrap_or(0);
        match &mut self.form {
            Form::Pairs(pairs) => pairs.grow(attributes, self.owners.len()),
            Form::Factor(ppca) => ppca.observed.resize(attributes.max(ppca.observed.len()), 0.0),
        }
        for (own, before) in self.attribute_counts().into_iter().zip(counts) {
            for (to, count) in before {
                if own[to] == 0.0 {
                    own[to] = count;
                }
            }
        }
    }

    /// What is counted of each attribute.
    fn attribute_counts(&mut self) -> Vec<&mut Vec<f64>> {
        match &mut self.form {
            Form::Pairs(pairs) => vec![&mut pairs.observed, &mut pairs.turns],
            Form::Factor(ppca) => vec![&mut ppca.observed],
        }
    }

    /// The moves of the weights.
    fn moves(&self, translation: &Translation) -> Vec<Move> {
        let rank = self.settings.rank as u32;
        let (value, indicator) = (|k: u32| rank + 2 * k, |a: u32| rank + 2 * a + 1);
        let mut moves: Vec<Move> = (0..rank).map(|i| Move::stretched(i, i, 1.0)).collect();
        for (a, _) in self.known.iter().enumerate().filter(|(_, is)| **is) {
            moves.push(Move::stretched(indicator(a as u32), indicator(translation.attributes[a]), 1.0));
        }
        for (k, &owner) in self.owners.iter().enumerate() {
            let Some((_, to)) = translation.place_of(owner, k as u32) else { continue };
            let from = value(k as u32);
            moves.push(Move::stretched(from, value(to), translation.stretch[k]));
            let shift = translation.shift[k] * self.weighed_share(k as u32, translation);
            if shift != 0.0 {
                moves.push(Move::shifted(from, rank, shift));
            }
        }
        moves
    }

    /// The fraction of the events in which the feature of a coordinate includes its mean.
    fn weighed_share(&self, coordinate: u32, translation: &Translation) -> f64 {
        match &self.form {
            Form::Pairs(pairs) if pairs.is_wide() && pairs.is_plain(coordinate) => {
                translation.share_of(coordinate)
            }
            Form::Pairs(_) => 1.0,
            Form::Factor(_) => 0.0,
        }
    }

    fn translate_form(&mut self, translation: &Translation) {
        let places = self.owners.iter().zip(0..).filter_map(|(&owner, k)| translation.place_of(owner, k));
        let mut owners = Vec::new();
        for (attribute, k) in places {
            owners.resize(owners.len().max(k as usize + 1), NOBODY);
            owners[k as usize] = attribute;
        }
        match &mut self.form {
            Form::Pairs(pairs) => **pairs = pairs.translated(&owners, &self.owners, translation),
            Form::Factor(ppca) => **ppca = ppca.translated(&owners, &self.owners, translation),
        }
        self.owners = owners;
        self.known = self.owning();
    }
}

impl Translation {
    /// What a coordinate and its owner become: the new attribute and the new coordinate.
    fn place_of(&self, owner: u32, coordinate: u32) -> Option<(u32, u32)> {
        let place = |all: &[u32], at: u32| all.get(at as usize).copied().filter(|&to| to != DROPPED);
        place(&self.attributes, owner).zip(place(&self.coordinates, coordinate))
    }

    /// Translate a sum over `count` values of a coordinate; those of other coordinates stay as they are.
    fn translate_sum(&self, coordinate: usize, sum: f64, count: f64) -> f64 {
        (sum - self.shift[coordinate] * count) / self.stretch[coordinate]
    }
}

impl Pairs {
    /// The same pairs with these owners; `before` has the current ones.
    fn translated(&self, owners: &[u32], before: &[u32], translation: &Translation) -> Self {
        let mut translated = Self::new(self.most);
        translated.next_turn = self.next_turn;
        translated.grow(attributes_of(owners), owners.len());
        let mut from = vec![NOBODY; owners.len()];
        for (k, &owner) in before.iter().enumerate() {
            let Some((a, to)) = translation.place_of(owner, k as u32) else { continue };
            from[to as usize] = k as u32;
            let (a, to, owner) = (a as usize, to as usize, owner as usize);
            translated.observed[a] = self.observed[owner];
            translated.turns[a] = self.turns[owner];
            translated.value_counts[to] = self.value_counts[k];
            translated.sums[to] = translation.translate_sum(k, self.sums[k], self.observed[owner]);
            translated.is_redundant[to] = self.is_redundant[k];
        }
        for (k, &owner) in owners.iter().enumerate().filter(|(_, owner)| **owner != NOBODY) {
            if !translated.is_wide() || self.coordinates.of(from[k]).is_some() {
                translated.assign_slot(owner, k as u32);
            }
        }
        translated.translate_moments(self, owners, &from, translation);
        translated
    }

    /// Take over the moments of `pairs`; `from` has the old coordinate of each new one.
    fn translate_moments(&mut self, pairs: &Self, owners: &[u32], from: &[u32], translation: &Translation) {
        let seats = self.coordinates_in_order(owners).into_iter();
        let seats = seats.filter_map(|(slot, k)| Some((slot, pairs.moved(from[k as usize])?)));
        let seats: Vec<(usize, Moved)> = seats.collect();
        let homes = seats.iter().map(|(slot, moved)| (self.owners[*slot] as usize, moved.home));
        let mut homes: Vec<(usize, usize)> = homes.collect();
        // Coordinates of an attribute are adjacent.
        homes.dedup();
        self.moments.add_counts(&homes, &pairs.moments, 1.0);
        let (old, new) = (&pairs.moments, &mut self.moments);
        for (n, (slot, one)) in seats.iter().enumerate() {
            for (other_slot, other) in &seats[..=n] {
                let count = old.joint_count(one.home as u32, other.home as u32);
                // One factor after the other: Σ x_i' x_j, and then Σ x_i' x_j'.
                let products = old.product(one.slot, other.slot);
                let halfway = translation.translate_sum(one.coordinate, products, count * other.mean);
                let firsts = translation.translate_sum(one.coordinate, count * one.mean, count);
                new.sums.row_mut(*slot)[*other_slot] =
                    translation.translate_sum(other.coordinate, halfway, firsts);
            }
            for (other_slot, other) in &seats {
                let sign =
                    (translation.stretch[one.coordinate] * translation.stretch[other.coordinate]).signum();
                new.correlations.row_mut(*slot)[*other_slot] =
                    sign * old.correlations.row(one.slot)[other.slot];
            }
            new.means[*slot] = translation.translate_sum(one.coordinate, old.means[one.slot], 1.0);
            new.deviations[*slot] = old.deviations[one.slot] / translation.stretch[one.coordinate].abs();
            (new.worths[*slot], new.active[*slot]) = (old.worths[one.slot], old.active[one.slot]);
        }
    }

    fn moved(&self, coordinate: u32) -> Option<Moved> {
        let slot = self.coordinates.of(coordinate)?;
        let (home, constant) = (self.owners[slot], self.coordinates.of(0));
        let count = self.moments.joint_count(home, home);
        let sum = constant.map_or(0.0, |constant| self.moments.product(slot, constant));
        let mean = if count > 0.0 { sum / count } else { 0.0 };
        Some(Moved { coordinate: coordinate as usize, slot, home: home as usize, mean })
    }
}

/// A coordinate with a slot, before its translation.
struct Moved {
    coordinate: usize,
    slot: usize,
    /// The slot of its attribute.
    home: usize,
    mean: f64,
}

impl Ppca {
    /// The same factor with these owners; `before` has the current ones.
    fn translated(&self, owners: &[u32], before: &[u32], translation: &Translation) -> Self {
        let (mut translated, rank) = (Self::new(self.rank()), self.rank());
        translated.grow(attributes_of(owners), owners.len());
        for (k, &owner) in before.iter().enumerate() {
            let Some((a, to)) = translation.place_of(owner, k as u32) else { continue };
            let (to, observed) = (to as usize, self.observed[owner as usize]);
            translated.observed[a as usize] = observed;
            translated.value_counts[to] = self.value_counts[k];
            translated.sums[to] = translation.translate_sum(k, self.sums[k], observed);
            let halfway = translation.translate_sum(k, self.squares[k], self.sums[k]);
            translated.squares[to] = translation.translate_sum(k, halfway, translated.sums[to]).max(0.0);
            translated.noise[to] = self.noise[k];
            let row = translated.rows[to * rank..][..rank].iter_mut().zip(self.row(k));
            row.for_each(|(to, from)| *to = translation.stretch[k].signum() * from);
        }
        translated
    }
}

impl Examples {
    fn translate(&mut self, translation: &Translation) {
        for example in &mut self.all {
            example.translate(translation);
        }
        self.items = self.all.iter().map(|each| each.values.len()).sum();
    }
}

impl Example {
    fn translate(&mut self, translation: &Translation) {
        let items = self.attributes.iter().zip(&self.coordinates).zip(&self.values);
        let moved = items.filter_map(|((&a, &k), &value)| {
            Some((translation.place_of(a, k)?, translation.translate_sum(k as usize, value, 1.0)))
        });
        let mut moved: Vec<((u32, u32), f64)> = moved.collect();
        moved.sort_by_key(|&(place, _)| place);
        let (places, values): (Vec<(u32, u32)>, Vec<f64>) = moved.into_iter().unzip();
        (self.attributes, self.coordinates) = places.into_iter().unzip();
        self.values = values;
        self.label = (self.label - translation.target.0) / translation.target.1;
    }
}
