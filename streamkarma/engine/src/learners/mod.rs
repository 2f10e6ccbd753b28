//! The learners, one file or folder each.
