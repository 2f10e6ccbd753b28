//! Merges factorisation machines trained separately.
//!
//! Parameters are averaged like AdaGrad's weights in linear models, weighted by the gain in squared gradients; factors
//! row by row, after those of each part have been rotated towards those of the base, see [`super::rotation`].
//!
//! A coordinate that moves to another index has other initial factors there, but keeps its factors, so that scores do
//! not change: with x = c + b z a factor v becomes b v, and a weight w becomes b (w + Σ_j c_j p_j <v, v_j>) over the
//! other coordinates, each present in a fraction p_j of events. This is approximate, since it is a mean and events are
//! divided by their norm. What was never learned starts from scratch.
//!
//! If two classes are swapped, the signs of scores change, but no factors have the negated scalar products: they are
//! then forgotten. A hashed table can only be translated if no name moves; its factors do not change with the scales,
//! and are averaged without rotation.

use super::rotation::{Square, nearest, products, spread, turned};
use super::rows::{RANK, Row, Rows, SLOTS, factors, starts};
use super::{FactorisationMachine, LARGEST};
use crate::learner::Learner;
use crate::loss::Loss;
use crate::math::{dot, pow};
use crate::merging::{Mean, ensure_alike, ensure_movable, relabelled};
use crate::state::Refused;
use crate::translation::Translation;

impl FactorisationMachine {
    /// See [`crate::learner::Learner::translate`].
    pub(super) fn translate_rows(&mut self, translation: &Translation) -> Result<(), Refused> {
        if translation.is_none() {
            return Ok(());
        }
        let hashed = self.is_hashed();
        ensure_movable(hashed, translation)?;
        self.rows.rescale();
        if !hashed {
            let known = self.coordinates;
            (self.attributes, self.coordinates) = translation.known(self.attributes, known);
            self.rows.translate(known, self.coordinates, translation);
        }
        self.wake_up();
        self.rows.retarget(translation.target, translation.observed().max(1.0).sqrt());
        Ok(())
    }

    /// See [`crate::learner::Learner::merge`].
    pub(super) fn merge_parts(&mut self, parts: &[&Self]) -> Result<(), Refused> {
        let alike =
            |part: &&Self| part.rows.settings == self.rows.settings && part.rows.classes == self.rows.classes;
        ensure_alike(parts.iter().all(alike))?;
        for part in parts {
            self.attributes = self.attributes.max(part.attributes);
            self.coordinates = self.coordinates.max(part.coordinates);
            self.awake |= part.awake;
        }
        self.wake_up();
        self.rows.rescale();
        let steps: Vec<u64> = parts.iter().map(|part| part.steps.saturating_sub(self.steps)).collect();
        let parts: Vec<(&Rows, f64)> =
            parts.iter().zip(&steps).map(|(part, &steps)| (&part.rows, self.rows.decay(steps))).collect();
        let all = steps.iter().sum();
        self.rows.merge(&parts, all, self.coordinates <= self.rows.places);
        self.steps += all;
        Ok(())
    }
}

impl Rows {
    /// Renumber the classes; with one row, the signs of all weights change, and factors are forgotten.
    pub(super) fn relabel(&mut self, places: &[usize]) {
        if self.classes > 1 {
            self.rows = relabelled(&self.rows, self.places, places);
        } else if places.first() == Some(&1) {
            for row in &mut self.rows {
                let (moved, moment) = (row.moved[RANK], row.moments[RANK]);
                *row = Row::default();
                // Subtracted from 0, so that a zero gets no sign: no file preserves it.
                (row.moved[RANK], row.moments[RANK]) = (0.0 - moved, moment);
            }
        }
    }

    /// Translate to `coordinates` coordinates, of which `known` were known before; each has its own row.
    fn translate(&mut self, known: usize, coordinates: usize, translation: &Translation) {
        let (rows, places) = (std::mem::take(&mut self.rows), self.places);
        if places == 0 {
            return;
        }
        self.places = 0;
        self.make_room(coordinates);
        for (class, rows) in rows.chunks_exact(places).enumerate() {
            for (to, row) in translated(&rows[..known.min(places)], translation) {
                let place = self.row(class, to);
                self.rows[place].add(&row);
            }
        }
    }

    /// Translate a regression to targets y in which the present ones are `shift + stretch y`, for events of this norm.
    fn retarget(&mut self, (shift, stretch): (f64, f64), norm: f64) {
        if (shift, stretch) == (0.0, 1.0) || self.places == 0 {
            return;
        }
        // Factors are multiplied by each other.
        let root = stretch.sqrt();
        let slopes = if self.settings.loss == Loss::Squared { stretch * stretch } else { 1.0 };
        for (at, row) in self.rows.iter_mut().enumerate().filter(|(_, row)| **row != Row::default()) {
            for (moved, start) in row.moved.iter_mut().zip(starts((at % self.places) as u32)) {
                *moved = (start + *moved) / root - start;
            }
            row.moved[RANK] /= stretch;
            row.moments[..RANK].iter_mut().for_each(|moment| *moment /= stretch);
            row.moments.iter_mut().for_each(|moment| *moment = (*moment / slopes).min(LARGEST));
        }
        for rows in self.rows.chunks_exact_mut(self.places) {
            rows[0].moved[RANK] -= shift / stretch * norm;
        }
    }

    /// The fraction of a row that is left after this many steps.
    fn decay(&self, steps: u64) -> f64 {
        1.0 / pow(self.growth, steps as f64)
    }

