//! The learners, one file or folder each.

pub mod bins;
pub mod expanded;
pub mod explicit;
pub mod factorisation;
pub mod forest;
pub mod linear;
pub mod logarithmic;
pub mod mixture;
pub mod neighbors;
pub mod products;
pub mod rated;
pub mod sgd;
pub mod subspace;
pub mod support_vectors;
pub mod transformed_target;

#[cfg(test)]
mod expanded_tests;
#[cfg(test)]
mod forgetting_tests;
