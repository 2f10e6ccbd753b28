//! Learns the weights of attributes in distances.
//!
//! Of ten attributes, five may be irrelevant to the label, and then the nearest in all ten are not near in the others.
//! So each learned event takes a gradient step on the weights, against the loss of a neighbour drawn at random, with
//! nearer and heavier neighbours more likely [G]:
//!
//! ```text
//! L = -log Σ_q p_q [y_q = y],   or   Σ_q p_q (y_q - y)² / var y,    p_q ∝ w_q exp(-d(x, q) / 2h),
//! ```
//!
//! over the neighbours found, with w_q the weight of the neighbour's event and h the median of their distances. The
//! step is on log s_a, since the weights are above 0 and only their ratios matter: their mean is 1.
//!
//! - [G] Goldberger, Roweis, Hinton, Salakhutdinov: Neighbourhood Components Analysis, NIPS 2004.

use super::column::{ABSENT, Item, LEAST_WEIGHT};
use super::columns::Columns;
use super::nearest::part;
use crate::math::exp;

/// The step size. On developers' streams errors were 2 % higher with 0.3, and no lower with 2; without learning, those
/// on Friedman's regression are 1.6 times as large.
const ETA: f64 = 1.0;
/// Maximum relative change of a weight in one step.
const LARGEST_STEP: f64 = 0.2;
/// Pseudo-events of either kind that are added to the count of neighbours with the event's label and to the total.
const SMOOTHING: f64 = 0.3;

/// Scratch buffers for a step.
#[derive(Clone, Debug, Default)]
pub struct Metric {
    /// The loss of each neighbour, then the derivative of L with respect to its distance.
    pub losses: Vec<f64>,
    /// The weight of each neighbour, then p.
    pub chances: Vec<f64>,
}

impl Metric {
    /// Take a step for an event of some weight with the neighbours found. `losses` must hold their losses (0 or 1 for
    /// classes, else squared errors over the variance), and `chances` their weights.
    pub fn step(
        &mut self,
        columns: &mut Columns,
        items: &[Item],
        found: &[(f32, usize)],
        weight: f64,
        is_regression: bool,
    ) {
        let median = f64::from(found[found.len() / 2].0);
        if median <= 0.0 {
            return; // equal events are uninformative about distances
        }
        self.differentiate(found, median, is_regression);
        for item in items {
            let Some(column) = &mut columns.places[item.column] else { continue };
            let mut gradient = 0.0;
            for (slope, &(_, slot)) in self.losses.iter().zip(found) {
                let value = column.get(slot);
                let own = if value == ABSENT { item.missing } else { part(item, value) };
                gradient += slope * f64::from(own);
            }
            let step = (-ETA * weight * gradient).clamp(-LARGEST_STEP, LARGEST_STEP);
            column.weight *= (1.0 + step) as f32;
        }
        normalise(columns);
    }

    /// Turn losses into derivatives.
    fn differentiate(&mut self, found: &[(f32, usize)], median: f64, is_regression: bool) {
        for (chance, (distance, _)) in self.chances.iter_mut().zip(found) {
            *chance *= exp(-0.5 * f64::from(*distance) / median);
        }
        let total: f64 = self.chances.iter().sum::<f64>().max(f64::MIN_POSITIVE);
        self.chances.iter_mut().for_each(|chance| *chance /= total);
        let mean: f64 = self.chances.iter().zip(&self.losses).map(|(chance, loss)| chance * loss).sum();
        let count = found.len() as f64;
        let right = ((1.0 - mean) * count + SMOOTHING) / (count + 2.0 * SMOOTHING);
        let divisor = 2.0 * median * if is_regression { 1.0 } else { right };
        for (loss, chance) in self.losses.iter_mut().zip(&self.chances) {
            *loss = chance * (mean - *loss) / divisor;
        }
    }
}

/// Normalise the weights to a mean of 1, with none below its minimum.
fn normalise(columns: &mut Columns) {
    let (count, total) =
        columns.iter_mut().fold((0.0, 0.0), |(n, sum), column| (n + 1.0, sum + column.weight));
    let factor = count / total;
    columns.iter_mut().for_each(|column| column.weight = (column.weight * factor).max(LEAST_WEIGHT));
}
