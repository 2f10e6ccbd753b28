//! Online calibration: from the score of an expert to a probability or a prediction.
//!
//! A score f is scaled to z = f / s, where s is its running root mean square, and then
//!
//! - two classes: `p = sigmoid(m z + h g(z) + b)`,
//! - several: `p = softmax over c of m z_c + h g(z_c - max_{r ≠ c} z_r) / 2 + k g'(z_c) + b_c`,
//! - a number: `a f + b`,
//!
//! where `m = min(1, s) + a`, and `g(z) = z / (SHARP + |z|)` and g', which has SOFT in its place, are bounded. The z_c
//! of several classes have mean 0. All parameters start at 0, except the a of a number, which starts at 1: at first
//! scores are taken for log-odds, as those of a logistic loss are, unless they are larger on average than log-odds
//! usually are. The parameters follow the log loss (or the squared loss) event by event, see [`super::newton`].
//!
//! A slope and an offset alone (Platt 1999) cannot express that one label in twenty is wrong however far the score is
//! from 0; g can. With noisy labels it more than halves the calibration error. The scores of the losing classes are
//! less informative relative to each other than the winner's score relative to theirs: hence g'.

use super::newton::WARMUP;
use crate::math::{exp, exp_all, within};

/// Log-odds are kept within ± this, the log of 999,999: probabilities within 1e-6 of 0 and 1.
///
/// One event can cost an expert at most a factor of a million, which it recovers within some dozen events in which it
/// is the better one. Predicting with such certainty all the time costs 1e-6 per event.
pub const LIMIT: f64 = 13.815509557963773;
/// Scores are kept within ± this many times their root mean square.
pub const FARTHEST: f64 = 30.0;
/// A square is cut to this many times the mean square.
///
/// A single extreme score then hardly moves the mean, yet if all scores are that large it still grows a millionfold
/// within some ten events.
const LEAP: f64 = 100.0;
/// Scores are clipped to ± this, so that their squares stay finite.
const LARGEST: f64 = 1e100;
/// Smallest mean square, so that it can be divided by.
pub const SMALLEST: f64 = 1e-12;
/// Variances towards which those of a, h and b of two classes drift. Experts have a constant of their own, and a wide
/// b follows random fluctuations of the label frequencies. With 1 for each and three times the
/// [warm-up](super::newton::WARMUP), log loss on 303 developers' streams, most of them small, was 0.6 % higher on
/// average, and with one positive in 200 it was 1.2 % higher.
pub const OF_TWO_PRIOR_VARIANCES: [f64; OF_CLASSES] = [4.0, 0.3, OFFSET_PRIOR_VARIANCE];
/// Their initial values. The first labels tell how far the scores reach before they tell where and how sharply these
/// bend; the warm-up widens h and b from there. With the drift's targets as initial values, log loss on 58 developers'
/// tables was 0.2 % higher on average, with 0.6 % more errors, and on intensive care, where some seventy events share
/// a label, 0.2 % higher.
pub const OF_TWO_FIRST_VARIANCES: [f64; OF_CLASSES] = [4.0, 0.05, OFFSET_FIRST_VARIANCE];
/// Variances towards which those of a, h and k of several classes drift.
pub const OF_SEVERAL_PRIOR_VARIANCES: [f64; OF_CLASSES] = [4.0, 0.3, 1.0];
/// Their initial values.
pub const OF_SEVERAL_FIRST_VARIANCES: [f64; OF_CLASSES] = [4.0, 0.05, 1.0];
/// Variance towards which that of b drifts, and that of each offset of several classes.
pub const OFFSET_PRIOR_VARIANCE: f64 = 0.7;
/// Its initial value.
pub const OFFSET_FIRST_VARIANCE: f64 = 0.1;
/// Initial variances of a and b in a regression.
pub const NUMBER_PRIOR_VARIANCE: f64 = 0.01;
/// Where the bounded feature of a margin bends: sharply, as for the sign of a score, since a good expert's scores
/// leave little in between. This and [`SOFT`] were chosen on 19 tables with half of the attributes withheld and 5
/// synthetic streams.
pub const SHARP: f64 = 0.1;
/// Where the bounded feature of a single class bends.
pub const SOFT: f64 = 0.25;

