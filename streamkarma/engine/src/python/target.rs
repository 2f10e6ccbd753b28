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

/// The name of a survey's array.
const SURVEY: &str = "survey_targets";

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
            let encoded = self.encode_one(target, weight);
            standard.push(encoded.0);
            centres.push(encoded.1);
            spreads.push(encoded.2);
        }
        (standard.into_pyarray(py), centres.into_pyarray(py), spreads.into_pyarray(py))
    }

    /// The same for one target.
    fn encode_one(&mut self, target: f64, weight: f64) -> (f64, f64, f64) {
        let encoded = self.inner.encode(target, weight);
        (encoded.standard, encoded.centre, encoded.spread)
    }

    /// The result of `encode_one` for a target, which leaves no trace.
    fn preview_one(&self, target: f64, weight: f64) -> (f64, f64, f64) {
        let encoded = self.inner.preview(target, weight);
        (encoded.standard, encoded.centre, encoded.spread)
    }

    /// Observe a target that occurred `times` times, of total weight `weight`.
    fn repeat(&mut self, target: f64, times: usize, weight: f64) {
        if self.inner.scale && weight > 0.0 {
            let each = weight / times as f64;
            (0..times).for_each(|_| _ = self.inner.seen.observe(target, each, self.inner.longest));
        }
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

    /// The state of a survey so far, as arrays by name; none if there is none.
    fn survey<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let mut state = State::default();
        if let Some(survey) = &self.inner.survey {
            let rows: Vec<f64> = survey.rows().flatten().collect();
            let count = rows.len() / summary::WIDTH;
            state.put_f64s(SURVEY, rows, &[count, summary::WIDTH]);
        }
        to_python(py, state)
    }

    /// Take such arrays out of `arrays`, if they are there, and continue the survey.
    fn restore_survey(&mut self, arrays: &Bound<'_, PyDict>) -> PyResult<()> {
        if let Some(state) = taken(arrays, &[SURVEY])? {
            let (rows, _) = state.f64s(SURVEY).map_err(PyValueError::new_err)?;
            let rows = Summary::from_rows(rows.as_chunks().0).map_err(PyValueError::new_err)?;
            self.inner.survey = Some(rows);
        }
        Ok(())
    }

    /// The statistics, as a row of a model file.
    #[getter]
    fn row<'py>(&self, py: Python<'py>) -> Floats<'py> {
        self.inner.seen.row().to_vec().into_pyarray(py)
    }

    /// Restore a row; ValueError if it is invalid.
    fn restore(&mut self, row: PyReadonlyArray1<f64>) -> PyResult<()> {
        let row = Scale::from_row(&row.as_array().to_vec());
        self.inner.seen =
            row.ok_or_else(|| PyValueError::new_err("the statistics of the target are invalid"))?;
        Ok(())
    }

    fn __deepcopy__(&self, _memo: &Bound<'_, PyAny>) -> Self {
        self.clone()
    }

    /// For pickles: how to construct one, and its state.
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> (Bound<'py, PyAny>, (bool, f64, bool), Floats<'py>) {
        let this = slf.borrow();
        let inner = &this.inner;
        (slf.get_type().into_any(), (inner.scale, inner.longest, inner.far), this.row(slf.py()))
    }

    fn __setstate__(&mut self, row: PyReadonlyArray1<f64>) -> PyResult<()> {
        self.restore(row)
    }
}
