//! Losses, probabilities and logarithms of many scores, for reports in Python.

use numpy::{IntoPyArray, PyArray1, PyArrayDyn, PyReadonlyArray1, PyReadonlyArrayDyn};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::loss::Loss;
use crate::math;

/// The loss with that number.
pub fn named(code: usize) -> PyResult<Loss> {
    Loss::ALL.get(code).copied().ok_or_else(|| PyValueError::new_err(format!("there is no loss {code}")))
}

/// Losses of single scores, NaN where the label is NaN.
#[pyfunction]
pub fn losses<'py>(
    py: Python<'py>,
    code: usize,
    scores: PyReadonlyArray1<'py, f64>,
    labels: PyReadonlyArray1<'py, f64>,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let loss = named(code)?;
    let pairs = scores.as_array().into_iter().zip(labels.as_array());
    let of = |(&score, &label): (&f64, &f64)| if label.is_nan() { f64::NAN } else { loss.of(score, label).0 };
    Ok(pairs.map(of).collect::<Vec<_>>().into_pyarray(py))
}

/// The loss of the scores of all classes.
#[pyfunction]
pub fn multiclass_loss(code: usize, scores: PyReadonlyArray1<'_, f64>, label: usize) -> PyResult<f64> {
    let scores = scores.as_array().to_vec();
    if label >= scores.len() {
        return Err(PyValueError::new_err(format!("class {label} of {}", scores.len())));
    }
    Ok(named(code)?.of_classes(&scores, label, &mut vec![0.0; scores.len()]))
}

/// The logistic function.
#[pyfunction]
pub fn logistic(score: f64) -> f64 {
    math::logistic(score)
}

/// The logistic function of each score.
#[pyfunction]
pub fn logistics<'py>(py: Python<'py>, scores: PyReadonlyArray1<'py, f64>) -> Bound<'py, PyArray1<f64>> {
    scores.as_array().iter().map(|&score| math::logistic(score)).collect::<Vec<_>>().into_pyarray(py)
}

/// The exponential of each number, in an array of any shape.
#[pyfunction]
pub fn exponentials<'py>(py: Python<'py>, numbers: PyReadonlyArrayDyn<f64>) -> Bound<'py, PyArrayDyn<f64>> {
    numbers.as_array().mapv(math::exp).into_pyarray(py)
}

/// The natural logarithm of each number, in an array of any shape.
#[pyfunction]
pub fn logarithms<'py>(py: Python<'py>, numbers: PyReadonlyArrayDyn<f64>) -> Bound<'py, PyArrayDyn<f64>> {
    numbers.as_array().mapv(math::log).into_pyarray(py)
}
