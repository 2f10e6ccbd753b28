//! Python bindings for points in time.

use pyo3::prelude::*;
use pyo3::types::PyString;

use super::names::bytes_of;
use crate::kinds::told_moment;

/// The seconds since 1970 that a text or a number stands for; None if for none.
#[pyfunction]
pub fn seconds_since_1970(time: &Bound<'_, PyAny>) -> PyResult<Option<f64>> {
    match time.cast::<PyString>() {
        Ok(text) => Ok(told_moment(&bytes_of(text)?).map(|moment| moment.seconds)),
        Err(_) => Ok(crate::times::seconds_since_1970(time.extract()?)),
    }
}
