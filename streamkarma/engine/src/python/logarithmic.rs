//! Learners on logarithms of the values.

use pyo3::prelude::*;

use super::learner::Learner;
use crate::learners::logarithmic::Logarithmic;

/// A learner that is given sign(z) log(1 + |z|) of each value z, which is a part of it from here on.
#[pyfunction]
pub fn logarithmic(mut learner: PyRefMut<'_, Learner>) -> PyResult<Learner> {
    Ok(Learner::of(Logarithmic::new(learner.take()?)))
}
