//! What Python sees: `streamkarma._engine`, see `_engine.pyi`.

use pyo3::prelude::*;

mod learner;
mod state;
mod support_vectors;

/// What streamkarma runs for each event.
#[pymodule]
fn _engine(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<learner::Learner>()?;
    module.add_function(wrap_pyfunction!(support_vectors::support_vectors, module)?)?;
    module.add_function(wrap_pyfunction!(support_vectors::doubling_support_vectors, module)?)
}
