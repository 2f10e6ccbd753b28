//! Decodes and encodes records of Kafka for Python.

use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyList};

use crate::record_batch::Record;

/// Decoded records, a field of all of them after the other; see `_engine.pyi`.
#[pyclass(module = "streamkarma._engine", get_all)]
pub struct RecordColumns {
    offsets: Py<PyList>,
    timestamps: Py<PyList>,
    keys: Py<PyList>,
    values: Py<PyList>,
    headers: Py<PyList>,
    end: usize,
}

/// Up to `most` records of a batch from byte `begin` on; see `_engine.pyi`.
#[pyfunction]
pub fn decode_records(py: Python<'_>, batch: &[u8], begin: usize, most: usize) -> PyResult<RecordColumns> {
    let mut rest = batch.get(begin..).unwrap_or_default();
    let [offsets, timestamps, keys, values, headers] = std::array::from_fn(|_| PyList::empty(py));
    let bytes = |text: Option<&[u8]>| text.map(|text| PyBytes::new(py, text));
    while offsets.len() < most {
        let mut after = rest;
        let Some(record) = Record::take(&mut after) else { break };
        offsets.append(record.offset)?;
        timestamps.append(record.timestamp)?;
        keys.append(bytes(record.key))?;
        values.append(bytes(record.value))?;
        headers
            .append(record.headers.iter().map(|(name, value)| (*name, bytes(*value))).collect::<Vec<_>>())?;
        rest = after;
    }
    let end = batch.len() - rest.len();
    let [offsets, timestamps, keys, values, headers] =
        [offsets, timestamps, keys, values, headers].map(Bound::unbind);
    Ok(RecordColumns { offsets, timestamps, keys, values, headers, end })
}

/// Keys and values as records of a batch, as many as fit into `room` bytes, and their number; see `_engine.pyi`.
#[pyfunction]
pub fn encode_records<'py>(
    py: Python<'py>,
    records: Vec<(Option<PyBackedBytes>, PyBackedBytes)>,
    offset: i64,
    timestamp: i64,
    room: usize,
) -> (Bound<'py, PyBytes>, usize) {
    let (mut bytes, mut count) = (Vec::new(), 0);
    for (key, value) in &records {
        let (key, value) = (key.as_deref(), Some(&**value));
        let record = Record { timestamp, offset: offset + count as i64, key, value, headers: vec![] }.bytes();
        if bytes.len() + record.len() > room {
            break;
        }
        bytes.extend_from_slice(&record);
        count += 1;
    }
    (PyBytes::new(py, &bytes), count)
}
