//! Settings of the learner, and the form of its subspace.

use super::linear::Step;
use super::pairs::Pairs;
use super::ppca::Ppca;
use crate::loss::Loss;
use crate::math::log;

/// Settings of the learner.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// Whether to use the squared loss on targets instead of the hinge loss on classes.
    pub regression: bool,
    /// Noise variance of AROW, above 0.
    pub r: f64,
    /// Whether the indicators of observed attributes are features, too: for streams where they are informative of the
    /// label.
    pub indicators: bool,
    /// Number of events without any correlation that each pair starts with, 0 or more.
    pub shrink: f64,
    /// Half-life in events, above 0; 0 for never.
    pub half_life: f64,
    /// Half-life of the weights, if they forget faster than the subspace; 0 if not.
    pub weights_half_life: f64,
    /// Maximum number of coordinates for which all pairs are kept, 1 or more; with 1, a factor replaces the pairs.
    pub max_pairwise_coordinates: usize,
    /// Dimension of that factor, 1 or more.
    pub rank: usize,
}

impl Settings {
    pub(super) fn form(&self) -> Form {
        if self.max_pairwise_coordinates > 1 {
            Form::Pairs(Box::new(Pairs::new(self.max_pairwise_coordinates)))
        } else {
            Form::Factor(Box::new(Ppca::new(self.rank)))
        }
    }

    pub(super) fn step(&self) -> Step {
        let loss = if self.regression { Loss::Squared } else { Loss::Hinge };
        let half_life = if self.weights_half_life > 0.0 { self.weights_half_life } else { self.half_life };
        Step { half_life, restarts: self.weights_half_life > 0.0, ..Step::arow(loss, self.r) }
    }

    /// The settings without those that are specific to a head.
    pub(super) fn of_completion(self) -> Self {
        Self { r: 0.0, indicators: false, weights_half_life: 0.0, ..self }
    }

    /// Number of events that learned quantities are averaged over.
    pub(super) fn memory(&self) -> f64 {
        if self.half_life > 0.0 { self.half_life / log(2.0) } else { f64::INFINITY }
    }
}

/// What has been learned of the correlations between coordinates.
#[derive(Clone, Debug)]
pub enum Form {
    Pairs(Box<Pairs>),
    Factor(Box<Ppca>),
}
