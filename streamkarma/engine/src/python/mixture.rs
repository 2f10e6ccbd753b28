//! Mixtures of learners.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::learner::Learner;
use crate::learners::mixture::{self as engine, Calibrated, Mixture};

/// A mixture of learners by name, which become part of it.
///
/// `external_experts` is the number of external experts; `half_life` that of what is learned about the experts, 0 for
/// slow forgetting. `absolute` selects the absolute loss for a regression, `far` standardised targets that are not cut,
/// `recent` the adjustment of predictions by the latest errors.
#[pyfunction]
#[pyo3(signature = (experts, external_experts=0, regression=false, half_life=0.0, absolute=false, far=false, recent=true))]
pub fn mixture(
    experts: Vec<(String, PyRefMut<'_, Learner>)>,
    external_experts: usize,
    regression: bool,
    half_life: f64,
    absolute: bool,
    far: bool,
    recent: bool,
) -> PyResult<Learner> {
    let taken = experts.into_iter().map(|(name, mut expert)| Ok((name, expert.take()?)));
    let experts = taken.collect::<PyResult<Vec<_>>>()?;
    let mut mixture =
        Mixture::new(experts, external_experts, regression, half_life).map_err(PyValueError::new_err)?;
    if absolute {
        mixture = mixture.with_absolute_loss();
    }
    if far {
        mixture = mixture.with_far_labels();
    }
    if !recent {
        mixture = mixture.without_recent();
    }
    Ok(Learner::of(mixture))
}

/// Run experts of mixtures that are created from now on in this many threads.
#[pyfunction]
pub fn use_threads(threads: usize) {
    engine::use_threads(threads);
}

/// A classifier whose scores become calibrated log-odds.
#[pyfunction]
#[pyo3(signature = (expert, half_life=0.0))]
pub fn calibrated(mut expert: PyRefMut<'_, Learner>, half_life: f64) -> PyResult<Learner> {
    let made = Calibrated::new(expert.take()?, half_life).map_err(PyValueError::new_err)?;
    Ok(Learner::of(made))
}
