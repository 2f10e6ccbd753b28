//! Python bindings for any learner.

use numpy::PyUntypedArrayMethods;
use numpy::{IntoPyArray, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray3};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::encoded::Given;
use super::predicted::Predicted;
use super::state::{from_python, to_python};
use crate::block::{Block, Event, Evicted};
use crate::learner::{self, Fact, Lesson, Unit, bytes_in};

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

/// A block, in the engine's number types.
pub struct Items {
    starts: Vec<usize>,
    attributes: Vec<u32>,
    coordinates: Vec<u32>,
    values: Vec<f64>,
    evicted: Vec<Evicted>,
}

/// What was evicted before which event of a Python `Block`: attributes and coordinates.
pub type EvictedBefore = (usize, Vec<u32>, Vec<u32>);

/// The raw target of each event, and the centre and the spread of the unit of its score.
type Units<'py> = (PyReadonlyArray1<'py, f64>, PyReadonlyArray1<'py, f64>, PyReadonlyArray1<'py, f64>);

/// The arrays of a Python `Block`, and what was evicted.
pub type Arrays<'py> = (
    PyReadonlyArray1<'py, i64>,
    PyReadonlyArray1<'py, i32>,
    PyReadonlyArray1<'py, i32>,
    PyReadonlyArray1<'py, f64>,
    Vec<EvictedBefore>,
);

impl Items {
    /// ValueError if they do not fit each other.
    pub fn from_python((starts, attributes, coordinates, values, evicted): &Arrays) -> PyResult<Self> {
        let starts: Vec<usize> = starts.as_array().iter().map(|&start| start as usize).collect();
        let end = starts.last().copied().unwrap_or(0);
        let fits = [attributes.len(), coordinates.len(), values.len()].iter().all(|&length| end <= length);
        if !starts.is_sorted() || !fits {
            return Err(PyValueError::new_err("the arrays of the block do not fit"));
        }
        let evicted: Vec<Evicted> =
            evicted.iter().filter_map(|evicted| evicted_before(&starts, evicted)).collect();
        if !evicted.is_sorted_by(|one, next| one.before < next.before) {
            return Err(PyValueError::new_err("evictions are not in the order of the events"));
        }
        // The arrays may have spare capacity for more events.
        Ok(Self {
            evicted,
            starts,
            attributes: attributes.as_array().iter().take(end).map(|&each| each as u32).collect(),
            coordinates: coordinates.as_array().iter().take(end).map(|&each| each as u32).collect(),
            values: values.as_array().iter().take(end).copied().collect(),
        })
    }

    /// The block, to be iterated over.
    pub fn block(&self) -> Block<'_> {
        Block {
            starts: &self.starts,
            attributes: &self.attributes,
            coordinates: &self.coordinates,
            values: &self.values,
            raw: &self.values,
            evicted: &self.evicted,
        }
    }
}

