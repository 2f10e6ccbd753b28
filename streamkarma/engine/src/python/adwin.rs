//! Python bindings for the change detector.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::adwin;

/// Detects whether the mean of a sequence of numbers between 0 and 1 has changed.
#[pyclass(module = "streamkarma._engine")]
pub struct Adwin {
    inner: adwin::Adwin,
}

#[pymethods]
impl Adwin {
    #[new]
    #[pyo3(signature = (delta=0.002))]
    fn new(delta: f64) -> PyResult<Self> {
        if !(delta > 0.0 && delta < 1.0) {
            return Err(PyValueError::new_err(format!("delta must be between 0 and 1, not {delta}")));
        }
        Ok(Self { inner: adwin::Adwin::new(delta) })
    }

    /// Add a batch of values: their number, their sum and that of their squares.
    ///
    /// Returns the means before and after a change, if there is one.
    fn update(&mut self, count: u64, sum: f64, sum_of_squares: f64) -> Option<(f64, f64)> {
        self.inner.update(count, sum, sum_of_squares).map(|drift| (drift.before, drift.after))
    }

    /// A copy with a window of its own.
    fn __deepcopy__(&self, _memo: &Bound<'_, PyAny>) -> Self {
        Self { inner: self.inner.clone() }
    }
}
