//! Merging models trained separately, and translating features to other names and scales.
//!
//! If a value was x = c + b z in the model and is z from now on, its feature (S, k) with weight w becomes
//!
//! - (S, k) with weight b w;
//! - c w times the indicator of S and k's own attribute, which is a feature of the constant. If these are as many
//!   attributes as gamma, there is no such feature: then each set of all but one of them gets an equal share of the
//!   weight, times the fraction of events in which the omitted one is present.
//!
//! The first is exact, and so is the second with fewer than gamma attributes, for events expanded at order gamma. If
//! events are normalised, everything is approximate: the norm of an event changes with the scales, and the constant
//! compensates for a shifted target as if all events had a typical norm.
//!
//! A hashed table can be translated only if no name moves. Features that share a weight may differ in scale, so weights
//! stay as they are, including those of evicted names.
//!
//! The order of merging matters only where the combined names are too many for a table that is not hashed.

use std::borrow::Cow;

use super::sets::Set;
use super::{Explicit, FeatureMap, Layout};
use crate::kernel::growth;
use crate::learners::linear::{LinearModel, Move};
use crate::merging::{ensure_alike, ensure_movable};
use crate::state::Refused;
use crate::translation::Translation;

/// One destination of what was learned about a feature, see [`Move`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Translated {
    /// The new coordinate.
    pub coordinate: u32,
    /// The code of the new set.
    pub code: i64,
    /// Factor of the weight.
    pub factor: f64,
    /// Factor of the information.
    pub information: f64,
}

impl Translated {
    /// To a feature of order 1, where the old value is `stretch` times the new one.
    pub fn stretched(coordinate: u32, stretch: f64) -> Self {
        Self { coordinate, code: 0, factor: stretch, information: 1.0 / (stretch * stretch) }
    }

    /// To a feature of order 1 that compensates for a shift.
    pub fn shifted(coordinate: u32, factor: f64) -> Self {
        Self { coordinate, code: 0, factor, information: 0.0 }
    }
}

impl Explicit {
    /// See [`crate::learner::Learner::translate`].
    pub(super) fn translate_features(&mut self, translation: &Translation) -> Result<(), Refused> {
        if translation.is_none() {
            return Ok(());
        }
        if self.can_move(translation)? {
            let (attributes, coordinates) = translation.known(self.map.attributes, self.map.coordinates);
            let moves =
                self.moves(|coordinate, code, into| self.map.translate(coordinate, code, translation, into));
            self.rearrange(attributes, coordinates, &moves);
        }
        let observed = translation.observed();
        self.retarget(translation, observed * growth(observed, self.map.gamma() as u32));
        Ok(())
    }

    /// Whether features can move; false if they are hashed and need not move.
    ///
    /// # Errors
    ///
    /// If they are hashed but would have to move.
    pub fn can_move(&self, translation: &Translation) -> Result<bool, Refused> {
        let hashed = self.map.layout.is_hashed();
        ensure_movable(hashed, translation)?;
        Ok(!hashed)
    }

    /// The destinations of everything learned; `list` gives those for a coordinate and the code of a set.
    pub fn moves(&self, mut list: impl FnMut(u32, i64, &mut Vec<Translated>)) -> Vec<(u32, Translated)> {
        let mut touched: Vec<u32> = self.models.iter().flat_map(LinearModel::touched).collect();
        touched.sort_unstable();
        touched.dedup();
        let (mut moves, mut translated) = (Vec::new(), Vec::new());
        for place in touched {
            if let Some((coordinate, code)) = self.map.layout.feature(place) {
                list(coordinate, code, &mut translated);
                moves.extend(translated.drain(..).map(|each| (place, each)));
            }
        }
        moves
    }

    /// Switch to this many attributes and coordinates, moving what was learned according to `moves`.
    pub fn rearrange(&mut self, attributes: usize, coordinates: usize, moves: &[(u32, Translated)]) {
        (self.map.attributes, self.map.coordinates) = (attributes, coordinates);
        let (layout, bits) = self.layout(self.models[0].classes());
        let moves = moves.iter().map(|(from, to)| {
            let Translated { coordinate, code, factor, information } = *to;
            Move { from: *from, to: layout.place(coordinate, code), factor, information }
        });
        // A file may contain weights of unknown features; they have no place.
        let moves: Vec<Move> = moves.filter(|each| each.to < 1 << bits).collect();
        self.models.iter_mut().for_each(|model| model.transfer(&moves, 1 << bits));
        self.map.layout = layout;
    }

