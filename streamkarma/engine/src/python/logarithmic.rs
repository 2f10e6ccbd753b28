//! Learners on logarithms of the values.

use pyo3::prelude::*;

use super::learner::Learner;
use crate::learners::logarithmic::Logarithmic;

/// A learner on sign(z) log(1 + |z|) of each value z; the wrapped learner becomes part of it.
#[pyfunction]
pub fn logarithmic(mut learner: PyRefMut<'_, Learner>) -> PyResult<Learner> {
    Ok(Learner::of(Logarithmic::new(learner.take()?)))
}
