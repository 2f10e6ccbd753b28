//! Writing the learner to a file, and validating what is read from one.

use super::correlations::LEAST_NOISE;
use super::examples::Examples;
use super::linear::LARGEST_GROWTH;
use super::matrix::Matrix;
use super::pairs::Pairs;
use super::pairwise_moments::PairwiseMoments;
use super::ppca::Ppca;
use super::slots::Slots;
use super::{Form, NOBODY, Settings, Subspace};
use crate::state::{Refused, State, ensure};

pub(super) const WHY: &str = "the subspace contradicts itself";

impl Subspace {
    pub(super) fn to_state(&self) -> State {
        let (seen, attributes) = (self.owners.len(), attributes_of(&self.owners));
        let factor = f64::from(matches!(self.form, Form::Factor(_)));
        let next_turn = if let Form::Pairs(pairs) = &self.form { pairs.next_turn } else { 0.0 };
        let clock = vec![self.events, self.due, self.growth, self.noise, seen as f64, factor, next_turn];
        let mut state = State::default();
        state.put_f64s("clock", clock, &[7]);
        put_numbers(&mut state, "owners", &self.owners);
        match &self.form {
            Form::Pairs(pairs) => pairs.put_state(&mut state),
            Form::Factor(ppca) => ppca.put_state(&mut state),
        }
        let used: Vec<u32> = (0..places(&self.settings, attributes, seen) as u32).collect();
        self.put_heads(&used, &mut state);
        state
    }

    /// Restore the learner from a state of a model with so many attributes and coordinates and the settings of this
    /// one.
    pub(super) fn restored(
        &self,
        state: &State,
        attributes: usize,
        coordinates: usize,
    ) -> Result<Self, Refused> {
        let settings = self.settings;
        let (clock, _) = state.f64s("clock").map_err(|_| WHY)?;
        let &[events, due, growth, noise, seen, factor, next_turn] = clock else {
            return Err(WHY.to_owned());
        };
        let owners = numbers_below(state, "owners", attributes)?;
        let owning = attributes_of(&owners);
        ensure(seen == owners.len() as f64 && owners.len() <= coordinates, WHY)?;
        let is_pairs = settings.max_pairwise_coordinates > 1;
        ensure(factor == f64::from(!is_pairs), WHY)?;
        ensure((0.0..2f64.powi(53)).contains(&events) && due.is_finite() && next_turn.is_finite(), WHY)?;
        ensure(!is_pairs || events < due, WHY)?;
        ensure((1.0..=LARGEST_GROWTH).contains(&growth) && noise.is_finite() && noise >= LEAST_NOISE, WHY)?;
        let form = if is_pairs {
            let most = settings.max_pairwise_coordinates;
            Form::Pairs(Box::new(Pairs::from_state(state, &owners, attributes, next_turn, most)?))
        } else {
            let observed = state.f64s("observed").map_err(|_| WHY)?.0.len();
            ensure((owning..=attributes).contains(&observed), WHY)?;
            Form::Factor(Box::new(Ppca::from_state(state, settings.rank, observed, owners.len())?))
        };
        let (heads, examples) = self.restored_heads(state, places(&settings, owning, owners.len()))?;
        let new = Self::new(settings);
        let mut restored = Self { events, due, growth, noise, owners, form, heads, ..new };
        restored.known = restored.owning();
        // With the same capacity as before, so that a resumed model takes no less memory.
        restored.make_room_for_weights();
        if let Some(examples) = examples {
            let is_label = |label| restored.is_label(label);
            restored.examples = Examples::from_state(&examples, attributes, coordinates, is_label)?;
        }
        Ok(restored)
    }
}

impl Pairs {
    /// Number of stored numbers.
    pub(super) fn numbers(&self) -> usize {
        let moments = &self.moments;
        let matrices = [&moments.sums, &moments.counts, &moments.correlations];
        matrices.iter().map(|matrix| matrix.values().len()).sum::<usize>()
            + 3 * self.owners.len()
            + 2 * (self.observed.len() + self.value_counts.len())
    }

