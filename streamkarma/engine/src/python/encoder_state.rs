//! The state of an encoder in Python's form, and its restoration from a file or a copied estimator.

use std::collections::HashMap;

use numpy::{PyArray2, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyString};

use super::encoder::Encoder;
use super::following::GivenFollowing;
use super::names::{Foreigners, bytes_of, text_of};
use crate::cleaning::{CleaningRules, Tally};
use crate::encoder::{self, SeenOnce, Use, WIDTH};
use crate::kinds::Kind;
use crate::state::{Refused, count_of, ensure};
use crate::vocabulary::{NOBODY, Vocabulary};

/// A name and a category.
pub type Entry<'py> = (Bound<'py, PyAny>, Option<Bound<'py, PyString>>);

/// The constructor of an encoder, its arguments, and the state.
pub type Reduced<'py> = (
    Bound<'py, PyAny>,
    (usize, usize, usize, bool, f64, GivenRules, usize, usize),
    (Vec<Option<Entry<'py>>>, u64, Statistics<'py>, u64, Option<(GivenFollowing, Bound<'py, PyDict>)>),
);

/// Moments and levels; tallies, categories that occurred once, and uses.
pub type Statistics<'py> = (
    (Bound<'py, PyArray2<f64>>, Bound<'py, PyArray2<f64>>),
    (Bound<'py, PyArray2<i64>>, Bound<'py, PyArray2<i64>>, Bound<'py, PyArray2<i64>>),
);

/// The state, as it is passed back.
pub type Pickled<'py> = (
    Vec<Option<Entry<'py>>>,
    u64,
    ((Numbers<'py>, Numbers<'py>), (Counts<'py>, Counts<'py>, Counts<'py>)),
    u64,
    Option<(GivenFollowing, Bound<'py, PyDict>)>,
);

/// Rows of numbers.
pub type Numbers<'py> = PyReadonlyArray2<'py, f64>;

/// Rows of counts.
pub type Counts<'py> = PyReadonlyArray2<'py, i64>;

/// Words for missing values, sentinels by attribute, whether to find more of these, and kinds by attribute.
pub type GivenRules = (Vec<String>, HashMap<String, Vec<f64>>, bool, HashMap<String, String>);

/// The engine's form; ValueError for an unknown kind.
pub fn rules_of((words, sentinels, finds, kinds): GivenRules) -> PyResult<CleaningRules> {
    let words = words.into_iter().map(String::into_bytes).collect();
    let sentinels = sentinels.into_iter().map(|(name, values)| (name.into_bytes(), values)).collect();
    let kind = |(name, kind): (String, String)| match Kind::named(&kind) {
        Some(kind) => Ok((name.into_bytes(), kind)),
        None => Err(PyValueError::new_err(format!("no kind is called {kind:?}"))),
    };
    let kinds = kinds.into_iter().map(kind).collect::<PyResult<_>>()?;
    Ok(CleaningRules { words, sentinels, finds, kinds })
}

/// Python's form.
pub fn given_rules(rules: &CleaningRules) -> GivenRules {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let words = rules.words.iter().map(|word| text(word)).collect();
    let sentinels = rules.sentinels.iter().map(|(name, values)| (text(name), values.clone())).collect();
    let kinds = rules.kinds.iter().map(|(name, kind)| (text(name), kind.name().to_owned())).collect();
    (words, sentinels, rules.finds, kinds)
}

impl Encoder {
    /// Name and category of every coordinate but the constant's, in order; None for a free one.
    pub fn all_entries<'py>(&self, py: Python<'py>) -> PyResult<Vec<Option<Entry<'py>>>> {
        let vocabulary = self.inner.vocabulary();
        // The same object for all categories of an attribute.
        let names = (0..vocabulary.attribute_count())
            .map(|attribute| self.foreigners.object(py, vocabulary.name(attribute as u32)))
            .collect::<PyResult<Vec<_>>>()?;
        let entry = |coordinate| {
            let owner = vocabulary.owner(coordinate);
            if owner == NOBODY {
                return Ok(None);
            }
            let category = vocabulary.describe(coordinate).1;
            let category = category.map(|category| text_of(py, category)).transpose()?;
            Ok(Some((names[owner as usize].clone(), category)))
        };
        (1..vocabulary.coordinate_count()).map(entry).collect()
    }

    /// For each coordinate its attribute, -1 if it is free, when it was present last, how often, and how often its
    /// index was freed before.
    pub fn rows_of_uses(&self) -> Vec<i64> {
        let vocabulary = self.inner.vocabulary();
        let owner = |k| i64::from(vocabulary.owner(k) as i32);
        let rows = self.inner.uses().iter().enumerate();
        rows.flat_map(|(k, each)| [owner(k), each.last as i64, each.count as i64, each.generation.into()])
            .collect()
    }

    #[allow(clippy::too_many_arguments)] // As many as `restore` has.
    /// Restore a state; ValueError if its parts contradict each other.
    pub fn take_over(
        &mut self,
        py: Python,
        entries: &[Option<Entry>],
        ignored: u64,
        [moments, levels]: [Numbers; 2],
        [tallies, once, uses]: [Counts; 3],
        evicted: u64,
    ) -> PyResult<()> {
        let mut vocabulary = Vocabulary::new(self.inner.vocabulary().bounds());
        let mut foreigners = Foreigners::new(py);
        let (owners, uses) = uses_of(&uses, entries.len() + 1)
            .ok_or_else(|| PyValueError::new_err("the uses do not fit the vocabulary"))?;
        vocabulary.restore_attributes(tallies.shape()[0]).map_err(PyValueError::new_err)?;
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
        vocabulary.ignored = ignored;
        let tallies: Option<Vec<Tally>> =
            tallies.as_array().rows().into_iter().map(|row| tally_of(&row.to_vec())).collect();
        let fits = moments.shape()[1] == WIDTH && levels.shape()[1] == 3;
        let Some(tallies) = tallies.filter(|_| fits) else {
            return Err(PyValueError::new_err("the running statistics do not fit the vocabulary"));
        };
        let rows: Vec<f64> = moments.as_array().iter().copied().collect();
        let once = once_of(&once).map_err(PyValueError::new_err)?;
        let levels = levels.as_array();
        let whole = |number: f64| count_of(number as i64).filter(|&count| count as f64 == number);
        let level = |row: [f64; 3]| Some((whole(row[0])? as usize, row[1], whole(row[2])?));
        let levels: Option<Vec<_>> =
            levels.rows().into_iter().map(|row| level([row[0], row[1], row[2]])).collect();
        let levels = levels.ok_or_else(|| PyValueError::new_err("the counts of values are invalid"))?;
        let restored =
            self.inner.restore(vocabulary, &rows, &levels, encoder::Counts { tallies, once, uses, evicted });
        restored.map_err(PyValueError::new_err)?;
        self.foreigners = foreigners;
        Ok(())
    }
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

/// The tally in a row of counts; None if it is not such a row.
fn tally_of(row: &[i64]) -> Option<Tally> {
    let row: [i64; Tally::WIDTH] = row.try_into().ok()?;
    let counts: Vec<u64> = row.into_iter().map(count_of).collect::<Option<_>>()?;
    counts.try_into().ok().map(Tally::from_row)
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

/// Whether a saved name has an allowed type.
pub fn is_name(name: &Bound<'_, PyAny>) -> bool {
    name.is_none()
        || name.is_instance_of::<PyString>()
        || name.is_instance_of::<PyInt>()
        || name.is_instance_of::<PyFloat>()
        || name.is_instance_of::<PyBool>()
}
