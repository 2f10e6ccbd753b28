//! Creates learners with support vectors from Python.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::learner::Learner;
use crate::learners::support_vectors::doubling::DoublingSupportVectors;
use crate::learners::support_vectors::pruning::Pruning;
use crate::learners::support_vectors::schedule::Schedule;
use crate::learners::support_vectors::{Rule, SupportVectors};
use crate::loss::Loss;

/// The update rule: the attributes of [`Rule`], with the loss by number and pruning by name.
#[derive(FromPyObject)]
pub struct GivenRule {
    gamma: u32,
    normalize: bool,
    rho: f64,
    eta: f64,
    loss: usize,
    steepness: f64,
    budget: usize,
    pruning: String,
    longest: f64,
}

impl GivenRule {
    fn rule(&self) -> PyResult<Rule> {
        let (loss, pruning) = (loss_of(self.loss)?, pruning_of(&self.pruning)?);
        let &Self { gamma, normalize, rho, eta, steepness, budget, longest, .. } = self;
        Ok(Rule { gamma, normalize, rho, eta, loss, steepness, budget, pruning, longest })
    }
}

/// The attributes of [`Schedule`].
#[derive(FromPyObject)]
pub struct GivenSchedule {
    gamma: Option<u32>,
    regularity: f64,
}

/// KARMA with support vectors.
#[pyfunction]
pub fn support_vectors(rule: GivenRule, average: bool) -> PyResult<Learner> {
    Ok(Learner::of(SupportVectors::new(rule.rule()?, average)))
}

/// KARMA that restarts after 1, 3, 7, … events, with γ, unless it is given, and ρ by the theorem.
#[pyfunction]
pub fn doubling_support_vectors(
    rule: GivenRule,
    average: bool,
    schedule: GivenSchedule,
) -> PyResult<Learner> {
    let GivenSchedule { gamma, regularity } = schedule;
    let (normalize, longest) = (true, f64::INFINITY);
    let rule = Rule { gamma: 1, normalize, rho: 1.0, eta: 0.0, steepness: 0.0, longest, ..rule.rule()? };
    Ok(Learner::of(DoublingSupportVectors::new(rule, average, Schedule { gamma, regularity })))
}

fn loss_of(number: usize) -> PyResult<Loss> {
    Loss::ALL.get(number).copied().ok_or_else(|| PyValueError::new_err(format!("there is no loss {number}")))
}

fn pruning_of(name: &str) -> PyResult<Pruning> {
    Pruning::named(name).ok_or_else(|| PyValueError::new_err(format!("there is no pruning {name:?}")))
}
