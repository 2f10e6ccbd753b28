//! Conversion between states and dictionaries of NumPy arrays.

use numpy::{Element, PyArrayDyn, PyArrayMethods, PyReadonlyArrayDyn, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::state::{Array, State};

/// A dictionary of arrays.
pub fn to_python<'py>(py: Python<'py>, state: State) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (name, array) in state.0 {
        match array {
            Array::F64(values, shape) => dict.set_item(name, shaped(py, values, &shape)?)?,
            Array::I64(values, shape) => dict.set_item(name, shaped(py, values, &shape)?)?,
            Array::I32(values, shape) => dict.set_item(name, shaped(py, values, &shape)?)?,
            Array::U64(values, shape) => dict.set_item(name, shaped(py, values, &shape)?)?,
            Array::Bool(values, shape) => dict.set_item(name, shaped(py, values, &shape)?)?,
        }
    }
    Ok(dict)
}

/// The state in a dictionary of arrays; ValueError if there is none.
pub fn from_python(arrays: &Bound<'_, PyDict>) -> PyResult<State> {
    read(arrays, false)
}

fn read(arrays: &Bound<'_, PyDict>, are_inputs: bool) -> PyResult<State> {
    let mut state = State::default();
    for (key, value) in arrays {
        let name: String = key.extract()?;
        let array = if let Ok(array) = value.extract::<PyReadonlyArrayDyn<f64>>() {
            Array::F64(flat(&array), array.shape().to_vec())
        } else if let Ok(array) = value.extract::<PyReadonlyArrayDyn<i64>>() {
            Array::I64(flat(&array), array.shape().to_vec())
        } else if let Ok(array) = value.extract::<PyReadonlyArrayDyn<i32>>() {
            Array::I32(flat(&array), array.shape().to_vec())
        } else if let Ok(array) = value.extract::<PyReadonlyArrayDyn<u64>>() {
            Array::U64(flat(&array), array.shape().to_vec())
        } else if let Ok(array) = value.extract::<PyReadonlyArrayDyn<bool>>() {
            Array::Bool(flat(&array), array.shape().to_vec())
        } else {
            return Err(PyValueError::new_err(format!("the array {name} has an unsupported type")));
        };
        state.0.insert(name, array);
    }
    state.check_sizes(are_inputs).map_err(PyValueError::new_err)?;
    Ok(state)
}

/// Take the arrays of these names, which hold inputs, out of a dictionary; None if there are none of them.
pub fn taken(arrays: &Bound<'_, PyDict>, names: &[&str]) -> PyResult<Option<State>> {
    let own = PyDict::new(arrays.py());
    for name in names {
        if let Some(array) = arrays.get_item(name)? {
            own.set_item(name, array)?;
            arrays.del_item(name)?;
        }
    }
    if own.is_empty() { Ok(None) } else { read(&own, true).map(Some) }
}

fn shaped<'py, T: Element>(
    py: Python<'py>,
    values: Vec<T>,
    shape: &[usize],
) -> PyResult<Bound<'py, PyArrayDyn<T>>> {
    numpy::PyArray1::from_vec(py, values).reshape(shape.to_vec())
}

fn flat<T: Element + Copy>(array: &PyReadonlyArrayDyn<T>) -> Vec<T> {
    array.as_array().iter().copied().collect()
}
