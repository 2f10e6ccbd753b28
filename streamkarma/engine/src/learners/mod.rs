//! The learners, one file or folder each.

pub mod explicit;
pub mod factorisation;
pub mod forest;
pub mod linear;
pub mod mixture;
pub mod products;
pub mod rated;
pub mod subspace;
pub mod support_vectors;

#[cfg(test)]
mod forgetting_tests;
