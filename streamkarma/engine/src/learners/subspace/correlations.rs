//! From pairwise moments to correlations.
//!
//! The entry of a pair observed in n events is multiplied by n / (n + shrink). Entries estimated from different events
//! need not belong to one distribution: R may have eigenvalues below 0, and the lowest, -tau, indicates the size of the
//! errors. Of R = V diag(l) V' only what stands out, l > tau, is kept: the projection onto the positive semidefinite
//! cone, without the eigenvalues that cannot be distinguished from error. The noise of the conditional mean is
//!
//! ```text
//! LEAST_NOISE + (s tau)² + OWN_NOISE K / n,
//! ```
//!
//! with K coordinates, n events, and s the fraction of events that observe an attribute: the errors matter only in the
//! observed part. [H] leaves open how Q is learned; all of this was chosen by measurement.

use super::NOBODY;
use super::matrix::Matrix;
use super::pairwise_moments::{PairwiseMoments, ROUNDING};
use super::spectrum::project;

/// Noise variance beyond the correlations, in units of a coordinate's own variance: the minimum, and the part that
/// decays as K / n. From 14 tabular data sets, half withheld, and synthetic streams.
pub const LEAST_NOISE: f64 = 1e-3;
const OWN_NOISE: f64 = 3.0;

/// What a squared correlation must exceed, divided by the events of the pair: four standard errors of a zero
/// correlation, since each coordinate is compared with all others. From synthetic streams with columns of noise, where
/// 12 lets some of these in and 24 is as good. So an uninformative attribute costs little: on lowrank, 60,000 events,
/// beside a random category of 24 values, the error was .0147 with all of them in, is now .0105, and was .0097 alone.
const CHANCE: f64 = 16.0;

/// A coordinate worth less than this fraction of the most valuable one neither completes others nor is completed.
const WORTHLESS: f64 = 0.01;

impl PairwiseMoments {
    /// Update means, deviations and correlations from the sums, and return the noise.
    ///
    /// `owners` has the attribute of each coordinate, `growth` is what an event of weight 1 currently adds to the
    /// counts, and `shrink` the number of events without any correlation that each pair starts with. If `choosing`,
    /// only coordinates that others explain beyond chance become active.
    pub fn update_correlations(&mut self, owners: &[u32], growth: f64, shrink: f64, choosing: bool) -> f64 {
        let seen = owners.len();
        let (joint, mut covariances) = self.averages(owners);
        let means: Vec<f64> = (0..seen).map(|i| covariances.row(i)[0]).collect();
        let squares: Vec<f64> = (0..seen).map(|i| covariances.row(i)[i]).collect();
        for i in 0..seen {
            let entries = covariances.row_mut(i).iter_mut().zip(joint.row(i)).zip(&means);
            for ((entry, &count), mean) in entries {
                *entry = if count > 0.0 { *entry - means[i] * mean } else { 0.0 };
            }
        }
        for (i, deviation) in self.deviations.iter_mut().enumerate().take(seen) {
            let variance = covariances.row(i)[i];
            // Coordinate 0 is the constant.
            let varies = i > 0 && variance > ROUNDING * squares[i];
            *deviation = if varies { variance.sqrt() } else { 0.0 };
        }
        let scales: Vec<f64> = self.deviations.iter().map(|&d| if d > 0.0 { 1.0 / d } else { 0.0 }).collect();
        let mut correlations = covariances;
        for i in 0..seen {
            let entries = correlations.row_mut(i).iter_mut().zip(joint.row(i)).zip(&scales);
            for (j, ((entry, &count), scale)) in entries.enumerate() {
                // One scale after the other: their product may overflow.
                *entry =
                    if i == j { 1.0 } else { shrunk(*entry * scales[i] * scale, count, growth * shrink) };
            }
        }
        if choosing {
            self.find_worths(&correlations, &joint, owners, growth);
            self.leave_out_inactive(&mut correlations);
        }
        let (projected, tau) = project(&correlations);
        for i in 0..seen {
            self.correlations.row_mut(i)[..seen].copy_from_slice(projected.row(i));
        }
        self.means[..seen].copy_from_slice(&means);
        let has_slot = owners.iter().filter(|owner| **owner != NOBODY).count();
        let used = if choosing { self.active.iter().filter(|is| **is).count() } else { has_slot };
        self.noise(used, tau, growth)
    }

