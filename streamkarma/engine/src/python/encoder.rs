//! The encoder, as Python sees it.

use std::collections::HashMap;

use numpy::{IntoPyArray, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::exceptions::{PyIndexError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyFloat, PyInt, PyList, PyString, PyTuple};

use super::dict_reader::{self, record_error};
use super::fields::{labels_of, roles_of};
use super::names::{Foreigners, bytes_of, text_of};
use super::table_reader;
use crate::encoded::Encoded;
use crate::encoder;
use crate::events::{Events, Why};
use crate::lines::Reading;
use crate::scale::WIDTH;
use crate::vocabulary::{Bounds, MOST_NAME_BYTES, Vocabulary};

/// Names and values of events in, what the learners see out.
#[pyclass(module = "streamkarma._engine")]
pub struct Encoder {
    inner: encoder::Encoder,
    foreigners: Foreigners,
}

/// starts, attributes, coordinates and values of a block.
type Block<'py> = (
    Bound<'py, PyArray1<i64>>,
    Bound<'py, PyArray1<i32>>,
    Bound<'py, PyArray1<i32>>,
    Bound<'py, PyArray1<f64>>,
);

#[pymethods]
impl Encoder {
    #[new]
    #[pyo3(signature = (max_attributes, max_coordinates, max_name_bytes, scale, longest, all_bytes=MOST_NAME_BYTES))]
    fn new(
        py: Python,
        max_attributes: usize,
        max_coordinates: usize,
        max_name_bytes: usize,
        scale: bool,
        longest: f64,
        all_bytes: usize,
    ) -> Self {
        let bounds = Bounds {
            attributes: max_attributes,
            coordinates: max_coordinates,
            name_bytes: max_name_bytes,
            all_bytes,
        };
        Self { inner: encoder::Encoder::new(bounds, scale, longest), foreigners: Foreigners::new(py) }
    }

