//! Target statistics beside a learner.

use pyo3::prelude::*;

use super::learner::Learner;
use crate::learners::rated::{Rated, Settings};

/// A learner that also gets target statistics of categories as numbers; see `core.learner.Rates`.
#[pyfunction]
pub fn rated(
    mut learner: PyRefMut<'_, Learner>,
    rates: usize,
    regression: bool,
    scale: bool,
    longest: f64,
) -> PyResult<Learner> {
    let settings = Settings { rates, regression, scale, longest };
    Ok(Learner::of(Rated::new(learner.take()?, settings)))
}
