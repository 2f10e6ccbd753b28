//! The engine of streamkarma: everything that runs for each event.
//!
//! Each event is encoded, scored by a learner or a mixture of learners, and then learned. A block of events is
//! processed as a loop over single events, so that results do not depend on how the input was split. Only the module
//! `python` depends on Python; it is compiled on demand.
//!
//! [H] Hazan, Livni, Mansour: Classification with Low Rank and Missing Data, ICML 2015.

pub mod adwin;
pub mod ascending;
pub mod block;
pub mod cells;
mod cholesky;
pub mod cleaning;
pub mod conformal;
pub mod encoded;
pub mod encoder;
#[cfg(test)]
mod encoder_tests;
pub mod entities;
mod entity_prefetch;
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
mod random;
pub mod rate_key;
pub mod record_batch;
pub mod rise;
pub mod rows;
pub mod scale;
pub mod spelled;
pub mod state;
pub mod sums;
pub mod target;
#[cfg(test)]
mod test_random;
pub mod tickets;
pub mod times;
pub mod translation;
pub mod trees;
pub mod vocabulary;
pub mod words;

#[cfg(feature = "python")]
mod python;
