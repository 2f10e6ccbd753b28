//! Events that are given to a learner.

use std::borrow::Cow;

use numpy::{PyReadonlyArray1, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::encoded::Encoded;
use crate::block::{Block, Evicted, Terms};
use crate::encoded;

/// Events for a learner: encoded ones, or the arrays of a block.
#[derive(FromPyObject)]
pub enum Given<'py> {
    /// Events as they were encoded.
    Encoded(PyRef<'py, Encoded>),
    /// The arrays of a block.
    Arrays(Arrays<'py>),
}

/// The same, to be iterated over.
pub enum Events<'a> {
    /// In the encoder's own arrays.
    Encoded(Cow<'a, encoded::Encoded>),
    /// In copies.
    Copied(Items),
}

impl Given<'_> {
    /// ValueError if the arrays do not fit each other.
    pub fn events(&self) -> PyResult<Events<'_>> {
        Ok(match self {
            Self::Encoded(encoded) => Events::Encoded(Cow::Borrowed(&encoded.inner)),
            Self::Arrays(arrays) => Events::Copied(Items::from_python(arrays)?),
        })
    }

    /// The same without what was carried over from entities.
    pub fn own_events(&self) -> PyResult<Events<'_>> {
        match self {
            Self::Encoded(encoded) => Ok(Events::Encoded(encoded.inner.own())),
            Self::Arrays(_) => self.events(),
        }
    }
}

impl Events<'_> {
    /// The block that a learner sees.
    pub fn block(&self) -> Block<'_> {
        match self {
            Self::Encoded(encoded) => encoded.block(),
            Self::Copied(items) => items.block(),
        }
    }

    /// The raw values.
    pub fn raw(&self) -> Block<'_> {
        match self {
            Self::Encoded(encoded) => encoded.raw_block(),
            Self::Copied(items) => items.block(),
        }
    }
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
            terms: Terms::default(),
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
