//! Stochastic gradient descent with a constant step size.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::learner::Learner;
use crate::learners::sgd::{Settings, Sgd};

/// A linear model that keeps moving; see `core.sgd`.
#[pyfunction]
pub fn sgd(regression: bool, eta: f64, half_life: f64, table_bits: u32) -> PyResult<Learner> {
    let learner = Sgd::new(Settings { regression, eta, half_life, table_bits });
    learner.map(Learner::of).map_err(PyValueError::new_err)
}