    /// Encode records up to the first that is no event.
    fn encode_dicts<'py>(
        &mut self,
        py: Python<'py>,
        records: &Bound<'py, PyList>,
        learned: Vec<bool>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let (mut out, mut fault) = (Encoded::default(), None);
        same_length(records.len(), learned.len())?;
        for (t, record) in records.iter().enumerate() {
            if let Err(error) = dict_reader::read(&mut self.inner, &mut self.foreigners, &record) {
                fault = Some((t, error));
                break;
            }
            self.inner.finish(learned[t], &mut out);
            self.foreigners.keep(py, self.inner.vocabulary())?;
        }
        events3(py, out, fault)
    }

    /// Encode rows of a table up to the first that is no event.
    fn encode_table<'py>(
        &mut self,
        py: Python<'py>,
        names: &Bound<'py, PyList>,
        table: PyReadonlyArray2<'py, f64>,
        learned: Vec<bool>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let (mut out, view) = (Encoded::default(), table.as_array());
        same_length(view.nrows(), learned.len())?;
        same_length(view.ncols(), names.len())?;
        self.foreigners.begin();
        let (inner, foreigners) = (&mut self.inner, &mut self.foreigners);
        let fault = table_reader::read(inner, foreigners, names, view, &learned, &mut out)?;
        events3(py, out, fault)
    }

    /// Encode lines of JSON from `begin` on, up to `most` and up to the first that is no event or has a
    /// label that is not among `labels`: classes, or the largest number of a regression.
    ///
    /// Returns the block, its values before they were standardised, which lines the events were, labels and
    /// their kinds, weights, what is handed on, where it ended, and None or why: the line, where the next one
    /// begins, whether it is the label, and the label or what is wrong.
    #[pyo3(signature = (text, begin, most, roles, labels, learn))]
    #[allow(clippy::too_many_arguments)] // As many as Python gives by name.
    fn encode_lines<'py>(
        &mut self,
        py: Python<'py>,
        text: &Bound<'py, PyBytes>,
        begin: usize,
        most: usize,
        roles: HashMap<String, i64>,
        labels: &Bound<'py, PyAny>,
        learn: bool,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let reading = Reading { roles: roles_of(roles)?, labels: labels_of(labels)?, learn };
        let (bytes, inner, mut events) = (text.as_bytes(), &mut self.inner, Events::default());
        py.detach(|| reading.read(inner, bytes, begin, most, &mut events));
        let Events { encoded, lines, labels, kinds, weights, kept, end, stop } = events;
        let (block, raw) = block_of(py, encoded);
        let kept = kept
            .iter()
            .map(|texts| PyList::new(py, texts.iter().map(|text| PyBytes::new(py, text.as_bytes()))))
            .collect::<PyResult<Vec<_>>>()?;
        let stop = stop.map(|stop| match stop.why {
            Why::Fault(fault) => (stop.line, stop.behind, false, fault),
            Why::Label(label) => (stop.line, stop.behind, true, label),
        });
        let beside = (labels.into_pyarray(py), kinds.into_pyarray(py), weights.into_pyarray(py));
        (block, raw, lines.into_pyarray(py), beside.0, beside.1, beside.2, kept, end, stop).into_pyobject(py)
    }

    /// Attributes with an index, the constant included.
    #[getter]
    fn attribute_count(&self) -> usize {
        self.inner.vocabulary().attribute_count()
    }

    /// Coordinates with an index, the constant's included.
    #[getter]
    fn coordinate_count(&self) -> usize {
        self.inner.vocabulary().coordinate_count()
    }

    /// The attribute that each coordinate belongs to.
    #[getter]
    fn owners<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i32>> {
        let vocabulary = self.inner.vocabulary();
        let owners = (0..vocabulary.coordinate_count()).map(|coordinate| vocabulary.owner(coordinate) as i32);
        owners.collect::<Vec<_>>().into_pyarray(py)
    }

    /// Whether each coordinate holds numbers to be standardised.
    #[getter]
    fn numbers<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<bool>> {
        let vocabulary = self.inner.vocabulary();
        let numbers = (0..vocabulary.coordinate_count()).map(|coordinate| vocabulary.is_number(coordinate));
        numbers.collect::<Vec<_>>().into_pyarray(py)
    }

    /// Values ignored so far.
    #[getter]
    fn ignored(&self) -> u64 {
        self.inner.vocabulary().ignored
    }

    /// Count a value that was left out elsewhere, for being too long.
    fn ignore(&mut self, name: &Bound<'_, PyAny>, category: Option<&Bound<'_, PyString>>) -> PyResult<()> {
        self.foreigners.begin();
        let key = self.foreigners.key(name)?;
        let category = category.map(bytes_of).transpose()?;
        self.inner.vocabulary_mut().ignore(key.name(), category.as_deref());
        Ok(())
    }

    /// Lines on attributes of which a value was ignored for the first time, each given out once.
    fn news(&mut self) -> Vec<String> {
        self.inner.vocabulary_mut().news()
    }

    /// Name of the attribute and, for a categorical coordinate, the category.
    fn describe<'py>(&self, py: Python<'py>, coordinate: usize) -> PyResult<Entry<'py>> {
        if coordinate >= self.coordinate_count() {
            return Err(PyIndexError::new_err(format!("coordinate {coordinate}")));
        }
        let (name, category) = self.inner.vocabulary().describe(coordinate);
        let category = category.map(|category| text_of(py, category)).transpose()?;
        Ok((self.foreigners.object(py, name)?, category))
    }

    /// `describe` of every coordinate but the constant's, in order.
    fn entries<'py>(&self, py: Python<'py>) -> PyResult<Vec<Entry<'py>>> {
        let vocabulary = self.inner.vocabulary();
        // One and the same object, however many categories an attribute has.
        let names = (0..vocabulary.attribute_count())
            .map(|attribute| self.foreigners.object(py, vocabulary.name(attribute as u32)))
            .collect::<PyResult<Vec<_>>>()?;
        let entry = |coordinate| {
            let category = vocabulary.describe(coordinate).1;
            let category = category.map(|category| text_of(py, category)).transpose()?;
            Ok((names[vocabulary.owner(coordinate) as usize].clone(), category))
        };
        (1..vocabulary.coordinate_count()).map(entry).collect()
    }

    /// The rows of the running scales, shape (coordinates, WIDTH).
    fn moments<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        self.inner.moments().into_pyarray(py).reshape([self.coordinate_count(), WIDTH])
    }

    /// Mean and standard deviation of a coordinate.
    fn mean_and_deviation(&self, coordinate: usize) -> PyResult<(f64, f64)> {
        if coordinate >= self.coordinate_count() {
            return Err(PyIndexError::new_err(format!("coordinate {coordinate}")));
        }
        Ok(self.inner.scale_of(coordinate).mean_and_deviation())
    }

    /// Take over `entries`, what was ignored, and `moments`; ValueError if they contradict each other.
    fn restore(
        &mut self,
        py: Python,
        entries: &Bound<'_, PyList>,
        ignored: &Bound<'_, PyAny>,
        moments: PyReadonlyArray2<f64>,
    ) -> PyResult<()> {
        let not_counted = || PyValueError::new_err("values ignored are not counted");
        if !ignored.is_exact_instance_of::<PyInt>() {
            return Err(not_counted());
        }
        let mut vocabulary = Vocabulary::new(self.inner.vocabulary().bounds());
        let mut foreigners = Foreigners::new(py);
        for entry in entries {
            let none = || PyValueError::new_err("a name or a category is none");
            let (name, category): (Bound<PyAny>, Option<Bound<PyString>>) =
                entry.extract().map_err(|_| none())?;
            if !is_name(&name) {
                return Err(none());
            }
            foreigners.begin();
            let category = category.as_ref().map(bytes_of).transpose()?;
            let key = foreigners.key(&name)?;
            vocabulary.restore(key.name(), category.as_deref()).map_err(PyValueError::new_err)?;
            foreigners.keep(py, &vocabulary)?;
        }
        vocabulary.ignored = ignored.extract().map_err(|_| not_counted())?;
        let rows = moments.as_array();
        if moments.shape()[1] != WIDTH {
            return Err(PyValueError::new_err("the running statistics do not fit the vocabulary"));
        }
        let rows: Vec<f64> = rows.iter().copied().collect();
        self.inner.restore(vocabulary, &rows).map_err(PyValueError::new_err)?;
        self.foreigners = foreigners;
        Ok(())
    }

    fn __copy__(&self, py: Python) -> PyResult<Self> {
        Ok(Self { inner: self.inner.clone(), foreigners: self.foreigners.copied(py)? })
    }

    fn __deepcopy__(&self, py: Python, _memo: &Bound<'_, PyAny>) -> PyResult<Self> {
        self.__copy__(py)
    }
}

