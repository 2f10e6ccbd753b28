//! What Python sees: `streamkarma._engine`, see `_engine.pyi`.

use pyo3::prelude::*;

mod learner;
mod state;

/// What streamkarma runs for each event.
#[pymodule]
fn _engine(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<learner::Learner>()
}
