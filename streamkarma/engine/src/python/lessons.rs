//! What a learner is to learn from events: labels, weights and what belongs to them.

use numpy::ndarray::Axis;
use numpy::{PyReadonlyArray1, PyReadonlyArray3, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::learner::{Lesson, Unit};

/// The ticket of each event, whether it was observed before, and whether its label is shared.
pub type Late<'py> = (PyReadonlyArray1<'py, u64>, PyReadonlyArray1<'py, bool>, PyReadonlyArray1<'py, bool>);

/// The raw target of each event, and the centre and the spread of the unit of its score.
pub type Units<'py> = (PyReadonlyArray1<'py, f64>, PyReadonlyArray1<'py, f64>, PyReadonlyArray1<'py, f64>);

/// What is to be learned, with one entry per event.
pub struct LessonColumns {
    labels: Vec<f64>,
    weights: Vec<f64>,
    tickets: Vec<u64>,
    observed: Vec<bool>,
    shared: Vec<bool>,
    /// Raw targets, and the units of scores.
    units: Vec<(f64, Unit)>,
}

impl LessonColumns {
    /// ValueError unless there are as many of everything as events.
    pub fn from_python(
        events: usize,
        labels: &PyReadonlyArray1<f64>,
        weights: &PyReadonlyArray1<f64>,
        late: Option<Late>,
        units: Option<Units>,
    ) -> PyResult<Self> {
        let (labels, weights) = (labels.as_array().to_vec(), weights.as_array().to_vec());
        let (tickets, observed, shared) = late.map_or_else(
            || (vec![0; events], vec![false; events], vec![false; events]),
            |(tickets, observed, shared)| {
                (tickets.as_array().to_vec(), observed.as_array().to_vec(), shared.as_array().to_vec())
            },
        );
        let units = units
            .map_or_else(|| labels.iter().map(|&label| (label, Unit::NONE)).collect(), units_from_python);
        let lengths = [labels.len(), weights.len(), tickets.len(), observed.len(), shared.len(), units.len()];
        if lengths == [events; 6] {
            return Ok(Self { labels, weights, tickets, observed, shared, units });
        }
        Err(PyValueError::new_err(format!(
            "labels, weights and marks must have one entry for each of the {events} events"
        )))
    }

    /// ValueError if a label is none of several classes.
    pub fn check_labels(&self, classes: usize) -> PyResult<()> {
        self.labels.iter().try_for_each(|&label| check_label(label, classes))
    }

    /// Each event's lesson, with its scores of external experts.
    pub fn lessons<'a>(&self, external_scores: &'a [Vec<f64>]) -> Vec<Lesson<'a>> {
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

fn units_from_python((targets, centres, spreads): Units) -> Vec<(f64, Unit)> {
    let units = centres.as_array().into_iter().zip(spreads.as_array());
    let units = units.map(|(&centre, &spread)| Unit { centre, spread });
    targets.as_array().iter().copied().zip(units.collect::<Vec<_>>()).collect()
}

/// ValueError for a label that is none of several classes; NaN means that there is no label to learn.
pub fn check_label(label: f64, classes: usize) -> PyResult<()> {
    if classes > 1 && !label.is_nan() && !(0.0..classes as f64).contains(&label) {
        return Err(PyValueError::new_err(format!("the label {label} is not one of {classes} classes")));
    }
    Ok(())
}

/// Scores of external experts, shape (F, T, C), event by event; ValueError if they do not have the `wanted` shape.
pub fn external_scores_by_event(
    given: Option<PyReadonlyArray3<f64>>,
    wanted: [usize; 3],
) -> PyResult<Vec<Vec<f64>>> {
    let [_, events, classes] = wanted;
    let shape = given.as_ref().map_or([0, events, classes], |scores| {
        let shape = scores.shape();
        [shape[0], shape[1], shape[2]]
    });
    if shape != wanted {
        return Err(PyValueError::new_err(format!(
            "scores of external experts have the shape {shape:?} and not {wanted:?}"
        )));
    }
    let Some(scores) = given else { return Ok(vec![Vec::new(); events]) };
    let of_event = |t| scores.as_array().index_axis(Axis(1), t).iter().copied().collect();
    Ok((0..events).map(of_event).collect())
}
