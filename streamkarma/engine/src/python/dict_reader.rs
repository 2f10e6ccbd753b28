//! Reads a Python dict as an event.

use std::collections::HashSet;
use std::fmt::Write;

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyDict, PyFloat, PyFrozenSet, PyInt, PyList, PySet, PyString, PyTuple, PyType};

use super::names::{Foreigners, Key, bytes_of};
use crate::encoder::Encoder;
use crate::json::EXACT;
use crate::lines::{MAX_DEPTH, MAX_NAMES};
use crate::names::Name;

/// Read a mapping, flattening nested values. RecordError if it is not an event.
pub fn read(encoder: &mut Encoder, foreigners: &mut Foreigners, record: &Bound<'_, PyAny>) -> PyResult<()> {
    let py = record.py();
    let made;
    let dict = match record.cast::<PyDict>() {
        Ok(dict) => dict,
        Err(_) => {
            made = py.get_type::<PyDict>().call1((record,))?.cast_into::<PyDict>()?;
            &made
        }
    };
    encoder.begin();
    foreigners.begin();
    for (name, value) in dict {
        if observe_plain(encoder, &name, &value)? {
            continue;
        }
        if is_nested(&value) {
            return nested(encoder, foreigners, dict);
        }
        observe(encoder, foreigners, &name, &value)?;
    }
    Ok(())
}

/// Observe a float under a text, as nearly all values of nearly all events are; returns whether it is one.
fn observe_plain(encoder: &mut Encoder, name: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>) -> PyResult<bool> {
    let (Ok(name), Ok(value)) = (name.cast_exact::<PyString>(), value.cast_exact::<PyFloat>()) else {
        return Ok(false);
    };
    let number = value.value();
    let is_plain = number.abs() < EXACT as f64;
    if is_plain {
        encoder.number(Name::Text(&bytes_of(name)?), number);
    }
    Ok(is_plain)
}

/// Observe a value under a name.
fn observe(
    encoder: &mut Encoder,
    foreigners: &mut Foreigners,
    name: &Bound<'_, PyAny>,
    value: &Bound<'_, PyAny>,
) -> PyResult<()> {
    if value.is_none() {
        return Ok(());
    }
    if let Ok(text) = value.cast::<PyString>() {
        encoder.text(foreigners.key(name)?.name(), &bytes_of(text)?);
        return Ok(());
    }
    if let Ok(tags) = value.cast::<PyTuple>() {
        let bag = encoder.bag(foreigners.key(name)?.name());
        for tag in tags {
            encoder.tag(bag, &bytes_of(tag.cast::<PyString>()?)?);
        }
        return Ok(());
    }
    let made;
    let (number, value) = match plain(value) {
        Some(number) if number.is_finite() => (number, value),
        _ => {
            made = as_plain(name, value)?;
            match made.cast::<PyString>() {
                Ok(text) => return observe(encoder, foreigners, name, text),
                Err(_) => (made.extract()?, &made),
            }
        }
    };
    if number.abs() >= EXACT as f64 {
        return observe_large(encoder, &foreigners.key(name)?, value, number);
    }
    if !number.is_nan() {
        encoder.number(foreigners.key(name)?.name(), number);
    }
    Ok(())
}

/// A number that may be an integer with more digits than a float can hold.
fn observe_large(encoder: &mut Encoder, key: &Key, value: &Bound<'_, PyAny>, number: f64) -> PyResult<()> {
    if value.is_instance_of::<PyFloat>() || !encoder.wants_digits(key.name()) {
        encoder.number(key.name(), number);
    } else {
        let integer = value.py().get_type::<PyInt>().call1((value,))?;
        encoder.integer(key.name(), &integer.to_string(), number);
    }
    Ok(())
}

/// A number of a type that converts to a float without warnings and without running foreign code; None for anything
/// else.
fn plain(value: &Bound<'_, PyAny>) -> Option<f64> {
    if let Ok(float) = value.cast_exact::<PyFloat>() {
        return Some(float.value());
    }
    if let Ok(truth) = value.cast_exact::<PyBool>() {
        return Some(f64::from(u8::from(truth.is_true())));
    }
    if value.is_exact_instance_of::<PyInt>() || is_numpys(value) { value.extract().ok() } else { None }
}

fn is_numpys(value: &Bound<'_, PyAny>) -> bool {
    static PLAIN: PyOnceLock<Vec<Py<PyType>>> = PyOnceLock::new();
    let py = value.py();
    let types = PLAIN.get_or_try_init(py, || {
        let numpy = py.import(intern!(py, "numpy"))?;
        ["float64", "float32", "int64", "int32", "bool_"]
            .iter()
            .map(|name| Ok(numpy.getattr(*name)?.cast_into::<PyType>()?.unbind()))
            .collect::<PyResult<_>>()
    });
    types.is_ok_and(|types| types.iter().any(|each| value.get_type().is(each)))
}

