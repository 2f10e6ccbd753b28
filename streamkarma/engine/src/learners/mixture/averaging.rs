//! Averaging what the parts of a merge have learned about the experts.
//!
//! Calibrations, the blend and all running means forget: they remember some hundred events, and what a base had
//! learned has faded from them. So they are averaged rather than summed. Averages are weighted by the events that each
//! part has learned since the base, which makes an average of averages the average of all parts.

use nalgebra::{Cholesky, DMatrix, DVector, Dyn};

use crate::math::{exp, log};

/// Pivots below this fraction of the largest variance are rounding errors.
const SINGULAR: f64 = 1e-12;
/// Smaller weights, such as 0, are raised to this.
const SMALLEST_WEIGHT: f64 = 1e-300;

/// Parameters updated by Newton steps, and their covariance.
pub type Estimate<'a> = (&'a [f64], &'a [f64]);

/// Parts that have learned something, and their shares of all events learned.
pub struct Shared<'a, P>(pub Vec<(&'a P, f64)>);

impl<'a, P> Shared<'a, P> {
    /// From parts and the number of events that each has learned.
    pub fn of(parts: Vec<(&'a P, u64)>) -> Self {
        let total: f64 = parts.iter().map(|&(_, events)| events as f64).sum();
        Self(parts.into_iter().map(|(part, events)| (part, events as f64 / total)).collect())
    }

    /// The weighted mean of numbers that each part has.
    pub fn mean(&self, of: impl Fn(&'a P) -> &'a [f64]) -> Vec<f64> {
        mean(self.0.iter().map(|&(part, share)| (of(part), share)))
    }

    /// The geometric means of the parts' weights, normalised.
    pub fn weights(&self, of: impl Fn(&'a P) -> &'a [f64]) -> Vec<f64> {
        let logs =
            |(part, share)| (of(part).iter().map(|&each| log(each.max(SMALLEST_WEIGHT))).collect(), share);
        let logs: Vec<(Vec<f64>, f64)> = self.0.iter().copied().map(logs).collect();
        let mut weights = mean(logs.iter().map(|(logs, share)| (&logs[..], *share)));
        let highest = weights.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        weights.iter_mut().for_each(|each| *each = exp(*each - highest));
        let total: f64 = weights.iter().sum();
        weights.iter_mut().for_each(|each| *each /= total);
        weights
    }

    /// The precision-weighted mean of the parameters, and the inverse of the mean precision.
    ///
    /// If a covariance is singular, both are plain means.
    pub fn estimate(&self, of: impl Fn(&'a P) -> Estimate<'a>) -> (Vec<f64>, Vec<f64>) {
        let parts: Vec<_> = self.0.iter().map(|&(part, share)| (of(part), share)).collect();
        by_precision(&parts).unwrap_or_else(|| {
            let each = || parts.iter().copied();
            let parameters = mean(each().map(|((parameters, _), share)| (parameters, share)));
            (parameters, mean(each().map(|((_, covariance), share)| (covariance, share))))
        })
    }
}

/// A mean weighted by shares whose sum is 1.
pub fn mean<'a>(parts: impl Iterator<Item = (&'a [f64], f64)>) -> Vec<f64> {
    let mut means = Vec::new();
    for (numbers, share) in parts {
        means.resize(numbers.len(), 0.0);
        means.iter_mut().zip(numbers).for_each(|(mean, number)| *mean += share * number);
    }
    means
}

fn by_precision(parts: &[(Estimate, f64)]) -> Option<(Vec<f64>, Vec<f64>)> {
    let size = parts.first()?.0.0.len();
    let (mut precision, mut pull) = (DMatrix::zeros(size, size), DVector::zeros(size));
    for ((parameters, covariance), share) in parts {
        let covariance = factorised(DMatrix::from_row_slice(size, size, covariance))?;
        precision += covariance.inverse() * *share;
        pull += covariance.solve(&DVector::from_column_slice(parameters)) * *share;
    }
    let precision = factorised(precision)?;
    let covariance = precision.inverse();
    // It must be symmetric bit for bit.
    let symmetric = (&covariance + covariance.transpose()) * 0.5;
    let parameters = precision.solve(&pull).as_slice().to_vec();
    let finite = symmetric.iter().chain(&parameters).all(|each| each.is_finite());
    finite.then(|| (parameters, symmetric.as_slice().to_vec()))
}

/// The Cholesky factor of a matrix, if it is positive definite.
fn factorised(matrix: DMatrix<f64>) -> Option<Cholesky<f64, Dyn>> {
    let largest = matrix.diagonal().max();
    let factor = Cholesky::new(matrix)?;
    let pivots = factor.l_dirty().diagonal();
    pivots.iter().all(|pivot| pivot * pivot > SINGULAR * largest).then_some(factor)
}
