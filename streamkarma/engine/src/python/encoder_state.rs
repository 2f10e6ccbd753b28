//! What an encoder has learned, as arrays, and its restoration from a file or a copied estimator.

use numpy::{IntoPyArray, PyArray2, PyArrayMethods, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::exceptions::{PyKeyError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyInt};

use super::encoder::Encoder;
use super::encoder_names::Entry;
use super::following;
use super::names::{Foreigners, bytes_of};
use super::state::{taken, to_python};
use crate::cleaning::Tally;
use crate::encoder::{self, SeenOnce, Use, WIDTH};
use crate::state::{Refused, count_of, ensure};
use crate::vocabulary::Vocabulary;

/// The names of a survey's arrays.
const SURVEY: [&str; 2] = ["survey_numbers", "survey_known"];

/// Rows of counts from Python.
type Counts<'py> = PyReadonlyArray2<'py, i64>;

/// Rows of counts for Python.
pub type CountRows<'py> = Bound<'py, PyArray2<i64>>;

impl Encoder {
    /// What became of the values of each attribute, shape (attributes, 11): see `_engine.pyi`.
    pub fn tally_rows<'py>(&self, py: Python<'py>) -> PyResult<CountRows<'py>> {
        let rows = self.inner.tallies().iter().flat_map(Tally::row).map(|count| count as i64);
        rows.collect::<Vec<_>>().into_pyarray(py).reshape([self.inner.tallies().len(), Tally::WIDTH])
    }

    /// For each coordinate its attribute, -1 if it is free, when it was present last, how often, and how often its
    /// index was freed before: shape (coordinates, 4).
    pub fn use_rows<'py>(&self, py: Python<'py>) -> PyResult<CountRows<'py>> {
        let vocabulary = self.inner.vocabulary();
        let owner = |k| i64::from(vocabulary.owner(k) as i32);
        let rows = self.inner.uses().iter().enumerate();
        let rows: Vec<i64> = rows
            .flat_map(|(k, each)| [owner(k), each.last as i64, each.count as i64, each.generation.into()])
            .collect();
        rows.into_pyarray(py).reshape([vocabulary.coordinate_count(), 4])
    }

    /// Everything learned but names and counts, as arrays by name: running scales, the values that occurred at each
    /// coordinate and how often, tallies, categories that occurred once, uses, entities and a survey.
    pub fn state_arrays<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let inner = &self.inner;
        let level = |(coordinate, value, times)| [coordinate as f64, value, times as f64];
        let levels: Vec<f64> = inner.levels().flat_map(level).collect();
        let once: Vec<i64> = inner.once().rows().flatten().map(i64::from).collect();
        let counts = [levels.len() / 3, once.len() / 2];
        let coordinates = inner.vocabulary().coordinate_count();
        let arrays = PyDict::new(py);
        arrays.set_item("moments", inner.moments().into_pyarray(py).reshape([coordinates, WIDTH])?)?;
        arrays.set_item("levels", levels.into_pyarray(py).reshape([counts[0], 3])?)?;
        arrays.set_item("tallies", self.tally_rows(py)?)?;
        arrays.set_item("once", once.into_pyarray(py).reshape([counts[1], 2])?)?;
        arrays.set_item("uses", self.use_rows(py)?)?;
        arrays.update(following::arrays_of(py, inner.following())?.as_mapping())?;
        arrays.update(to_python(py, inner.survey_state())?.as_mapping())?;
        Ok(arrays)
    }

    /// Restore names, counts, and arrays, which are removed; ValueError if they contradict each other.
    pub fn take_over(
        &mut self,
        entries: &[Option<Entry>],
        ignored: u64,
        evicted: u64,
        arrays: &Bound<'_, PyDict>,
    ) -> PyResult<()> {
        self.restore_statistics(entries, ignored, evicted, arrays)?;
        let vocabulary = self.inner.vocabulary();
        let (attributes, coordinates) = (vocabulary.attribute_count(), vocabulary.coordinate_count());
        following::restore(self.inner.following_mut(), arrays, attributes, coordinates)?;
        match taken(arrays, &SURVEY)? {
            Some(survey) => self.inner.restore_survey(&survey).map_err(PyValueError::new_err),
            None => Ok(()),
        }
    }

    fn restore_statistics(
        &mut self,
        entries: &[Option<Entry>],
        ignored: u64,
        evicted: u64,
        arrays: &Bound<'_, PyDict>,
    ) -> PyResult<()> {
        let py = arrays.py();
        let [moments, levels] = [removed(arrays, "moments")?, removed(arrays, "levels")?];
        let [moments, levels]: [PyReadonlyArray2<f64>; 2] = [moments.extract()?, levels.extract()?];
        let [tallies, once, uses] =
            [removed(arrays, "tallies")?, removed(arrays, "once")?, removed(arrays, "uses")?];
        let [tallies, once, uses]: [Counts; 3] = [tallies.extract()?, once.extract()?, uses.extract()?];
        let wrong = |why: &'static str| PyValueError::new_err(why);
        let (owners, uses) =
            uses_of(&uses, entries.len() + 1).ok_or_else(|| wrong("the uses do not fit the vocabulary"))?;
        let mut foreigners = Foreigners::new(py);
        let mut vocabulary = self.vocabulary_of(entries, owners, tallies.shape()[0], &mut foreigners, py)?;
        vocabulary.ignored = ignored;
        let fits = moments.shape()[1] == WIDTH && levels.shape()[1] == 3;
        let tallies = tallies_of(&tallies)
            .filter(|_| fits)
            .ok_or_else(|| wrong("the running statistics do not fit the vocabulary"))?;
        let rows: Vec<f64> = moments.as_array().iter().copied().collect();
        let once = once_of(&once).map_err(PyValueError::new_err)?;
        let levels = levels_of(&levels).ok_or_else(|| wrong("the counts of values are invalid"))?;
        let counts = encoder::Counts { tallies, once, uses, evicted };
        self.inner.restore(vocabulary, &rows, &levels, counts).map_err(PyValueError::new_err)?;
        self.foreigners = foreigners;
        Ok(())
    }

    /// The vocabulary of so many attributes with these entries, each of an attribute or free.
    fn vocabulary_of(
        &self,
        entries: &[Option<Entry>],
        owners: Vec<Option<u32>>,
        attributes: usize,
        foreigners: &mut Foreigners,
        py: Python,
    ) -> PyResult<Vocabulary> {
        let mut vocabulary = Vocabulary::new(self.inner.vocabulary().bounds());
        vocabulary.restore_attributes(attributes).map_err(PyValueError::new_err)?;
        for (entry, owner) in entries.iter().zip(owners) {
            let (Some((name, category)), Some(owner)) = (entry, owner) else {
                let is_free = entry.is_none() && owner.is_none();
                ensure(is_free, "names and uses contradict each other").map_err(PyValueError::new_err)?;
                vocabulary.restore_free().map_err(PyValueError::new_err)?;
                continue;
            };
            foreigners.begin();
            let category = category.as_ref().map(bytes_of).transpose()?;
            let key = foreigners.key(name)?;
            vocabulary.restore(owner, key.name(), category.as_deref()).map_err(PyValueError::new_err)?;
            foreigners.keep(py, &vocabulary)?;
        }
        Ok(vocabulary)
    }
}

