//! A learner for heavy-tailed targets.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::learner::Learner;
use crate::learners::transformed_target::{Point, TransformedTarget};

/// Wraps a learner of nearly Gaussian targets to learn any targets; see `core.transformed_target`.
#[pyfunction]
pub fn transformed_target(mut learner: PyRefMut<'_, Learner>, median: bool) -> PyResult<Learner> {
    let point = if median { Point::Median } else { Point::Mean };
    TransformedTarget::new(learner.take()?, point).map(Learner::of).map_err(PyValueError::new_err)
}