    /// Merge what parts have learned, each with the fraction that its steps left of the base; `steps` is their total.
    fn merge(&mut self, parts: &[(&Self, f64)], steps: u64, turns: bool) {
        let decay = self.decay(steps);
        for class in 0..self.classes {
            let mut parts: Vec<Part> =
                parts.iter().map(|&(rows, decay)| Part { rows, decay, class, turn: None }).collect();
            let turned: Vec<_> = parts.iter().map(|part| part.turn_to(self)).collect();
            // A single part is not rotated.
            if turns && turned.iter().flatten().count() > 1 {
                parts.iter_mut().zip(turned).for_each(|(part, turn)| part.turn = turn);
            }
            for place in 0..self.places {
                let row = &mut self.rows[class * self.places + place];
                *row = merged(row, place as u32, decay, parts.iter().map(|part| part.learned(row, place)));
            }
        }
    }
}

/// One class of a model that continued from a base.
struct Part<'a> {
    rows: &'a Rows,
    /// The fraction of the base that is left in it.
    decay: f64,
    class: usize,
    turn: Option<Square>,
}

/// What a part has learned of a coordinate: its parameters, and the growth of their squared gradients.
struct Learned {
    weight: f64,
    factors: [f64; RANK],
    gains: [f64; SLOTS],
}

impl Part<'_> {
    /// What the part has learned of a row that was `base`.
    fn learned(&self, base: &Row, place: usize) -> Learned {
        let Rows { rows, places, factor, .. } = self.rows;
        let now = if place < *places { rows[self.class * places + place] } else { Row::default() };
        let scale = 1.0 / factor;
        let mut gains: [f64; SLOTS] =
            std::array::from_fn(|s| (scale * now.moments[s] - self.decay * base.moments[s]).max(0.0));
        let mut factors = factors(&now, place as u32, scale);
        if let (Some(turn), Some(gains)) = (&self.turn, gains.first_chunk_mut()) {
            (factors, *gains) = (turned(&factors, turn), spread(gains, turn));
        }
        Learned { weight: scale * now.moved[RANK] - self.decay * base.moved[RANK], factors, gains }
    }

    /// The rotation that brings its factors nearest to those of the base.
    fn turn_to(&self, base: &Rows) -> Option<Square> {
        let rows = &base.rows[self.class * base.places..][..base.places];
        nearest(&products(rows.iter().enumerate().map(|(place, row)| {
            let Learned { factors: own, gains, .. } = self.learned(row, place);
            (gains[..RANK].iter().sum(), own, factors(row, place as u32, 1.0))
        })))
    }
}

/// A row merged with what parts have learned of it; its factors are averaged by their total gain.
fn merged(base: &Row, coordinate: u32, decay: f64, parts: impl Iterator<Item = Learned>) -> Row {
    let mut row = *base;
    row.moved.iter_mut().chain(&mut row.moments).for_each(|each| *each *= decay);
    let (mut weight, mut means, mut gained) = (Mean::default(), [Mean::default(); RANK], 0.0);
    for Learned { weight: change, factors, gains } in parts {
        weight.put(gains[RANK], change);
        let gain: f64 = gains[..RANK].iter().sum();
        means.iter_mut().zip(factors).for_each(|(mean, factor)| mean.put(gain, factor));
        gained += gain;
        row.moments.iter_mut().zip(gains).for_each(|(moment, gain)| *moment = (*moment + gain).min(LARGEST));
    }
    row.moved[RANK] += weight.value();
    if gained > 0.0 {
        for ((moved, mean), start) in row.moved.iter_mut().zip(means).zip(starts(coordinate)) {
            *moved = mean.value() - start;
        }
    }
    row
}

/// The touched rows of one class, and their new coordinates.
fn translated(rows: &[Row], translation: &Translation) -> Vec<(u32, Row)> {
    let mut known: Vec<(usize, [f64; RANK])> = Vec::new();
    // The effect of the others' shifts on each weight: the sum of c_j p_j v_j.
    let (mut shifts, mut squares, mut constant) = ([0.0; RANK], 0.0, 0.0);
    let shift = |k: usize| translation.shift[k] * translation.share_of(k as u32);
    for (k, row) in rows.iter().enumerate().skip(1).filter(|(_, row)| **row != Row::default()) {
        let factors = factors(row, k as u32, 1.0);
        shifts.iter_mut().zip(factors).for_each(|(sum, factor)| *sum += shift(k) * factor);
        squares += shift(k).powi(2) * dot(&factors, &factors);
        constant += shift(k) * row.moved[RANK];
        known.push((k, factors));
    }
    let place = |(k, factors): (usize, [f64; RANK])| {
        let (to, stretch, mut row) = (translation.coordinate(k as u32)?, translation.stretch[k], rows[k]);
        for ((moved, start), factor) in row.moved.iter_mut().zip(starts(to)).zip(factors) {
            *moved = stretch * factor - start;
        }
        let by_others = dot(&factors, &shifts) - shift(k) * dot(&factors, &factors);
        row.moved[RANK] = stretch * (row.moved[RANK] + by_others);
        row.moments.iter_mut().for_each(|moment| *moment = (*moment / (stretch * stretch)).min(LARGEST));
        Some((to, row))
    };
    let mut first = rows.first().copied().unwrap_or_default();
    first.moved[RANK] += constant + 0.5 * (dot(&shifts, &shifts) - squares);
    std::iter::once((0, first)).chain(known.into_iter().filter_map(place)).collect()
}
