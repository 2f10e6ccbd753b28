//! Targets of a regression, as Python sees them.

use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::scale::Scale;
use crate::target;

type Floats<'py> = Bound<'py, PyArray1<f64>>;

/// What is known of the targets of a regression, by which they are standardised.
#[pyclass(module = "streamkarma._engine")]
#[derive(Clone)]
pub struct Target {
    seen: Scale,
    scale: bool,
    longest: f64,
    far: bool,
}

#[pymethods]
impl Target {
    #[new]
    #[pyo3(signature = (scale, longest, far=false))]
    fn new(scale: bool, longest: f64, far: bool) -> Self {
        Self { seen: Scale::default(), scale, longest, far }
    }

    /// Targets (NaN for none) in standard units; what scores are to be shifted by, and multiplied by before,
    /// to be predictions. Those of weight 0 leave no trace.
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

    /// The same of one target.
    fn encode_one(&mut self, target: f64, weight: f64) -> (f64, f64, f64) {
        let encoded = if self.scale && self.far {
            target::Target::far(target, weight, &mut self.seen, self.longest)
        } else if self.scale {
            target::Target::of(target, weight, &mut self.seen, self.longest)
        } else {
            target::Target::plain(target)
        };
        (encoded.standard, encoded.centre, encoded.spread)
    }

    /// Take in a target that came so many times.
    fn repeat(&mut self, target: f64, times: usize) {
        if self.scale {
            (0..times).for_each(|_| _ = self.seen.observe(target, self.longest));
        }
    }

    /// What was seen, as a row of a model file.
    #[getter]
    fn row<'py>(&self, py: Python<'py>) -> Floats<'py> {
        self.seen.row().to_vec().into_pyarray(py)
    }

    /// Take over a row; ValueError if it is none.
    fn restore(&mut self, row: PyReadonlyArray1<f64>) -> PyResult<()> {
        let row = Scale::from_row(&row.as_array().to_vec());
        self.seen = row.ok_or_else(|| PyValueError::new_err("the statistics of the target are none"))?;
        Ok(())
    }

    fn __deepcopy__(&self, _memo: &Bound<'_, PyAny>) -> Self {
        self.clone()
    }

    /// For pickles: how to make one, and its state.
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> (Bound<'py, PyAny>, (bool, f64, bool), Floats<'py>) {
        let this = slf.borrow();
        (slf.get_type().into_any(), (this.scale, this.longest, this.far), this.row(slf.py()))
    }

    fn __setstate__(&mut self, row: PyReadonlyArray1<f64>) -> PyResult<()> {
        self.restore(row)
    }
}
