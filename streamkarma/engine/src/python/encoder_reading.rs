//! Reading records and tables into encoded events.

use numpy::ndarray::ArrayView2;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyList;

use super::encoder::Encoder;
use super::following::{past_label, past_labels};
use super::table_reader;
use crate::encoded::Encoded;
use crate::entities::PastLabel;
use crate::tickets::TicketRegistry;

/// How events are read.
pub struct Reading<'py> {
    /// Whether each event is learned.
    pub learned: Vec<bool>,
    /// The labels that entities remember.
    pub labels: Option<Vec<Bound<'py, PyAny>>>,
    /// Whether events that are not learned may come again with a label.
    pub awaiting: bool,
    /// Whether events already contain the earlier values of their entities.
    pub whole: bool,
}

impl Encoder {
    /// Encode records: all of them or, if one is not an event, none.
    pub fn read_records<'py>(
        &mut self,
        py: Python<'py>,
        records: &Bound<'py, PyList>,
        how: Reading<'py>,
        into: &mut Encoded,
    ) -> PyResult<()> {
        let (learned, labels) = self.begin_reading(records.len(), how)?;
        if records.len() > 1 {
            records.iter().try_for_each(|record| self.check(&record))?;
        }
        for ((record, learned), label) in records.iter().zip(learned).zip(labels) {
            self.check(&record)?;
            self.inner.finish(learned, into);
            self.inner.add_label(label);
            self.foreigners.keep(py, self.inner.vocabulary())?;
        }
        Ok(())
    }

    /// Encode the rows of a table: all of them or, if a value is infinite, none.
    pub fn read_rows<'py>(
        &mut self,
        names: &Bound<'py, PyList>,
        table: ArrayView2<f64>,
        how: Reading<'py>,
        into: &mut Encoded,
    ) -> PyResult<()> {
        check_length(table.ncols(), names.len())?;
        let (learned, labels) = self.begin_reading(table.nrows(), how)?;
        self.foreigners.begin();
        let (inner, foreigners) = (&mut self.inner, &mut self.foreigners);
        table_reader::read(inner, foreigners, names, table, &learned, labels, into)
    }

    /// Which of the events are learned, and their labels in the engine's form.
    fn begin_reading(
        &mut self,
        events: usize,
        how: Reading,
    ) -> PyResult<(Vec<bool>, Vec<Option<PastLabel>>)> {
        let Reading { learned, labels, awaiting, whole } = how;
        check_length(events, learned.len())?;
        self.inner.set_awaiting(awaiting, whole);
        let labels = past_labels(self.inner.following(), labels, &learned)?;
        Ok((learned, labels))
    }

    /// Encode one record as `event`; its entity remembers the label as `given`, if the event is learned.
    pub fn encode_one(
        &mut self,
        record: &Bound<'_, PyAny>,
        label: f64,
        weight: f64,
        given: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        self.inner.set_awaiting(true, false);
        self.check(record)?;
        self.event.clear();
        self.inner.finish(weight > 0.0, &mut self.event);
        let learned = !label.is_nan() && weight > 0.0;
        if learned && self.inner.following().is_some() {
            self.inner.add_label(past_label(given)?);
        }
        self.foreigners.keep(record.py(), self.inner.vocabulary())
    }

    /// The ticket of `event`, with or without its label; 0 for none.
    pub fn ticket_from(&self, registry: &mut TicketRegistry, is_labelled: bool) -> u64 {
        if is_labelled && registry.is_empty() {
            return 0;
        }
        let (own, mut ticket) = (self.event.own(), [0]);
        registry.tickets(&own.raw_block(), &[is_labelled], &[!is_labelled], &mut ticket);
        ticket[0]
    }
}

fn check_length(one: usize, other: usize) -> PyResult<()> {
    if one == other {
        return Ok(());
    }
    Err(PyValueError::new_err(format!("the lengths {one} and {other} differ")))
}
