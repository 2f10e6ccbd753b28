//! Events that were predicted before their labels arrived.

use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::explaining::check_event;
use super::given::Given;
use super::state::{from_python, to_python};
use crate::tickets;

/// The name of the state's array.
const NAME: &str = "asked";

/// Events that were predicted and await their label, identified by their content.
#[pyclass(module = "streamkarma._engine")]
#[derive(Default)]
pub struct TicketRegistry {
    /// The engine's own type.
    pub inner: tickets::TicketRegistry,
}

#[pymethods]
impl TicketRegistry {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    /// Record events as they were before encoding, and return their tickets.
    fn tickets<'py>(
        &mut self,
        py: Python<'py>,
        events: Given<'py>,
        labelled: PyReadonlyArray1<'py, bool>,
        awaiting: PyReadonlyArray1<'py, bool>,
    ) -> PyResult<Bound<'py, PyArray1<u64>>> {
        let (labelled, awaiting) = (labelled.as_array().to_vec(), awaiting.as_array().to_vec());
        let mut tickets = vec![0; events.events()?.block().len()];
        if [labelled.len(), awaiting.len()] != [tickets.len(); 2] {
            return Err(PyValueError::new_err("the marks do not fit the block"));
        }
        if !self.inner.is_empty() || awaiting.contains(&true) {
            self.inner.tickets(&events.own_events()?.raw(), &labelled, &awaiting, &mut tickets);
        }
        Ok(tickets.into_pyarray(py))
    }

    /// The ticket of event `t`, as it was before encoding; 0 if it was not predicted before its label arrived.
    fn ticket_of(&self, events: Given<'_>, t: usize) -> PyResult<u64> {
        let given = events.own_events()?;
        let raw = given.raw();
        check_event(t, raw.len())?;
        Ok(self.inner.ticket_of(raw.event(t)))
    }

    /// The state, as arrays by name.
    fn arrays<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        to_python(py, self.inner.state())
    }

    /// Restore the state from `arrays`, from which it is removed.
    fn restore(&mut self, arrays: &Bound<'_, PyDict>) -> PyResult<()> {
        let own = PyDict::new(arrays.py());
        if let Some(array) = arrays.get_item(NAME)? {
            own.set_item(NAME, array)?;
            arrays.del_item(NAME)?;
        }
        self.inner.restore(&from_python(&own)?).map_err(PyValueError::new_err)
    }
}
