//! The forest.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::learner::Learner;
use crate::learners::forest::{Forest, Settings};

/// A forest; see `core.forest`.
#[pyfunction]
#[pyo3(signature = (regression, trees, half_life))]
pub fn forest(regression: bool, trees: usize, half_life: f64) -> PyResult<Learner> {
    let learner = Forest::new(Settings { regression, trees, half_life });
    learner.map(Learner::of).map_err(PyValueError::new_err)
}
