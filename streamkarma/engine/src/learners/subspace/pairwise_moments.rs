//! Second moments of jointly observed pairs, and the conditional mean of missing values.
//!
//! A pair of coordinates is counted in the events that observe both of their attributes. The observed category is 1 on
//! its own coordinate and an observed 0 on its siblings, so counts belong to pairs of attributes, sums to pairs of
//! coordinates, and an event adds |o|² of each. The constant is one of the coordinates; its pairs are the first
//! moments.
//!
//! From time to time these are turned into correlations R, see [`super::correlations`]. Missing values are filled with
//! the conditional mean, in standard deviations from the mean:
//!
//! ```text
//! z_m = R_mo (R_oo + noise I)^-1 z_o.
//! ```
//!
//! It is Q_oo^+ of [H, Def. 2] if the data lie on a known subspace Q.
//!
//! For an observed categorical attribute, only the observed category is conditioned on, not the zeros of its siblings:
//! the regression on that indicator alone is exactly the mean given that category; with all of them the matrix would be
//! singular, and as wide as there are categories.

use super::correlations::LEAST_NOISE;
use super::explaining::squared_length;
use super::matrix::Matrix;
use crate::cholesky::Cholesky;

/// Values are clipped at this many standard deviations before they explain others: a variance may be older than the
/// value.
pub const FARTHEST: f64 = 30.0;

/// A variance below this fraction of the mean square is a rounding error.
pub const ROUNDING: f64 = 1e-12;

/// The part of an event that has slots.
#[derive(Clone, Debug, Default)]
pub struct Local {
    /// Slots of the attributes, each once. An attribute without a value here is observed with a category that has no
    /// slot: all its other categories are 0.
    pub attributes: Vec<u32>,
    /// Slots of the coordinates, and their values.
    pub coordinates: Vec<u32>,
    pub values: Vec<f64>,
}

impl Local {
    pub fn clear(&mut self) {
        self.attributes.clear();
        self.coordinates.clear();
        self.values.clear();
    }

    /// Record an attribute; its items are consecutive.
    pub fn observe(&mut self, attribute: u32) {
        if self.attributes.last() != Some(&attribute) {
            self.attributes.push(attribute);
        }
    }

    pub fn push(&mut self, coordinate: u32, value: f64) {
        self.coordinates.push(coordinate);
        self.values.push(value);
    }
}

/// The statistics of coordinates and their attributes, by slot. The matrices may be larger than needed.
#[derive(Clone, Debug, Default)]
pub struct PairwiseMoments {
    /// Sums of products x_i x_j over the events that observe both, in the row of the later attribute.
    pub sums: Matrix,
    /// The numbers of these events, by attribute, in the row of the later one.
    pub counts: Matrix,
    /// Mean where the attribute is observed. From here on, fields are as of the last update of the correlations.
    pub means: Vec<f64>,
    /// Whether a coordinate explains others and is explained by them.
    pub active: Vec<bool>,
    /// How well others explain each coordinate.
    pub worths: Vec<f64>,
    /// Standard deviations; 0 if there is no data yet, or the coordinate is not active.
    pub deviations: Vec<f64>,
    /// Positive semidefinite.
    pub correlations: Matrix,
    workspace: Workspace,
}

/// Buffers that are reused for every event.
#[derive(Clone, Debug, Default)]
struct Workspace {
    /// By attribute: whether the current event has it.
    observed: Vec<bool>,
    /// The coordinates that explain others, and their standardised values.
    known: Vec<u32>,
    z: Vec<f64>,
    cholesky: Cholesky,
}

impl PairwiseMoments {
    /// Grow to so many; the matrices up to `most`.
    pub fn grow(&mut self, attributes: usize, coordinates: usize, most: usize) {
        self.counts.grow_square(attributes, most);
        self.sums.grow_square(coordinates, most);
        self.correlations.grow_square(coordinates, most);
        self.workspace.observed.resize(attributes, false);
        self.active.resize(coordinates, false);
        for row in [&mut self.worths, &mut self.means, &mut self.deviations] {
            row.resize(coordinates, 0.0);
        }
    }

    /// Forget a coordinate.
    pub fn clear(&mut self, slot: usize) {
        self.sums.clear_cross(slot);
        self.correlations.clear_cross(slot);
        self.active[slot] = false;
        for row in [&mut self.worths, &mut self.means, &mut self.deviations] {
            row[slot] = 0.0;
        }
    }

    /// Forget an attribute.
    pub fn clear_counts(&mut self, slot: usize) {
        self.counts.clear_cross(slot);
    }

    /// Number of events that observe both of two attributes; 0 for [`NOBODY`](super::NOBODY).
    pub fn joint_count(&self, one: u32, other: u32) -> f64 {
        let (a, b) = (one as usize, other as usize);
        if a.max(b) < self.counts.width() { joined(&self.counts, a, b) } else { 0.0 }
    }

