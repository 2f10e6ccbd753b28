//! What goes into a model file, and what may come from one.

use super::correlations::LEAST_NOISE;
use super::heads::Head;
use super::linear::{LARGEST_GROWTH, LinearModel};
use super::matrix::Matrix;
use super::pairwise_moments::PairwiseMoments;
use super::ppca::Ppca;
use super::{Form, NOBODY, Settings, Subspace};
use crate::state::{Refused, State, ensure};

const WHY: &str = "the subspace contradicts itself";

impl Subspace {
    pub(super) fn to_state(&self) -> State {
        let (seen, attributes) = (self.owners.len(), attributes_of(&self.owners));
        let wide = f64::from(matches!(self.form, Form::Factor(_)));
        let clock = vec![self.events, self.due, self.growth, self.noise, seen as f64, wide];
        let mut state = State::default();
        state.put_f64s("clock", clock, &[6]);
        // NOBODY becomes -1.
        state.put_i32s("owners", self.owners.iter().map(|&owner| owner as i32).collect(), &[seen]);
        match &self.form {
            Form::Pairs(moments) => moments.put_state(attributes, seen, &mut state),
            Form::Factor(ppca) => ppca.put_state(attributes, &mut state),
        }
        let used: Vec<u32> = (0..places(&self.settings, attributes, seen) as u32).collect();
        self.heads[0].model.put_state(&used, "steps", &mut state);
        for (number, head) in self.heads.iter().enumerate().skip(1) {
            let mut part = State::default();
            head.model.put_state(&used, "steps", &mut part);
            state.put_part(&number.to_string(), part);
        }
        state
    }

    /// The learner of a state, of a model with so many attributes and coordinates, made as this one.
    pub(super) fn restored(
        &self,
        state: &State,
        attributes: usize,
        coordinates: usize,
    ) -> Result<Self, Refused> {
        let settings = self.settings;
        let (clock, _) = state.f64s("clock").map_err(|_| WHY)?;
        let (owners, shape) = state.i32s("owners").map_err(|_| WHY)?;
        let &[events, due, growth, noise, seen, wide] = clock else { return Err(WHY.to_owned()) };
        let known = owners.iter().all(|&owner| owner == -1 || (0..attributes as i64).contains(&owner.into()));
        ensure(known && shape == [owners.len()] && owners.len() <= coordinates, WHY)?;
        let owners: Vec<u32> = owners.iter().map(|&owner| owner as u32).collect();
        let (owning, wide, is_pairs) = (attributes_of(&owners), wide == 1.0, wide == 0.0);
        ensure(seen == owners.len() as f64 && (wide || is_pairs), WHY)?;
        ensure(wide || owning.max(owners.len()) <= settings.max_rank_dim, WHY)?;
        ensure((0.0..2f64.powi(53)).contains(&events) && due.is_finite() && (wide || events < due), WHY)?;
        ensure((1.0..=LARGEST_GROWTH).contains(&growth) && noise.is_finite() && noise >= LEAST_NOISE, WHY)?;
        let form = if wide {
            Form::Factor(Ppca::from_state(state, settings.rank, owning, owners.len())?)
        } else {
            Form::Pairs(PairwiseMoments::from_state(state, owning, owners.len(), settings.max_rank_dim)?)
        };
        let heads = self.restored_heads(state, places(&settings, owning, owners.len()))?;
        let mut known = vec![false; owning];
        owners.iter().filter(|&&owner| owner != NOBODY).for_each(|&owner| known[owner as usize] = true);
        let new = Self::new(settings);
        let mut restored = Self { events, due, growth, noise, owners, known, form, heads, ..new };
        // As much room as there was, so that a model takes no less memory for being resumed.
        restored.make_room_for_weights();
        Ok(restored)
    }

    /// The heads of a state, with so many places each.
    fn restored_heads(&self, state: &State, places: usize) -> Result<Vec<Head>, Refused> {
        let parts = state.parts();
        ensure(parts.len() == self.heads.len(), WHY)?;
        let mut heads: Vec<Head> = Vec::new();
        for (number, head) in self.heads.iter().enumerate() {
            let name = if number == 0 { String::new() } else { number.to_string() };
            let part = parts.get(name.as_str()).ok_or(WHY)?;
            // Each class has a weight or more.
            let most = part.f64s("weights").map_err(|_| WHY)?.0.len();
            let model =
                LinearModel::restored(*head.model.settings(), "steps", part, most).map_err(|_| WHY)?;
            let classes = heads.first().map_or(model.classes(), |first| first.model.classes());
            ensure((model.places(), model.classes()) == (places, classes), WHY)?;
            heads.push(Head { model, ..*head });
        }
        Ok(heads)
    }
}

