//! The factorisation machine.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::learner::Learner;
use crate::learners::factorisation::{FactorisationMachine, Settings};
use crate::loss::Loss;

/// A factorisation machine; see `core.factorisation`.
#[pyfunction]
#[pyo3(signature = (regression, eta, shrink, half_life, table_bits))]
pub fn factorisation_machine(
    regression: bool,
    eta: f64,
    shrink: f64,
    half_life: f64,
    table_bits: u32,
) -> PyResult<Learner> {
    let loss = if regression { Loss::Squared } else { Loss::Logistic };
    let learner = FactorisationMachine::new(Settings { loss, eta, shrink, half_life, table_bits });
    learner.map(Learner::of).map_err(PyValueError::new_err)
}
