//! Sums of decision trees, on NumPy arrays.

use numpy::{PyReadonlyArray1, PyReadonlyArray2, PyReadwriteArray2, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::trees::Trees;

/// The arrays of the nodes: features, thresholds, whether missing values go left, left and right children, and values.
type Nodes<'py> = (
    PyReadonlyArray1<'py, i32>,
    PyReadonlyArray1<'py, f64>,
    PyReadonlyArray1<'py, bool>,
    PyReadonlyArray1<'py, i32>,
    PyReadonlyArray1<'py, i32>,
    PyReadonlyArray2<'py, f64>,
);

/// Add up trees for each row; see `trees`.
#[pyfunction]
pub fn add_trees(
    mut sums: PyReadwriteArray2<'_, f64>,
    rows: PyReadonlyArray2<'_, f64>,
    roots: PyReadonlyArray1<'_, i32>,
    outputs: PyReadonlyArray1<'_, i32>,
    nodes: Nodes<'_>,
) -> PyResult<()> {
    let (feature, threshold, missing_left, left, right, value) = &nodes;
    let trees = Trees {
        feature: feature.as_slice()?,
        threshold: threshold.as_slice()?,
        missing_left: missing_left.as_slice()?,
        left: left.as_slice()?,
        right: right.as_slice()?,
        value: value.as_slice()?,
        width: value.shape()[1],
    };
    let (columns, width) = (rows.shape()[1], sums.shape()[1]);
    let in_rows = rows.is_c_contiguous() && sums.is_c_contiguous() && value.is_c_contiguous();
    if !in_rows || columns == 0 || rows.shape()[0] != sums.shape()[0] || roots.len() != outputs.len() {
        return Err(PyValueError::new_err("rows, sums and trees do not fit each other"));
    }
    let pairs: Vec<_> = roots.as_slice()?.iter().copied().zip(outputs.as_slice()?.iter().copied()).collect();
    trees.sum(&pairs, rows.as_slice()?, columns, sums.as_slice_mut()?, width).map_err(PyValueError::new_err)
}
