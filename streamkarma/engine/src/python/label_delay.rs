//! How late labels come.

use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::encoded::Given;
use super::state::{from_python, to_python};
use crate::label_delay;

/// The arrays of a state.
const NAMES: [&str; 2] = ["asked", "asked_at"];

/// Events that were asked about and wait for their label, known by what is in them.
#[pyclass(module = "streamkarma._engine")]
#[derive(Default)]
pub struct LabelDelay {
    /// The engine's own.
    pub inner: label_delay::LabelDelay,
}

#[pymethods]
impl LabelDelay {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    /// Take note of events as they were before encoding, and say how late labels come.
    fn delays<'py>(
        &mut self,
        py: Python<'py>,
        events: Given<'py>,
        learned: PyReadonlyArray1<'py, bool>,
        asked: PyReadonlyArray1<'py, bool>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let given = events.events()?;
        let (raw, events) = (given.raw(), given.raw().len());
        let (learned, asked) = (learned.as_array().to_vec(), asked.as_array().to_vec());
        if [learned.len(), asked.len()] != [events; 2] {
            return Err(PyValueError::new_err("the marks do not fit the block"));
        }
        let mut delays = vec![0.0; events];
        self.inner.delays(&raw, &learned, &asked, &mut delays);
        Ok(delays.into_pyarray(py))
    }

    /// Take note of an event that has no label yet, by its key.
    fn ask(&mut self, key: u64) {
        self.inner.ask(key);
    }

    /// What is known, as arrays by name.
    fn arrays<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        to_python(py, self.inner.state())
    }

    /// Take over the state in `arrays`, whose parts are removed.
    fn restore(&mut self, arrays: &Bound<'_, PyDict>) -> PyResult<()> {
        let own = PyDict::new(arrays.py());
        for name in NAMES {
            if let Some(array) = arrays.get_item(name)? {
                own.set_item(name, array)?;
                arrays.del_item(name)?;
            }
        }
        self.inner.restore(&from_python(&own)?).map_err(PyValueError::new_err)
    }

    /// For copies and pickles.
    fn __getstate__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.arrays(py)
    }

    fn __setstate__(&mut self, arrays: &Bound<'_, PyDict>) -> PyResult<()> {
        self.restore(&arrays.copy()?)
    }
}