    /// The sum of products of two coordinates over the events that observe both.
    pub fn product(&self, one: usize, other: usize) -> f64 {
        joined(&self.sums, one, other)
    }

    /// Add one event with weight `amount`; its slots must exist.
    pub fn count(&mut self, event: &Local, amount: f64) {
        for (i, &attribute) in event.attributes.iter().enumerate() {
            let counts = self.counts.row_mut(attribute as usize);
            for &other in &event.attributes[..=i] {
                counts[other as usize] += amount;
            }
        }
        for (i, (&coordinate, value)) in event.coordinates.iter().zip(&event.values).enumerate() {
            let (sums, part) = (self.sums.row_mut(coordinate as usize), amount * value);
            for (&other, x) in event.coordinates[..=i].iter().zip(&event.values) {
                sums[other as usize] += part * x;
            }
        }
    }

    /// Fill `completed` from one event; it has as many coordinates as there are owners.
    ///
    /// Observed values are kept, and the siblings of an observed category are 0.
    pub fn complete(&mut self, owners: &[u32], noise: f64, event: &Local, completed: &mut [f64]) {
        self.mark(event, true);
        self.explain(noise, event);
        let Workspace { observed, known, z, .. } = &self.workspace;
        multiply(&self.correlations, known, z, completed);
        let moments = self.means.iter().zip(&self.deviations);
        for ((value, &owner), (mean, deviation)) in completed.iter_mut().zip(owners).zip(moments) {
            // A select between two values rather than a branch, half of which would be mispredicted.
            let expected = mean + deviation * *value;
            let is_observed = observed.get(owner as usize).is_some_and(|&is| is);
            *value = if is_observed { 0.0 } else { expected };
        }
        self.mark(event, false);
        for (&k, x) in event.coordinates.iter().zip(&event.values) {
            completed[k as usize] = *x;
        }
    }

    /// The variance of a coordinate given the observed values of the last completed event.
    pub fn conditional_variance(&self, slot: usize) -> f64 {
        let Workspace { known, cholesky, .. } = &self.workspace;
        let row = self.correlations.row(slot);
        let beside: Vec<f64> = known.iter().map(|&k| row[k as usize]).collect();
        let left = (1.0 - squared_length(cholesky, &beside)).clamp(LEAST_NOISE, 1.0);
        self.deviations[slot] * self.deviations[slot] * left
    }

    /// Leave (R_oo + noise I)^-1 z_o in the workspace.
    fn explain(&mut self, noise: f64, event: &Local) {
        let Workspace { known, z, cholesky, .. } = &mut self.workspace;
        known.clear();
        z.clear();
        for (&k, value) in event.coordinates.iter().zip(&event.values) {
            let deviation = self.deviations[k as usize];
            if deviation > 0.0 {
                known.push(k);
                z.push(((value - self.means[k as usize]) / deviation).clamp(-FARTHEST, FARTHEST));
            }
        }
        for (i, entries) in cholesky.rows(known.len()).enumerate() {
            let row = self.correlations.row(known[i] as usize);
            for (entry, &k) in entries.iter_mut().zip(known.iter()).skip(i) {
                *entry = row[k as usize];
            }
            entries[i] += noise;
        }
        cholesky.factorise();
        cholesky.solve(z);
    }

    fn mark(&mut self, event: &Local, is_observed: bool) {
        for &attribute in &event.attributes {
            self.workspace.observed[attribute as usize] = is_observed;
        }
    }
}

/// The entry of a pair, which may be in the row of either.
fn joined(matrix: &Matrix, one: usize, other: usize) -> f64 {
    let half = matrix.row(one)[other];
    if one == other { half } else { half + matrix.row(other)[one] }
}

/// R_mo z for every m; four rows per pass, for a quarter of the traffic through `result`.
fn multiply(matrix: &Matrix, places: &[u32], z: &[f64], result: &mut [f64]) {
    result.fill(0.0);
    let size = result.len();
    let (quads, rest) = places.as_chunks::<4>();
    let (z_quads, z_rest) = z.as_chunks::<4>();
    for (places, z) in quads.iter().zip(z_quads) {
        let [row0, row1, row2, row3] = places.map(|place| &matrix.row(place as usize)[..size]);
        for (k, value) in result.iter_mut().enumerate() {
            *value = *value + z[0] * row0[k] + z[1] * row1[k] + z[2] * row2[k] + z[3] * row3[k];
        }
    }
    for (&place, z) in rest.iter().zip(z_rest) {
        for (value, entry) in result.iter_mut().zip(matrix.row(place as usize)) {
            *value += z * entry;
        }
    }
}
