//! The learners, one file or folder each.

pub mod bins;
mod codes;
mod errors;
pub mod expanded;
pub mod explicit;
pub mod factorisation;
pub mod forest;
pub mod gaussian_process;
mod latest;
mod latest_state;
pub mod linear;
pub mod logarithmic;
pub mod mixture;
mod moved_codes;
pub mod naive_bayes;
pub mod neighbors;
pub mod products;
pub mod rated;
mod refits;
pub mod refitted_trees;
mod row;
pub mod sgd;
pub mod subspace;
pub mod support_vectors;
mod table;
mod thinning;
pub mod transformed_target;

#[cfg(test)]
mod expanded_tests;
#[cfg(test)]
mod forgetting_tests;
#[cfg(test)]
mod samples;
