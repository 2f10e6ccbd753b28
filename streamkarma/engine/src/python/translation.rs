//! Python bindings for merging.

use numpy::PyArray1;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::encoder::Encoder;
use super::learner::Learner;
use crate::translation;

/// How what a model has learned is translated to a merged one.
#[pyclass(module = "streamkarma._engine")]
#[derive(Clone)]
pub struct Translation {
    /// The engine's own type.
    pub inner: translation::Translation,
}

#[pymethods]
impl Translation {
    /// The new index of each attribute, 2^32 - 1 for none.
    #[getter]
    fn attributes<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u32>> {
        PyArray1::from_slice(py, &self.inner.attributes)
    }

    /// The new index of each coordinate, 2^32 - 1 for none.
    #[getter]
    fn coordinates<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u32>> {
        PyArray1::from_slice(py, &self.inner.coordinates)
    }

    /// The same, where a standardised target of the model is `shift + stretch` times the new one.
    fn with_target(&self, shift: f64, stretch: f64) -> Self {
        Self { inner: translation::Translation { target: (shift, stretch), ..self.inner.clone() } }
    }
}

/// Renumber the classes of a learner; ValueError if that is impossible.
#[pyfunction]
pub fn relabel(mut learner: PyRefMut<'_, Learner>, places: Vec<usize>) -> PyResult<()> {
    learner.inner_mut()?.relabel(&places).map_err(PyValueError::new_err)
}

/// Translate a learner to the names and scales of a merged model; ValueError if that is impossible.
#[pyfunction]
pub fn translate(mut learner: PyRefMut<'_, Learner>, translation: &Translation) -> PyResult<()> {
    learner.inner_mut()?.translate(&translation.inner).map_err(PyValueError::new_err)
}

/// Complete the changes of models, the base first, for values that their learners standardise themselves; ValueError if
/// that is impossible.
#[pyfunction]
pub fn complete_translations(
    base: PyRef<'_, Learner>,
    parts: Vec<PyRef<'_, Learner>>,
    translations: Vec<PyRef<'_, Translation>>,
) -> PyResult<Vec<Translation>> {
    let parts = parts.iter().map(|part| part.inner()).collect::<PyResult<Vec<_>>>()?;
    let mut translations: Vec<_> = translations.iter().map(|translation| translation.inner.clone()).collect();
    base.inner()?.complete_translations(&parts, &mut translations).map_err(PyValueError::new_err)?;
    Ok(translations.into_iter().map(|inner| Translation { inner }).collect())
}

/// Merge into a learner what parts have learned since each was a copy of it; ValueError if that is impossible.
#[pyfunction]
pub fn merge_learners(mut base: PyRefMut<'_, Learner>, parts: Vec<PyRef<'_, Learner>>) -> PyResult<()> {
    let parts = parts.iter().map(|part| part.inner()).collect::<PyResult<Vec<_>>>()?;
    base.inner_mut()?.merge(&parts).map_err(PyValueError::new_err)
}

/// Merge into an encoder the names and statistics of parts that continued from it; ValueError if that is impossible.
/// Returns how each model, the base first, is translated to the merged one, whose learners may be hashed.
#[pyfunction]
pub fn merge_encoders(
    mut base: PyRefMut<'_, Encoder>,
    parts: Vec<PyRef<'_, Encoder>>,
    hashed: bool,
) -> PyResult<Vec<Translation>> {
    let parts: Vec<_> = parts.iter().map(|part| &part.inner).collect();
    let translations = base.inner.merge(&parts, hashed).map_err(PyValueError::new_err)?;
    Ok(translations.into_iter().map(|inner| Translation { inner }).collect())
}
