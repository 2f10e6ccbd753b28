//! Python bindings for encoded events.

use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::exceptions::{PyIndexError, PyValueError};
use pyo3::prelude::*;

use super::given::EvictedBefore;
use crate::block::{Block, Evicted};
use crate::encoded;
use crate::rate_key::is_key;

/// Encoded events, one after another.
#[pyclass(module = "streamkarma._engine", subclass)]
#[derive(Default)]
pub struct Encoded {
    /// The engine's own type.
    pub inner: encoded::Encoded,
}

/// starts, attributes, coordinates and values of a block, and what was evicted.
type BlockArrays<'py> = (
    Bound<'py, PyArray1<i64>>,
    Bound<'py, PyArray1<i32>>,
    Bound<'py, PyArray1<i32>>,
    Bound<'py, PyArray1<f64>>,
    Vec<EvictedBefore>,
);

/// starts, attributes, coordinates, values and raw values of a block.
type WholeArrays<'py> = (
    Bound<'py, PyArray1<i64>>,
    Bound<'py, PyArray1<i32>>,
    Bound<'py, PyArray1<i32>>,
    Bound<'py, PyArray1<f64>>,
    Bound<'py, PyArray1<f64>>,
);

#[pymethods]
impl Encoded {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    fn __len__(&self) -> usize {
        self.inner.block().len()
    }

    /// The number of attributes of each event, without the constant.
    #[getter]
    fn sizes<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i64>> {
        let block = self.inner.block();
        let size = |t| {
            let (event, mut last) = (block.event(t), None);
            let own = event.attributes.iter().zip(event.values).filter(|(_, value)| !is_key(**value));
            own.filter(|(attribute, _)| last.replace(*attribute) != Some(*attribute)).count() as i64 - 1
        };
        (0..block.len()).map(size).collect::<Vec<_>>().into_pyarray(py)
    }

    /// Event `t` by itself, to be learned later.
    fn one(&self, t: usize) -> PyResult<Self> {
        if t >= self.inner.block().len() {
            return Err(PyIndexError::new_err(format!("event {t}")));
        }
        Ok(Self { inner: self.inner.one(t) })
    }

    /// Append other events.
    fn append(&mut self, other: PyRef<'_, Self>) {
        self.inner.append(&other.inner);
    }

    /// The coordinates that were evicted for the last event, ascending.
    #[getter]
    fn last_evicted(&self) -> Vec<u32> {
        let starts = &self.inner.starts;
        let is_last = |evicted: &&Evicted| starts.len() > 1 && evicted.before == starts[starts.len() - 2];
        self.inner.evicted.last().filter(is_last).map_or_else(Vec::new, |evicted| evicted.coordinates.clone())
    }

    /// Drop the items of some coordinates, given in ascending order, from a single event.
    fn forget(&mut self, coordinates: Vec<u32>) {
        self.inner.forget(&coordinates);
    }

    /// All arrays, keys of categories included: starts of events, attributes, coordinates, values, and raw values.
    fn arrays<'py>(&self, py: Python<'py>) -> WholeArrays<'py> {
        let (starts, attributes, coordinates, values, _) = arrays_of(py, &self.inner.block());
        (starts, attributes, coordinates, values, self.inner.raw.clone().into_pyarray(py))
    }

    /// Events from such arrays, of an encoder with so many attributes and coordinates; ValueError if they are invalid.
    #[staticmethod]
    fn of_arrays(
        starts: PyReadonlyArray1<i64>,
        attributes: PyReadonlyArray1<i32>,
        coordinates: PyReadonlyArray1<i32>,
        values: PyReadonlyArray1<f64>,
        raw: PyReadonlyArray1<f64>,
        bounds: (usize, usize),
    ) -> PyResult<Self> {
        let below = |indices: PyReadonlyArray1<i32>, most: usize| -> PyResult<Vec<u32>> {
            let each = indices.as_array().to_vec();
            if !each.iter().all(|&index| usize::try_from(index).is_ok_and(|index| index < most)) {
                return Err(PyValueError::new_err(
                    "an event has an attribute or a coordinate that the model does not know",
                ));
            }
            Ok(each.into_iter().map(|index| index as u32).collect())
        };
        let (attributes, coordinates) = (below(attributes, bounds.0)?, below(coordinates, bounds.1)?);
        let (values, raw) = (values.as_array().to_vec(), raw.as_array().to_vec());
        let (starts, items) = (starts.as_array().to_vec(), values.len());
        let fits = [attributes.len(), coordinates.len(), raw.len()] == [items; 3]
            && starts.first() == Some(&0)
            && starts.last() == Some(&(items as i64))
            && starts.is_sorted()
            && starts.windows(2).all(|ends| attributes[ends[0] as usize..ends[1] as usize].is_sorted())
            // Target statistics of a category, for which there is only a key, have no raw value.
            && values.iter().zip(&raw).all(|(value, raw)| value.is_finite() && (raw.is_finite() || is_key(*value)));
        if !fits {
            return Err(PyValueError::new_err("the arrays of the events do not fit"));
        }
        let starts = starts.into_iter().map(|start| start as usize).collect();
        Ok(Self {
            inner: encoded::Encoded { starts, attributes, coordinates, values, raw, ..Default::default() },
        })
    }

    /// As a block of arrays, without target statistics.
    #[getter]
    fn block<'py>(&self, py: Python<'py>) -> BlockArrays<'py> {
        arrays_of(py, &self.inner.without_keys().block())
    }

    /// The same with the raw values.
    #[getter]
    fn raw_block<'py>(&self, py: Python<'py>) -> BlockArrays<'py> {
        arrays_of(py, &self.inner.without_keys().raw_block())
    }
}

fn arrays_of<'py>(py: Python<'py>, block: &Block) -> BlockArrays<'py> {
    let Block { starts, attributes, coordinates, values, evicted, .. } = block;
    let before = |evicted: &Evicted| starts.partition_point(|&start| start < evicted.before);
    let evicted = evicted
        .iter()
        .map(|evicted| (before(evicted), evicted.attributes.clone(), evicted.coordinates.clone()));
    let evicted = evicted.collect();
    let starts: Vec<i64> = starts.iter().map(|&start| start as i64).collect();
    let indices = |indices: &[u32]| -> Bound<'py, PyArray1<i32>> {
        indices.iter().map(|&index| index as i32).collect::<Vec<_>>().into_pyarray(py)
    };
    let values = values.to_vec().into_pyarray(py);
    (starts.into_pyarray(py), indices(attributes), indices(coordinates), values, evicted)
}