/// A name and a category.
type Entry<'py> = (Bound<'py, PyAny>, Option<Bound<'py, PyString>>);

fn same_length(one: usize, other: usize) -> PyResult<()> {
    if one == other { Ok(()) } else { Err(PyValueError::new_err(format!("{one} and {other}, not as many"))) }
}

/// What names can be that were saved.
fn is_name(name: &Bound<'_, PyAny>) -> bool {
    name.is_none()
        || name.is_instance_of::<PyString>()
        || name.is_instance_of::<PyInt>()
        || name.is_instance_of::<PyFloat>()
        || name.is_instance_of::<PyBool>()
}

fn block_of(py: Python<'_>, encoded: Encoded) -> (Block<'_>, Bound<'_, PyArray1<f64>>) {
    let Encoded { starts, attributes, coordinates, values, raw } = encoded;
    let starts: Vec<i64> = starts.into_iter().map(|start| start as i64).collect();
    let indices = |indices: Vec<u32>| -> Bound<'_, PyArray1<i32>> {
        indices.into_iter().map(|index| index as i32).collect::<Vec<_>>().into_pyarray(py)
    };
    let block = (starts.into_pyarray(py), indices(attributes), indices(coordinates), values.into_pyarray(py));
    (block, raw.into_pyarray(py))
}

/// A block, its raw values, and None or the number of a bad record and what is wrong; other errors are raised.
fn events3<'py>(
    py: Python<'py>,
    out: Encoded,
    fault: Option<(usize, PyErr)>,
) -> PyResult<Bound<'py, PyTuple>> {
    let fault = match fault {
        Some((t, error)) if error.is_instance(py, record_error(py)?) => {
            Some((t, error.value(py).str()?.unbind()))
        }
        Some((_, error)) => return Err(error),
        None => None,
    };
    let (block, raw) = block_of(py, out);
    (block, raw, fault).into_pyobject(py)
}
