//! Creates learners with support vectors from Python.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::learner::Learner;
use crate::learners::support_vectors::doubling::DoublingSupportVectors;
use crate::learners::support_vectors::pruning::Pruning;
use crate::learners::support_vectors::schedule::Schedule;
use crate::learners::support_vectors::{Rule, SupportVectors};
use crate::loss::Loss;

/// KARMA with support vectors; see `Rule`.
#[pyfunction]
#[pyo3(signature = (*, gamma, normalize, rho, eta, loss, steepness, budget, pruning, average,
                    longest=f64::INFINITY))]
#[allow(clippy::too_many_arguments)] // As many as Python passes by name.
pub fn support_vectors(
    gamma: u32,
    normalize: bool,
    rho: f64,
    eta: f64,
    loss: usize,
    steepness: f64,
    budget: usize,
    pruning: &str,
    average: bool,
    longest: f64,
) -> PyResult<Learner> {
    let (loss, pruning) = (loss_of(loss)?, pruning_of(pruning)?);
    let rule = Rule { gamma, normalize, rho, eta, loss, steepness, budget, pruning, longest };
    Ok(Learner::of(SupportVectors::new(rule, average)))
}

/// KARMA that restarts after 1, 3, 7, … events, with γ, unless it is given, and ρ by the theorem.
#[pyfunction]
#[pyo3(signature = (*, gamma, regularity, loss, budget, pruning, average))]
pub fn doubling_support_vectors(
    gamma: Option<u32>,
    regularity: f64,
    loss: usize,
    budget: usize,
    pruning: &str,
    average: bool,
) -> PyResult<Learner> {
    let (loss, pruning) = (loss_of(loss)?, pruning_of(pruning)?);
    let longest = f64::INFINITY;
    let rule = Rule {
        gamma: 1,
        normalize: true,
        rho: 1.0,
        eta: 0.0,
        loss,
        steepness: 0.0,
        budget,
        pruning,
        longest,
    };
    Ok(Learner::of(DoublingSupportVectors::new(rule, average, Schedule { gamma, regularity })))
}

fn loss_of(number: usize) -> PyResult<Loss> {
    Loss::ALL.get(number).copied().ok_or_else(|| PyValueError::new_err(format!("there is no loss {number}")))
}

fn pruning_of(name: &str) -> PyResult<Pruning> {
    Pruning::named(name).ok_or_else(|| PyValueError::new_err(format!("there is no pruning {name:?}")))
}
