//! What attributes contribute to a score of KARMA: the same as in its explicit form, computed without its features.
//!
//! The product that an event shares with a support vector, x_k u_k G(n), stands for G(n) features: x_k with each
//! sequence of fewer than gamma of the n attributes that both have. Each feature is split equally among the attributes
//! in it, k's own and those of the sequence, except the constant. Since all other attributes are alike, it suffices to
//! find the share of k's own attribute; the others share the rest equally.

use super::SupportVectors;
use crate::block::Event;
use crate::explaining::Explanation;
use crate::kernel::growth;

/// How the features of a shared value are divided between its own attribute and each other one.
#[derive(Clone, Copy)]
struct Shares {
    /// For any value but the constant.
    own: f64,
    other: f64,
    /// For the constant, to each attribute.
    of_constant: f64,
}

impl Shares {
    /// For an event and a support vector that share this many attributes besides the constant.
    fn of(attributes: usize, gamma: u32) -> Self {
        let all = growth(attributes as f64 + 1.0, gamma);
        let others = attributes.saturating_sub(1);
        let own = own_part(others, gamma);
        Self {
            own,
            other: (all - own) / others.max(1) as f64,
            of_constant: (all - f64::from(gamma)) / attributes.max(1) as f64,
        }
    }
}

/// The sum of 1 / (1 + d) over sequences of fewer than gamma attributes, drawn from `others` and two more, where d is
/// the number of distinct `others` in each.
fn own_part(others: usize, gamma: u32) -> f64 {
    let mut by_different = vec![0.0; gamma as usize];
    by_different[0] = 1.0;
    let mut sum = 1.0;
    for length in 1..gamma as usize {
        for d in (0..=length).rev() {
            let new =
                if d > 0 { by_different[d - 1] * (others as f64 - d as f64 + 1.0).max(0.0) } else { 0.0 };
            by_different[d] = by_different[d] * (2.0 + d as f64) + new;
            sum += by_different[d] / (1.0 + d as f64);
        }
    }
    sum
}

impl SupportVectors {
    /// Explain an event that has been scaled.
    pub(super) fn explain_vectors(&self, event: &Event, into: &mut Explanation) {
        let shares: Vec<Shares> =
            (0..=into.attributes().len()).map(|shared| Shares::of(shared, self.rule.gamma)).collect();
        let attributes = into.attributes().to_vec();
        for slot in 0..self.vectors.used() {
            let has = |attribute: &u32| self.vectors.mask.get(*attribute, 0, slot) > 0;
            let shared: Vec<u32> = attributes.iter().copied().filter(has).collect();
            for class in 0..into.scores.len() {
                self.explain_slot(event, slot, class, &shared, &shares[shared.len()], into);
            }
        }
    }

    fn explain_slot(
        &self,
        event: &Event,
        slot: usize,
        class: usize,
        shared: &[u32],
        shares: &Shares,
        into: &mut Explanation,
    ) {
        let items = event.attributes.iter().zip(event.coordinates).zip(&self.x);
        let (mut constant, mut sum) = (0.0, 0.0);
        for ((&attribute, &coordinate), x) in items {
            let product = x * self.weight(coordinate, class, slot);
            if attribute == 0 {
                constant += product;
            } else {
                sum += product;
                into.add(attribute, class, product * (shares.own - shares.other));
            }
        }
        for &attribute in shared {
            into.add(attribute, class, sum * shares.other + constant * shares.of_constant);
        }
    }

    /// The factor of a coordinate's value in a support vector of v, or of its average.
    fn weight(&self, coordinate: u32, class: usize, slot: usize) -> f64 {
        let v = &self.vectors;
        let plain = v.values.get(coordinate, class, slot);
        let Some(offsets) = &v.offsets else { return v.scale * plain };
        let past = offsets.get(coordinate, class, slot);
        ((v.scale_sum - v.scale) * plain - past) / self.steps.max(1) as f64
    }
}
