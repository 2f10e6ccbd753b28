//! The names and categories of an encoder in Python's form.

use std::collections::BTreeMap;

use pyo3::exceptions::{PyIndexError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyFloat, PyInt, PyList, PyString};

use super::encoder::Encoder;
use super::names::text_of;
use crate::vocabulary::NOBODY;

/// A name and a category.
pub type Entry<'py> = (Bound<'py, PyAny>, Option<Bound<'py, PyString>>);

/// Names of attributes by index.
pub type Names<'py> = BTreeMap<u32, Bound<'py, PyAny>>;

impl Encoder {
    /// The names of those of the given attributes that have one.
    pub fn named<'py>(
        &self,
        py: Python<'py>,
        attributes: impl IntoIterator<Item = u32>,
    ) -> PyResult<Names<'py>> {
        let vocabulary = self.inner.vocabulary();
        let has_name =
            |index: &u32| (*index as usize) < vocabulary.attribute_count() && !vocabulary.is_free(*index);
        let indices = attributes.into_iter().filter(has_name);
        indices.map(|index| Ok((index, self.foreigners.object(py, vocabulary.name(index))?))).collect()
    }

    /// The name of a coordinate's attribute and its category; IndexError if nothing has this coordinate.
    pub fn entry<'py>(&self, py: Python<'py>, coordinate: usize) -> PyResult<Entry<'py>> {
        let vocabulary = self.inner.vocabulary();
        if coordinate >= vocabulary.coordinate_count() || vocabulary.owner(coordinate) == NOBODY {
            return Err(PyIndexError::new_err(format!("coordinate {coordinate}")));
        }
        let (name, category) = vocabulary.describe(coordinate);
        let category = category.map(|category| text_of(py, category)).transpose()?;
        Ok((self.foreigners.object(py, name)?, category))
    }

    /// Name and category of every coordinate but the constant's, in order; None for a free one.
    pub fn all_entries<'py>(&self, py: Python<'py>) -> PyResult<Vec<Option<Entry<'py>>>> {
        let vocabulary = self.inner.vocabulary();
        // The same object for all categories of an attribute.
        let names = (0..vocabulary.attribute_count())
            .map(|attribute| self.foreigners.object(py, vocabulary.name(attribute as u32)))
            .collect::<PyResult<Vec<_>>>()?;
        let entry = |coordinate| {
            let owner = vocabulary.owner(coordinate);
            if owner == NOBODY {
                return Ok(None);
            }
            let category = vocabulary.describe(coordinate).1;
            let category = category.map(|category| text_of(py, category)).transpose()?;
            Ok(Some((names[owner as usize].clone(), category)))
        };
        (1..vocabulary.coordinate_count()).map(entry).collect()
    }
}

/// Entries from a file; ValueError if a name or a category is missing or of another type.
pub fn checked_entries<'py>(entries: &Bound<'py, PyList>) -> PyResult<Vec<Option<Entry<'py>>>> {
    let none = || PyValueError::new_err("a name or a category is missing");
    let named =
        |entry: Bound<'_, PyAny>| entry.is_none() || entry.get_item(0).is_ok_and(|name| is_name(&name));
    if !entries.iter().all(named) {
        return Err(none());
    }
    entries.iter().map(|entry| entry.extract().map_err(|_| none())).collect()
}

/// Whether a saved name has an allowed type.
fn is_name(name: &Bound<'_, PyAny>) -> bool {
    name.is_none()
        || name.is_instance_of::<PyString>()
        || name.is_instance_of::<PyInt>()
        || name.is_instance_of::<PyFloat>()
        || name.is_instance_of::<PyBool>()
}
