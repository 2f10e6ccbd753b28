//! Roles and labels from Python.

use std::collections::HashMap;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyInt, PyString};

use crate::fields::{Classes, Labels, MOST_KEPT, Role, Roles};
use crate::spelled::name_of;

/// Roles of names that are not attributes; from 0 on, the index among the values that are handed on.
const TARGET: i64 = -1;
const WEIGHT: i64 = -3;
const IGNORED: i64 = -4;

/// Convert names and their roles.
pub fn roles_of(names: HashMap<String, i64>) -> PyResult<Roles> {
    let role = |(name, role)| {
        let role = match role {
            TARGET => Role::Target,
            WEIGHT => Role::Weight,
            IGNORED => Role::Ignored,
            0.. if (role as usize) < MOST_KEPT => Role::Kept(role as usize),
            _ => return Err(PyValueError::new_err(format!("{role} is not a role"))),
        };
        Ok((name, role))
    };
    Ok(Roles::new(names.into_iter().map(role).collect::<PyResult<_>>()?))
}

/// Convert the classes, or the largest number of a regression.
pub fn labels_of(labels: &Bound<'_, PyAny>) -> PyResult<Labels> {
    if let Ok(most) = labels.extract::<f64>() {
        return Ok(Labels::Numbers(most));
    }
    let mut classes = Classes::default();
    for (i, label) in labels.try_iter()?.enumerate() {
        let label = label?;
        if let Ok(text) = label.cast::<PyString>() {
            classes.texts.insert(text.to_string_lossy().into_owned(), i);
        } else if let Ok(truth) = label.cast::<PyBool>() {
            classes.booleans[usize::from(truth.is_true())] = true;
        } else {
            let value: f64 = label.extract()?;
            let name = if label.is_instance_of::<PyInt>() { label.to_string() } else { name_of(value) };
            classes.add_number(&name, value, i);
        }
    }
    Ok(Labels::Classes(classes))
}
