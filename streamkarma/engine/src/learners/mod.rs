//! The learners, one file or folder each.

pub mod support_vectors;