/// Convert any other value: Python code finds out whether it is a number or a time, and raises an error if not.
fn as_plain<'py>(name: &Bound<'py, PyAny>, value: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    static AS_PLAIN: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    AS_PLAIN.import(value.py(), "streamkarma.events.values", "as_plain")?.call1((name, value))
}

/// RecordError with this message.
pub fn refused(py: Python, message: &str) -> PyErr {
    static RECORD_ERROR: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    match RECORD_ERROR.import(py, "streamkarma.errors", "RecordError") {
        Ok(kind) => PyErr::from_type(kind.clone(), message.to_owned()),
        Err(error) => error,
    }
}

fn is_nested(value: &Bound<'_, PyAny>) -> bool {
    value.is_instance_of::<PyDict>() || is_collection(value)
}

fn is_collection(value: &Bound<'_, PyAny>) -> bool {
    value.is_instance_of::<PyList>()
        || value.is_instance_of::<PyTuple>()
        || value.is_instance_of::<PySet>()
        || value.is_instance_of::<PyFrozenSet>()
}

/// Values in their original order, under names joined by dots.
#[derive(Default)]
struct Flat<'py> {
    values: Vec<(Bound<'py, PyAny>, Bound<'py, PyAny>)>,
    names: HashSet<Vec<u8>>,
    size: usize,
}

fn nested(encoder: &mut Encoder, foreigners: &mut Foreigners, dict: &Bound<'_, PyDict>) -> PyResult<()> {
    let mut flat = Flat::default();
    for (name, value) in dict {
        flat.add(name, value, 1)?;
    }
    encoder.begin();
    foreigners.begin();
    flat.values.iter().try_for_each(|(name, value)| observe(encoder, foreigners, name, value))
}

impl<'py> Flat<'py> {
    fn add(&mut self, name: Bound<'py, PyAny>, value: Bound<'py, PyAny>, depth: usize) -> PyResult<()> {
        let py = name.py();
        let text = name.cast::<PyString>().ok().map(bytes_of).transpose()?;
        self.size += text.as_ref().map_or(0, |text| text.len());
        if self.size > MAX_NAMES {
            return Err(refused(py, "nested names are too long once they are joined by dots"));
        }
        if is_nested(&value) {
            if depth == MAX_DEPTH {
                return Err(refused(py, &format!("nested deeper than {MAX_DEPTH} levels")));
            }
            let prefix = name.str()?;
            return self.add_inner(&prefix, &value, depth + 1);
        }
        self.enter(text.as_deref(), &name)?;
        self.values.push((name, value));
        Ok(())
    }

    /// RecordError if the name has occurred before.
    fn enter(&mut self, text: Option<&[u8]>, name: &Bound<'py, PyAny>) -> PyResult<()> {
        let py = name.py();
        if text.is_some_and(|text| !self.names.insert(text.to_vec())) {
            let shown: String = py.import("reprlib")?.call_method1("repr", (name,))?.extract()?;
            let message = format!("two nested names become {shown} when joined by dots");
            return Err(refused(py, &message));
        }
        Ok(())
    }

    fn add_inner(
        &mut self,
        prefix: &Bound<'py, PyString>,
        value: &Bound<'py, PyAny>,
        depth: usize,
    ) -> PyResult<()> {
        let py = prefix.py();
        if let Ok(dict) = value.cast::<PyDict>() {
            for (key, inner) in dict {
                let name = prefix.add(PyString::new(py, "."))?.add(key.str()?)?;
                self.add(name, inner, depth)?;
            }
        } else {
            let (mut tags, mut index) = (Vec::new(), String::new());
            // The other elements of a set have no order to be numbered in.
            let is_set = value.is_instance_of::<PySet>() || value.is_instance_of::<PyFrozenSet>();
            for (i, inner) in value.try_iter()?.enumerate() {
                let inner = inner?;
                if inner.is_instance_of::<PyString>() {
                    tags.push(inner);
                    continue;
                }
                if is_set {
                    as_plain(prefix, value)?;
                }
                index.clear();
                // Writing to a string never fails.
                _ = write!(index, ".{i}");
                self.add(prefix.add(&index)?, inner, depth)?;
            }
            if !tags.is_empty() {
                let tags = PyList::new(py, tags)?;
                if is_set {
                    // Which of too many tags are used must not depend on the order in which a process happens to have
                    // them.
                    tags.sort()?;
                }
                self.enter(Some(&bytes_of(prefix)?), prefix)?;
                self.values.push((prefix.clone().into_any(), tags.to_tuple().into_any()));
            }
        }
        Ok(())
    }
}
