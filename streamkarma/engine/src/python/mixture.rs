//! Mixtures of learners.

use numpy::{
    IntoPyArray, PyArray1, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray3, PyUntypedArrayMethods,
};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::learner::{Learner, Run};
use super::state::{from_python, to_python};
use crate::learners::mixture::{self as engine, Calibrated, Mixture};

/// A mixture of learners by name, which become part of it.
///
/// `external_experts` is the number of external experts; `half_life` that of what is learned about the experts, 0 for
/// slow forgetting. `absolute` selects the absolute loss for a regression, `far` standardised targets that are not cut,
/// `recent` the adjustment of predictions by the latest errors.
#[pyfunction]
#[pyo3(signature = (experts, external_experts=0, regression=false, half_life=0.0, absolute=false, far=false, recent=true))]
pub fn mixture(
    experts: Vec<(String, PyRefMut<'_, Learner>)>,
    external_experts: usize,
    regression: bool,
    half_life: f64,
    absolute: bool,
    far: bool,
    recent: bool,
) -> PyResult<Learner> {
    let taken = experts.into_iter().map(|(name, mut expert)| Ok((name, expert.take()?)));
    let experts = taken.collect::<PyResult<Vec<_>>>()?;
    let mut mixture =
        Mixture::new(experts, external_experts, regression, half_life).map_err(PyValueError::new_err)?;
    if absolute {
        mixture = mixture.with_absolute_loss();
    }
    if far {
        mixture = mixture.with_far_labels();
    }
    if !recent {
        mixture = mixture.without_recent();
    }
    Ok(Learner::of(mixture))
}

/// Run experts of mixtures that are created from now on in this many threads.
#[pyfunction]
pub fn use_threads(threads: usize) {
    engine::use_threads(threads);
}

/// A classifier whose scores become calibrated log-odds.
#[pyfunction]
#[pyo3(signature = (expert, half_life=0.0))]
pub fn calibrated(mut expert: PyRefMut<'_, Learner>, half_life: f64) -> PyResult<Learner> {
    let made = Calibrated::new(expert.take()?, half_life).map_err(PyValueError::new_err)?;
    Ok(Learner::of(made))
}

/// Mixes scores of any experts by log loss.
#[pyclass(module = "streamkarma._engine")]
pub struct Aggregator {
    inner: engine::Aggregator,
}

#[pymethods]
impl Aggregator {
    #[new]
    #[pyo3(signature = (experts, regression=false, half_life=0.0))]
    fn new(experts: usize, regression: bool, half_life: f64) -> Self {
        Self { inner: engine::Aggregator::new(experts, regression, half_life) }
    }

    /// Number of score columns.
    #[getter]
    fn classes(&self) -> usize {
        self.inner.classes()
    }

    /// Number of events learned.
    #[getter]
    fn steps(&self) -> u64 {
        self.inner.steps()
    }

    /// Bayes weights of the experts and of the blend.
    #[getter]
    fn weights<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_slice(py, self.inner.weights())
    }

    /// Their mean over about the last 1,000 events.
    #[getter]
    fn mean_weights<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_slice(py, self.inner.mean_weights())
    }

    /// Mix, then learn, events, given their scores of shape (E, T, C), how many values each has and what deviation it
    /// leaves open.
    #[pyo3(signature = (scores, labels, weights, items=None, open=None))]
    fn run<'py>(
        &mut self,
        py: Python<'py>,
        scores: PyReadonlyArray3<'py, f64>,
        labels: PyReadonlyArray1<'py, f64>,
        weights: PyReadonlyArray1<'py, f64>,
        items: Option<PyReadonlyArray1<'py, f64>>,
        open: Option<PyReadonlyArray1<'py, f64>>,
    ) -> PyResult<Run<'py>> {
        let (labels, weights) = (labels.as_array().to_vec(), weights.as_array().to_vec());
        let (events, classes) = (labels.len(), self.inner.classes());
        let items = items.map_or_else(|| vec![1.0; events], |items| items.as_array().to_vec());
        let open = open.map_or_else(|| vec![0.0; events], |open| open.as_array().to_vec());
        if scores.shape() != [self.inner.experts(), events, classes]
            || [weights.len(), items.len(), open.len()] != [events; 3]
        {
            let (shape, given) = (scores.shape(), [weights.len(), items.len(), open.len()]);
            let why = format!("scores {shape:?}, {events} labels; weights, items, open: {given:?}");
            return Err(PyValueError::new_err(why));
        }
        let is_known = |label: &f64| label.is_nan() || (0.0..classes as f64).contains(label);
        if classes > 1 && !labels.iter().all(is_known) {
            return Err(PyValueError::new_err(format!("a label is not one of {classes} classes")));
        }
        let scores = scores.as_array();
        let scores = scores.as_standard_layout();
        let all_scores = scores.as_slice().unwrap_or_default();
        let (mut mixed, mut losses) = (vec![0.0; events * classes], vec![f64::NAN; events]);
        let mut row = vec![0.0; self.inner.experts() * classes];
        for (t, to) in mixed.chunks_exact_mut(classes).enumerate() {
            for (e, row) in row.chunks_exact_mut(classes).enumerate() {
                let place = (e * events + t) * classes;
                row.iter_mut().zip(&all_scores[place..]).for_each(|(to, score)| *to = *score);
            }
            losses[t] = self.inner.step(
                engine::ExpertScores { scores: &row, observed: [items[t], -open[t]] },
                labels[t],
                engine::Count::of(weights[t]),
                to,
            );
        }
        Ok((mixed.into_pyarray(py).reshape([events, classes])?, losses.into_pyarray(py)))
    }

    /// Extend to this many classes.
    fn widen(&mut self, classes: usize) {
        self.inner.widen(classes);
    }

    /// Forget everything.
    fn restart(&mut self) {
        self.inner.restart();
    }

    /// Everything learned, as arrays by name.
    fn arrays<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        to_python(py, self.inner.state())
    }

    /// Restore a state.
    fn restore(&mut self, arrays: &Bound<'_, PyDict>) -> PyResult<()> {
        self.inner.restore(&from_python(arrays)?).map_err(PyValueError::new_err)
    }
}
