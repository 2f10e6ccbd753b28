//! Merging the factors of several learners.
//!
//! Counts and sums add up. A factor is determined up to a rotation, F z = (F R) (R' z), and each part may have rotated
//! differently. So the rows F_m of a part are first rotated onto those F_0 of the base (the initial rows where the base
//! has learned nothing) by the solution of the Procrustes problem,
//!
//! ```text
//! R_m = argmin Σ_k g_mk |F_mk R - F_0k|²    over all rotations R,
//! ```
//!
//! with g_mk the count of coordinate k in part m since the base. Then each row, and likewise its noise, becomes the
//! mean of those of the parts, weighted by g_mk. As F_m' G_m F_0 is symmetric after the rotation, so is that of the
//! mean: it is not rotated when it is merged with others, and the order of merging does not matter.

use super::Form;
use super::correlations::LEAST_NOISE;
use super::matrix::Matrix;
use super::parts::{Term, add};
use super::ppca::Ppca;
use super::spectrum::nearest_rotation;
use super::state::attributes_of;

/// The factor of a part.
pub struct Turned<'a> {
    pub ppca: &'a Ppca,
    /// By coordinate: its count since the base.
    pub gains: Vec<f64>,
}

impl Ppca {
    /// The merged factor, and the rotation of each part; `owners` has the attribute of each coordinate.
    pub(super) fn merged(
        base: &Self,
        owners: &[u32],
        terms: &[Term],
        parts: &[Turned],
    ) -> (Self, Vec<Matrix>) {
        let mut merged = Self::new(base.rank());
        merged.grow(attributes_of(owners), owners.len());
        merged.rows.iter_mut().zip(&base.rows).for_each(|(entry, known)| *entry = *known);
        merged.noise.iter_mut().zip(&base.noise).for_each(|(entry, known)| *entry = *known);
        terms.iter().for_each(|term| merged.add_totals(term));
        let rotations: Vec<Matrix> = parts.iter().map(|part| merged.rotation_of(part)).collect();
        merged.average(parts, &rotations);
        (merged, rotations)
    }

    fn add_totals(&mut self, term: &Term) {
        let Form::Factor(ppca) = &term.learner.form else { return };
        add(&mut self.observed, &ppca.observed, &term.attributes, term.factor);
        add(&mut self.value_counts, &ppca.value_counts, &term.coordinates, term.factor);
        add(&mut self.sums, &ppca.sums, &term.coordinates, term.factor);
        add(&mut self.squares, &ppca.squares, &term.coordinates, term.factor);
        for table in [&mut self.observed, &mut self.value_counts, &mut self.squares] {
            // Rounding may leave values below 0.
            table.iter_mut().for_each(|entry| *entry = entry.max(0.0));
        }
    }

    /// The rotation that aligns the rows of a part with these.
    fn rotation_of(&self, part: &Turned) -> Matrix {
        let mut products = Matrix::zeros(self.rank(), self.rank());
        for (k, gain) in part.gains.iter().enumerate() {
            for (i, factor) in part.ppca.row(k).iter().enumerate() {
                let entries = products.row_mut(i).iter_mut().zip(self.row(k));
                entries.for_each(|(entry, other)| *entry += gain * factor * other);
            }
        }
        nearest_rotation(&products)
    }

    /// Set rows and noises to the mean of the parts', where these have learned any.
    fn average(&mut self, parts: &[Turned], rotations: &[Matrix]) {
        let rank = self.rank();
        for k in 0..self.noise.len() {
            let gains: Vec<f64> =
                parts.iter().map(|part| part.gains.get(k).copied().unwrap_or(0.0)).collect();
            let all: f64 = gains.iter().sum();
            if all <= 0.0 {
                continue;
            }
            let (mut row, mut noise) = (vec![0.0; rank], 0.0);
            for ((part, rotation), gain) in
                parts.iter().zip(rotations).zip(gains).filter(|(_, gain)| *gain > 0.0)
            {
                let share = gain / all;
                noise += share * part.ppca.noise[k];
                for (i, factor) in part.ppca.row(k).iter().enumerate() {
                    let turned = rotation.row(i).iter().map(|entry| share * factor * entry);
                    row.iter_mut().zip(turned).for_each(|(entry, part)| *entry += part);
                }
            }
            self.rows[k * rank..][..rank].copy_from_slice(&row);
            self.noise[k] = noise.max(LEAST_NOISE);
        }
    }
}
