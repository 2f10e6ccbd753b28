//! Reads a NumPy table as events, one per row.

use std::collections::HashSet;

use numpy::ndarray::ArrayView2;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyList;

use super::dict_reader::refused;
use super::names::{Foreigners, Key};
use crate::encoded::Encoded;
use crate::encoder::Encoder;
use crate::entities::PastLabel;
use crate::kinds::EPOCH;

/// Read all rows, with NaN for missing values; RecordError, and none is read, if a value is infinite.
pub fn read(
    encoder: &mut Encoder,
    foreigners: &mut Foreigners,
    names: &Bound<'_, PyList>,
    table: ArrayView2<f64>,
    learned: &[bool],
    labels: Vec<Option<PastLabel>>,
    out: &mut Encoded,
) -> PyResult<()> {
    let py = names.py();
    let objects: Vec<Bound<PyAny>> = names.iter().collect();
    let mut keys = keys_of(foreigners, &objects)?;
    let mut known: Vec<Option<u32>> = vec![None; keys.len()];
    // Columns that are not numeric, or that hold the entity or the time of an event, are looked up by name.
    let by_name = |key: &Key| encoder.is_followed(key.name().text()) || encoder.wants_digits(key.name());
    let by_name: Vec<bool> = keys.iter().map(by_name).collect();
    let unlike: HashSet<_> = keys.iter().map(|key| (key.name().text(), key.name().kind())).collect();
    if unlike.len() < keys.len() {
        return Err(PyValueError::new_err("a column's name occurs twice"));
    }
    if let Some(at) = table.iter().position(|value| value.is_infinite()) {
        let name = objects[at % objects.len()].repr()?;
        return Err(refused(py, &format!("attribute {name} is infinite")));
    }
    let mut evicted = encoder.evicted();
    for ((t, row), label) in table.rows().into_iter().enumerate().zip(labels) {
        if encoder.evicted() > evicted {
            // Coordinates may have been reassigned, and evicted names come back with another id.
            evicted = encoder.evicted();
            known.fill(None);
            keys = keys_of(foreigners, &objects)?;
        }
        encoder.begin();
        let mut is_new = false;
        for (((value, key), place), by_name) in row.iter().zip(&keys).zip(&mut known).zip(&by_name) {
            if value.is_nan() {
                continue;
            }
            if place.is_none() && !by_name {
                *place = encoder.place_of(key.name());
            }
            match place {
                // A value that may be a time is looked up by name.
                Some(coordinate) if *value < EPOCH => encoder.number_at(*coordinate, *value),
                _ => {
                    is_new = true;
                    encoder.number(key.name(), *value);
                }
            }
        }
        encoder.finish(learned[t], out);
        encoder.add_label(label);
        if is_new {
            foreigners.keep(py, encoder.vocabulary())?;
        }
    }
    Ok(())
}

fn keys_of<'a>(foreigners: &mut Foreigners, names: &'a [Bound<'_, PyAny>]) -> PyResult<Vec<Key<'a>>> {
    names.iter().map(|name| foreigners.key(name)).collect()
}