/// The engine's form; None past the last event.
fn evicted_before(starts: &[usize], (t, attributes, coordinates): &EvictedBefore) -> Option<Evicted> {
    let sorted = |indices: &[u32]| {
        let mut indices = indices.to_vec();
        indices.sort_unstable();
        indices
    };
    let before = *starts.get(*t)?;
    Some(Evicted { before, attributes: sorted(attributes), coordinates: sorted(coordinates) })
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
    /// Each event has a ticket and marks for whether it was `observed` before and whether its label is `shared`; in a
    /// regression also its target and the unit of its score: see `core.learner`.
    #[pyo3(signature = (events, labels, weights, tickets=None, external_scores=None, part=None, observed=None, shared=None, units=None))]
    #[allow(clippy::too_many_arguments)] // As many as Python passes by name.
    fn run<'py>(
        &mut self,
        py: Python<'py>,
        events: Given<'py>,
        labels: PyReadonlyArray1<'py, f64>,
        weights: PyReadonlyArray1<'py, f64>,
        tickets: Option<PyReadonlyArray1<'py, u64>>,
        external_scores: Option<PyReadonlyArray3<'py, f64>>,
        part: Option<(usize, usize)>,
        observed: Option<PyReadonlyArray1<'py, bool>>,
        shared: Option<PyReadonlyArray1<'py, bool>>,
        units: Option<Units<'py>>,
    ) -> PyResult<Run<'py>> {
        let given = events.events()?;
        let whole = given.block();
        let (begin, end) = checked_part(part, whole.len())?;
        let (block, events) = (whole.part(begin, end - begin), end - begin);
        let marks = |marks: Option<PyReadonlyArray1<bool>>| {
            marks.map_or_else(|| vec![false; events], |marks| marks.as_array().to_vec())
        };
        let labels = labels.as_array().to_vec();
        let columns = LessonColumns {
            weights: weights.as_array().to_vec(),
            tickets: tickets.map_or_else(|| vec![0; events], |tickets| tickets.as_array().to_vec()),
            observed: marks(observed),
            shared: marks(shared),
            units: units.map_or_else(|| labels.iter().map(|&label| (label, Unit::NONE)).collect(), units_of),
            labels,
        };
        columns.check(events)?;
        let inner = self.inner_mut()?;
        let classes = inner.classes();
        let given = external_scores.as_ref().map_or([0, events, classes], |scores| {
            let shape = scores.shape();
            [shape[0], shape[1], shape[2]]
        });
        if given != [inner.external_experts(), events, classes] {
            let wanted = [inner.external_experts(), events, classes];
            return Err(PyValueError::new_err(format!(
                "scores of external experts have the shape {given:?} and not {wanted:?}"
            )));
        }
        let external_scores = external_scores
            .map_or_else(|| vec![Vec::new(); events], |external_scores| by_event(&external_scores, events));
        columns.labels.iter().try_for_each(|&label| check_label(label, classes))?;
        let lessons = columns.lessons(&external_scores);
        let (mut scores, mut losses) = (vec![0.0; events * classes], vec![f64::NAN; events]);
        // Learning does not need the interpreter.
        py.detach(|| inner.run(&block, &lessons, &mut scores, &mut losses));
        Ok((scores.into_pyarray(py).reshape([events, classes])?, losses.into_pyarray(py)))
    }

    /// Whether names have to keep their indices when models are merged.
    #[getter]
    fn hashed(&self) -> PyResult<bool> {
        Ok(self.inner()?.is_hashed())
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

/// Raw targets, and the units of scores.
fn units_of((targets, centres, spreads): Units) -> Vec<(f64, Unit)> {
    let units = centres.as_array().into_iter().zip(spreads.as_array());
    let units = units.map(|(&centre, &spread)| Unit { centre, spread });
    targets.as_array().iter().copied().zip(units.collect::<Vec<_>>()).collect()
}

/// The events from one to another, or all; ValueError if there are not so many.
fn checked_part(part: Option<(usize, usize)>, events: usize) -> PyResult<(usize, usize)> {
    let (begin, end) = part.unwrap_or((0, events));
    if begin <= end && end <= events {
        return Ok((begin, end));
    }
    Err(PyValueError::new_err(format!("the range {begin} to {end} is not within the {events} events")))
}

/// What is to be learned, with one entry per event.
struct LessonColumns {
    labels: Vec<f64>,
    weights: Vec<f64>,
    tickets: Vec<u64>,
    observed: Vec<bool>,
    shared: Vec<bool>,
    units: Vec<(f64, Unit)>,
}

impl LessonColumns {
    fn check(&self, events: usize) -> PyResult<()> {
        let Self { labels, weights, tickets, observed, shared, units } = self;
        let lengths = [labels.len(), weights.len(), tickets.len(), observed.len(), shared.len(), units.len()];
        if lengths == [events; 6] {
            return Ok(());
        }
        Err(PyValueError::new_err(format!(
            "labels, weights and marks must have one entry for each of the {events} events"
        )))
    }

    fn lessons<'a>(&self, external_scores: &'a [Vec<f64>]) -> Vec<Lesson<'a>> {
        let lesson = |(t, external_scores): (usize, &'a Vec<f64>)| Lesson {
            label: self.labels[t],
            target: self.units[t].0,
            unit: self.units[t].1,
            weight: self.weights[t],
            ticket: self.tickets[t],
            observed_before: self.observed[t],
            shares_label: self.shared[t],
            wants_scores: true,
            external_scores,
        };
        external_scores.iter().enumerate().map(lesson).collect()
    }
}

/// ValueError for a label that is none of several classes; NaN means that there is no label to learn.
fn check_label(label: f64, classes: usize) -> PyResult<()> {
    if classes > 1 && !label.is_nan() && !(0.0..classes as f64).contains(&label) {
        return Err(PyValueError::new_err(format!("the label {label} is not one of {classes} classes")));
    }
    Ok(())
}

/// Scores of external experts, shape (F, T, C), event by event.
fn by_event(external_scores: &PyReadonlyArray3<f64>, events: usize) -> Vec<Vec<f64>> {
    let array = external_scores.as_array();
    (0..events).map(|t| array.index_axis(numpy::ndarray::Axis(1), t).iter().copied().collect()).collect()
}