impl PairwiseMoments {
    /// How many numbers are kept.
    pub(super) fn numbers(&self) -> usize {
        let matrices = [&self.sums, &self.counts, &self.correlations];
        matrices.iter().map(|matrix| matrix.values().len()).sum::<usize>() + 3 * self.value_counts.len()
    }

    fn put_state(&self, attributes: usize, seen: usize, state: &mut State) {
        let squares = [("sums", &self.sums, seen), ("correlations", &self.correlations, seen)];
        for (name, matrix, size) in squares.into_iter().chain([("counts", &self.counts, attributes)]) {
            state.put_f64s(name, matrix.corner(size).values().to_vec(), &[size, size]);
        }
        state.put_f64s("listed", self.value_counts.clone(), &[seen]);
        state.put_f64s("means", self.means.clone(), &[seen]);
        state.put_f64s("deviations", self.deviations.clone(), &[seen]);
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
        moments.value_counts = numbers(state, "listed", &[seen])?;
        moments.means = numbers(state, "means", &[seen])?;
        moments.deviations = numbers(state, "deviations", &[seen])?;
        ensure(not_negative(&[moments.counts.values(), &moments.value_counts, &moments.deviations]), WHY)?;
        moments.grow(attributes, seen, most);
        Ok(moments)
    }
}

impl Ppca {
    /// How many numbers are kept.
    pub(super) fn numbers(&self) -> usize {
        self.rows.len() + self.observed.len() + 3 * self.value_counts.len()
    }

    fn put_state(&self, attributes: usize, state: &mut State) {
        let seen = self.value_counts.len();
        state.put_f64s("rows", self.rows.clone(), &[seen, self.rank()]);
        state.put_f64s("observed", self.observed[..attributes].to_vec(), &[attributes]);
        state.put_f64s("listed", self.value_counts.clone(), &[seen]);
        state.put_f64s("sums", self.sums.clone(), &[seen]);
        state.put_f64s("squares", self.squares.clone(), &[seen]);
    }

    fn from_state(state: &State, rank: usize, attributes: usize, seen: usize) -> Result<Self, Refused> {
        let mut ppca = Self::new(rank);
        let rows = numbers(state, "rows", &[seen, rank])?;
        // Draws what these began with, so that later ones go on from there.
        ppca.grow(attributes, seen);
        ppca.rows = rows;
        ppca.observed = numbers(state, "observed", &[attributes])?;
        ppca.value_counts = numbers(state, "listed", &[seen])?;
        ppca.sums = numbers(state, "sums", &[seen])?;
        ppca.squares = numbers(state, "squares", &[seen])?;
        ensure(not_negative(&[&ppca.observed, &ppca.value_counts, &ppca.squares]), WHY)?;
        Ok(ppca)
    }
}

/// The finite numbers of that name and shape.
fn numbers(state: &State, name: &str, expected: &[usize]) -> Result<Vec<f64>, Refused> {
    let (values, shape) = state.f64s(name).map_err(|_| WHY)?;
    let size: usize = expected.iter().product();
    ensure(shape == expected && values.len() == size && values.iter().all(|value| value.is_finite()), WHY)?;
    Ok(values.to_vec())
}

fn not_negative(tables: &[&[f64]]) -> bool {
    tables.iter().all(|table| table.iter().all(|&entry| entry >= 0.0))
}

/// 1 + the highest attribute that owns one of these coordinates.
fn attributes_of(owners: &[u32]) -> usize {
    owners.iter().filter(|&&owner| owner != NOBODY).max().map_or(0, |&highest| highest as usize + 1)
}

/// How many weights these attributes and coordinates need.
fn places(settings: &Settings, attributes: usize, coordinates: usize) -> usize {
    settings.rank + 2 * attributes.max(coordinates)
}
