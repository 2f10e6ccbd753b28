//! What Python sees: `streamkarma._engine`, see `_engine.pyi`.

use pyo3::prelude::*;

mod dict_reader;
mod encoder;
mod fields;
mod learner;
mod names;
mod state;
mod table_reader;
mod target;

/// What streamkarma runs for each event.
#[pymodule]
fn _engine(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<encoder::Encoder>()?;
    module.add_function(wrap_pyfunction!(target::encode_targets, module)?)?;
    module.add_class::<learner::Learner>()
}
