//! Python bindings for the encoder.

use std::collections::BTreeMap;

use numpy::{IntoPyArray, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray2};
use pyo3::exceptions::{PyIndexError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString};

use super::dict_reader;
use super::encoded::Encoded;
use super::encoder_state::{Entry, GivenRules, Pickled, Reduced, counted, given_rules, is_name, rules_of};
use super::following::{self, GivenFollowing, following_of, given_following, past_label, past_labels};
use super::learner::Learner;
use super::names::{Foreigners, bytes_of, text_of};
use super::state::{taken, to_python};
use super::table_reader;
use super::tickets::TicketRegistry;
use crate::cleaning::Tally;
use crate::encoded;
use crate::encoder::{self, Following, WIDTH};
use crate::learner::{Lesson, Unit};
use crate::vocabulary::{Bounds, MOST_NAME_BYTES, NOBODY};

/// The names of a survey's arrays.
const SURVEY: [&str; 2] = ["survey_numbers", "survey_known"];

/// Encodes names and values of events for the learners.
#[pyclass(module = "streamkarma._engine")]
pub struct Encoder {
    /// The engine's own type.
    pub inner: encoder::Encoder,
    /// Names that are not texts.
    pub foreigners: Foreigners,
    /// The event that was passed alone last; its memory is reused.
    event: encoded::Encoded,
    /// Its ticket.
    ticket: u64,
}

