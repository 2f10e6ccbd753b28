//! How sure a prediction of two classes may be while all labels were of one of them.
//!
//! Nothing tells then what the other class looks like, only that it is not frequent: by Laplace's rule of succession
//! it has probability 1 / (n + 2) after n labels. The experts become surer faster, and the first label of a rare class
//! cost much. With this bound, log loss over the first 150 events of 22 development tables, each in six orders, was
//! 0.7 % lower where the rarer class is rarest (one in twelve), and nowhere more than 0.04 % higher.

use crate::math::{exp, log1p};

/// Largest total weight in a state.
const MOST: f64 = 1e200;

/// Total weights of the labels of the negative and the positive class.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Succession([f64; 2]);

impl Succession {
    /// Take in a label, +1 or -1, that is learned.
    pub fn observe(&mut self, label: f64, weight: f64) {
        let total = &mut self.0[usize::from(label > 0.0)];
        *total = (*total + weight).min(MOST);
    }

    /// Bound log-odds so that they leave a class without labels its probability; returns their loss, which was `loss`.
    ///
    /// The label, +1 or -1, must not have been taken in yet; NaN for none.
    pub fn bound(&self, logit: &mut f64, label: f64, loss: f64) -> f64 {
        let bounded = match self.0 {
            [negative, 0.0] if negative > 0.0 => logit.max(-log1p(negative)),
            [0.0, positive] if positive > 0.0 => logit.min(log1p(positive)),
            _ => return loss,
        };
        if bounded == *logit {
            return loss;
        }
        *logit = bounded;
        log1p(exp(-label * bounded))
    }

    /// Take in what the parts have learned since each of them was identical to this.
    pub fn merge(&mut self, parts: impl Iterator<Item = Self>) {
        let base = self.0;
        for Self(part) in parts {
            for (class, total) in self.0.iter_mut().enumerate() {
                *total = (*total + part[class] - base[class]).clamp(0.0, MOST);
            }
        }
    }

    /// Exchange the classes.
    pub fn turn(&mut self) {
        self.0.reverse();
    }

    /// As numbers of a state.
    pub fn numbers(&self) -> [f64; 2] {
        self.0
    }

    /// From the numbers of a state; None if no run could have produced them.
    pub fn restored(numbers: &[f64]) -> Option<Self> {
        let totals = <[f64; 2]>::try_from(numbers).ok()?;
        totals.iter().all(|total| (0.0..=MOST).contains(total)).then_some(Self(totals))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::{log, logistic};

    /// The log-odds with the bound, and the loss of a label, which is 7 without.
    fn bounded(labels: &Succession, mut logit: f64, label: f64) -> (f64, f64) {
        let loss = labels.bound(&mut logit, label, 7.0);
        (logit, loss)
    }

    #[test]
    fn a_class_without_labels_keeps_the_probability_of_laplace() {
        for label in [-1.0, 1.0] {
            let mut labels = Succession::default();
            assert_eq!(bounded(&labels, 9.0 * label, label), (9.0 * label, 7.0));
            for n in 1..50 {
                labels.observe(label, 1.0);
                let (logit, loss) = bounded(&labels, 9.0 * label, -label);
                let other = 1.0 / f64::from(n + 2);
                assert!((logistic(-logit * label) - other).abs() < 1e-12);
                assert!((loss + log(other)).abs() < 1e-12);
                assert_eq!(bounded(&labels, -9.0 * label, label), (-9.0 * label, 7.0));
            }
            labels.observe(-label, 0.1);
            assert_eq!(bounded(&labels, 9.0 * label, label), (9.0 * label, 7.0));
        }
    }

    #[test]
    fn parts_add_up() {
        let of = |numbers: [f64; 2]| Succession::restored(&numbers).unwrap();
        let mut base = of([2.0, 0.0]);
        base.merge([of([5.0, 0.0]), of([3.0, 1.0])].into_iter());
        assert_eq!(base.numbers(), [6.0, 1.0]);
        base.turn();
        assert_eq!(base.numbers(), [1.0, 6.0]);
    }

    #[test]
    fn what_no_run_produces_is_refused() {
        let wrong: [&[f64]; 4] = [&[-1.0, 0.0], &[0.0, f64::NAN], &[1e201, 0.0], &[1.0]];
        assert!(wrong.iter().all(|numbers| Succession::restored(numbers).is_none()));
    }
}