    /// Switch to other targets; `square` is the squared norm of a typical event.
    pub fn retarget(&mut self, translation: &Translation, square: f64) {
        let norm = if self.map.normalize() { square.max(1.0).sqrt() } else { 1.0 };
        let (constant, gamma) = (self.map.layout.place(0, 0), self.map.gamma());
        let unit = self.map.roots[gamma][0][0] / norm;
        self.models.iter_mut().for_each(|model| model.retarget(translation.target, constant, unit));
    }

    /// See [`crate::learner::Learner::merge`].
    pub(super) fn merge_parts(&mut self, parts: &[&Self]) -> Result<(), Refused> {
        ensure_alike(parts.iter().all(|part| part.learns_like(self)))?;
        let all = || parts.iter().map(|part| &part.map);
        self.map.attributes = all().map(|map| map.attributes).fold(self.map.attributes, usize::max);
        self.map.coordinates = all().map(|map| map.coordinates).fold(self.map.coordinates, usize::max);
        self.swept = parts.iter().map(|part| part.swept).fold(self.swept, usize::max);
        let hashed = all().map(|map| map.layout).find(|layout| layout.is_hashed());
        let (layout, bits) = self.grown(hashed.unwrap_or(self.map.layout), self.models[0].classes());
        self.relocate(layout, bits);
        let parts: Vec<Cow<Self>> = parts.iter().map(|part| part.in_layout(layout, bits)).collect();
        for (number, model) in self.models.iter_mut().enumerate() {
            model.merge(&parts.iter().map(|part| &part.models[number]).collect::<Vec<_>>())?;
        }
        Ok(())
    }

    fn learns_like(&self, other: &Self) -> bool {
        let steps = |each: &Self| each.models.iter().map(|model| *model.settings()).collect::<Vec<_>>();
        let classes = |each: &Self| each.models[0].classes();
        self.settings() == other.settings() && steps(self) == steps(other) && classes(self) == classes(other)
    }

    /// The same model, with its features in the places of another layout.
    fn in_layout(&self, layout: Layout, bits: u32) -> Cow<'_, Self> {
        let mut moved = Cow::Borrowed(self);
        if layout != self.map.layout {
            moved.to_mut().relocate(layout, bits);
        }
        moved
    }
}

impl FeatureMap {
    /// List the destinations of what was learned about a feature.
    fn translate(&self, coordinate: u32, code: i64, translation: &Translation, into: &mut Vec<Translated>) {
        let set = Set::of(code, self.gamma());
        let (Some(moved), Some(beside)) = (translation.coordinate(coordinate), set.translated(translation))
        else {
            return;
        };
        let (stretch, shift) =
            (translation.stretch[coordinate as usize], translation.shift[coordinate as usize]);
        into.push(Translated { code: beside.code(self.gamma()), ..Translated::stretched(moved, stretch) });
        let owner = translation.owners[coordinate as usize];
        if shift != 0.0 && translation.attribute(owner).is_some() {
            let [_, value] = &self.roots[self.gamma()];
            self.shift(set.with(owner), shift * value[set.attributes().len()], translation, into);
        }
    }

    /// Carry `factor` times a weight to the indicator of a set, which may be too large for a feature.
    fn shift(&self, set: Set, factor: f64, translation: &Translation, into: &mut Vec<Translated>) {
        let (gamma, size) = (self.gamma(), set.attributes().len());
        let [constant, _] = &self.roots[gamma];
        let mut put = |set: Set, factor: f64| {
            let code = set.translated(translation).map_or(0, |set| set.code(gamma));
            into.push(Translated { code, ..Translated::shifted(0, factor) });
        };
        if size < gamma {
            return put(set, factor / constant[size]);
        }
        for &left_out in set.attributes() {
            let share = translation.shares[left_out as usize] / size as f64;
            put(set.without(left_out), factor * share / constant[size - 1]);
        }
    }
}
