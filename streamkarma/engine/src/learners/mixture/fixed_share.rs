//! Bayes' rule with fixed share (Cesa-Bianchi and Lugosi 2006, chapter 5), and the blend of experts.
//!
//! The members of a mixture are E calibrated experts and, last, the *blend*, which combines their log-odds,
//!
//! - two classes: `sigmoid(Σ_e v_e logit_e)`; several: `softmax(Σ_e v_e logits_e)`,
//! - a number: `Σ_e v_e prediction_e`,
//!
//! with v learned by the same online Newton steps from v_e = 1 / E. It finds what no single expert knows,
//! and being one member among others it does little harm. The E + 1 members are mixed by
//!
//! `p = Σ_m w_m p_m`, then `w_m ← (1 - s) w_m p_m(y) / Σ_k w_k p_k(y) + s / (E + 1)`.
//!
//! The share s is [`SHARE`] times the entropy of p in bits, at most 1: an event that is certain hardly tells the
//! members apart, and where most are, such as with one positive in 200, a constant share would cost a
//! good part of what is to be learned. (Such streams had .0006 of .0251 less log loss by that, and others the
//! same.) Of an event that counts less than once, s is as much smaller; for a number the entropy counts as 1.
//!
//! Log loss is mixable: over any stretch of T events in which one member is the best, the mixture loses
//! at most `ln((E + 1) / s) - Σ_t ln(1 - s_t)` more than it, with the s of the event before, and `ln(E +
//! 1)` in place of the first term from the start. For a number each member has a density
//! around its prediction, see [`super::numbers`], and the guarantee is for the log loss of the density; the
//! prediction is the mixture's mean.

use std::f64::consts::LN_2;

use super::newton::Newton;
use crate::math::pow;

/// Weight that moves to all members alike with every event, at most: what a switch of the best member costs is
/// ln of its inverse, and what it costs where there is none is 0.001 an event.
pub const SHARE: f64 = 1e-3;
/// Of a certain event this part of it moves all the same, so that no member is lost for good.
const LEAST: f64 = 0.01;
/// Variance of each v_e at the start, of two classes. With half as much the log loss on 140 developers' streams was
/// .6 % higher.
pub const BLEND_PRIOR_VARIANCE: f64 = 0.2;
/// Of several classes, where twice as much made it .3 % higher on 14, and of a number.
const OTHERS_PRIOR_VARIANCE: f64 = 0.1;
/// The mean weights are over about so many events: each newer one counts one part in so many, which is the
/// mean of all while there are fewer.
const RECENT: u64 = 1000;

/// The Bayes weights of members.
#[derive(Clone, Debug)]
pub struct Shares {
    /// Above 0, their sum is 1.
    pub weights: Vec<f64>,
    /// Their running mean, for people: the weights after one event say much about that event.
    pub means: Vec<f64>,
}

impl Shares {
    /// All alike.
    pub fn new(members: usize) -> Self {
        let weights = vec![1.0 / members as f64; members];
        Self { means: weights.clone(), weights }
    }

    /// Bayes' rule with fixed share after event number `events`, from 1.
    ///
    /// An event of weight w counts w times: p_m(y)^w. The share is taken once, or less than that with it;
    /// `doubt` is the entropy of what the mixture said, in nats.
    pub fn update(&mut self, likelihoods: &mut [f64], weight: f64, doubt: f64, events: u64) {
        if weight != 1.0 {
            // Against the highest, so that a great weight leaves one of them at 1.
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
        let given = moved / self.weights.len() as f64;
        for (share, mean) in self.weights.iter_mut().zip(&mut self.means) {
            *share = kept * *share + given;
            *mean += rate * (*share - *mean);
        }
    }
}

/// The v_e of the blend.
#[derive(Clone, Debug)]
pub struct Blend {
    /// One for each expert.
    pub mix: Vec<f64>,
    /// How uncertain they still are, E × E.
    pub covariance: Vec<f64>,
    /// What its diagonal began with, or would begin with by now.
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

    /// Go to several classes.
    pub fn widen(&mut self) {
        let narrower = OTHERS_PRIOR_VARIANCE / self.prior_variances[0];
        self.covariance.iter_mut().for_each(|each| *each *= narrower);
        self.prior_variances.fill(OTHERS_PRIOR_VARIANCE);
    }

    /// To be followed by Newton steps.
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

    /// Numbers in (0, 1), always the same.
    fn uniform(seed: &mut u64) -> f64 {
        *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((*seed >> 33) as f64 + 0.5) / f64::from(1_u32 << 31)
    }

    #[test]
    fn little_is_lost_to_the_best_member_of_each_stretch() {
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
    fn a_weight_is_so_many_times_bayes_rule_and_may_be_huge() {
        let mut once = Shares { weights: vec![0.2, 0.3, 0.5], means: vec![0.2, 0.3, 0.5] };
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
