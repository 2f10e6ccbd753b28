//! The learners, one file or folder each.

pub mod explicit;
pub mod linear;
pub mod products;
pub mod subspace;
