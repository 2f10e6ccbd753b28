//! Python bindings for prediction intervals and sets.

use numpy::{
    IntoPyArray, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2,
    PyUntypedArrayMethods,
};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::state::{from_python, to_python};
use crate::conformal;

type Floats<'py> = Bound<'py, PyArray1<f64>>;
type Numbers<'py> = PyReadonlyArray1<'py, f64>;

/// Defines the methods of a Python class around an engine type: those given, and those that both classes share.
macro_rules! conformal_methods {
    ($name:ident, $inner:ty, { $($own:tt)* }) => {
        #[pymethods]
        impl $name {
            #[new]
            fn new(coverage: f64) -> PyResult<Self> {
                Ok(Self { inner: <$inner>::new(checked(coverage)?) })
            }

            $($own)*

            /// The memory that they use.
            #[getter]
            fn bytes(&self) -> usize {
                self.inner.bytes()
            }

            /// For `sys.getsizeof`, by which river measures a model's memory.
            fn __sizeof__(&self) -> usize {
                size_of::<Self>() + self.inner.bytes()
            }

            /// Everything learned, as arrays by name.
            fn arrays<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
                to_python(py, self.inner.state())
            }

            /// Merge what parts have learned since each was a copy of this one; ValueError if one has another coverage.
            fn merge(&mut self, parts: Vec<PyRef<'_, Self>>) -> PyResult<()> {
                let parts: Vec<_> = parts.iter().map(|part| &part.inner).collect();
                self.inner.merge(&parts).map_err(PyValueError::new_err)
            }

            /// Restore a state.
            fn restore(&mut self, arrays: &Bound<'_, PyDict>) -> PyResult<()> {
                self.inner.restore(&from_python(arrays)?).map_err(PyValueError::new_err)
            }
        }
    };
}

/// Intervals around predicted numbers; see `core.conformal`.
#[pyclass(module = "streamkarma._engine")]
pub struct PredictionIntervals {
    inner: conformal::Intervals,
}

conformal_methods!(PredictionIntervals, conformal::Intervals, {
    /// The lower and upper ends of the intervals, each from before its target was learned.
    fn run<'py>(
        &mut self,
        py: Python<'py>,
        predictions: Numbers<'py>,
        targets: Numbers<'py>,
        weights: Numbers<'py>,
        tickets: PyReadonlyArray1<'py, u64>,
    ) -> PyResult<(Floats<'py>, Floats<'py>)> {
        let count = predictions.len();
        if [targets.len(), weights.len(), tickets.len()] != [count; 3] {
            return Err(PyValueError::new_err("the arrays are not equally long"));
        }
        let (mut low, mut high) = (Vec::with_capacity(count), Vec::with_capacity(count));
        let (predictions, targets) = (predictions.as_array(), targets.as_array());
        for (t, (&prediction, &target)) in predictions.iter().zip(targets).enumerate() {
            let learned = weights.as_array()[t] > 0.0;
            let ends = self.inner.step(prediction, target, learned, tickets.as_array()[t]);
            low.push(ends[0]);
            high.push(ends[1]);
        }
        Ok((low.into_pyarray(py), high.into_pyarray(py)))
    }
});

/// Sets of classes; see `core.conformal`.
#[pyclass(module = "streamkarma._engine")]
pub struct PredictionSets {
    inner: conformal::Sets,
}

conformal_methods!(PredictionSets, conformal::Sets, {
    /// Which classes are in the sets of events, shape (T, `classes`), each from before its label was learned.
    ///
    /// Each event has its scores, the number of classes known by then, and the index of its label, negative for none.
    #[allow(clippy::too_many_arguments)] // As many as Python passes.
    fn run<'py>(
        &mut self,
        py: Python<'py>,
        scores: PyReadonlyArray2<'py, f64>,
        known: PyReadonlyArray1<'py, i64>,
        targets: PyReadonlyArray1<'py, i64>,
        weights: Numbers<'py>,
        tickets: PyReadonlyArray1<'py, u64>,
        classes: usize,
    ) -> PyResult<Bound<'py, PyArray2<bool>>> {
        let count = known.len();
        if [scores.shape()[0], targets.len(), weights.len(), tickets.len()] != [count; 4] {
            return Err(PyValueError::new_err("the arrays are not equally long"));
        }
        let mut members = vec![false; count * classes];
        for t in 0..count {
            let own = scores.as_array().row(t).to_vec();
            let known = usize::try_from(known.as_array()[t]).unwrap_or(0);
            let class = usize::try_from(targets.as_array()[t]).ok();
            let learned = weights.as_array()[t] > 0.0;
            let to = &mut members[t * classes..][..classes];
            self.inner.step((&own, known), class, learned, tickets.as_array()[t], to);
        }
        members.into_pyarray(py).reshape([count, classes])
    }
});

fn checked(coverage: f64) -> PyResult<f64> {
    if coverage > 0.0 && coverage < 1.0 {
        return Ok(coverage);
    }
    Err(PyValueError::new_err(format!("coverage must be between 0 and 1, not {coverage}")))
}