/// Index of a among the parameters.
pub const SLOPE: usize = 0;
/// Index of h.
pub const BOUNDED: usize = 1;
/// Index of b of two classes.
pub const OFFSET: usize = 2;
/// Index of k of several classes.
pub const OWN: usize = 2;
/// Number of parameters of an expert for classes, and of one for numbers.
pub const OF_CLASSES: usize = 3;
/// See [`OF_CLASSES`].
pub const OF_NUMBERS: usize = 2;

/// What was learned about the scores of E experts, one expert after another.
#[derive(Clone, Debug)]
pub struct Calibration {
    /// One per expert: the mean square of the score; with several classes, of the difference of two of them; in a
    /// regression, of the target.
    pub squares: Vec<f64>,
    /// K per expert: a, h, b for two classes; a, h, k for several; a, b in a regression.
    pub parameters: Vec<f64>,
    /// K × K per expert: the uncertainty of the parameters.
    pub covariances: Vec<f64>,
    /// C per expert if there are several classes: their b_c.
    pub offsets: Vec<f64>,
    /// The variances of the offsets, which are assumed to be independent.
    pub offset_variances: Vec<f64>,
}

impl Calibration {
    /// Calibrations that have not learned anything.
    pub fn new(experts: usize, classes: usize, regression: bool) -> Self {
        let variances = first_variances(classes, regression);
        let (size, slope) = (variances.len(), if regression { 1.0 } else { 0.0 });
        let offsets = if classes > 1 { experts * classes } else { 0 };
        let mut made = Self {
            squares: vec![1.0; experts],
            parameters: vec![0.0; experts * size],
            covariances: vec![0.0; experts * size * size],
            offsets: vec![0.0; offsets],
            offset_variances: vec![OFFSET_FIRST_VARIANCE; offsets],
        };
        made.parameters.iter_mut().step_by(size).for_each(|each| *each = slope);
        for covariance in made.covariances.chunks_exact_mut(size * size) {
            covariance
                .iter_mut()
                .step_by(size + 1)
                .zip(variances)
                .for_each(|(each, variance)| *each = *variance);
        }
        made
    }

    /// Widen to more classes: the existing ones keep what they have, and new ones start at b_c = 0.
    pub fn widen(&mut self, classes: usize) {
        let experts = self.squares.len();
        let before = self.offsets.len() / experts;
        let mut wide = Self::new(experts, classes, false);
        if before > 0 {
            for e in 0..experts {
                let (to, from) = (e * classes..e * classes + before, e * before..(e + 1) * before);
                wide.offsets[to.clone()].copy_from_slice(&self.offsets[from.clone()]);
                wide.offset_variances[to].copy_from_slice(&self.offset_variances[from]);
            }
            (self.offsets, self.offset_variances) = (wide.offsets, wide.offset_variances);
            return;
        }
        for e in 0..experts {
            wide.take_two(self, e, classes);
        }
        wide.squares.clone_from(&self.squares);
        *self = wide;
    }

    /// Split the offset b of two classes into -b/2 and b/2; its slot goes to a parameter without data yet.
    fn take_two(&mut self, two: &Self, expert: usize, classes: usize) {
        let parameters = expert * OF_CLASSES;
        let covariance = expert * OF_CLASSES * OF_CLASSES;
        let half = two.parameters[parameters + OFFSET] / 2.0;
        let variance = two.covariances[covariance + OFFSET * OF_CLASSES + OFFSET];
        let both = expert * classes..expert * classes + 2;
        self.offsets[both.clone()].copy_from_slice(&[-half, half]);
        self.offset_variances[both].fill(variance);
        for i in 0..OFFSET {
            self.parameters[parameters + i] = two.parameters[parameters + i];
            for j in 0..OFFSET {
                let place = covariance + i * OF_CLASSES + j;
                self.covariances[place] = two.covariances[place];
            }
        }
    }
}

/// Initial variances of the parameters of an expert.
fn first_variances(classes: usize, regression: bool) -> &'static [f64] {
    match classes {
        _ if regression => &[NUMBER_PRIOR_VARIANCE; OF_NUMBERS],
        1 => &OF_TWO_FIRST_VARIANCES,
        _ => &OF_SEVERAL_FIRST_VARIANCES,
    }
}