    fn put_state(&self, state: &mut State) {
        let (homes, slots) = (self.attributes.items(), self.coordinates.items());
        put_numbers(state, "attribute_slots", homes);
        put_numbers(state, "slots", slots);
        let (attributes, coordinates) = (self.observed.len(), self.value_counts.len());
        state.put_f64s("observed", self.observed.clone(), &[attributes]);
        state.put_f64s("turns", self.turns.clone(), &[attributes]);
        state.put_f64s("listed", self.value_counts.clone(), &[coordinates]);
        state.put_f64s("totals", self.sums.clone(), &[coordinates]);
        state.put_bools("redundant", self.is_redundant.clone(), &[coordinates]);
        self.moments.put_state(homes.len(), slots.len(), state);
    }

    fn from_state(
        state: &State,
        owners: &[u32],
        attributes: usize,
        next_turn: f64,
        most: usize,
    ) -> Result<Self, Refused> {
        let seen = state.f64s("observed").map_err(|_| WHY)?.0.len();
        ensure(attributes_of(owners) <= seen && seen <= attributes, WHY)?;
        let homes = numbers_below(state, "attribute_slots", seen)?;
        let slots = numbers_below(state, "slots", owners.len())?;
        ensure(homes.len() == seen.min(most) && slots.len() == owners.len().min(most), WHY)?;
        let mut pairs = Self::new(most);
        pairs.next_turn = next_turn;
        pairs.moments = PairwiseMoments::from_state(state, homes.len(), slots.len(), most)?;
        pairs.attributes = Slots::from_items(homes, seen).ok_or(WHY)?;
        pairs.coordinates = Slots::from_items(slots, owners.len()).ok_or(WHY)?;
        let slots = pairs.coordinates.items().iter();
        let home = |&k: &u32| match k {
            NOBODY => Some(NOBODY),
            k => pairs.attributes.of(owners[k as usize]).map(|home| home as u32),
        };
        pairs.owners = slots.map(home).collect::<Option<_>>().ok_or(WHY)?;
        let is_used = |home: usize| pairs.owners.contains(&(home as u32));
        let homes = pairs.attributes.items().iter().enumerate();
        ensure(homes.filter(|(_, item)| **item != NOBODY).all(|(home, _)| is_used(home)), WHY)?;
        pairs.observed = numbers(state, "observed", &[seen])?;
        pairs.turns = numbers(state, "turns", &[seen])?;
        pairs.value_counts = numbers(state, "listed", &[owners.len()])?;
        pairs.sums = numbers(state, "totals", &[owners.len()])?;
        pairs.is_redundant = state.bools("redundant").map_err(|_| WHY)?.0.to_vec();
        ensure(pairs.is_redundant.len() == owners.len(), WHY)?;
        ensure(not_negative(&[&pairs.observed, &pairs.value_counts]), WHY)?;
        Ok(pairs)
    }
}

impl PairwiseMoments {
    fn put_state(&self, attributes: usize, seen: usize, state: &mut State) {
        let squares = [("sums", &self.sums, seen), ("correlations", &self.correlations, seen)];
        for (name, matrix, size) in squares.into_iter().chain([("counts", &self.counts, attributes)]) {
            state.put_f64s(name, matrix.corner(size).values().to_vec(), &[size, size]);
        }
        state.put_bools("active", self.active.clone(), &[seen]);
        let rows = [("worths", &self.worths), ("means", &self.means), ("deviations", &self.deviations)];
        rows.into_iter().for_each(|(name, row)| state.put_f64s(name, row.clone(), &[seen]));
    }

