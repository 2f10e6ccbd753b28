//! The window of neighbours.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::learner::Learner;
use crate::learners::neighbors::{Neighbors, Settings};

/// Nearest neighbours among the latest labelled events; see `core.neighbors`.
#[pyfunction]
#[pyo3(signature = (regression, window, grows, neighbors))]
pub fn neighbors(regression: bool, window: usize, grows: bool, neighbors: usize) -> PyResult<Learner> {
    let learner = Neighbors::new(Settings { regression, window, grows, neighbors });
    learner.map(Learner::of).map_err(PyValueError::new_err)
}
