//! Intervals and sets with a requested coverage, whatever the learner and the stream.
//!
//! Conformal prediction: the score of an event measures how badly the prediction fits its label, and the prediction
//! for the next event consists of all labels whose score is at most a quantile of the previous scores. This is valid
//! as long as events are exchangeable. Adaptive conformal inference (Gibbs and Candès 2021) keeps it valid when they
//! are not: the allowed miss rate, which selects the quantile, follows the misses,
//!
//! `share ← share + STEP (asked - 1 if the label was missed else asked)`,
//!
//! so that over any T consecutive events the observed miss rate differs from the requested one by the change in
//! `share`, divided by STEP T, whatever the labels were.
//!
//! - A number has the score |y - f|, and an [interval](intervals). Separate quantiles for each side, scores in units
//!   of a running scale, and scores on the transformed scale of a skewed target gave wider ones on ten development
//!   streams.
//! - A class has the score 1 - p(y), and a [set](sets) of classes (Sadinle, Lei and Wasserman 2019), the smallest on
//!   average. It may be empty: even the most likely class is then less likely than the true class usually is.
//!
//! If a label arrives late, its score is that of the prediction made when the event was first seen, and the step is
//! smaller the more labels arrived in between.

pub mod calibration;
pub mod intervals;
mod merging;
#[cfg(test)]
mod merging_tests;
mod pending;
pub mod sets;
mod state;
#[cfg(test)]
mod tests;
mod window;

pub use intervals::Intervals;
pub use sets::Sets;
