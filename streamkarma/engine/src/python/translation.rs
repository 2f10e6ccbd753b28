//! Python bindings for merging.

use numpy::PyArray1;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::encoder::Encoder;
use super::learner::Learner;
use crate::learner;
use crate::state::Refused;
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
}

/// Renumber the classes of a learner; ValueError if that is impossible.
#[pyfunction]
pub fn relabel(mut learner: PyRefMut<'_, Learner>, places: Vec<usize>) -> PyResult<()> {
    learner.inner_mut()?.relabel(&places).map_err(PyValueError::new_err)
}

/// Merge into a model what parts have learned since each was a copy of it; ValueError if that is impossible.
///
/// In a regression `targets` has, for the model and each part, shift and stretch of its standardised targets. Returns
/// how the names of the model and of each part were translated to those of the merged model.
#[pyfunction]
pub fn merge(
    base: (PyRefMut<'_, Encoder>, PyRefMut<'_, Learner>),
    parts: Vec<(PyRef<'_, Encoder>, PyRefMut<'_, Learner>)>,
    targets: Option<Vec<(f64, f64)>>,
) -> PyResult<Vec<Translation>> {
    let (mut encoder, mut learner) = base;
    let (encoders, mut learners): (Vec<_>, Vec<_>) = parts.into_iter().unzip();
    let encoders: Vec<_> = encoders.iter().map(|encoder| &encoder.inner).collect();
    let base = learner.inner_mut()?;
    let mut parts = learners.iter_mut().map(|part| part.inner_mut()).collect::<PyResult<Vec<_>>>()?;
    let is_hashed = base.is_hashed() || parts.iter().any(|part| part.is_hashed());
    let mut translations = encoder.inner.merge(&encoders, is_hashed).map_err(PyValueError::new_err)?;
    for (translation, target) in translations.iter_mut().zip(targets.into_iter().flatten()) {
        translation.target = target;
    }
    merge_learners(base, &mut parts, &translations).map_err(PyValueError::new_err)?;
    Ok(translations.into_iter().map(|inner| Translation { inner }).collect())
}

/// Merge learners whose names are translated like this, the base first.
fn merge_learners(
    base: &mut Box<dyn learner::Learner>,
    parts: &mut [&mut Box<dyn learner::Learner>],
    translations: &[translation::Translation],
) -> Result<(), Refused> {
    let all = std::iter::once(&mut *base).chain(parts.iter_mut().map(|part| &mut **part));
    for (learner, translation) in all.zip(translations) {
        learner.translate(translation)?;
    }
    let translated: Vec<&dyn learner::Learner> = parts.iter().map(|part| &***part).collect();
    base.merge(&translated)
}
