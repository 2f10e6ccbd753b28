//! The kernel that maximises the evidence.
//!
//! The log evidence of n targets y is that of a Gaussian whose covariance K has each event's noise on its diagonal
//! [R, 2.30]; it and its derivative in a parameter [R, 5.9] are
//!
//! ```text
//! log p(y) = -y' K^-1 y / 2 - log |K| / 2,    d log p / d t = tr((a a' - K^-1) dK / dt) / 2,  a = K^-1 y,
//! ```
//!
//! and the logarithms of parameters have Gaussian priors. It is maximised by resilient propagation [I], which uses
//! only the signs of the derivatives: on 58 numbers of R's tables it is as good as L-BFGS with as many evaluations.
//!
//! - [I] Igel, Hüsken: Improving the Rprop Learning Algorithm, NC 2000.
//! - [R] Rasmussen, Williams: Gaussian Processes for Machine Learning, MIT Press 2006.

use super::kernel::{Kernel, SHARED};
use super::posterior::Sample;
use crate::cholesky::Cholesky;
use crate::math::dot;

/// Number of evaluations and initial step in each logarithm, starting from the prior mean or from the kernel of a
/// previous fit. With 12 and five evaluations, `auto` makes .7 % larger errors on 116 numbers of R's tables.
const FROM_NOTHING: (usize, f64) = (20, 0.2);
const FROM_KNOWN: (usize, f64) = (8, 0.1);
/// Upper bound of a step.
const LONGEST: f64 = 1.5;
/// Factors of a step when its derivative keeps its sign, and when it changes.
const LONGER: f64 = 1.5;
const SHORTER: f64 = 0.5;

/// The kernel with the largest evidence among those evaluated, starting from `first`; `is_known` says whether that is
/// from a previous fit.
pub fn most_likely(sample: &Sample, first: Kernel, is_known: bool) -> Kernel {
    let mut room = Room::default();
    let (looks, start) = if is_known { FROM_KNOWN } else { FROM_NOTHING };
    let mut steps = vec![start; first.logarithms().len()];
    let mut last = vec![0.0; steps.len()];
    let (mut best, mut most, mut kernel) = (first.clone(), f64::NEG_INFINITY, first);
    for _ in 0..looks {
        let (evidence, slopes) = room.evidence(sample, &kernel);
        if evidence > most {
            (best, most) = (kernel.clone(), evidence);
        }
        let mut logarithms = kernel.logarithms().to_vec();
        for (((logarithm, slope), step), last) in
            logarithms.iter_mut().zip(slopes).zip(&mut steps).zip(&mut last)
        {
            let agreement = slope * *last;
            *last = slope;
            if agreement > 0.0 {
                *step = (*step * LONGER).min(LONGEST);
            } else if agreement < 0.0 {
                *step *= SHORTER;
                *last = 0.0;
            }
            if *last != 0.0 {
                *logarithm += last.signum() * *step;
            }
        }
        kernel = Kernel::new(logarithms);
    }
    best
}

/// Scratch buffers.
#[derive(Default)]
pub(super) struct Room {
    cholesky: Cholesky,
    /// The scaled inputs of the events, and the radial part between each two of them.
    scaled: Vec<f64>,
    alike: Vec<f64>,
}

impl Room {
    /// The log evidence up to a constant, and its derivative in each logarithm of the kernel.
    pub(super) fn evidence(&mut self, sample: &Sample, kernel: &Kernel) -> (f64, Vec<f64>) {
        let (events, inputs) = (sample.targets.len(), kernel.inputs());
        self.fill(sample, kernel);
        let mut solved = sample.targets.clone();
        self.cholesky.factorise();
        self.cholesky.solve(&mut solved);
        self.cholesky.invert();
        let mut evidence = -0.5 * dot(&solved, &sample.targets) - self.cholesky.log_determinant();
        let mut slopes = vec![0.0; SHARED + inputs];
        for (i, inverse) in self.cholesky.inverse_matrix().chunks_exact(events.max(1)).enumerate() {
            let own = &self.scaled[i * inputs..][..inputs];
            // Each pair counts once, an event with itself half.
            for j in 0..=i {
                let share = if i == j { 0.5 } else { 1.0 };
                let weight = share * (solved[i] * solved[j] - inverse[j]);
                let radial = weight * self.alike[i * events + j];
                let other = &self.scaled[j * inputs..][..inputs];
                slopes[0] += radial;
                slopes[1] += weight * linear(kernel, sample.row(i), sample.row(j));
                for ((slope, one), two) in slopes[SHARED..].iter_mut().zip(own).zip(other) {
                    *slope += radial * (one - two) * (one - two);
                }
            }
            slopes[2] += 0.5 * (solved[i] * solved[i] - inverse[i]) * kernel.noise / sample.weights[i];
        }
        for (at, (slope, logarithm)) in slopes.iter_mut().zip(kernel.logarithms()).enumerate() {
            let (mean, deviation) = Kernel::expected(inputs, at);
            let away = (logarithm - mean) / deviation;
            evidence -= 0.5 * away * away;
            *slope -= away / deviation;
        }
        (evidence, slopes)
    }

    /// Compute the covariance of the targets.
    fn fill(&mut self, sample: &Sample, kernel: &Kernel) {
        let (events, inputs) = (sample.targets.len(), kernel.inputs());
        let (mut scaled, mut alike) = (Vec::new(), Vec::new());
        self.scaled.clear();
        self.alike.clear();
        for i in 0..events {
            kernel.scale(sample.row(i), &mut scaled);
            self.scaled.extend_from_slice(&scaled);
            kernel.alike(&scaled, &self.scaled, &mut alike);
            alike.resize(events, kernel.radial);
            self.alike.extend_from_slice(&alike);
        }
        debug_assert!(self.scaled.len() == events * inputs);
        for (i, row) in self.cholesky.rows(events).enumerate() {
            for (j, entry) in row.iter_mut().enumerate().skip(i) {
                *entry = self.alike[j * events + i] + linear(kernel, sample.row(i), sample.row(j));
            }
            row[i] += kernel.noise / sample.weights[i];
        }
    }
}

fn linear(kernel: &Kernel, one: &[f64], other: &[f64]) -> f64 {
    kernel.constant + kernel.slope * dot(one, other)
}
