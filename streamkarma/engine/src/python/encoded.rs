//! Encoded events, as Python holds them.

use numpy::{IntoPyArray, PyArray1};
use pyo3::prelude::*;

use super::learner::{Arrays, GoneBefore, Items};
use crate::block::{Block, Gone};
use crate::encoded;

/// Events that were encoded, one after another.
#[pyclass(module = "streamkarma._engine", subclass)]
#[derive(Default)]
pub struct Encoded {
    /// As the encoder leaves them.
    pub inner: encoded::Encoded,
}

/// starts, attributes, coordinates and values of a block, and what was given up.
type BlockArrays<'py> = (
    Bound<'py, PyArray1<i64>>,
    Bound<'py, PyArray1<i32>>,
    Bound<'py, PyArray1<i32>>,
    Bound<'py, PyArray1<f64>>,
    Vec<GoneBefore>,
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

    /// How many attributes each event has, the constant apart.
    #[getter]
    fn sizes<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i64>> {
        let known = self.inner.without_keys();
        let block = known.block();
        let size = |t| block.event(t).attributes.chunk_by(|one, next| one == next).count() as i64 - 1;
        let sizes = (0..block.len()).map(size);
        sizes.collect::<Vec<_>>().into_pyarray(py)
    }

    /// As a block of arrays, without what labels say of categories.
    #[getter]
    fn block<'py>(&self, py: Python<'py>) -> BlockArrays<'py> {
        let known = self.inner.without_keys();
        let Block { starts, attributes, coordinates, values, gone } = known.block();
        let before = |gone: &Gone| starts.partition_point(|&start| start < gone.before);
        let gone = gone.iter().map(|gone| (before(gone), gone.attributes.clone(), gone.coordinates.clone()));
        let gone = gone.collect();
        let starts: Vec<i64> = starts.iter().map(|&start| start as i64).collect();
        let indices = |indices: &[u32]| -> Bound<'py, PyArray1<i32>> {
            indices.iter().map(|&index| index as i32).collect::<Vec<_>>().into_pyarray(py)
        };
        let values = values.to_vec().into_pyarray(py);
        (starts.into_pyarray(py), indices(attributes), indices(coordinates), values, gone)
    }
}

/// Events for a learner: encoded ones, or the arrays of a block.
#[derive(FromPyObject)]
pub enum Given<'py> {
    /// As they were encoded.
    Encoded(PyRef<'py, Encoded>),
    /// The arrays.
    Arrays(Arrays<'py>),
}

/// The same, to be walked through.
pub enum Events<'a> {
    /// In the encoder's own arrays.
    Encoded(&'a encoded::Encoded),
    /// In copies.
    Copied(Items),
}

impl Given<'_> {
    /// ValueError if the arrays do not fit each other.
    pub fn events(&self) -> PyResult<Events<'_>> {
        Ok(match self {
            Self::Encoded(encoded) => Events::Encoded(&encoded.inner),
            Self::Arrays(arrays) => Events::Copied(Items::from_python(arrays)?),
        })
    }
}

impl Events<'_> {
    /// What a learner sees.
    pub fn block(&self) -> Block<'_> {
        match self {
            Self::Encoded(encoded) => encoded.block(),
            Self::Copied(items) => items.block(),
        }
    }

    /// The values as they came.
    pub fn raw(&self) -> Block<'_> {
        match self {
            Self::Encoded(encoded) => encoded.raw_block(),
            Self::Copied(items) => items.block(),
        }
    }
}
