//! Targets of a regression, as Python sees them.

use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::scale::Scale;
use crate::target::Target;

type Floats<'py> = Bound<'py, PyArray1<f64>>;

/// Targets (NaN for none) and weights, shape (T,), and the row of what was seen of targets before. Returns
/// the standardised targets; what scores are to be shifted by, and multiplied by before, to be predictions;
/// and the row of what was seen by then.
#[pyfunction]
pub fn encode_targets<'py>(
    py: Python<'py>,
    targets: PyReadonlyArray1<'py, f64>,
    weights: PyReadonlyArray1<'py, f64>,
    row: PyReadonlyArray1<'py, f64>,
    scale: bool,
    longest: f64,
) -> PyResult<(Floats<'py>, Floats<'py>, Floats<'py>, Floats<'py>)> {
    let row: Vec<f64> = row.as_array().to_vec();
    let seen = Scale::from_row(&row);
    let mut seen = seen.ok_or_else(|| PyValueError::new_err("the running statistics are none"))?;
    let (mut standard, mut centres, mut spreads) = (Vec::new(), Vec::new(), Vec::new());
    for (&target, &weight) in targets.as_array().iter().zip(weights.as_array()) {
        let encoded =
            if scale { Target::of(target, weight, &mut seen, longest) } else { Target::plain(target) };
        standard.push(encoded.standard);
        centres.push(encoded.centre);
        spreads.push(encoded.spread);
    }
    let arrays = (standard.into_pyarray(py), centres.into_pyarray(py), spreads.into_pyarray(py));
    Ok((arrays.0, arrays.1, arrays.2, seen.row().to_vec().into_pyarray(py)))
}
