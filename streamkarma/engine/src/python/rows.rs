//! Writes columns from Python as rows of JSON.

use numpy::PyReadonlyArray1;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyTuple};

use crate::rows::{self, Column};

/// Write rows: `names` are JSON, and a column is an array of integers, floats or booleans, a list of JSON, or a pair of
/// indices and the JSON values that they stand for.
#[pyfunction]
pub fn write_rows<'py>(
    py: Python<'py>,
    names: Vec<Vec<u8>>,
    columns: &Bound<'py, PyList>,
) -> PyResult<Bound<'py, PyBytes>> {
    let columns: Vec<Column> = columns.iter().map(|column| column_of(&column)).collect::<PyResult<_>>()?;
    let rows = columns.first().map_or(0, Column::len);
    if names.len() != columns.len() || columns.iter().any(|column| column.len() != rows) {
        return Err(PyValueError::new_err("the columns are not equally long, or not as many as names"));
    }
    Ok(PyBytes::new(py, &py.detach(|| rows::write(&names, &columns))))
}

fn column_of(column: &Bound<'_, PyAny>) -> PyResult<Column> {
    if let Ok(values) = column.extract::<PyReadonlyArray1<f64>>() {
        return Ok(Column::Floats(values.as_array().to_vec()));
    }
    if let Ok(values) = column.extract::<PyReadonlyArray1<i64>>() {
        return Ok(Column::Integers(values.as_array().to_vec()));
    }
    if let Ok(values) = column.extract::<PyReadonlyArray1<bool>>() {
        return Ok(Column::Booleans(values.as_array().to_vec()));
    }
    if let Ok(named) = column.cast::<PyTuple>() {
        let (indices, texts): (PyReadonlyArray1<i64>, Vec<Vec<u8>>) = named.extract()?;
        // -1 stands for the last one.
        let index = |&index: &i64| if index < 0 { texts.len().wrapping_sub(1) } else { index as usize };
        let indices: Vec<usize> = indices.as_array().iter().map(index).collect();
        if indices.iter().any(|&index| index >= texts.len()) {
            return Err(PyValueError::new_err("an index without a meaning"));
        }
        return Ok(Column::Named(indices, texts));
    }
    Ok(Column::Json(column.extract()?))
}
