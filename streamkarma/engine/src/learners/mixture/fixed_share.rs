//! Bayes' rule with a fixed share (Cesa-Bianchi and Lugosi 2006, chapter 5), and the blend of experts.
//!
//! The members of a mixture are E calibrated experts and, last, the *blend*, which combines their log-odds,
//!
//! - two classes: `sigmoid(Σ_e v_e logit_e)`; several: `softmax(Σ_e v_e logits_e)`,
//! - a number: `Σ_e v_e prediction_e`,
//!
//! where v starts at v_e = 1 / E and is learned by the same online Newton steps. The blend finds what no single expert
//! can predict, and being one member among others it does little harm. The E + 1 members are mixed by
//!
//! `p = Σ_m w_m p_m`, then `w_m ← (1 - s) w_m p_m(y) / Σ_k w_k p_k(y) + s / (E + 1)`.
//!
//! The share s is [`SHARE`] times the entropy of p in bits, at most 1: an event that is certain hardly discriminates
//! between the members, and if most events are certain, as with one positive in 200, a constant share would cost a
//! good part of what can be learned. (On such streams this lowered the log loss of 0.0251 by 0.0006, and made no
//! difference on others.) For an event with a weight of less than one, s is reduced in proportion; for a number the
//! entropy is taken to be 1.
//!
//! Log loss is mixable: over any stretch of T events in which one member is the best, the mixture's loss exceeds that
//! member's by at most `ln((E + 1) / s) - Σ_t ln(1 - s_t)`, with the s of the event before; from the start of the
//! stream, the first term is `ln(E + 1)` instead. For a number each member has a density around its prediction, see
//! [`super::numbers`], and the guarantee is for the log loss of the density; the prediction is the mixture's mean.
//!
//! An expert that is of use for some streams only, such as one for texts, is no member before its first prediction: then
//! it is admitted with the weight of one member among all, and with v_e = 1 / E. Streams without texts are mixed as if
//! it did not exist.

use std::f64::consts::LN_2;

use super::newton::Newton;
use crate::math::pow;

/// Maximum weight that is redistributed evenly to all members with every event: a switch of the best member costs the
/// ln of its inverse, and if there is no switch it costs 0.001 per event.
pub const SHARE: f64 = 1e-3;
/// Fraction of it that is redistributed even after a certain event, so that no member is lost for good.
const LEAST: f64 = 0.01;
/// Initial variance of each v_e, for two classes. With half as much, the log loss on 140 developers' streams was 0.6 %
/// higher.
pub const BLEND_PRIOR_VARIANCE: f64 = 0.2;
/// The same for several classes, where twice as much made it 0.3 % higher on 14 streams, and for a number.
const OTHERS_PRIOR_VARIANCE: f64 = 0.1;
/// Window of the mean weights, in events: the weight of each newer event is the inverse of this; while there are fewer
/// events, they have equal weights.
const RECENT: u64 = 1000;

/// The Bayes weights of members.
#[derive(Clone, Debug)]
pub struct Shares {
    /// Above 0 for members, 0 for those not yet admitted; their sum is 1.
    pub weights: Vec<f64>,
    /// Their running mean, for display: the weights after a single event depend strongly on that event.
    pub means: Vec<f64>,
    /// Those that have not been admitted.
    pub absent: Vec<usize>,
}

impl Shares {
    /// Equal weights.
    pub fn new(members: usize) -> Self {
        let weights = vec![1.0 / members as f64; members];
        Self { means: weights.clone(), weights, absent: Vec::new() }
    }

    /// Give some of these equal weights none until they are admitted.
    pub fn keep_out(&mut self, members: &[usize]) {
        self.absent = members.to_vec();
        let share = 1.0 / self.members() as f64;
        self.weights.fill(share);
        self.means.fill(share);
        self.clear_absent();
    }

    fn clear_absent(&mut self) {
        for &member in &self.absent {
            (self.weights[member], self.means[member]) = (0.0, 0.0);
        }
    }

    /// Whether a member has been admitted.
    pub fn has(&self, member: usize) -> bool {
        !self.absent.contains(&member)
    }

    /// Number of members that have been admitted.
    pub fn members(&self) -> usize {
        self.weights.len() - self.absent.len()
    }

    /// Admit a member.
    pub fn admit(&mut self, member: usize) {
        let share = 1.0 / (self.members() + 1) as f64;
        self.absent.retain(|&each| each != member);
        self.weights.iter_mut().for_each(|weight| *weight *= 1.0 - share);
        self.weights[member] = share;
    }

    /// Apply Bayes' rule with a fixed share after event number `events`, counted from 1.
    ///
    /// An event of weight w counts as w events: p_m(y)^w. The share is applied once, or in proportion to a weight
    /// below that; `doubt` is the entropy of the mixture's prediction, in nats.
    pub fn update(&mut self, likelihoods: &mut [f64], weight: f64, doubt: f64, events: u64) {
        if weight != 1.0 {
            // Relative to the highest, which stays at 1 however large the weight is.
            let highest = likelihoods.iter().fold(0.0, |highest: f64, &each| highest.max(each));
            for each in likelihoods.iter_mut() {
                *each = pow(*each / highest, weight);
            }
        }
        let mut total = 0.0;
        for (share, &likelihood) in self.weights.iter_mut().zip(likelihoods.iter()) {
            *share *= likelihood;
            total += *share;
        }
        let moved = SHARE * (doubt / LN_2).clamp(LEAST, 1.0) * weight.min(1.0);
        let (kept, rate) = ((1.0 - moved) / total, 1.0 / events.min(RECENT) as f64);
        let given = moved / self.members() as f64;
        for (share, mean) in self.weights.iter_mut().zip(&mut self.means) {
            *share = kept * *share + given;
            *mean += rate * (*share - *mean);
        }
        self.clear_absent();
    }
}

