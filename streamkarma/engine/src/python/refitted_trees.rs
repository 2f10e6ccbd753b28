//! Trees that are refitted during the stream.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::learner::Learner;
use crate::learners::refitted_trees::{Kind, RefittedTrees, Settings};

/// Boosted trees; see `core.refitted_trees`.
#[pyfunction]
#[pyo3(signature = (regression, window, half_life))]
pub fn boosted_trees(regression: bool, window: usize, half_life: f64) -> PyResult<Learner> {
    trees(Settings { kind: Kind::Boosted, regression, window, half_life })
}

/// Extremely randomised trees; see `core.refitted_trees`.
#[pyfunction]
#[pyo3(signature = (window, half_life))]
pub fn randomised_trees(window: usize, half_life: f64) -> PyResult<Learner> {
    trees(Settings { kind: Kind::Randomised, regression: true, window, half_life })
}

fn trees(settings: Settings) -> PyResult<Learner> {
    RefittedTrees::new(settings).map(Learner::of).map_err(PyValueError::new_err)
}
