//! A Gaussian process that is refitted during the stream.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::learner::Learner;
use crate::learners::gaussian_process::{GaussianProcess, Settings};

/// A sparse Gaussian process; see `core.gaussian_process`.
#[pyfunction]
#[pyo3(signature = (window, half_life))]
pub fn gaussian_process(window: usize, half_life: f64) -> PyResult<Learner> {
    GaussianProcess::new(Settings { window, half_life }).map(Learner::of).map_err(PyValueError::new_err)
}
