//! The best split of a leaf, from histograms.
//!
//! For each bin, and for missing values, a histogram has the weights of the groups of labels, or in a regression the
//! weight, the sum and the sum of squares of the targets.

use super::leaf::MOST_GROUPS;

/// Number of bins of a histogram; there is one more for missing values.
pub const BINS: usize = 32;
/// Number of sums of a regression's bin: the weights of events, of their targets, and of these squared.
pub const MOMENTS: usize = 3;
/// Minimum weight of either side of a split.
const LEAST: f64 = 2.0;

/// A split of one histogram.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Split {
    /// The last bin of the left side; the last of all if observed values go left and missing ones right.
    pub bin: usize,
    /// Whether missing values go left.
    pub missing_left: bool,
    /// The reduction of the entropy, in nats, or of the variance, as a fraction.
    pub gain: f64,
}

/// The best split of a histogram, and the histogram's total weight; None if nothing is gained.
pub fn best(histogram: &[f32], width: usize, regression: bool) -> Option<(Split, f64)> {
    if regression {
        search(
            histogram,
            width,
            |[weight, sum, _]: &[f64; MOMENTS]| (*weight, sum * sum),
            |sums| (squares(sums), squares(sums)),
        )
    } else if width == 2 {
        search(histogram, width, counts::<2>, |sums| (entropy(sums), sums.iter().sum()))
    } else {
        search(histogram, width, counts::<MOST_GROUPS>, |sums| (entropy(sums), sums.iter().sum()))
    }
}

/// The search for one kind of sums. Splits are compared by `square` / weight, added up over both sides: in a regression
/// that measures the reduction of the variance, and for classes that of Gini's impurity, which needs no logarithm and
/// is highest at or near the highest entropy gain. `impurity` returns that of sums, and the unit of gains.
fn search<const N: usize>(
    histogram: &[f32],
    width: usize,
    square: impl Fn(&[f64; N]) -> (f64, f64),
    impurity: impl Fn(&[f64; N]) -> (f64, f64),
) -> Option<(Split, f64)> {
    let bin = |b: usize| &histogram[b * width..(b + 1) * width];
    let [mut left, mut right, mut missing] = [[0.0; N]; 3];
    (0..BINS).for_each(|b| add(&mut right, bin(b), 1.0));
    add(&mut missing, bin(BINS), 1.0);
    let with = |side: &[f64; N]| std::array::from_fn(|s| side[s] + missing[s]);
    let mut most = 0.0;
    let mut found = None;
    let mut consider = |bin: usize, missing_left: bool, left: [f64; N], right: [f64; N]| {
        let ((weight, one), (other_weight, other)) = (square(&left), square(&right));
        if weight.min(other_weight) >= LEAST {
            let merit = one / weight + other / other_weight;
            if merit > most {
                most = merit;
                found = Some((bin, missing_left, left, right));
            }
        }
    };
    let some_missing = square(&missing).0 > 0.0;
    if some_missing {
        consider(BINS - 1, false, right, missing);
    }
    for b in 0..BINS - 1 {
        if bin(b).iter().all(|&each| each == 0.0) {
            continue;
        }
        add(&mut left, bin(b), 1.0);
        add(&mut right, bin(b), -1.0);
        if some_missing {
            consider(b, true, with(&left), right);
            consider(b, false, left, with(&right));
        } else {
            consider(b, square(&left).0 > square(&right).0, left, right);
        }
    }
    let (bin, missing_left, left, right): (usize, bool, [f64; N], [f64; N]) = found?;
    let whole = std::array::from_fn(|s| left[s] + right[s]);
    let (base, unit) = impurity(&whole);
    let gain = base - impurity(&left).0 - impurity(&right).0;
    let split = Split { bin, missing_left, gain: gain / unit };
    (unit > 0.0 && gain > 0.0).then_some((split, square(&whole).0))
}

/// The weight of counts, and the sum of their squares.
fn counts<const N: usize>(counts: &[f64; N]) -> (f64, f64) {
    (counts.iter().sum(), counts.iter().map(|count| count * count).sum())
}

/// The sums of both sides of a split, left and right, over their bins.
pub fn sides(histogram: &[f32], width: usize, split: &Split) -> [Vec<f64>; 2] {
    let mut sides = [vec![0.0; width], vec![0.0; width]];
    for (b, bin) in histogram.chunks_exact(width).enumerate() {
        let is_left = if b == BINS { split.missing_left } else { b <= split.bin };
        add(&mut sides[usize::from(!is_left)], bin, 1.0);
    }
    sides
}

fn add(sums: &mut [f64], bin: &[f32], factor: f64) {
    sums.iter_mut().zip(bin).for_each(|(sum, &each)| *sum += factor * f64::from(each));
}

/// The entropy of counts, times their sum.
fn entropy(counts: &[f64]) -> f64 {
    let total: f64 = counts.iter().sum();
    weighted_log(total) - counts.iter().map(|&count| weighted_log(count)).sum::<f64>()
}

/// The sum of squared distances from the mean.
fn squares(moments: &[f64]) -> f64 {
    let &[weight, sum, squares] = moments else { return 0.0 };
    if weight > 0.0 { squares - sum * sum / weight } else { 0.0 }
}

/// x log x, or 0 for tiny x.
fn weighted_log(x: f64) -> f64 {
    if x > 1e-9 { x * fast_log(x) } else { 0.0 }
}

/// The logarithm of a number above 1e-300, accurate to some 1e-5: enough to choose splits and to vote.
pub fn fast_log(x: f64) -> f64 {
    let bits = x.to_bits();
    let exponent = ((bits >> 52) as i64 - 1023) as f64;
    // From 1 to 2, then from √½ to √2.
    let m = f64::from_bits((bits & 0x000f_ffff_ffff_ffff) | 0x3ff0_0000_0000_0000);
    let (m, exponent) = if m > std::f64::consts::SQRT_2 { (0.5 * m, exponent + 1.0) } else { (m, exponent) };
    let t = (m - 1.0) / (m + 1.0);
    let u = t * t;
    exponent * std::f64::consts::LN_2 + 2.0 * t * (1.0 + u * (1.0 / 3.0 + u * (0.2 + u / 7.0)))
}
