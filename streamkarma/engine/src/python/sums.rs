//! Sums of outer products, on NumPy arrays.

use numpy::{PyReadonlyArray1, PyReadonlyArray2, PyReadwriteArray2, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::sums;

/// Add `w v v'` to a matrix, shape (k, k), for each row v of shape (n, k), one after another.
#[pyfunction]
pub fn add_outer_products(
    mut matrix: PyReadwriteArray2<'_, f64>,
    rows: PyReadonlyArray2<'_, f64>,
    weights: PyReadonlyArray1<'_, f64>,
) -> PyResult<()> {
    let (shape, width) = (matrix.shape().to_vec(), rows.shape()[1]);
    if shape != [width, width] || rows.shape()[0] != weights.len() {
        return Err(PyValueError::new_err("matrix, rows and weights do not fit each other"));
    }
    sums::add_outer_products(matrix.as_slice_mut()?, width, rows.as_slice()?, weights.as_slice()?);
    Ok(())
}
