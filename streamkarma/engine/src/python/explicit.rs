//! The explicit learner, the products and the bins.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::learner::Learner;
use crate::learners::bins::Bins;
use crate::learners::explicit::Explicit;
use crate::learners::linear::{self, Update};
use crate::learners::products::Products;
use crate::loss::Loss;

/// How a linear model steps: the attributes of [`linear::Step`], with update and loss by number.
#[derive(FromPyObject)]
pub struct Step {
    update: usize,
    loss: usize,
    r: f64,
    eta: f64,
    rho: f64,
    steepness: f64,
    half_life: f64,
    restarts: bool,
}

impl Step {
    fn of(self) -> PyResult<linear::Step> {
        let updates = [Update::Sgd, Update::Arow, Update::Adagrad];
        let (Some(&update), Some(&loss)) = (updates.get(self.update), Loss::ALL.get(self.loss)) else {
            return Err(PyValueError::new_err("there is no such update or loss"));
        };
        let Self { r, eta, rho, steepness, half_life, restarts, .. } = self;
        Ok(linear::Step { update, loss, r, eta, rho, steepness, half_life, restarts })
    }
}

/// A linear model on the features of k_gamma.
#[pyfunction]
#[pyo3(signature = (gamma, normalize, step, table_bits=22, most=None))]
pub fn explicit(
    gamma: usize,
    normalize: bool,
    step: Step,
    table_bits: u32,
    most: Option<usize>,
) -> PyResult<Learner> {
    let learner = Explicit::new(gamma, normalize, step.of()?, table_bits).map_err(PyValueError::new_err)?;
    Ok(Learner::of(learner.with_most(most.unwrap_or(usize::MAX))))
}

/// A linear model on values and their products.
#[pyfunction]
#[pyo3(signature = (step, table_bits, most=None))]
pub fn products(step: Step, table_bits: u32, most: Option<usize>) -> PyResult<Learner> {
    let learner = Products::new(step.of()?, table_bits).map_err(PyValueError::new_err)?;
    Ok(Learner::of(learner.with_most(most.unwrap_or(usize::MAX))))
}

/// A linear model on bins of values and pairs of them.
#[pyfunction]
pub fn bins(step: Step, table_bits: u32, most: usize) -> PyResult<Learner> {
    Bins::new(step.of()?, table_bits, most).map(Learner::of).map_err(PyValueError::new_err)
}
