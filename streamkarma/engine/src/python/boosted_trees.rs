//! Boosted trees.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::learner::Learner;
use crate::learners::boosted_trees::{BoostedTrees, Settings};

/// Boosted trees; see `core.boosted_trees`.
#[pyfunction]
#[pyo3(signature = (regression, window, half_life))]
pub fn boosted_trees(regression: bool, window: usize, half_life: f64) -> PyResult<Learner> {
    let learner = BoostedTrees::new(Settings { regression, window, half_life });
    learner.map(Learner::of).map_err(PyValueError::new_err)
}