/// The array of that name, removed; KeyError if there is none.
fn removed<'py>(arrays: &Bound<'py, PyDict>, name: &'static str) -> PyResult<Bound<'py, PyAny>> {
    let array = arrays.get_item(name)?.ok_or_else(|| PyKeyError::new_err(name))?;
    arrays.del_item(name)?;
    Ok(array)
}

/// A count from a file.
pub fn counted(count: &Bound<'_, PyAny>, why: &'static str) -> PyResult<u64> {
    let count = count.cast_exact::<PyInt>().map_err(|_| PyValueError::new_err(why))?;
    count.extract().ok().and_then(count_of).ok_or_else(|| PyValueError::new_err(why))
}

/// The attribute of each coordinate but the constant, None for a free one, and the uses of all, from `count` rows of
/// `uses`; None if they are not such rows.
fn uses_of(rows: &Counts, count: usize) -> Option<(Vec<Option<u32>>, Vec<Use>)> {
    if rows.shape() != [count, 4] {
        return None;
    }
    let (mut owners, mut uses) = (Vec::new(), Vec::new());
    for row in rows.as_array().rows() {
        let [last, count] = [row[1], row[2]].map(count_of);
        let generation = u32::try_from(row[3]).ok()?;
        owners.push(if row[0] == -1 { None } else { Some(u32::try_from(row[0]).ok()?) });
        uses.push(Use { last: last?, count: count?, generation });
    }
    (owners.remove(0) == Some(0)).then_some((owners, uses))
}

/// The tallies in rows of counts; None if they are not such rows.
fn tallies_of(rows: &Counts) -> Option<Vec<Tally>> {
    let tally = |row: Vec<i64>| {
        let row: [i64; Tally::WIDTH] = row.try_into().ok()?;
        let counts: Vec<u64> = row.into_iter().map(count_of).collect::<Option<_>>()?;
        counts.try_into().ok().map(Tally::from_row)
    };
    rows.as_array().rows().into_iter().map(|row| tally(row.to_vec())).collect()
}

/// Coordinates, values and how often each occurred, from rows of three numbers; None if one is no count.
fn levels_of(rows: &PyReadonlyArray2<f64>) -> Option<Vec<(usize, f64, u64)>> {
    let whole = |number: f64| count_of(number as i64).filter(|&count| count as f64 == number);
    let rows = rows.as_array();
    rows.rows().into_iter().map(|row| Some((whole(row[0])? as usize, row[1], whole(row[2])?))).collect()
}

/// From rows of positions and fingerprints.
fn once_of(rows: &Counts) -> Result<SeenOnce, Refused> {
    let pair = |row: Vec<i64>| {
        <[u32; 2]>::try_from(row.into_iter().filter_map(|n| u32::try_from(n).ok()).collect::<Vec<_>>()).ok()
    };
    let rows: Option<Vec<[u32; 2]>> =
        rows.as_array().rows().into_iter().map(|row| pair(row.to_vec())).collect();
    SeenOnce::from_rows(&rows.ok_or("the table of categories seen once is invalid")?)
}