/// The v_e of the blend.
#[derive(Clone, Debug)]
pub struct Blend {
    /// One for each expert.
    pub mix: Vec<f64>,
    /// Their uncertainty, E × E.
    pub covariance: Vec<f64>,
    /// The initial values of its diagonal, or what they would be by now.
    prior_variances: Vec<f64>,
}

impl Blend {
    /// The mean of the experts.
    pub fn new(experts: usize, two_classes: bool) -> Self {
        let prior_variance = if two_classes { BLEND_PRIOR_VARIANCE } else { OTHERS_PRIOR_VARIANCE };
        let mut covariance = vec![0.0; experts * experts];
        covariance.iter_mut().step_by(experts + 1).for_each(|each| *each = prior_variance);
        let prior_variances = vec![prior_variance; experts];
        Self { mix: vec![1.0 / experts as f64; experts], covariance, prior_variances }
    }

    /// Leave out some of these experts until they are admitted.
    pub fn keep_out(&mut self, experts: &[usize]) {
        let share = 1.0 / (self.mix.len() - experts.len()) as f64;
        self.mix.fill(share);
        experts.iter().for_each(|&expert| self.mix[expert] = 0.0);
    }

    /// Admit an expert, beside `others`.
    pub fn admit(&mut self, expert: usize, others: usize) {
        let share = 1.0 / (others + 1) as f64;
        self.mix.iter_mut().for_each(|each| *each *= 1.0 - share);
        self.mix[expert] = share;
    }

    /// Switch to several classes.
    pub fn widen(&mut self) {
        let narrower = OTHERS_PRIOR_VARIANCE / self.prior_variances[0];
        self.covariance.iter_mut().for_each(|each| *each *= narrower);
        self.prior_variances.fill(OTHERS_PRIOR_VARIANCE);
    }

    /// The parameters and covariance for a Newton step.
    pub fn newton<'a>(&'a mut self, drift: f64, gains: &'a mut [f64]) -> Newton<'a> {
        Newton {
            parameters: &mut self.mix,
            covariance: &mut self.covariance,
            prior_variances: &self.prior_variances,
            drift,
            gains,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::log;

    /// A deterministic sequence of numbers in (0, 1).
    fn uniform(seed: &mut u64) -> f64 {
        *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((*seed >> 33) as f64 + 0.5) / f64::from(1_u32 << 31)
    }

    #[test]
    fn regret_to_the_best_switching_member_is_bounded() {
        let (members, stretches, events) = (5, 4, 400);
        let (mut seed, mut shares) = (3, Shares::new(members));
        let (mut regret, mut likelihoods) = (0.0, vec![0.0; members]);
        for t in 0..events {
            let best = (t * stretches / events * 7) % members;
            likelihoods.fill_with(|| uniform(&mut seed));
            likelihoods[best] = 0.8 + 0.2 * likelihoods[best];
            let mixed: f64 = shares.weights.iter().zip(&likelihoods).map(|(w, p)| w * p).sum();
            regret += log(likelihoods[best]) - log(mixed);
            shares.update(&mut likelihoods, 1.0, LN_2, t as u64 + 1);
        }
        let (members, switches) = (members as f64, (stretches - 1) as f64);
        let bound = log(members) + switches * log(members / SHARE) - events as f64 * log(1.0 - SHARE);
        assert!(regret <= bound + 1e-9);
        assert!((shares.weights.iter().sum::<f64>() - 1.0).abs() < 1e-12);
    }

    #[test]
    fn members_to_be_admitted_make_no_difference_before() {
        let (mut all, mut fewer) = (Shares::new(4), Shares::new(3));
        all.keep_out(&[1]);
        let (mut seed, mut likelihoods) = (5, vec![0.0; 3]);
        for t in 1..50 {
            likelihoods.fill_with(|| uniform(&mut seed));
            let mut more = [likelihoods[0], 0.5, likelihoods[1], likelihoods[2]];
            all.update(&mut more, 1.0, LN_2, t);
            fewer.update(&mut likelihoods, 1.0, LN_2, t);
        }
        assert_eq!([all.weights[0], all.weights[2], all.weights[3]], fewer.weights[..]);
        assert_eq!([all.means[0], all.means[2], all.means[3]], fewer.means[..]);
        assert!(!all.has(1) && all.members() == 3);
        all.admit(1);
        assert!(all.has(1) && all.weights[1] == 0.25 && all.weights[0] == 0.75 * fewer.weights[0]);
        // However unlikely, a member stays one.
        all.update(&mut [1.0, 0.0, 1.0, 1.0], 1.0, LN_2, 50);
        assert!(all.has(1));
    }

    #[test]
    fn a_weight_repeats_bayes_rule_and_may_be_huge() {
        let mut once = Shares { weights: vec![0.2, 0.3, 0.5], means: vec![0.2, 0.3, 0.5], absent: vec![] };
        let mut twice = once.clone();
        once.update(&mut [0.81, 0.25, 0.01], 1.0, LN_2, 1);
        twice.update(&mut [0.9, 0.5, 0.1], 2.0, LN_2, 1);
        once.weights.iter().zip(&twice.weights).for_each(|(a, b)| assert!((a - b).abs() < 1e-15));
        // The mean of one.
        once.means.iter().zip(&once.weights).for_each(|(a, b)| assert!((a - b).abs() < 1e-15));
        once.update(&mut [0.9, 0.5, 0.1], 1e100, LN_2, 2);
        assert!((once.weights[0] - (1.0 - SHARE + SHARE / 3.0)).abs() < 1e-15);
    }
}
