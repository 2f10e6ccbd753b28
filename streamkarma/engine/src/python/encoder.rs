//! Python bindings for the encoder.

use std::collections::BTreeMap;

use numpy::PyReadonlyArray2;
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString};

use super::dict_reader;
use super::encoded::Encoded;
use super::encoder_names::{Entry, Names, checked_entries};
use super::encoder_pickle::{GivenRules, Pickled, Reduced, rules_of};
use super::encoder_reading::Reading;
use super::encoder_state::{CountRows, counted};
use super::following::{self, GivenFollowing, following_of, past_label};
use super::learner::Learner;
use super::names::{Foreigners, bytes_of, text_of};
use super::tickets::TicketRegistry;
use crate::encoded;
use crate::encoder::{self, Following};
use crate::learner::{Lesson, Unit};
use crate::vocabulary::{Bounds, MOST_NAME_BYTES};

/// Encodes names and values of events for the learners.
#[pyclass(module = "streamkarma._engine")]
pub struct Encoder {
    /// The engine's own type.
    pub inner: encoder::Encoder,
    /// Names that are not texts.
    pub foreigners: Foreigners,
    /// The event that was passed alone last; its memory is reused.
    pub event: encoded::Encoded,
    /// Its ticket.
    ticket: u64,
}

#[pymethods]
impl Encoder {
    #[new]
    #[pyo3(signature = (max_attributes, max_coordinates, max_name_bytes, scale, longest, rules=None, rates=0, all_bytes=MOST_NAME_BYTES, terms=false))]
    #[allow(clippy::too_many_arguments)] // As many as Python passes by name.
    fn new(
        py: Python,
        max_attributes: usize,
        max_coordinates: usize,
        max_name_bytes: usize,
        scale: bool,
        longest: f64,
        rules: Option<GivenRules>,
        rates: usize,
        all_bytes: usize,
        terms: bool,
    ) -> PyResult<Self> {
        let bounds = Bounds {
            attributes: max_attributes,
            coordinates: max_coordinates,
            name_bytes: max_name_bytes,
            all_bytes,
        };
        let rules = rules.map(rules_of).transpose()?.unwrap_or_default();
        let inner = encoder::Encoder::new(bounds, scale, longest);
        let inner = inner.with_rules(rules).with_rates(rates).with_terms(terms);
        Ok(Self { inner, foreigners: Foreigners::new(py), event: encoded::Encoded::default(), ticket: 0 })
    }

