//! Python bindings for any learner.

use numpy::{IntoPyArray, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray3};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::given::Given;
use super::lessons::{Late, LessonColumns, Units, check_label, external_scores_by_event};
use super::predicted::Predicted;
use super::state::{from_python, to_python};
use crate::block::{Event, Evicted};
use crate::learner::{self, Fact, Lesson, bytes_in};

/// Scores of events, shape (T, C), and losses, shape (T,).
pub type Run<'py> = (Bound<'py, PyArray2<f64>>, Bound<'py, PyArray1<f64>>);

/// A learner: blocks of encoded events in, scores out.
#[pyclass(module = "streamkarma._engine")]
pub struct Learner {
    /// None once it has become part of another.
    inner: Option<Box<dyn learner::Learner>>,
    /// The last event, if it has only been predicted since.
    predicted: Predicted,
}

impl Learner {
    /// Wrap a learner.
    pub fn of(inner: impl learner::Learner + 'static) -> Self {
        Self { inner: Some(Box::new(inner)), predicted: Predicted::default() }
    }

    /// Take out the learner itself, to become part of another; an empty shell remains.
    pub fn take(&mut self) -> PyResult<Box<dyn learner::Learner>> {
        self.inner.take().ok_or_else(already_moved)
    }

    /// Predict, then learn, one event; an event that was predicted just before is not predicted again.
    pub fn step(&mut self, event: Event, lesson: Lesson) -> PyResult<Vec<f64>> {
        let inner = self.inner.as_mut().ok_or_else(already_moved)?;
        check_label(lesson.label, inner.classes())?;
        if inner.external_experts() > 0 {
            return Err(PyValueError::new_err("the scores of the external experts are missing; see run"));
        }
        let predicted = self.predicted.take(&event);
        if let Some(mut scores) = predicted.filter(|_| lesson.is_learned()) {
            inner.learn_predicted(event, lesson, &mut scores);
            return Ok(scores);
        }
        let mut scores = vec![0.0; inner.classes()];
        inner.step(event, lesson, &mut scores);
        if lesson.weight == 0.0 {
            self.predicted.put(&event, &scores);
        }
        Ok(scores)
    }

    /// Forget what was evicted.
    pub fn forget(&mut self, evicted: &Evicted) -> PyResult<()> {
        self.inner_mut()?.forget(evicted);
        Ok(())
    }

    /// The learner itself.
    pub fn inner(&self) -> PyResult<&dyn learner::Learner> {
        self.inner.as_deref().ok_or_else(already_moved)
    }

    /// The learner itself, to be changed; the event predicted last is discarded.
    pub fn inner_mut(&mut self) -> PyResult<&mut Box<dyn learner::Learner>> {
        self.predicted.clear();
        self.inner.as_mut().ok_or_else(already_moved)
    }
}

fn already_moved() -> PyErr {
    PyValueError::new_err("the learner has become a part of another")
}

#[pymethods]
impl Learner {
    /// Number of score columns.
    #[getter]
    fn classes(&self) -> PyResult<usize> {
        Ok(self.inner()?.classes())
    }

    /// Number of events learned.
    #[getter]
    fn steps(&self) -> PyResult<u64> {
        Ok(self.inner()?.steps())
    }

    /// Predict, then learn, events; those of a `part`, from one up to another, if it is given.
    ///
    /// Late labels have a ticket and marks, and in a regression each event has its target and the unit of its score: see
    /// `core.learner`.
    #[pyo3(signature = (events, labels, weights, late=None, external_scores=None, part=None, units=None))]
    #[allow(clippy::too_many_arguments)] // As many as Python passes by name.
    fn run<'py>(
        &mut self,
        py: Python<'py>,
        events: Given<'py>,
        labels: PyReadonlyArray1<'py, f64>,
        weights: PyReadonlyArray1<'py, f64>,
        late: Option<Late<'py>>,
        external_scores: Option<PyReadonlyArray3<'py, f64>>,
        part: Option<(usize, usize)>,
        units: Option<Units<'py>>,
    ) -> PyResult<Run<'py>> {
        let given = events.events()?;
        let whole = given.block();
        let (begin, end) = checked_part(part, whole.len())?;
        let (block, events) = (whole.part(begin, end - begin), end - begin);
        let columns = LessonColumns::from_python(events, &labels, &weights, late, units)?;
        let inner = self.inner_mut()?;
        let classes = inner.classes();
        let wanted = [inner.external_experts(), events, classes];
        let external_scores = external_scores_by_event(external_scores, wanted)?;
        columns.check_labels(classes)?;
        let lessons = columns.lessons(&external_scores);
        let (mut scores, mut losses) = (vec![0.0; events * classes], vec![f64::NAN; events]);
        // Learning does not need the interpreter.
        py.detach(|| inner.run(&block, &lessons, &mut scores, &mut losses));
        Ok((scores.into_pyarray(py).reshape([events, classes])?, losses.into_pyarray(py)))
    }

    /// Extend to this many classes.
    fn widen(&mut self, classes: usize) -> PyResult<()> {
        self.inner_mut()?.widen(classes);
        Ok(())
    }

    /// Forget everything, and continue as after so many steps.
    fn restart(&mut self, steps: u64) -> PyResult<()> {
        self.inner_mut()?.restart(steps);
        Ok(())
    }

    /// For `sys.getsizeof`, by which river measures a model's memory.
    fn __sizeof__(&self) -> usize {
        let own = self.inner.as_ref().map_or(0, |inner| bytes_in(&inner.summary()));
        size_of::<Self>() + own as usize
    }

    /// Forget the latest errors: what comes next does not follow the events learned last.
    fn forget_last(&mut self) -> PyResult<()> {
        self.inner_mut()?.forget_last();
        Ok(())
    }

    /// Sizes of the model, and what became of the examples.
    fn summary<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        for (name, fact) in self.inner()?.summary() {
            match fact {
                Fact::Count(count) => dict.set_item(name, count)?,
                Fact::Nothing => dict.set_item(name, py.None())?,
                Fact::Number(number) => dict.set_item(name, number)?,
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
        to_python(py, self.inner()?.state())
    }

    /// An independent copy of the learner.
    fn copy(&self) -> PyResult<Self> {
        let inner = dyn_clone::clone_box(self.inner()?);
        Ok(Self { inner: Some(inner), predicted: Predicted::default() })
    }

    /// Restore a state.
    fn restore(&mut self, arrays: &Bound<'_, PyDict>, attributes: usize, coordinates: usize) -> PyResult<()> {
        let state = from_python(arrays)?;
        self.inner_mut()?.restore(&state, attributes, coordinates).map_err(PyValueError::new_err)
    }
}

/// The events from one to another, or all; ValueError if there are not so many.
fn checked_part(part: Option<(usize, usize)>, events: usize) -> PyResult<(usize, usize)> {
    let (begin, end) = part.unwrap_or((0, events));
    if begin <= end && end <= events {
        return Ok((begin, end));
    }
    Err(PyValueError::new_err(format!("the range {begin} to {end} is not within the {events} events")))
}
