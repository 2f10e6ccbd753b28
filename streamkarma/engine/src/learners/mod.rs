//! The learners, one file or folder each.

pub mod explicit;
pub mod factorisation;
pub mod linear;
pub mod mixture;
pub mod products;
pub mod rated;
pub mod subspace;
pub mod support_vectors;
pub mod transformed_target;

#[cfg(test)]
mod forgetting_tests;
