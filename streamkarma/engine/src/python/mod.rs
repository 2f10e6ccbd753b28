//! What Python sees: `streamkarma._engine`, see `_engine.pyi`.

use pyo3::prelude::*;

mod adwin;
mod asked;
mod cells;
mod change;
mod conformal;
mod dict_reader;
mod encoded;
mod encoder;
mod encoder_state;
mod explaining;
mod explicit;
mod factorisation;
mod fields;
mod following;
mod forest;
mod learner;
mod line_reader;
mod logarithmic;
mod loss;
mod mixture;
mod names;
mod neighbors;
mod observed_drift;
mod predicted;
mod rated;
mod refitted_trees;
mod rows;
mod sgd;
mod state;
mod subspace;
mod sums;
mod support_vectors;
mod table_reader;
mod target;
mod transformed_target;
mod trees;
mod words;

/// What streamkarma runs for each event.
#[pymodule]
fn _engine(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<adwin::Adwin>()?;
    module.add_class::<encoded::Encoded>()?;
    module.add_class::<encoder::Encoder>()?;
    module.add_class::<asked::Asked>()?;
    module.add_class::<cells::Columns>()?;
    module.add_class::<cells::MissingWords>()?;
    module.add_class::<change::Change>()?;
    module.add_class::<conformal::PredictionIntervals>()?;
    module.add_class::<conformal::PredictionSets>()?;
    module.add_class::<learner::Learner>()?;
    module.add_class::<line_reader::LineReader>()?;
    module.add_class::<line_reader::Lines>()?;
    module.add_class::<mixture::Aggregator>()?;
    module.add_class::<observed_drift::ObservedDrift>()?;
    module.add_class::<subspace::Subspace>()?;
    module.add_class::<target::Target>()?;
    module.add_function(wrap_pyfunction!(refitted_trees::boosted_trees, module)?)?;
    module.add_function(wrap_pyfunction!(refitted_trees::randomised_trees, module)?)?;
    module.add_function(wrap_pyfunction!(cells::boolean, module)?)?;
    module.add_function(wrap_pyfunction!(cells::number, module)?)?;
    module.add_function(wrap_pyfunction!(change::relabel, module)?)?;
    module.add_function(wrap_pyfunction!(change::complete_changes, module)?)?;
    module.add_function(wrap_pyfunction!(change::carry, module)?)?;
    module.add_function(wrap_pyfunction!(change::merge_learners, module)?)?;
    module.add_function(wrap_pyfunction!(change::merge_encoders, module)?)?;
    module.add_function(wrap_pyfunction!(explaining::conditional, module)?)?;
    module.add_function(wrap_pyfunction!(explaining::explain, module)?)?;
    module.add_function(wrap_pyfunction!(explicit::bins, module)?)?;
    module.add_function(wrap_pyfunction!(explicit::explicit, module)?)?;
    module.add_function(wrap_pyfunction!(explicit::products, module)?)?;
    module.add_function(wrap_pyfunction!(factorisation::factorisation_machine, module)?)?;
    module.add_function(wrap_pyfunction!(forest::forest, module)?)?;
    module.add_function(wrap_pyfunction!(line_reader::parse, module)?)?;
    module.add_function(wrap_pyfunction!(line_reader::parse_value, module)?)?;
    module.add_function(wrap_pyfunction!(loss::logistic, module)?)?;
    module.add_function(wrap_pyfunction!(loss::logistics, module)?)?;
    module.add_function(wrap_pyfunction!(loss::losses, module)?)?;
    module.add_function(wrap_pyfunction!(loss::multiclass_loss, module)?)?;
    module.add_function(wrap_pyfunction!(logarithmic::logarithmic, module)?)?;
    module.add_function(wrap_pyfunction!(mixture::calibrated, module)?)?;
    module.add_function(wrap_pyfunction!(mixture::mixture, module)?)?;
    module.add_function(wrap_pyfunction!(mixture::use_threads, module)?)?;
    module.add_function(wrap_pyfunction!(neighbors::neighbors, module)?)?;
    module.add_function(wrap_pyfunction!(rated::rated, module)?)?;
    module.add_function(wrap_pyfunction!(rows::write_rows, module)?)?;
    module.add_function(wrap_pyfunction!(sgd::sgd, module)?)?;
    module.add_function(wrap_pyfunction!(subspace::subspace, module)?)?;
    module.add_function(wrap_pyfunction!(support_vectors::doubling_support_vectors, module)?)?;
    module.add_function(wrap_pyfunction!(support_vectors::support_vectors, module)?)?;
    module.add_function(wrap_pyfunction!(transformed_target::transformed_target, module)?)?;
    module.add_function(wrap_pyfunction!(trees::add_trees, module)?)?;
    module.add_function(wrap_pyfunction!(words::is_prose, module)?)?;
    module.add_function(wrap_pyfunction!(sums::add_outer_products, module)?)
}
