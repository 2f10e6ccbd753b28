//! What streamkarma runs for each event.
//!
//! An event walks one way: it is encoded, scored by a learner or a mixture of learners, and learned. A
//! block of events is a loop over single ones, so that how the input was cut never shows. Nothing here
//! knows Python but `python`, which is compiled on demand.
//!
//! [H] Hazan, Livni, Mansour: Classification with Low Rank and Missing Data, ICML 2015.

pub mod block;
pub mod kernel;
pub mod label_delay;
pub mod learner;
pub mod learners;
pub mod loss;
pub mod math;
pub mod state;

#[cfg(feature = "python")]
mod python;
