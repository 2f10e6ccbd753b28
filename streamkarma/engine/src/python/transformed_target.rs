//! Learners of targets with heavy tails.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::learner::Learner;
use crate::learners::transformed_target::{Point, TransformedTarget};

/// A learner of targets that are nearly Gaussian around one of any; see `core.transformed_target`.
#[pyfunction]
pub fn transformed_target(mut learner: PyRefMut<'_, Learner>, median: bool) -> PyResult<Learner> {
    let point = if median { Point::Median } else { Point::Mean };
    TransformedTarget::new(learner.take()?, point).map(Learner::of).map_err(PyValueError::new_err)
}
