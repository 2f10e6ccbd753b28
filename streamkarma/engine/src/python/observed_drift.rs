//! Python bindings for detecting changes in which attributes events have.

use pyo3::prelude::*;

use super::encoded::Encoded;
use crate::observed_drift::{self, Change, DriftSettings};

/// Monitors the fraction of events in which each attribute is present.
#[pyclass(module = "streamkarma._engine")]
pub struct ObservedDrift {
    inner: observed_drift::ObservedDrift,
}

#[pymethods]
impl ObservedDrift {
    #[new]
    fn new(delta: f64, batch: usize, apart: u64, most: usize) -> Self {
        Self { inner: observed_drift::ObservedDrift::new(DriftSettings { delta, batch, apart, most }) }
    }

    /// Add events in turn; returns the event, the attribute and the fractions before and after of each change found.
    fn add(&mut self, events: &Encoded, first: u64) -> Vec<(u64, usize, f64, f64)> {
        let found = self.inner.add(&events.inner, first);
        found
            .into_iter()
            .map(|Change { event, attribute, before, after }| (event, attribute, before, after))
            .collect()
    }

    /// The fraction of events since its last change in which each attribute is present, by attribute.
    fn shares(&self) -> Vec<(usize, f64)> {
        self.inner.shares().collect()
    }

    /// An independent copy.
    fn __deepcopy__(&self, _memo: &Bound<'_, PyAny>) -> Self {
        Self { inner: self.inner.clone() }
    }
}
