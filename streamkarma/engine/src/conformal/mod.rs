//! Intervals and sets that hold the label as often as was asked for, whatever the learner and the stream.
//!
//! Conformal prediction: the score of an event says how badly what was predicted fits its label, and what is said of
//! the next event is all labels whose score is at most a quantile of those before. That is right as long as events
//! are exchangeable. Adaptive conformal inference (Gibbs and Candès 2021) keeps it right when they are not: the share
//! that may be missed, by which the quantile is chosen, follows what was missed,
//!
//! `share ← share + STEP (asked - 1 if the label was missed else asked)`,
//!
//! so that over any T events in a row the share of misses differs from what was asked by how far `share` has moved,
//! divided by STEP T, whatever the labels were.
//!
//! - A number has the score |y - f|, and an [interval](intervals). Quantiles of either side by themselves, scores in
//!   units of a running scale, and scores on the bent scale of a skewed target gave wider ones on ten streams of
//!   development.
//! - A class has the score 1 - p(y), and a [set](sets) of classes (Sadinle, Lei and Wasserman 2019), the smallest on
//!   average. It may be empty: the classes together are then less likely than what usually comes true.
//!
//! Where a label comes late, its score is that of what was said when the event was asked about.

pub mod calibration;
pub mod intervals;
mod kept;
mod merging;
#[cfg(test)]
mod merging_tests;
pub mod sets;
mod state;
#[cfg(test)]
mod tests;
mod window;

pub use intervals::Intervals;
pub use sets::Sets;
