//! What streamkarma runs for each event.
//!
//! An event walks one way: it is encoded, scored by a learner or a mixture of learners, and learned. A
//! block of events is a loop over single ones, so that how the input was cut never shows. Nothing here
//! knows Python but `python`, which is compiled on demand.
//!
//! [H] Hazan, Livni, Mansour: Classification with Low Rank and Missing Data, ICML 2015.

pub mod adwin;
mod ahead;
pub mod ascending;
pub mod asked;
pub mod block;
pub mod cells;
mod chance;
pub mod change;
mod cholesky;
pub mod cleaning;
pub mod conformal;
pub mod encoded;
pub mod encoder;
#[cfg(test)]
mod encoder_tests;
pub mod entities;
pub mod events;
pub mod explaining;
pub mod fields;
pub mod json;
pub mod kernel;
pub mod kinds;
pub mod learner;
pub mod learners;
pub mod lines;
#[cfg(test)]
mod lines_tests;
pub mod loss;
pub mod math;
pub mod merging;
pub mod names;
pub mod observed_drift;
pub mod one_pass;
#[cfg(test)]
mod random;
pub mod rate_key;
pub mod rise;
pub mod rows;
pub mod scale;
pub mod spelled;
pub mod state;
pub mod sums;
pub mod target;
pub mod times;
pub mod trees;
pub mod vocabulary;
pub mod words;

#[cfg(feature = "python")]
mod python;
