//! The subspace learner.

use numpy::{IntoPyArray, PyArray2, PyArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::given::Given;
use super::learner::Learner;
use super::state::{from_python, to_python};
use crate::learner::Learner as _;
use crate::learners::subspace::{Settings, Subspace as Inner};

/// The attributes of [`Settings`].
#[derive(FromPyObject)]
pub struct GivenSettings {
    regression: bool,
    r: f64,
    indicators: bool,
    shrink: f64,
    half_life: f64,
    weights_half_life: f64,
    max_pairwise_coordinates: usize,
    rank: usize,
}

impl GivenSettings {
    fn settings(self) -> Settings {
        Settings {
            regression: self.regression,
            r: self.r,
            indicators: self.indicators,
            shrink: self.shrink,
            half_life: self.half_life,
            weights_half_life: self.weights_half_life,
            max_pairwise_coordinates: self.max_pairwise_coordinates,
            rank: self.rank,
        }
    }
}

/// A linear model on completed events; see `SubspaceSettings` of `core.subspace`.
#[pyfunction]
pub fn subspace(settings: GivenSettings) -> Learner {
    Learner::of(Inner::new(settings.settings()))
}

/// The subspace alone, which completes events.
#[pyclass(module = "streamkarma._engine")]
pub struct Subspace {
    inner: Inner,
}

#[pymethods]
impl Subspace {
    #[new]
    fn new(settings: GivenSettings) -> Self {
        // Without the linear model.
        let (regression, r, indicators, weights_half_life) = (false, 1.0, false, 0.0);
        let given = settings.settings();
        Self { inner: Inner::new(Settings { regression, r, indicators, weights_half_life, ..given }) }
    }

    /// Learn the subspace from the events of a block.
    fn observe(&mut self, py: Python<'_>, events: Given<'_>) -> PyResult<()> {
        let given = events.events()?;
        let block = given.block();
        py.detach(|| {
            for t in 0..block.len() {
                if let Some(evicted) = block.evicted_before(t) {
                    self.inner.forget(evicted);
                }
                self.inner.observe(&block.event(t));
            }
        });
        Ok(())
    }

    /// The completed events of a block, shape (T, K): K is 1 + the highest coordinate learned.
    fn completed<'py>(&mut self, py: Python<'py>, events: Given<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let given = events.events()?;
        let block = given.block();
        let (events, width) = (block.len(), self.inner.coordinates());
        let mut completed = vec![0.0; events * width];
        py.detach(|| {
            for (t, row) in completed.chunks_exact_mut(width.max(1)).enumerate() {
                self.inner.complete(&block.event(t), row);
            }
        });
        completed.into_pyarray(py).reshape([events, width])
    }

    /// Everything learned, as arrays by name.
    fn arrays<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        to_python(py, self.inner.state())
    }

    /// Restore a state.
    fn restore(&mut self, arrays: &Bound<'_, PyDict>, attributes: usize, coordinates: usize) -> PyResult<()> {
        let state = from_python(arrays)?;
        self.inner.restore(&state, attributes, coordinates).map_err(PyValueError::new_err)
    }
}
