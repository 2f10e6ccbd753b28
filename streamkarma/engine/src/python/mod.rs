//! What Python sees: `streamkarma._engine`, see `_engine.pyi`.

use pyo3::prelude::*;

mod explicit;
mod learner;
mod state;
mod subspace;

/// What streamkarma runs for each event.
#[pymodule]
fn _engine(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(explicit::explicit, module)?)?;
    module.add_function(wrap_pyfunction!(explicit::products, module)?)?;
    module.add_function(wrap_pyfunction!(subspace::subspace, module)?)?;
    module.add_class::<subspace::Subspace>()?;
    module.add_class::<learner::Learner>()
}