#[pymethods]
impl Encoder {
    #[new]
    #[pyo3(signature = (max_attributes, max_coordinates, max_name_bytes, scale, longest, rules=None, rates=0, all_bytes=MOST_NAME_BYTES))]
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
    ) -> PyResult<Self> {
        let bounds = Bounds {
            attributes: max_attributes,
            coordinates: max_coordinates,
            name_bytes: max_name_bytes,
            all_bytes,
        };
        let rules = rules.map(rules_of).transpose()?.unwrap_or_default();
        let inner = encoder::Encoder::new(bounds, scale, longest).with_rules(rules).with_rates(rates);
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
        self.inner.set_awaiting(awaiting, whole);
        same_length(records.len(), learned.len())?;
        let labels = past_labels(self.inner.following(), labels, &learned)?;
        if records.len() > 1 {
            records.iter().try_for_each(|record| self.check(&record))?;
        }
        for ((record, learned), label) in records.iter().zip(learned).zip(labels) {
            self.check(&record)?;
            self.inner.finish(learned, &mut into.inner);
            self.inner.add_label(label);
            self.foreigners.keep(py, self.inner.vocabulary())?;
        }
        Ok(())
    }

    /// Remember what events of entities contain, and carry it into their next events.
    fn follow(&mut self, given: GivenFollowing) -> PyResult<()> {
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

    /// What is remembered of entities, as arrays by name; none if none are followed.
    fn entities<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        following::arrays_of(py, self.inner.following())
    }

    /// Restore such arrays, which are removed; ValueError if they contradict each other.
    fn restore_entities(&mut self, arrays: &Bound<'_, PyDict>) -> PyResult<()> {
        let (attributes, coordinates) = (self.attribute_count(), self.coordinate_count());
        following::restore(self.inner.following_mut(), arrays, attributes, coordinates)
    }

    /// RecordError if a record is not an event; it leaves no trace.
    fn check(&mut self, record: &Bound<'_, PyAny>) -> PyResult<()> {
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
        self.inner.set_awaiting(awaiting, false);
        let view = table.as_array();
        same_length(view.nrows(), learned.len())?;
        same_length(view.ncols(), names.len())?;
        let labels = past_labels(self.inner.following(), labels, &learned)?;
        self.foreigners.begin();
        let (inner, foreigners) = (&mut self.inner, &mut self.foreigners);
        table_reader::read(inner, foreigners, names, view, &learned, labels, &mut into.inner)
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
        self.inner.set_awaiting(true, false);
        self.check(record)?;
        let learned = !label.is_nan() && weight > 0.0;
        self.event.clear();
        self.inner.finish(weight > 0.0, &mut self.event);
        if learned && self.inner.following().is_some() {
            self.inner.add_label(past_label(given)?);
        }
        self.foreigners.keep(record.py(), self.inner.vocabulary())?;
        let mut ticket = [0];
        if let Some(mut registry) = registry {
            let own = self.event.own();
            registry.inner.tickets(&own.raw_block(), &[!label.is_nan()], &[label.is_nan()], &mut ticket);
        }
        for evicted in &self.event.evicted {
            learner.forget(evicted)?;
        }
        self.ticket = ticket[0];
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

    /// Statistics of numbers collected by a survey so far, as arrays by name; none if there is none.
    fn survey<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        to_python(py, self.inner.survey_state())
    }

    /// Take such arrays out of `arrays`, if they are there, and continue the survey.
    fn restore_survey(&mut self, arrays: &Bound<'_, PyDict>) -> PyResult<()> {
        match taken(arrays, &SURVEY)? {
            Some(state) => self.inner.restore_survey(&state).map_err(PyValueError::new_err),
            None => Ok(()),
        }
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
    fn attribute_names<'py>(&self, py: Python<'py>) -> PyResult<BTreeMap<u32, Bound<'py, PyAny>>> {
        self.names_of(py, (1..self.inner.vocabulary().attribute_count() as u32).collect())
    }

    /// The names of those of the given attributes that have one.
    fn names_of<'py>(
        &self,
        py: Python<'py>,
        attributes: Vec<u32>,
    ) -> PyResult<BTreeMap<u32, Bound<'py, PyAny>>> {
        let vocabulary = self.inner.vocabulary();
        let has_name =
            |index: &u32| (*index as usize) < vocabulary.attribute_count() && !vocabulary.is_free(*index);
        let indices = attributes.into_iter().filter(has_name);
        indices.map(|index| Ok((index, self.foreigners.object(py, vocabulary.name(index))?))).collect()
    }

    /// The attribute that each coordinate belongs to; -1 for a free one.
    #[getter]
    fn owners<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i32>> {
        let vocabulary = self.inner.vocabulary();
        let owners = (0..vocabulary.coordinate_count()).map(|coordinate| vocabulary.owner(coordinate) as i32);
        owners.collect::<Vec<_>>().into_pyarray(py)
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
        let vocabulary = self.inner.vocabulary();
        if coordinate >= vocabulary.coordinate_count() || vocabulary.owner(coordinate) == NOBODY {
            return Err(PyIndexError::new_err(format!("coordinate {coordinate}")));
        }
        let (name, category) = vocabulary.describe(coordinate);
        let category = category.map(|category| text_of(py, category)).transpose()?;
        Ok((self.foreigners.object(py, name)?, category))
    }

    /// `describe` of every coordinate but the constant's, in order; None for a free one.
    fn entries<'py>(&self, py: Python<'py>) -> PyResult<Vec<Option<Entry<'py>>>> {
        self.all_entries(py)
    }

    /// The rows of the running scales, shape (coordinates, WIDTH).
    fn moments<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        self.inner.moments().into_pyarray(py).reshape([self.coordinate_count(), WIDTH])
    }

    /// What became of the values of each attribute, shape (attributes, 10): see `_engine.pyi`.
    fn tallies<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<i64>>> {
        let rows = self.inner.tallies().iter().flat_map(Tally::row).map(|count| count as i64);
        rows.collect::<Vec<_>>().into_pyarray(py).reshape([self.attribute_count(), Tally::WIDTH])
    }

    /// The categories that occurred once, shape (n, 2).
    fn once<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<i64>>> {
        let rows: Vec<i64> = self.inner.once().rows().flatten().map(i64::from).collect();
        let count = rows.len() / 2;
        rows.into_pyarray(py).reshape([count, 2])
    }

    /// Coordinates, the different values that occurred there, and how often, shape (n, 3).
    fn levels<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let levels = self.inner.levels();
        let rows: Vec<f64> =
            levels.flat_map(|(coordinate, value, times)| [coordinate as f64, value, times as f64]).collect();
        let count = rows.len() / 3;
        rows.into_pyarray(py).reshape([count, 3])
    }

    /// The kinds of the attributes, without the constant, in the order of their indices.
    fn kinds(&self) -> Vec<&'static str> {
        let vocabulary = self.inner.vocabulary();
        let attributes = (1..vocabulary.attribute_count()).map(|attribute| attribute as u32);
        let used = attributes.filter(|&attribute| !vocabulary.is_free(attribute));
        used.map(|attribute| self.inner.kind(attribute)).collect()
    }

    /// For each coordinate its attribute, -1 if it is free, when it was present last, how often, and how often its
    /// index was freed before: shape (coordinates, 4).
    fn uses<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<i64>>> {
        self.rows_of_uses().into_pyarray(py).reshape([self.coordinate_count(), 4])
    }

    /// Mean and standard deviation of a coordinate.
    fn mean_and_deviation(&self, coordinate: usize) -> PyResult<(f64, f64)> {
        if coordinate >= self.coordinate_count() {
            return Err(PyIndexError::new_err(format!("coordinate {coordinate}")));
        }
        Ok(self.inner.scale_of(coordinate).mean_and_deviation())
    }

    /// Restore `entries`, the number `ignored`, `moments`, `levels`, `tallies`, `once`, `uses` and the number
    /// `evicted`; ValueError if they contradict each other.
    #[allow(clippy::too_many_arguments)] // As many as Python passes by name.
    fn restore(
        &mut self,
        py: Python,
        entries: &Bound<'_, PyList>,
        ignored: &Bound<'_, PyAny>,
        moments: PyReadonlyArray2<f64>,
        levels: PyReadonlyArray2<f64>,
        tallies: PyReadonlyArray2<i64>,
        once: PyReadonlyArray2<i64>,
        uses: PyReadonlyArray2<i64>,
        evicted: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let none = || PyValueError::new_err("a name or a category is missing");
        let named =
            |entry: Bound<'_, PyAny>| entry.is_none() || entry.get_item(0).is_ok_and(|name| is_name(&name));
        if !entries.iter().all(named) {
            return Err(none());
        }
        let ignored = counted(ignored, "the number of ignored values is invalid")?;
        let evicted = counted(evicted, "the number of evicted names is invalid")?;
        let entries = entries.iter().map(|entry| entry.extract().map_err(|_| none()));
        let entries: Vec<Option<Entry>> = entries.collect::<PyResult<_>>()?;
        self.take_over(py, &entries, ignored, [moments, levels], [tallies, once, uses], evicted)
    }

    /// For pickles: how to construct an encoder, and its state, in which names may be anything.
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Reduced<'py>> {
        let (py, this) = (slf.py(), slf.borrow());
        let Bounds { attributes, coordinates, name_bytes, all_bytes } = this.inner.vocabulary().bounds();
        let (scale, longest) = this.inner.scaling();
        let rules = given_rules(this.inner.rules());
        let rates = this.inner.rates();
        let arguments = (attributes, coordinates, name_bytes, scale, longest, rules, rates, all_bytes);
        let statistics =
            ((this.moments(py)?, this.levels(py)?), (this.tallies(py)?, this.once(py)?, this.uses(py)?));
        let followed = |following: &Following| -> PyResult<_> {
            Ok((given_following(&following.rules), this.entities(py)?))
        };
        let followed = this.inner.following().map(followed).transpose()?;
        let state = (this.entries(py)?, this.ignored(), statistics, this.evicted(), followed);
        Ok((slf.get_type().into_any(), arguments, state))
    }

    fn __setstate__(&mut self, py: Python, state: Pickled<'_>) -> PyResult<()> {
        let (entries, ignored, ((moments, levels), (tallies, once, uses)), evicted, followed) = state;
        self.take_over(py, &entries, ignored, [moments, levels], [tallies, once, uses], evicted)?;
        if let Some((given, entities)) = followed {
            self.follow(given)?;
            self.restore_entities(&entities)?;
        }
        Ok(())
    }

    fn __copy__(&self, py: Python) -> PyResult<Self> {
        let (inner, foreigners) = (self.inner.clone(), self.foreigners.copied(py)?);
        Ok(Self { inner, foreigners, event: encoded::Encoded::default(), ticket: 0 })
    }

    fn __deepcopy__(&self, py: Python, _memo: &Bound<'_, PyAny>) -> PyResult<Self> {
        self.__copy__(py)
    }
}

fn same_length(one: usize, other: usize) -> PyResult<()> {
    if one == other {
        Ok(())
    } else {
        Err(PyValueError::new_err(format!("the lengths {one} and {other} differ")))
    }
}