    /// Find which coordinates others explain beyond chance, and the worth of each: the sum of its squared correlations
    /// beyond [`CHANCE`], each times the fraction of the rarer one's events that lack the other. Hours and weekdays,
    /// say, are correlated but always present, so they complete nothing.
    fn find_worths(&mut self, correlations: &Matrix, joint: &Matrix, owners: &[u32], growth: f64) {
        for i in 1..owners.len() {
            // Siblings explain each other, whatever the data.
            let others = (1..owners.len()).filter(|&j| joint.row(i)[j] > 0.0 && owners[j] != owners[i]);
            (self.worths[i], self.active[i]) = (0.0, false);
            for j in others {
                let (r, both) = (correlations.row(i)[j], joint.row(i)[j]);
                let beyond = (r * r - CHANCE * growth / both).max(0.0);
                // If two got their slots at different times, the later one's events are those of both.
                let fewer = joint.row(i)[i].min(joint.row(j)[j]);
                self.worths[i] += beyond * (1.0 - both / fewer).max(0.0);
                self.active[i] |= beyond > 0.0;
            }
        }
        // If nothing has been missing so far, all worths are equal to zero, and values may be missing later.
        let most = self.worths.iter().copied().fold(0.0, f64::max);
        for (active, worth) in self.active.iter_mut().zip(&self.worths).skip(1) {
            *active &= *worth >= WORTHLESS * most;
        }
    }

    fn leave_out_inactive(&mut self, correlations: &mut Matrix) {
        for slot in (1..self.active.len()).filter(|&slot| !self.active[slot]) {
            correlations.clear_cross(slot);
            correlations.row_mut(slot)[slot] = 1.0;
            self.deviations[slot] = 0.0;
        }
    }

    /// The number of events that observe both of two coordinates, and the mean of their product over these.
    fn averages(&self, owners: &[u32]) -> (Matrix, Matrix) {
        let seen = owners.len();
        let (mut joint, mut averages) = (Matrix::zeros(seen, seen), Matrix::zeros(seen, seen));
        for i in 0..seen {
            for j in 0..seen {
                let events = self.joint_count(owners[i], owners[j]);
                if events > 0.0 {
                    joint.row_mut(i)[j] = events;
                    averages.row_mut(i)[j] = self.product(i, j) / events;
                }
            }
        }
        (joint, averages)
    }

    fn noise(&self, seen: usize, tau: f64, growth: f64) -> f64 {
        let counts: Vec<f64> = (0..self.counts.width()).map(|a| self.counts.row(a)[a]).collect();
        // Weights scale the counts, but however low they are, an event is never all noise.
        let total = counts.first().copied().unwrap_or(0.0);
        let observed: Vec<f64> = counts.into_iter().filter(|&count| count > 0.0).collect();
        let mean = observed.iter().sum::<f64>() / observed.len() as f64;
        let share = if total > 0.0 { mean / total } else { 1.0 };
        LEAST_NOISE + (share * tau) * (share * tau) + OWN_NOISE * seen as f64 / (total / growth).max(1.0)
    }
}

/// The shrunk correlation of a pair that was observed in so many events; an overflow counts as no correlation.
fn shrunk(correlation: f64, events: f64, shrink: f64) -> f64 {
    let share = if shrink > 0.0 { events / (events + shrink) } else { f64::from(events > 0.0) };
    let correlation = if correlation.is_nan() { 0.0 } else { correlation.clamp(-1.0, 1.0) };
    correlation * share
}
