//! γ and ρ from the theorem [H, Thm 3], as in `core/theory.py`, with all its terms.
//!
//! For the normalised kernel (XΓ = 1), slopes of at most 1 and competitors of norm 1, for which B = γ.

use crate::math::{exp, log};

/// Orders to choose from.
const GAMMAS: std::ops::RangeInclusive<u32> = 1..=8;

/// How γ and ρ are chosen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Schedule {
    /// The order of the kernel, or None for the best from 1 to 8.
    pub gamma: Option<u32>,
    /// λ, above 0 and at most 1: only γ depends on it.
    pub regularity: f64,
}

impl Schedule {
    /// γ and ρ for `events` events, 1 or more, starting from v = 0.
    pub fn settings(&self, events: u64) -> (u32, f64) {
        let gamma = self.gamma.unwrap_or_else(|| best_gamma(self.regularity, events as f64));
        (gamma, best_rho(f64::from(gamma), events as f64))
    }
}

/// The ρ that minimises estimation plus regularisation, `(2/ρ)(1 + ln T) + (ρ/2) T B`.
fn best_rho(b: f64, events: f64) -> f64 {
    2.0 * ((1.0 + log(events)) / (events * b)).sqrt()
}

/// The γ with the least bound, each with its best ρ; the smallest one on a tie.
fn best_gamma(regularity: f64, events: f64) -> u32 {
    let total = |gamma: u32| {
        let b = f64::from(gamma);
        let rho = best_rho(b, events);
        let approximation = exp(-regularity * b) / regularity * events;
        2.0 / rho * (1.0 + log(events)) + rho / 2.0 * events * b + approximation
    };
    let mut best = *GAMMAS.start();
    for gamma in GAMMAS {
        if total(gamma) < total(best) {
            best = gamma;
        }
    }
    best
}

/// The number of events to tune for at event t = 1, 2, … when the length is unknown: epochs have 1, 2, 4, … events, and
/// this is the length of the epoch that contains t.
pub fn horizon(t: u64) -> u64 {
    1 << t.max(1).ilog2()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gamma_grows_with_events() {
        let schedule = Schedule { gamma: None, regularity: 0.5 };
        assert_eq!([10, 100, 10_000].map(|events| schedule.settings(events).0), [2, 4, 8]);
    }

    #[test]
    fn epochs_double() {
        assert_eq!([1, 2, 3, 4, 7, 8, 9].map(horizon), [1, 2, 2, 4, 4, 8, 8]);
    }

    #[test]
    fn the_best_rho_makes_both_terms_equal() {
        let (gamma, rho) = Schedule { gamma: Some(3), regularity: 0.5 }.settings(100);
        assert_eq!(gamma, 3);
        let (estimation, regularisation) = (2.0 / rho * (1.0 + log(100.0)), rho / 2.0 * 100.0 * 3.0);
        assert!((estimation - regularisation).abs() < 1e-9);
    }
}
