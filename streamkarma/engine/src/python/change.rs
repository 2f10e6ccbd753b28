//! Merging, as Python sees it.

use numpy::PyArray1;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::encoder::Encoder;
use super::learner::Learner;
use crate::change;

/// How what a model has learned goes over into a merged one.
#[pyclass(module = "streamkarma._engine")]
#[derive(Clone)]
pub struct Change {
    /// The engine's own.
    pub inner: change::Change,
}

#[pymethods]
impl Change {
    /// The index that each attribute has from now on, 2^32 - 1 for none.
    #[getter]
    fn attributes<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u32>> {
        PyArray1::from_slice(py, &self.inner.attributes)
    }

    /// The index that each coordinate has from now on, 2^32 - 1 for none.
    #[getter]
    fn coordinates<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u32>> {
        PyArray1::from_slice(py, &self.inner.coordinates)
    }

    /// By coordinate: values are `shift + stretch` times what they are from now on.
    #[getter]
    fn stretch<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_slice(py, &self.inner.stretch)
    }

    /// See `stretch`.
    #[getter]
    fn shift<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_slice(py, &self.inner.shift)
    }

    /// The same where a standardised target of the model is `shift + stretch` times what it is from now on.
    fn with_target(&self, shift: f64, stretch: f64) -> Self {
        Self { inner: change::Change { target: (shift, stretch), ..self.inner.clone() } }
    }
}

/// Have a learner number its classes anew; ValueError if that cannot be.
#[pyfunction]
pub fn relabel(mut learner: PyRefMut<'_, Learner>, places: Vec<usize>) -> PyResult<()> {
    learner.inner_mut()?.relabel(&places).map_err(PyValueError::new_err)
}

/// Have a learner go over to the names and scales of a merged model; ValueError if that cannot be.
#[pyfunction]
pub fn carry(mut learner: PyRefMut<'_, Learner>, change: &Change) -> PyResult<()> {
    learner.inner_mut()?.carry(&change.inner).map_err(PyValueError::new_err)
}

/// Add to how models, the base first, go over into a merged one what becomes of values that their learners
/// standardise themselves; ValueError if that cannot be.
#[pyfunction]
pub fn complete_changes(
    base: PyRef<'_, Learner>,
    parts: Vec<PyRef<'_, Learner>>,
    changes: Vec<PyRef<'_, Change>>,
) -> PyResult<Vec<Change>> {
    let parts = parts.iter().map(|part| part.inner()).collect::<PyResult<Vec<_>>>()?;
    let mut changes: Vec<_> = changes.iter().map(|change| change.inner.clone()).collect();
    base.inner()?.complete_changes(&parts, &mut changes).map_err(PyValueError::new_err)?;
    Ok(changes.into_iter().map(|inner| Change { inner }).collect())
}

/// Have a learner take in what parts have learned since each was as it is; ValueError if that cannot be.
#[pyfunction]
pub fn merge_learners(mut base: PyRefMut<'_, Learner>, parts: Vec<PyRef<'_, Learner>>) -> PyResult<()> {
    let parts = parts.iter().map(|part| part.inner()).collect::<PyResult<Vec<_>>>()?;
    base.inner_mut()?.merge(&parts).map_err(PyValueError::new_err)
}

/// Have an encoder take in the names and statistics of parts that went on from it, and say how each model, the
/// base first, goes over into the merged one, whose learners may be hashed; ValueError if that cannot be.
#[pyfunction]
pub fn merge_encoders(
    mut base: PyRefMut<'_, Encoder>,
    parts: Vec<PyRef<'_, Encoder>>,
    hashed: bool,
) -> PyResult<Vec<Change>> {
    let parts: Vec<_> = parts.iter().map(|part| &part.inner).collect();
    let changes = base.inner.merge(&parts, hashed).map_err(PyValueError::new_err)?;
    Ok(changes.into_iter().map(|inner| Change { inner }).collect())
}
