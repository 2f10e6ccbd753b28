//! How the learner is made, and what stands for its subspace.

use super::linear::Step;
use super::pairs::Pairs;
use super::ppca::Ppca;
use crate::loss::Loss;
use crate::math::log;

/// How the learner is made.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// Squared loss on targets, else the hinge on classes.
    pub regression: bool,
    /// Variance of the noise in AROW, above 0.
    pub r: f64,
    /// Weigh also which attributes are observed: for streams where that tells of the label.
    pub indicators: bool,
    /// How many events without any correlation each pair starts with, 0 or more.
    pub shrink: f64,
    /// Half-life in events, above 0; 0 for never.
    pub forget: f64,
    /// The same of the weights, where they forget faster than the subspace; 0 for no faster.
    pub moving: f64,
    /// Most coordinates of which all pairs are kept, 1 or more; with 1 a factor stands for pairs.
    pub max_rank_dim: usize,
    /// Dimension of that factor, 1 or more.
    pub rank: usize,
}

impl Settings {
    pub(super) fn form(&self) -> Form {
        if self.max_rank_dim > 1 {
            Form::Pairs(Box::new(Pairs::new(self.max_rank_dim)))
        } else {
            Form::Factor(Box::new(Ppca::new(self.rank)))
        }
    }

    pub(super) fn step(&self) -> Step {
        let loss = if self.regression { Loss::Squared } else { Loss::Hinge };
        let half_life = if self.moving > 0.0 { self.moving } else { self.forget };
        Step { half_life, restarts: self.moving > 0.0, ..Step::arow(loss, self.r) }
    }

    /// Without what is a head's own.
    pub(super) fn of_completion(self) -> Self {
        Self { r: 0.0, indicators: false, moving: 0.0, ..self }
    }

    /// Over how many events what is learned is a mean.
    pub(super) fn memory(&self) -> f64 {
        if self.forget > 0.0 { self.forget / log(2.0) } else { f64::INFINITY }
    }
}

/// What is known about how coordinates go together.
#[derive(Clone, Debug)]
pub enum Form {
    Pairs(Box<Pairs>),
    Factor(Box<Ppca>),
}
