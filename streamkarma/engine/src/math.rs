//! Arithmetic that gives the same bits on every processor, and however events are cut into blocks.
//!
//! `exp`, `log` and their like come from a crate, since those of operating systems differ. Sums go one fixed way.
//! (Rust fuses no multiplication with an addition by itself.)

pub use libm::{acosh, asinh, cos, exp, log, log1p, pow, sin, sinh};

/// The sum of products, over as many as `left` has; four sums side by side, for none to wait for the last.
///
/// ```
/// assert_eq!(_engine::math::dot(&[1.0, 2.0], &[3.0, 4.0]), 11.0);
/// ```
pub fn dot(left: &[f64], right: &[f64]) -> f64 {
    let right = &right[..left.len()];
    let mut sums = [0.0; 4];
    let (quads, rest) = left.as_chunks::<4>();
    let (others, other_rest) = right.as_chunks::<4>();
    for (a, b) in quads.iter().zip(others) {
        for i in 0..4 {
            sums[i] += a[i] * b[i];
        }
    }
    for (a, b) in rest.iter().zip(other_rest) {
        sums[0] += a * b;
    }
    (sums[0] + sums[1]) + (sums[2] + sums[3])
}

/// `1 / (1 + exp(-score))`, through exp of what is negative, so that nothing overflows.
pub fn logistic(score: f64) -> f64 {
    let tail = exp(-score.abs());
    let larger = 1.0 / (1.0 + tail);
    if score > 0.0 { larger } else { tail * larger }
}
