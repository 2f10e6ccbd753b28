//! Naive Bayes on terms.

use pyo3::prelude::*;

use super::learner::Learner;
use crate::learners::naive_bayes::NaiveBayes;

/// Naive Bayes on the words of texts and on tags; see `core.naive_bayes`.
#[pyfunction]
pub fn naive_bayes(half_life: f64) -> Learner {
    Learner::of(NaiveBayes::new(half_life))
}
