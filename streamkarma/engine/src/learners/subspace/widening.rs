//! From pairs to the factor, once there are too many coordinates for pairs.

use super::correlations::LEAST_NOISE;
use super::matrix::Matrix;
use super::pairwise_moments::PairwiseMoments;
use super::ppca::Ppca;
use super::spectrum::strongest;
use super::{Form, Subspace};
use crate::learners::linear::LinearModel;

impl Subspace {
    /// Begin a factor with the strongest directions of the pairs; scores stay, but for what it cannot
    /// explain. Where the correlations are mostly noise it begins anew; the first moments stay.
    pub(super) fn go_wide(&mut self) {
        if self.owners.is_empty() {
            self.form = Form::Factor(Ppca::new(self.settings.rank));
            return;
        }
        self.update_correlations();
        let Form::Pairs(moments) = &self.form else { return };
        let (seen, rank) = (self.owners.len(), self.settings.rank);
        let mut ppca = factor_of(moments, rank, self.known.len(), seen);
        let (mut noise, mut rows) = (1.0, Matrix::zeros(seen, 0));
        if self.noise < 1.0 {
            rows = strongest(&moments.correlations.corner(seen), rank);
            noise = unexplained(&rows, &moments.deviations).unwrap_or(noise);
        }
        // The other columns keep their random start, or would never move.
        for (target, k) in ppca.rows.chunks_exact_mut(rank.max(1)).zip(0..seen) {
            target[..rows.width()].copy_from_slice(rows.row(k));
        }
        for head in &mut self.heads {
            move_weights(&mut head.model, moments, &rows, rank);
        }
        self.noise = noise;
        self.form = Form::Factor(ppca);
    }
}

/// Let the latents and the constant have the part of the weights that goes through the `rows`.
fn move_weights(model: &mut LinearModel, moments: &PairwiseMoments, rows: &Matrix, rank: usize) {
    for class in 0..model.classes() {
        let mut latents = vec![0.0; rows.width()];
        let mut constant = model.weight(class, rank);
        for (k, (mean, deviation)) in moments.means.iter().zip(&moments.deviations).enumerate().skip(1) {
            let weight = model.weight(class, rank + 2 * k);
            constant += weight * mean;
            for (latent, factor) in latents.iter_mut().zip(rows.row(k)) {
                *latent += weight * (deviation * factor);
            }
        }
        model.set_weight(class, rank, constant);
        for (i, latent) in latents.into_iter().enumerate() {
            model.set_weight(class, i, latent);
        }
    }
}

/// A factor with the first moments of the pairs.
fn factor_of(moments: &PairwiseMoments, rank: usize, attributes: usize, seen: usize) -> Ppca {
    let mut ppca = Ppca::new(rank);
    ppca.grow(attributes, seen);
    ppca.observed.iter_mut().enumerate().for_each(|(a, events)| *events = moments.counts.row(a)[a]);
    ppca.value_counts.copy_from_slice(&moments.value_counts);
    for k in 0..seen {
        // Coordinate 0 is the constant.
        ppca.sums[k] = moments.sums.row(k)[0];
        ppca.squares[k] = moments.sums.row(k)[k];
    }
    ppca
}

/// What the rows leave of a coordinate's variance, on average; None if no coordinate varies.
fn unexplained(rows: &Matrix, deviations: &[f64]) -> Option<f64> {
    let varying = deviations.iter().enumerate().filter(|(_, deviation)| **deviation > 0.0);
    let left: Vec<f64> = varying
        .map(|(k, _)| (1.0 - rows.row(k).iter().map(|factor| factor * factor).sum::<f64>()).max(LEAST_NOISE))
        .collect();
    if left.is_empty() { None } else { Some(left.iter().sum::<f64>() / left.len() as f64) }
}
