//! Reads lines of JSON passed by Python.

use std::collections::HashMap;

use numpy::{IntoPyArray, PyArray1};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyInt, PyList};

use super::dict_reader::refused;
use super::encoded::Encoded;
use super::encoder::Encoder;
use super::fields::{labels_of, roles_of};
use crate::events::Events;
use crate::fields::{Known, Labels};
use crate::json::{self, DEEPEST, Fault, Value};
use crate::lines::{self, Reading};

/// Reads lines of JSON, given which names are not attributes and which labels are known.
#[pyclass(module = "streamkarma._engine")]
pub struct LineReader {
    reading: Reading,
    labels: Known,
}

/// The result of a reader; see `_engine.pyi`.
#[pyclass(module = "streamkarma._engine", get_all)]
pub struct Lines {
    events: Py<Encoded>,
    lines: Py<PyArray1<i64>>,
    labels: Py<PyArray1<f64>>,
    kinds: Py<PyArray1<i32>>,
    weights: Py<PyArray1<f64>>,
    kept: Vec<Py<PyList>>,
    rejected: Vec<(usize, usize, usize, String)>,
    count: usize,
    end: usize,
    unknown: Option<String>,
}

#[pymethods]
impl LineReader {
    #[new]
    fn new(roles: HashMap<String, i64>, learn: bool, unlabelled: bool, strict: bool) -> PyResult<Self> {
        let reading = Reading { roles: roles_of(roles)?, learn, unlabelled, strict };
        Ok(Self { reading, labels: Labels::Given(false).into() })
    }

    /// Set the known labels: classes, or the largest number of a regression.
    fn know(&mut self, labels: &Bound<'_, PyAny>) -> PyResult<()> {
        self.labels = labels_of(labels)?.into();
        Ok(())
    }

    /// Reject records with this label, in JSON, for a reason, until the known labels are replaced.
    fn refuse(&mut self, label: String, reason: String) {
        self.labels.refused.insert(label, reason);
    }

    /// Take this label, in JSON, as none until the known labels are replaced.
    fn take_as_none(&mut self, label: String) {
        self.labels.missing.insert(label);
    }

    /// Read up to `most` events; with `given`, any label is accepted, and `given` tells whether there is one.
    #[pyo3(signature = (encoder, text, begin, most, given=None))]
    fn read<'py>(
        &self,
        py: Python<'py>,
        mut encoder: PyRefMut<'py, Encoder>,
        text: &Bound<'py, PyBytes>,
        begin: usize,
        most: usize,
        given: Option<bool>,
    ) -> PyResult<Lines> {
        encoder.inner.set_awaiting(false, false);
        let (reading, bytes, inner) = (&self.reading, text.as_bytes(), &mut encoder.inner);
        let given = given.map(|is_there| Known::from(Labels::Given(is_there)));
        let labels = given.as_ref().unwrap_or(&self.labels);
        Lines::new(py, py.detach(|| reading.read(inner, labels, bytes, begin, most)))
    }
}

impl Lines {
    fn new(py: Python<'_>, events: Events) -> PyResult<Self> {
        let Events { encoded, lines, labels, kinds, weights, kept, rejected, count, end, unknown } = events;
        let texts = |texts: Vec<String>| {
            let texts = texts.iter().map(|text| PyBytes::new(py, text.as_bytes()));
            PyList::new(py, texts).map(Bound::unbind)
        };
        let lines: Vec<i64> = lines.into_iter().map(|line| line as i64).collect();
        let rejected = rejected.into_iter().map(|r| (r.line, r.place.start, r.place.end, r.fault));
        Ok(Self {
            events: Py::new(py, Encoded { inner: encoded })?,
            lines: lines.into_pyarray(py).unbind(),
            labels: labels.into_pyarray(py).unbind(),
            kinds: kinds.into_pyarray(py).unbind(),
            weights: weights.into_pyarray(py).unbind(),
            kept: kept.into_iter().map(texts).collect::<PyResult<_>>()?,
            rejected: rejected.collect(),
            count,
            end,
            unknown,
        })
    }
}

/// The object in a JSON text, as a dict; NaN is allowed as a value, and means none. RecordError if it is not an object.
#[pyfunction]
pub fn parse<'py>(py: Python<'py>, text: &[u8]) -> PyResult<Bound<'py, PyDict>> {
    let fault = |fault: Fault| refused(py, &fault);
    let text = std::str::from_utf8(text).map_err(|_| fault("not JSON: not UTF-8".to_owned()))?;
    let without;
    let text = match (lines::check_object(text), json::without_nan(text)) {
        (Ok(()), _) => text,
        (Err(_), Some(found)) => {
            without = found.map_err(fault)?;
            lines::check_object(&without).map_err(fault)?;
            &without
        }
        (Err(why), None) => return Err(fault(why)),
    };
    object(py, text.trim_ascii(), 1).map_err(|error| error.into_py_error(py))
}

/// A value in a JSON text, read as [`parse`] reads those of an object.
#[pyfunction]
pub fn parse_value<'py>(py: Python<'py>, text: &[u8]) -> PyResult<Bound<'py, PyAny>> {
    let fault = |fault: Fault| refused(py, &fault);
    let text = std::str::from_utf8(text).map_err(|_| fault("not JSON: not UTF-8".to_owned()))?;
    json::check(text).map_err(fault)?;
    value_object(py, text.trim_ascii(), 1).map_err(|error| error.into_py_error(py))
}

/// What went wrong while Python objects were created.
enum ConversionError {
    Fault(Fault),
    Python(PyErr),
}

impl ConversionError {
    fn into_py_error(self, py: Python) -> PyErr {
        match self {
            Self::Fault(fault) => refused(py, &fault),
            Self::Python(error) => error,
        }
    }
}

impl From<Fault> for ConversionError {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

impl From<PyErr> for ConversionError {
    fn from(error: PyErr) -> Self {
        Self::Python(error)
    }
}

fn object<'py>(py: Python<'py>, text: &str, depth: usize) -> Result<Bound<'py, PyDict>, ConversionError> {
    let dict = PyDict::new(py);
    for (name, raw) in json::members(text)? {
        dict.set_item(name, value_object(py, raw, depth)?)?;
    }
    Ok(dict)
}

/// A JSON value at some depth.
fn value_object<'py>(py: Python<'py>, raw: &str, depth: usize) -> Result<Bound<'py, PyAny>, ConversionError> {
    Ok(match Value::of(raw)? {
        Value::Null => py.None().into_bound(py),
        Value::Boolean(truth) => truth.into_pyobject(py).map_err(PyErr::from)?.to_owned().into_any(),
        Value::Text(text) => text.into_pyobject(py).map_err(PyErr::from)?.into_any(),
        Value::Number(number) => match (number.is_integer, raw.parse::<i64>()) {
            (true, Ok(integer)) => integer.into_pyobject(py).map_err(PyErr::from)?.into_any(),
            (true, Err(_)) => py.get_type::<PyInt>().call1((raw,))?,
            (false, _) => number.value.into_pyobject(py).map_err(PyErr::from)?.into_any(),
        },
        Value::Nested(_) if depth == DEEPEST => {
            return Err(ConversionError::Fault(json::too_deep()));
        }
        Value::Nested(raw) if raw.starts_with('{') => object(py, raw, depth + 1)?.into_any(),
        Value::Nested(raw) => {
            let list = PyList::empty(py);
            for element in json::elements(raw)? {
                list.append(value_object(py, element, depth + 1)?)?;
            }
            list.into_any()
        }
    })
}
