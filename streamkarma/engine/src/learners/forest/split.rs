//! The best place to split a leaf, by histograms.
//!
//! A histogram has for each bin, and for what is missing, the weights of the groups of labels, or in a regression
//! the weight, the sum and the sum of squares of the targets.

/// Bins of a histogram; one more is for what is missing.
pub const BINS: usize = 32;
/// Weights of a regression's bins: of the events, of their targets, and of these squared.
pub const MOMENTS: usize = 3;
/// Neither side of a split has less weight than this.
const LEAST: f64 = 2.0;

/// A split of one histogram.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Split {
    /// The last bin of the left side; the last of all where what is observed goes left, what is not right.
    pub bin: usize,
    /// Whether what is missing goes left.
    pub missing_left: bool,
    /// By how much it lowers the entropy, in nats, or by what part the variance.
    pub gain: f64,
}

/// The best split of a histogram, and the weight of all that is in it; None where nothing is gained.
pub fn best(histogram: &[f32], width: usize, regression: bool) -> Option<(Split, f64)> {
    let impurity = if regression { squares } else { entropy };
    let weight = |sums: &[f64]| if regression { sums[0] } else { sums.iter().sum() };
    let bin = |b: usize| &histogram[b * width..(b + 1) * width];
    let missing: Vec<f64> = bin(BINS).iter().map(|&each| f64::from(each)).collect();
    let mut right = vec![0.0; width];
    (0..BINS).for_each(|b| add(&mut right, bin(b), 1.0));
    let whole: Vec<f64> = right.iter().zip(&missing).map(|(one, other)| one + other).collect();
    let (base, total) = (impurity(&whole), weight(&whole));
    let some_missing = weight(&missing) > 0.0;
    let (mut left, mut joined) = (vec![0.0; width], vec![0.0; width]);
    let mut found: Option<Split> = None;
    let mut consider = |bin: usize, missing_left: bool, left: &[f64], right: &[f64]| {
        let (of_left, of_right) = (weight(left), weight(right));
        if of_left.min(of_right) < LEAST {
            return;
        }
        let gain = base - impurity(left) - impurity(right);
        let gain = gain / if regression { base } else { total };
        if gain > found.map_or(0.0, |found| found.gain) {
            found = Some(Split { bin, missing_left, gain });
        }
    };
    if base <= 0.0 || total <= 0.0 {
        return None;
    }
    if some_missing {
        consider(BINS - 1, false, &right, &missing);
    }
    for b in 0..BINS - 1 {
        if bin(b).iter().all(|&each| each == 0.0) {
            continue;
        }
        add(&mut left, bin(b), 1.0);
        add(&mut right, bin(b), -1.0);
        if some_missing {
            joined.iter_mut().zip(left.iter().zip(&missing)).for_each(|(to, (one, other))| *to = one + other);
            consider(b, true, &joined, &right);
            joined
                .iter_mut()
                .zip(right.iter().zip(&missing))
                .for_each(|(to, (one, other))| *to = one + other);
            consider(b, false, &left, &joined);
        } else {
            consider(b, weight(&left) > weight(&right), &left, &right);
        }
    }
    found.map(|found| (found, total))
}

/// What goes left and right of a split, as sums over the bins.
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

/// The squared distances from the mean.
fn squares(moments: &[f64]) -> f64 {
    let &[weight, sum, squares] = moments else { return 0.0 };
    if weight > 0.0 { squares - sum * sum / weight } else { 0.0 }
}

/// x log x, to some 1e-5 of x; a split needs no more.
fn weighted_log(x: f64) -> f64 {
    if x <= 1e-9 {
        return 0.0;
    }
    let bits = x.to_bits();
    let exponent = ((bits >> 52) as i64 - 1023) as f64;
    let m = f64::from_bits((bits & 0x000f_ffff_ffff_ffff) | 0x3ff0_0000_0000_0000);
    // log m by (m - 1) / (m + 1), after m is brought within √½ and √2.
    let (m, exponent) = if m > std::f64::consts::SQRT_2 { (0.5 * m, exponent + 1.0) } else { (m, exponent) };
    let t = (m - 1.0) / (m + 1.0);
    let u = t * t;
    x * (exponent * std::f64::consts::LN_2 + 2.0 * t * (1.0 + u * (1.0 / 3.0 + u * (0.2 + u / 7.0))))
}