    fn from_state(state: &State, attributes: usize, seen: usize, most: usize) -> Result<Self, Refused> {
        let square = |name, size| {
            let matrix = Matrix::from_rows(size, numbers(state, name, &[size, size])?);
            Ok::<_, Refused>(matrix.with_room(most))
        };
        let mut moments = Self::default();
        moments.sums = square("sums", seen)?;
        moments.counts = square("counts", attributes)?;
        moments.correlations = square("correlations", seen)?;
        moments.active = state.bools("active").map_err(|_| WHY)?.0.to_vec();
        ensure(moments.active.len() == seen, WHY)?;
        moments.worths = numbers(state, "worths", &[seen])?;
        moments.means = numbers(state, "means", &[seen])?;
        moments.deviations = numbers(state, "deviations", &[seen])?;
        ensure(not_negative(&[moments.counts.values(), &moments.worths, &moments.deviations]), WHY)?;
        moments.grow(attributes, seen, most);
        Ok(moments)
    }
}

impl Ppca {
    /// Number of stored numbers.
    pub(super) fn numbers(&self) -> usize {
        self.rows.len() + self.observed.len() + 4 * self.value_counts.len()
    }

    fn put_state(&self, state: &mut State) {
        let (seen, attributes) = (self.value_counts.len(), self.observed.len());
        state.put_f64s("rows", self.rows.clone(), &[seen, self.rank()]);
        state.put_f64s("observed", self.observed.clone(), &[attributes]);
        state.put_f64s("listed", self.value_counts.clone(), &[seen]);
        state.put_f64s("sums", self.sums.clone(), &[seen]);
        state.put_f64s("squares", self.squares.clone(), &[seen]);
        state.put_f64s("noise", self.noise.clone(), &[seen]);
    }

    fn from_state(state: &State, rank: usize, attributes: usize, seen: usize) -> Result<Self, Refused> {
        let mut ppca = Self::new(rank);
        let rows = numbers(state, "rows", &[seen, rank])?;
        // Draws the initial rows as well, so that later ones continue the sequence.
        ppca.grow(attributes, seen);
        ppca.rows = rows;
        ppca.observed = numbers(state, "observed", &[attributes])?;
        ppca.value_counts = numbers(state, "listed", &[seen])?;
        ppca.sums = numbers(state, "sums", &[seen])?;
        ppca.squares = numbers(state, "squares", &[seen])?;
        ppca.noise = numbers(state, "noise", &[seen])?;
        ensure(ppca.noise.iter().all(|&noise| noise >= LEAST_NOISE), WHY)?;
        ensure(not_negative(&[&ppca.observed, &ppca.value_counts, &ppca.squares]), WHY)?;
        Ok(ppca)
    }
}

/// Put attributes or coordinates; [`NOBODY`] becomes -1.
pub(super) fn put_numbers(state: &mut State, name: &str, items: &[u32]) {
    state.put_i32s(name, items.iter().map(|&item| item as i32).collect(), &[items.len()]);
}

/// What [`put_numbers`] wrote, each below a bound.
pub(super) fn numbers_below(state: &State, name: &str, bound: usize) -> Result<Vec<u32>, Refused> {
    let (items, shape) = state.i32s(name).map_err(|_| WHY)?;
    let are_known = items.iter().all(|&item| item == -1 || (0..bound as i64).contains(&item.into()));
    ensure(are_known && shape == [items.len()], WHY)?;
    Ok(items.iter().map(|&item| item as u32).collect())
}

/// The finite numbers with this name and shape.
pub(super) fn numbers(state: &State, name: &str, expected: &[usize]) -> Result<Vec<f64>, Refused> {
    let (values, shape) = state.f64s(name).map_err(|_| WHY)?;
    let size: usize = expected.iter().product();
    ensure(shape == expected && values.len() == size && values.iter().all(|value| value.is_finite()), WHY)?;
    Ok(values.to_vec())
}

pub(super) fn not_negative(tables: &[&[f64]]) -> bool {
    tables.iter().all(|table| table.iter().all(|&entry| entry >= 0.0))
}

/// 1 + the highest attribute that owns one of these coordinates.
pub(super) fn attributes_of(owners: &[u32]) -> usize {
    owners.iter().filter(|&&owner| owner != NOBODY).max().map_or(0, |&highest| highest as usize + 1)
}

/// Number of weights for so many attributes and coordinates.
fn places(settings: &Settings, attributes: usize, coordinates: usize) -> usize {
    settings.rank + 2 * attributes.max(coordinates)
}
