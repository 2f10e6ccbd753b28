//! What attributes contribute to scores.

use numpy::{IntoPyArray, PyArray1, PyArray2, PyArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::given::Given;
use super::learner::Learner;
use crate::explaining;
use crate::learner::Unit;

/// Attributes, shape (A,); their contributions, shape (A, C); scores, constants and calibrations, shape (C,).
type Explained<'py> = (
    Vec<u32>,
    Bound<'py, PyArray2<f64>>,
    Bound<'py, PyArray1<f64>>,
    Bound<'py, PyArray1<f64>>,
    Bound<'py, PyArray1<f64>>,
);

/// Predict event `t` and explain its scores, before any of the events is learned.
///
/// A mixture needs the scores of external experts, and the ticket of an event that was predicted before its label
/// arrived, 0 for none. The `unit` of scores is its centre and its spread; 0 and 1 except in a regression.
#[pyfunction]
pub fn explain<'py>(
    py: Python<'py>,
    mut learner: PyRefMut<'py, Learner>,
    events: Given<'py>,
    t: usize,
    external_scores: Vec<f64>,
    ticket: u64,
    unit: (f64, f64),
) -> PyResult<Explained<'py>> {
    let given = events.events()?;
    let block = given.block();
    check_event(t, block.len())?;
    let inner = learner.inner_mut()?;
    let wanted = inner.external_experts() * inner.classes();
    if external_scores.len() != wanted {
        let given = external_scores.len();
        return Err(PyValueError::new_err(format!("{wanted} scores of external experts, not {given}")));
    }
    if t == 0
        && let Some(evicted) = block.evicted_before(t)
    {
        // Otherwise its new names would be explained by what was learned of the old ones in their place.
        inner.forget(evicted);
    }
    let unit = Unit { centre: unit.0, spread: unit.1 };
    let explanation =
        explaining::Explanation::of(&mut **inner, block.event(t), &external_scores, ticket, unit);
    let constants = explanation.constants();
    let (attributes, parts): (Vec<u32>, Vec<&[f64]>) = explanation.parts().unzip();
    let shape = [attributes.len(), constants.len()];
    let parts = parts.concat().into_pyarray(py).reshape(shape)?;
    let (scores, calibration) = (explanation.scores, explanation.calibration);
    let row = |numbers: Vec<f64>| numbers.into_pyarray(py);
    Ok((attributes, parts, row(scores), row(constants), row(calibration)))
}

/// Mean and variance of every coordinate given event `t`, shape (K, 2); None if the learner does not model them.
#[pyfunction]
pub fn conditional<'py>(
    py: Python<'py>,
    mut learner: PyRefMut<'py, Learner>,
    events: Given<'py>,
    t: usize,
) -> PyResult<Option<Bound<'py, PyArray2<f64>>>> {
    let given = events.events()?;
    let block = given.block();
    check_event(t, block.len())?;
    let Some(moments) = learner.inner_mut()?.conditional(block.event(t)) else { return Ok(None) };
    let shape = [moments.len(), 2];
    let numbers: Vec<f64> = moments.into_iter().flat_map(|(mean, variance)| [mean, variance]).collect();
    numbers.into_pyarray(py).reshape(shape).map(Some)
}

/// ValueError if there is no event `t`.
pub fn check_event(t: usize, events: usize) -> PyResult<()> {
    if t < events {
        Ok(())
    } else {
        Err(PyValueError::new_err(format!("there is no event {t} among {events}")))
    }
}
