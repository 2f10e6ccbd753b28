//! Losses l(f, y) and their derivatives (slopes) with respect to the score f.
//!
//! | name | for | l(f, y) |
//! |---|---|---|
//! | hinge | classes | max(0, 1 - y f); of several: max(0, 1 + max_{r ≠ y} f_r - f_y) (Crammer, Singer 2001) |
//! | squared hinge | classes | the square of the above |
//! | logistic | classes | log(1 + exp(-y f)); of several: log Σ_r exp(f_r - f_y) |
//! | squared | numbers | (f - y)² |
//! | absolute | numbers | \|f - y\| |
//! | huber | numbers | (f - y)² / 2 within [`DELTA`], then linear |
//! | epsilon insensitive | numbers | max(0, \|f - y\| - [`EPSILON`]) |
//!
//! With two classes y is +1 or -1.

use crate::math::{exp, exp_all, log, log1p};

/// Where the Huber loss becomes linear, in standard deviations of the target if that is standardised.
pub const DELTA: f64 = 1.0;
/// Half the width of the insensitive tube, in the same unit.
pub const EPSILON: f64 = 0.1;

/// The logarithm of the least probability that a class has in the slopes of the logistic loss, relative to the likeliest.
const LOWEST: f64 = -500.0;

/// A loss; its number identifies it in Python.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// See the module documentation.
    Hinge,
    /// See the module documentation.
    SquaredHinge,
    /// See the module documentation.
    Logistic,
    /// See the module documentation.
    Squared,
    /// See the module documentation.
    Absolute,
    /// See the module documentation.
    Huber,
    /// See the module documentation.
    EpsilonInsensitive,
}

/// An event counts at most as so many in a step whose size is limited, if the slope is bounded.
const HEAVIEST: f64 = 1000.0;

impl Loss {
    /// All losses, in the order of their numbers.
    pub const ALL: [Self; 7] = [
        Self::Hinge,
        Self::SquaredHinge,
        Self::Logistic,
        Self::Squared,
        Self::Absolute,
        Self::Huber,
        Self::EpsilonInsensitive,
    ];

    /// The loss of one score, and its derivative with respect to the score.
    pub fn of(self, score: f64, label: f64) -> (f64, f64) {
        let residual = score - label;
        let lack = 1.0 - label * score;
        match self {
            Self::Logistic => logistic(label * score, label),
            Self::Hinge | Self::SquaredHinge if lack <= 0.0 => (0.0, 0.0),
            Self::Hinge => (lack, -label),
            Self::SquaredHinge => (lack * lack, -2.0 * label * lack),
            Self::Squared => (residual * residual, 2.0 * residual),
            Self::Absolute => (residual.abs(), sign(residual)),
            Self::Huber if residual.abs() <= DELTA => (0.5 * residual * residual, residual),
            Self::Huber => (DELTA * (residual.abs() - 0.5 * DELTA), DELTA * sign(residual)),
            Self::EpsilonInsensitive if residual.abs() <= EPSILON => (0.0, 0.0),
            Self::EpsilonInsensitive => (residual.abs() - EPSILON, sign(residual)),
        }
    }

    /// The loss of one score per class; `slopes` receives the derivative with respect to each of them.
    pub fn of_classes(self, scores: &[f64], label: usize, slopes: &mut [f64]) -> f64 {
        slopes.fill(0.0);
        let mut rival = None;
        for (c, &score) in scores.iter().enumerate() {
            if c != label && rival.is_none_or(|r: usize| score > scores[r]) {
                rival = Some(c);
            }
        }
        let Some(rival) = rival else { return 0.0 };
        if self == Self::Logistic {
            let highest = scores[rival].max(scores[label]);
            slopes.iter_mut().zip(scores).for_each(|(slope, score)| *slope = (score - highest).max(LOWEST));
            exp_all(slopes);
            let total: f64 = slopes.iter().sum();
            slopes.iter_mut().for_each(|slope| *slope /= total);
            slopes[label] -= 1.0;
            return log(total) + highest - scores[label];
        }
        let lack = 1.0 + scores[rival] - scores[label];
        if lack <= 0.0 {
            return 0.0;
        }
        let slope = if self == Self::Hinge { 1.0 } else { 2.0 * lack };
        slopes[rival] = slope;
        slopes[label] = -slope;
        if self == Self::Hinge { lack } else { lack * lack }
    }

    /// The weight by which the limit of the step size is divided.
    ///
    /// Where slopes are bounded, a step that is [`HEAVIEST`] times as long as that of an ordinary event does no lasting
    /// harm, and with the same limit for all events heavy ones would not count more than light ones.
    pub fn limiting_weight(self, weight: f64) -> f64 {
        let is_bounded = !matches!(self, Self::Squared | Self::SquaredHinge);
        if is_bounded { weight.min(1.0).max(weight / HEAVIEST) } else { weight }
    }

    /// How many vectors an event moves towards or away from its label at full slope, one per class: the limit of the step
    /// size is divided by it. The squared hinge grows with the difference of two scores; of the other losses with a slope
    /// per class the slope is bounded.
    pub fn vectors_moved(self, classes: usize) -> f64 {
        if self == Self::SquaredHinge && classes > 1 { 2.0 } else { 1.0 }
    }

    /// The loss of one score, or of one score per class; `slopes` receives the derivatives.
    pub fn loss_and_gradient(self, scores: &[f64], label: f64, slopes: &mut [f64]) -> f64 {
        if let [score] = scores {
            let (loss, slope) = self.of(*score, label);
            slopes[0] = slope;
            return loss;
        }
        self.of_classes(scores, label as usize, slopes)
    }
}

/// The logistic loss and its slope, with exp of negative numbers only, so that nothing overflows.
fn logistic(margin: f64, label: f64) -> (f64, f64) {
    let tail = exp(-margin.abs());
    if margin > 0.0 {
        (log1p(tail), -label * tail / (1.0 + tail))
    } else {
        (log1p(tail) - margin, -label / (1.0 + tail))
    }
}

fn sign(number: f64) -> f64 {
    if number > 0.0 {
        1.0
    } else if number < 0.0 {
        -1.0
    } else {
        0.0
    }
}