/// The variances towards which they drift.
pub fn prior_variances(classes: usize, regression: bool) -> &'static [f64] {
    match classes {
        _ if regression => &[NUMBER_PRIOR_VARIANCE; OF_NUMBERS],
        1 => &OF_TWO_PRIOR_VARIANCES,
        _ => &OF_SEVERAL_PRIOR_VARIANCES,
    }
}

/// A score whose square is finite; 0 if an invalid model returned NaN.
pub fn sanitise(score: f64) -> f64 {
    if score.is_nan() { 0.0 } else { within(score, LARGEST) }
}

/// A running mean square updated with one more `square` of weight `rate`.
pub fn ema(mean: f64, square: f64, rate: f64) -> f64 {
    (mean + rate * (square.min(LEAP * mean.max(1.0)) - mean)).max(SMALLEST)
}

/// `1 / (1 + exp(-logit))` for logits within ± LIMIT.
pub fn sigmoid(logit: f64) -> f64 {
    1.0 / (1.0 + exp(-logit))
}

/// The bounded feature `z / (knee + |z|)`.
pub fn softsign(z: f64, knee: f64) -> f64 {
    z / (knee + z.abs())
}

/// Drift of covariances after the given number of steps.
///
/// Early on it is larger than `drift`, which makes the memory a constant fraction of the stream: the first events were
/// learned from experts that had learned little, and at parameters where the curvature was different. Squared errors
/// have the same curvature everywhere and do not need this.
pub fn fading(steps: u64, drift: f64) -> f64 {
    let age = steps as f64 + 10.0;
    drift.max(WARMUP / (age * age))
}

/// Writes the scores of several classes minus their mean to `z`.
///
/// Returns the mean square of the difference of two scores.
pub fn centre(scores: &[f64], z: &mut [f64]) -> f64 {
    let classes = z.len() as f64;
    let (mut mean, mut square) = (0.0, 0.0);
    for (each, &score) in z.iter_mut().zip(scores) {
        *each = sanitise(score);
        mean += *each / classes;
    }
    for each in z {
        *each -= mean;
        square += *each * *each;
    }
    2.0 * square / (classes - 1.0)
}

/// The two bounded features of several classes: of the margin over the best rival, and of each score alone.
pub fn bounded_features(z: &[f64], margins: &mut [f64], own: &mut [f64]) {
    let (mut first, mut second) = (f64::NEG_INFINITY, f64::NEG_INFINITY);
    for &each in z {
        if each > first {
            (first, second) = (each, first);
        } else if each > second {
            second = each;
        }
    }
    for ((&each, margin), own) in z.iter().zip(margins).zip(own) {
        *margin = 0.5 * softsign(each - if each == first { second } else { first }, SHARP);
        *own = softsign(each, SOFT);
    }
}

/// Softmax, with logits kept within LIMIT of the highest, which becomes 0.
pub fn softmax(logits: &mut [f64], chances: &mut [f64]) {
    let highest = logits.iter().fold(f64::NEG_INFINITY, |highest, &each| highest.max(each));
    logits.iter_mut().for_each(|logit| *logit = (*logit - highest).max(-LIMIT));
    chances.copy_from_slice(logits);
    exp_all(chances);
    let total: f64 = chances.iter().sum();
    chances.iter_mut().for_each(|chance| *chance /= total);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::log;

    #[test]
    fn the_limit_is_a_millionth() {
        assert!((LIMIT - log(1e6 - 1.0)).abs() < 1e-14);
        assert!((sigmoid(-LIMIT) - 1e-6).abs() < 1e-18);
    }

    #[test]
    fn two_classes_keep_their_odds_when_there_are_more() {
        let mut known = Calibration::new(2, 1, false);
        known.parameters.copy_from_slice(&[0.1, 0.2, 0.6, 0.3, 0.4, -0.8]);
        known.covariances[8] = 0.25;
        known.widen(2);
        known.widen(3);
        assert_eq!(known.offsets, [-0.3, 0.3, 0.0, 0.4, -0.4, 0.0]);
        assert_eq!(known.parameters, [0.1, 0.2, 0.0, 0.3, 0.4, 0.0]);
        assert_eq!(known.offset_variances, [0.25, 0.25, 0.1, 0.1, 0.1, 0.1]);
        assert_eq!(known.covariances[8], OF_SEVERAL_PRIOR_VARIANCES[OWN]);
    }
}
