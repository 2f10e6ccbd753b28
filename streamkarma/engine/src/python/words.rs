//! Python bindings for prose detection.

use pyo3::prelude::*;
use pyo3::types::PyString;

use super::names::bytes_of;

/// Whether a text is prose, which is used word by word, rather than a name of something.
#[pyfunction]
pub fn is_prose(text: &Bound<'_, PyString>) -> PyResult<bool> {
    Ok(crate::words::is_prose(&bytes_of(text)?))
}
