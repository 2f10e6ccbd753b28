//! The learners, one file or folder each.

pub mod linear;
pub mod subspace;
