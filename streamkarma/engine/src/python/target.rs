//! Python bindings for the targets of a regression.

use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::state::{taken, to_python};
use crate::scale::Scale;
use crate::scale::summary::{self, Summary};
use crate::state::State;
use crate::target::Targets;

/// The name of the array of statistics.
const ROW: &str = "target";

/// The name of a survey's array.
const SURVEY: &str = "survey_targets";

/// The constructor, its arguments, and the state.
type Reduced<'py> = (Bound<'py, PyAny>, (bool, f64, bool), Bound<'py, PyDict>);

type Floats<'py> = Bound<'py, PyArray1<f64>>;

/// Statistics of the targets of a regression, by which they are standardised.
#[pyclass(module = "streamkarma._engine")]
#[derive(Clone)]
pub struct Target {
    inner: Targets,
}

#[pymethods]
impl Target {
    #[new]
    #[pyo3(signature = (scale, longest, far=false))]
    fn new(scale: bool, longest: f64, far: bool) -> Self {
        Self { inner: Targets::new(scale, longest, far) }
    }

    /// Standardised targets (NaN for none), and by what scores are to be shifted, and multiplied before, to give
    /// predictions. Targets of weight 0 leave no trace.
    fn encode<'py>(
        &mut self,
        py: Python<'py>,
        targets: PyReadonlyArray1<'py, f64>,
        weights: PyReadonlyArray1<'py, f64>,
    ) -> (Floats<'py>, Floats<'py>, Floats<'py>) {
        let (mut standard, mut centres, mut spreads) = (Vec::new(), Vec::new(), Vec::new());
        for (&target, &weight) in targets.as_array().iter().zip(weights.as_array()) {
            let encoded = self.inner.encode(target, weight);
            standard.push(encoded.standard);
            centres.push(encoded.centre);
            spreads.push(encoded.spread);
        }
        (standard.into_pyarray(py), centres.into_pyarray(py), spreads.into_pyarray(py))
    }

    /// The result of `encode` for one target, which leaves no trace.
    fn preview(&self, target: f64, weight: f64) -> (f64, f64, f64) {
        let encoded = self.inner.preview(target, weight);
        (encoded.standard, encoded.centre, encoded.spread)
    }

    /// Observe a target that occurred `times` times, of total weight `weight`.
    #[pyo3(signature = (target, weight, times=1))]
    fn observe(&mut self, target: f64, weight: f64, times: usize) {
        let each = weight / times as f64;
        (0..times).for_each(|_| _ = self.inner.encode(target, each));
    }

    /// Whether the statistics are frozen.
    #[getter]
    fn frozen(&self) -> bool {
        self.inner.frozen
    }

    #[setter]
    fn set_frozen(&mut self, frozen: bool) {
        self.inner.frozen = frozen;
    }

    /// Merge what parts have observed that continued from here; see `_engine.pyi`.
    #[pyo3(signature = (parts, learned=None))]
    fn merge(
        &mut self,
        parts: Vec<PyRef<'_, Target>>,
        learned: Option<Vec<f64>>,
    ) -> PyResult<Vec<(f64, f64)>> {
        let learned = learned.unwrap_or_else(|| vec![0.0; parts.len()]);
        let parts: Vec<_> = parts.iter().map(|part| part.inner.clone()).zip(learned).collect();
        self.inner.merge(&parts).map_err(PyValueError::new_err)
    }

    /// Only collect targets from now on, until `end_survey`.
    fn begin_survey(&mut self) {
        self.inner.begin_survey();
    }

    /// Set the scale to that of the collected targets.
    fn end_survey(&mut self) {
        self.inner.end_survey();
    }

    /// The statistics, and those of a survey so far, as arrays by name.
    fn arrays<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let mut state = State::default();
        if let Some(survey) = &self.inner.survey {
            let rows: Vec<f64> = survey.rows().flatten().collect();
            let count = rows.len() / summary::WIDTH;
            state.put_f64s(SURVEY, rows, &[count, summary::WIDTH]);
        }
        let row = self.inner.seen.row();
        state.put_f64s(ROW, row.to_vec(), &[row.len()]);
        to_python(py, state)
    }

    /// Restore such arrays, which are removed; ValueError if they are invalid.
    fn restore(&mut self, arrays: &Bound<'_, PyDict>) -> PyResult<()> {
        let wrong = || PyValueError::new_err("the statistics of the target are invalid");
        let state = taken(arrays, &[ROW])?.ok_or_else(wrong)?;
        let (row, _) = state.f64s(ROW).map_err(PyValueError::new_err)?;
        self.inner.seen = Scale::from_row(row).ok_or_else(wrong)?;
        if let Some(state) = taken(arrays, &[SURVEY])? {
            let (rows, _) = state.f64s(SURVEY).map_err(PyValueError::new_err)?;
            let rows = Summary::from_rows(rows.as_chunks().0).map_err(PyValueError::new_err)?;
            self.inner.survey = Some(rows);
        }
        Ok(())
    }

    fn __deepcopy__(&self, _memo: &Bound<'_, PyAny>) -> Self {
        self.clone()
    }

    /// For pickles: how to construct one, and its state.
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Reduced<'py>> {
        let this = slf.borrow();
        let inner = &this.inner;
        let arguments = (inner.scale, inner.longest, inner.far);
        Ok((slf.get_type().into_any(), arguments, this.arrays(slf.py())?))
    }

    fn __setstate__(&mut self, arrays: &Bound<'_, PyDict>) -> PyResult<()> {
        self.restore(arrays)
    }
}