    /// Encode records: all of them or, if one is not an event, none, with a RecordError.
    ///
    /// With `awaiting`, those that are not learned may come again with a label; with `whole`, they already contain the
    /// earlier values of their entities.
    #[pyo3(signature = (records, learned, into, awaiting=false, whole=false, labels=None))]
    #[allow(clippy::too_many_arguments)] // As many as Python passes by name.
    fn read_dicts<'py>(
        &mut self,
        py: Python<'py>,
        records: &Bound<'py, PyList>,
        learned: Vec<bool>,
        mut into: PyRefMut<'py, Encoded>,
        awaiting: bool,
        whole: bool,
        labels: Option<Vec<Bound<'py, PyAny>>>,
    ) -> PyResult<()> {
        let how = Reading { learned, labels, awaiting, whole };
        self.read_records(py, records, how, &mut into.inner)
    }

    /// Remember what events of entities contain, and carry it into their next events.
    pub fn follow(&mut self, given: GivenFollowing) -> PyResult<()> {
        let longest_name = self.inner.vocabulary().bounds().name_bytes;
        self.inner.set_following(Some(following_of(given, longest_name)?));
        Ok(())
    }

    /// Set whether the name of the entity is an attribute as well.
    fn show_entity(&mut self, is_attribute: bool) {
        if let Some(following) = self.inner.following_mut() {
            following.rules.is_attribute = is_attribute;
        }
    }

    /// Whether labels of entities are remembered, but none of this one so far.
    fn lacks_label(&self, entity: &str) -> bool {
        let Some(Following { rules, entities, .. }) = self.inner.following() else { return false };
        let labels = entities.find(entity.as_bytes()).and_then(|at| entities.labels_at(at));
        rules.labels && labels.is_none()
    }

    /// For `sys.getsizeof`, by which river measures a model's memory; names and their statistics are not included.
    fn __sizeof__(&self) -> usize {
        let entities = self.inner.following().map_or(0, |following| following.entities.bytes());
        size_of::<Self>() + entities
    }

    /// The entity of the event that was checked last; None if it is unknown, or none are followed.
    #[getter]
    fn entity<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyString>>> {
        let name = self.inner.following().and_then(Following::entity);
        name.map(|name| text_of(py, name)).transpose()
    }

    /// The number of remembered entities, their bytes, and the number of evicted ones; None if none are followed.
    #[getter]
    fn entity_counts(&self) -> Option<(usize, usize, u64)> {
        let entities = &self.inner.following()?.entities;
        Some((entities.len(), entities.bytes(), entities.evicted))
    }

    /// The values carried into the event that was read last, by name.
    fn carried<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        following::dict_of(py, self.inner.carried())
    }

    /// RecordError if a record is not an event; it leaves no trace.
    pub fn check(&mut self, record: &Bound<'_, PyAny>) -> PyResult<()> {
        dict_reader::read(&mut self.inner, &mut self.foreigners, record)
    }

    /// Encode the rows of a table: all of them or, if a value is infinite, none, with a RecordError.
    #[pyo3(signature = (names, table, learned, into, awaiting=false, labels=None))]
    #[allow(clippy::too_many_arguments)] // As many as Python passes by name.
    fn read_table<'py>(
        &mut self,
        names: &Bound<'py, PyList>,
        table: PyReadonlyArray2<'py, f64>,
        learned: Vec<bool>,
        mut into: PyRefMut<'py, Encoded>,
        awaiting: bool,
        labels: Option<Vec<Bound<'py, PyAny>>>,
    ) -> PyResult<()> {
        let how = Reading { learned, labels, awaiting, whole: false };
        self.read_rows(names, table.as_array(), how, &mut into.inner)
    }

    /// Predict, then learn, one event, and return its scores. With weight 0 it leaves no trace, except that `registry`
    /// and a mixture record the prediction if it has no label. In a regression `unit` is the target, and the centre and
    /// the spread of the unit of scores.
    #[pyo3(signature = (record, label, weight, learner, registry, given, unit=None))]
    #[allow(clippy::too_many_arguments)] // As many as Python passes by name.
    fn step(
        &mut self,
        record: &Bound<'_, PyAny>,
        label: f64,
        weight: f64,
        mut learner: PyRefMut<'_, Learner>,
        registry: Option<PyRefMut<'_, TicketRegistry>>,
        given: &Bound<'_, PyAny>,
        unit: Option<(f64, f64, f64)>,
    ) -> PyResult<Vec<f64>> {
        self.encode_one(record, label, weight, given)?;
        self.ticket =
            registry.map_or(0, |mut registry| self.ticket_from(&mut registry.inner, !label.is_nan()));
        for evicted in &self.event.evicted {
            learner.forget(evicted)?;
        }
        let (target, centre, spread) = unit.unwrap_or((label, 0.0, 1.0));
        let unit = Unit { centre, spread };
        let lesson = Lesson { label, target, unit, weight, ticket: self.ticket, ..Lesson::NONE };
        learner.step(self.event.block().event(0), lesson)
    }

    /// Remember a label that arrived late, for some event of an entity.
    fn add_late_label(&mut self, entity: &str, label: &Bound<'_, PyAny>) -> PyResult<()> {
        if let Some(label) = past_label(label)?
            && let Some(following) = self.inner.following_mut()
        {
            following.add_late_label(entity.as_bytes(), label);
        }
        Ok(())
    }

    /// The ticket of the event that was passed alone last; 0 for none.
    #[getter]
    fn ticket(&self) -> u64 {
        self.ticket
    }

    /// Number of attribute indices, including the constant's and free ones.
    #[getter]
    fn attribute_count(&self) -> usize {
        self.inner.vocabulary().attribute_count()
    }

    /// Number of coordinate indices, including the constant's and free ones.
    #[getter]
    fn coordinate_count(&self) -> usize {
        self.inner.vocabulary().coordinate_count()
    }

    /// Number of coordinates of the rates of an attribute.
    #[getter]
    fn rates(&self) -> usize {
        self.inner.rates()
    }

    #[setter]
    fn set_rates(&mut self, rates: usize) {
        self.inner.set_rates(rates);
    }

    /// Whether events have terms.
    #[getter]
    fn terms(&self) -> bool {
        self.inner.terms()
    }

    #[setter]
    fn set_terms(&mut self, terms: bool) {
        self.inner.set_terms(terms);
    }

    /// Number of attributes and coordinates, without the constant and free indices.
    #[getter]
    fn sizes(&self) -> (usize, usize) {
        let used = self.inner.vocabulary().used();
        (used.attributes - 1, used.coordinates - 1)
    }

    /// Whether names and statistics do not change, whatever is learned.
    #[getter]
    fn frozen(&self) -> bool {
        self.inner.is_frozen()
    }

    #[setter]
    fn set_frozen(&mut self, frozen: bool) {
        self.inner.set_frozen(frozen);
    }

    /// Only collect statistics of the events that are learned from now on, until `end_survey`.
    fn begin_survey(&mut self) {
        self.inner.begin_survey();
    }

    /// Derive from the survey what is used from then on.
    fn end_survey(&mut self) {
        self.inner.end_survey();
    }

    /// Number of coordinates evicted so far.
    #[getter]
    fn evicted(&self) -> u64 {
        self.inner.evicted()
    }

    /// The names of the attributes, without the constant, in the order of their indices.
    #[getter]
    fn attributes<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        Ok(self.attribute_names(py)?.into_values().collect())
    }

    /// The same by index.
    #[getter]
    fn attribute_names<'py>(&self, py: Python<'py>) -> PyResult<Names<'py>> {
        self.named(py, 1..self.attribute_count() as u32)
    }

    /// The names of those of the given attributes that have one.
    fn names_of<'py>(&self, py: Python<'py>, attributes: Vec<u32>) -> PyResult<Names<'py>> {
        self.named(py, attributes)
    }

    /// Number of values ignored so far.
    #[getter]
    fn ignored(&self) -> u64 {
        self.inner.vocabulary().ignored
    }

    /// Count a value that was left out elsewhere because it is too long.
    fn ignore(&mut self, name: &Bound<'_, PyAny>, category: Option<&Bound<'_, PyString>>) -> PyResult<()> {
        self.foreigners.begin();
        let key = self.foreigners.key(name)?;
        let category = category.map(bytes_of).transpose()?;
        self.inner.vocabulary_mut().ignore(key.name(), category.as_deref());
        Ok(())
    }

    /// Messages about attributes of which a value was ignored for the first time, each returned once.
    fn notices(&mut self) -> Vec<String> {
        self.inner.vocabulary_mut().notices()
    }

    /// Name of the attribute and, for a categorical coordinate, the category.
    fn describe<'py>(&self, py: Python<'py>, coordinate: usize) -> PyResult<Entry<'py>> {
        self.entry(py, coordinate)
    }

    /// `describe` of every coordinate but the constant's, in order; None for a free one.
    fn entries<'py>(&self, py: Python<'py>) -> PyResult<Vec<Option<Entry<'py>>>> {
        self.all_entries(py)
    }

    /// What became of the values of each attribute, shape (attributes, 11): see `_engine.pyi`.
    fn tallies<'py>(&self, py: Python<'py>) -> PyResult<CountRows<'py>> {
        self.tally_rows(py)
    }

    /// The kinds of the attributes by index.
    fn kinds(&self) -> BTreeMap<u32, &'static str> {
        let vocabulary = self.inner.vocabulary();
        let attributes = (1..vocabulary.attribute_count()).map(|attribute| attribute as u32);
        let used = attributes.filter(|&attribute| !vocabulary.is_free(attribute));
        used.map(|attribute| (attribute, self.inner.kind(attribute))).collect()
    }

    /// For each coordinate its attribute, -1 if it is free, when it was present last, how often, and how often its
    /// index was freed before: shape (coordinates, 4).
    fn uses<'py>(&self, py: Python<'py>) -> PyResult<CountRows<'py>> {
        self.use_rows(py)
    }

    /// Mean and standard deviation of a coordinate.
    fn mean_and_deviation(&self, coordinate: usize) -> PyResult<(f64, f64)> {
        if coordinate >= self.coordinate_count() {
            return Err(PyIndexError::new_err(format!("coordinate {coordinate}")));
        }
        Ok(self.inner.scale_of(coordinate).mean_and_deviation())
    }

    /// Everything learned but names and counts, as arrays by name.
    fn arrays<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.state_arrays(py)
    }

    /// Restore names, the numbers of values ignored and of coordinates evicted, and `arrays`, which are removed;
    /// ValueError if they contradict each other.
    fn restore(
        &mut self,
        entries: &Bound<'_, PyList>,
        ignored: &Bound<'_, PyAny>,
        evicted: &Bound<'_, PyAny>,
        arrays: &Bound<'_, PyDict>,
    ) -> PyResult<()> {
        let entries = checked_entries(entries)?;
        let ignored = counted(ignored, "the number of ignored values is invalid")?;
        let evicted = counted(evicted, "the number of evicted names is invalid")?;
        self.take_over(&entries, ignored, evicted, arrays)
    }

    /// For pickles: how to construct an encoder, and its state, in which names may be anything.
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Reduced<'py>> {
        let this = slf.borrow();
        Ok((slf.get_type().into_any(), this.arguments(), this.pickled(slf.py())?))
    }

    fn __setstate__(&mut self, state: Pickled<'_>) -> PyResult<()> {
        self.unpickle(state)
    }

    fn __copy__(&self, py: Python) -> PyResult<Self> {
        let (inner, foreigners) = (self.inner.clone(), self.foreigners.copied(py)?);
        Ok(Self { inner, foreigners, event: encoded::Encoded::default(), ticket: 0 })
    }

    fn __deepcopy__(&self, py: Python, _memo: &Bound<'_, PyAny>) -> PyResult<Self> {
        self.__copy__(py)
    }
}
