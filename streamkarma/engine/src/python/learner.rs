//! Any learner, as Python sees it.

use numpy::PyUntypedArrayMethods;
use numpy::{IntoPyArray, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray3};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::state::{from_python, to_python};
use crate::block::Block;
use crate::learner::{self, Fact, Lesson};

/// Scores of events, shape (T, C), and losses, shape (T,).
type Run<'py> = (Bound<'py, PyArray2<f64>>, Bound<'py, PyArray1<f64>>);

/// A learner: blocks of encoded events in, scores out.
#[pyclass(module = "streamkarma._engine")]
pub struct Learner {
    inner: Box<dyn learner::Learner>,
}

impl Learner {
    /// Around a learner.
    pub fn of(inner: impl learner::Learner + 'static) -> Self {
        Self { inner: Box::new(inner) }
    }
}

/// A block, in the kinds of numbers that the engine has.
pub(super) struct Items {
    starts: Vec<usize>,
    attributes: Vec<u32>,
    coordinates: Vec<u32>,
    values: Vec<f64>,
}

/// The four arrays of a `Block` of Python.
pub(super) type Arrays<'py> = (
    PyReadonlyArray1<'py, i64>,
    PyReadonlyArray1<'py, i32>,
    PyReadonlyArray1<'py, i32>,
    PyReadonlyArray1<'py, f64>,
);

impl Items {
    pub(super) fn from_python((starts, attributes, coordinates, values): &Arrays) -> PyResult<Self> {
        let items = Self {
            starts: starts.as_array().iter().map(|&start| start as usize).collect(),
            attributes: attributes.as_array().iter().map(|&each| each as u32).collect(),
            coordinates: coordinates.as_array().iter().map(|&each| each as u32).collect(),
            values: values.as_array().to_vec(),
        };
        let end = items.starts.last().copied().unwrap_or(0);
        let fits = items.starts.is_sorted()
            && [items.attributes.len(), items.coordinates.len(), items.values.len()]
                .iter()
                .all(|&length| end <= length);
        if fits { Ok(items) } else { Err(PyValueError::new_err("the arrays of the block do not fit")) }
    }

    pub(super) fn block(&self) -> Block<'_> {
        Block {
            starts: &self.starts,
            attributes: &self.attributes,
            coordinates: &self.coordinates,
            values: &self.values,
        }
    }
}

#[pymethods]
impl Learner {
    /// Columns of the scores.
    #[getter]
    fn classes(&self) -> usize {
        self.inner.classes()
    }

    /// Events learned.
    #[getter]
    fn steps(&self) -> u64 {
        self.inner.steps()
    }

    /// Predict, then learn, the events of a block.
    #[pyo3(signature = (block, labels, weights, delays=None, others=None))]
    fn run<'py>(
        &mut self,
        py: Python<'py>,
        block: Arrays<'py>,
        labels: PyReadonlyArray1<'py, f64>,
        weights: PyReadonlyArray1<'py, f64>,
        delays: Option<PyReadonlyArray1<'py, f64>>,
        others: Option<PyReadonlyArray3<'py, f64>>,
    ) -> PyResult<Run<'py>> {
        let items = Items::from_python(&block)?;
        let events = items.block().len();
        let (labels, weights) = (labels.as_array().to_vec(), weights.as_array().to_vec());
        let delays = delays.map_or_else(|| vec![0.0; events], |delays| delays.as_array().to_vec());
        if [labels.len(), weights.len(), delays.len()] != [events; 3] {
            return Err(PyValueError::new_err(format!(
                "{events} events, {} labels, {} weights",
                labels.len(),
                weights.len()
            )));
        }
        let classes = self.inner.classes();
        let others =
            others.map_or_else(|| Ok(vec![Vec::new(); events]), |others| by_event(&others, events))?;
        let lessons: Vec<Lesson> = (0..events)
            .map(|t| Lesson { label: labels[t], weight: weights[t], delay: delays[t], others: &others[t] })
            .collect();
        if let Some(label) = labels.iter().find(|label| classes > 1 && **label >= classes as f64) {
            return Err(PyValueError::new_err(format!("class {label} of {classes}")));
        }
        let (mut scores, mut losses) = (vec![0.0; events * classes], vec![f64::NAN; events]);
        // What is learned needs no interpreter.
        py.detach(|| self.inner.run(&items.block(), &lessons, &mut scores, &mut losses));
        Ok((scores.into_pyarray(py).reshape([events, classes])?, losses.into_pyarray(py)))
    }

    /// Go to so many classes.
    fn widen(&mut self, classes: usize) {
        self.inner.widen(classes);
    }

    /// Forget everything, and go on as after so many steps.
    fn restart(&mut self, steps: u64) {
        self.inner.restart(steps);
    }

    /// Sizes of the model, and what became of the examples.
    fn summary<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        for (name, fact) in self.inner.summary() {
            match fact {
                Fact::Count(count) => dict.set_item(name, count)?,
                Fact::Nothing => dict.set_item(name, py.None())?,
                Fact::Numbers(numbers) => {
                    let inner = PyDict::new(py);
                    for (key, number) in numbers {
                        inner.set_item(key, number)?;
                    }
                    dict.set_item(name, inner)?;
                }
            }
        }
        Ok(dict)
    }

    /// Everything learned, as arrays by name.
    fn arrays<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        to_python(py, self.inner.state())
    }

    /// Take over a state.
    fn restore(&mut self, arrays: &Bound<'_, PyDict>, attributes: usize, coordinates: usize) -> PyResult<()> {
        let state = from_python(arrays)?;
        self.inner.restore(&state, attributes, coordinates).map_err(PyValueError::new_err)
    }
}

/// Scores of models from elsewhere, shape (F, T, C), event by event.
fn by_event(others: &PyReadonlyArray3<f64>, events: usize) -> PyResult<Vec<Vec<f64>>> {
    if others.shape()[1] != events {
        return Err(PyValueError::new_err(format!("{events} events, {} scores", others.shape()[1])));
    }
    let array = others.as_array();
    Ok((0..events).map(|t| array.index_axis(numpy::ndarray::Axis(1), t).iter().copied().collect()).collect())
}
