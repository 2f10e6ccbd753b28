//! Prose, as Python asks about it.

use pyo3::prelude::*;
use pyo3::types::PyString;

use super::names::bytes_of;

/// Whether a text is prose, whose words count, rather than the name of something.
#[pyfunction]
pub fn is_prose(text: &Bound<'_, PyString>) -> PyResult<bool> {
    Ok(crate::words::is_prose(&bytes_of(text)?))
}
