//! A linear model on the products of the observed values: interactions that KARMA's features lack.
//!
//! KARMA's features of higher order multiply a value by the *presence* of others; these multiply it by their *values*.
//! The features of an event are its values x_k, their products x_i x_k for i < k, and (x_k² - 1) / √2, which is 0 for a
//! category that is present; all divided by their norm. A missing value is 0, as with gamma = 1: beside the other
//! experts, this one does not model missingness.
//!
//! An event with many values has too many products. Then only the values farthest from 0 are multiplied with each
//! other: they account for most of the sum of the event's products.

use std::f64::consts::SQRT_2;

use crate::block::{Event, Evicted};
use crate::learners::expanded::{Expanded, Expansion, Items, pair_at, pair_place, pair_places, pairs_of};
use crate::learners::explicit::{Explicit, Set, Translated};
use crate::learners::linear::Step;
use crate::state::Refused;
use crate::translation::Translation;

/// Maximum number of products of an event, approximately: those of its 1,024 largest values.
const MOST: usize = 1 << 19;

/// AROW or AdaGrad on values and their products.
pub type Products = Expanded<ProductFeatures>;

impl Products {
    /// An empty learner; see [`Explicit::new`].
    ///
    /// # Errors
    ///
    /// If `table_bits` is out of range.
    pub fn new(step: Step, table_bits: u32) -> Result<Self, Refused> {
        Ok(Self::around(Explicit::new(1, true, step, table_bits)?, ProductFeatures { most: MOST }))
    }

    /// The same learner with about so many products of an event at most.
    #[must_use]
    pub fn with_most(self, products: usize) -> Self {
        self.with(|own| ProductFeatures { most: own.most.min(products) })
    }
}

/// Values and their products; only of the largest values if there are more products than `most`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProductFeatures {
    pub(super) most: usize,
}

impl ProductFeatures {
    /// Which items are multiplied with each other: the largest values and the constant. None if all are.
    fn largest(&self, values: &[f64]) -> Option<Vec<bool>> {
        if values.len() * (values.len() + 1) / 2 <= self.most {
            return None;
        }
        let mut items: Vec<usize> = (1..values.len()).collect();
        let most = (2 * self.most).isqrt();
        if most < items.len() {
            let size = |item: &usize| values[*item].abs();
            items.select_nth_unstable_by(most, |one, other| {
                size(other).total_cmp(&size(one)).then(one.cmp(other))
            });
            items.truncate(most);
        }
        let mut chosen = vec![false; values.len()];
        chosen[0] = true;
        items.into_iter().for_each(|item| chosen[item] = true);
        Some(chosen)
    }
}

impl Expansion for ProductFeatures {
    /// List, item by item, the products with the items before it and with itself.
    fn expand(&self, event: &Event, into: &mut Items) {
        let largest = self.largest(event.values);
        let is_chosen = |item: usize| largest.as_ref().is_none_or(|chosen| chosen[item]);
        for (j, (&coordinate, &value)) in event.coordinates.iter().zip(event.values).enumerate() {
            // Item 0 is the constant, whose product with a value is the value.
            let before = if is_chosen(j) { j } else { 1 };
            for (i, (&other, &x)) in event.coordinates[..before].iter().zip(event.values).enumerate() {
                if is_chosen(i) {
                    into.put_pair(other, coordinate, x * value);
                }
            }
            if j == 0 {
                into.put_pair(coordinate, coordinate, 1.0);
            } else if is_chosen(j) {
                into.put_pair(coordinate, coordinate, (value * value - 1.0) / SQRT_2);
            }
        }
    }

    fn places(&self, _attributes: usize, coordinates: usize) -> usize {
        pair_places(coordinates)
    }

    /// With x = c + b z, a product is b_i b_k z_i z_k + c_i b_k z_k + b_i c_k z_i + c_i c_k. If one of the two values
    /// is missing, there is no product. So what is carried to the other one alone, or to the constant, is multiplied by
    /// the fraction of events in which the missing one is observed: exact if nothing is missing, except for the norm.
    fn translator<'a>(&'a self, translation: &'a Translation) -> impl FnMut(u32, &mut Vec<Translated>) + 'a {
        move |place, into| {
            let (low, high) = pair_at(place);
            let (Some(one), Some(other)) = (translation.coordinate(low), translation.coordinate(high)) else {
                return;
            };
            let line = |k: u32| {
                (translation.shift[k as usize], translation.stretch[k as usize], translation.share_of(k))
            };
            let ((c, b, share), (other_c, other_b, other_share)) = (line(low), line(high));
            let mut put = |one: u32, other: u32, stretch: f64| {
                into.extend(pair_place(one, other).map(|place| Translated::stretched(place, stretch)));
            };
            put(one, other, b * other_b);
            let mut put = |other: u32, factor: f64| {
                let place = pair_place(0, other).filter(|_| factor != 0.0);
                into.extend(place.map(|place| Translated::shifted(place, factor)));
            };
            if low == high && low > 0 {
                put(one, SQRT_2 * c * b);
                put(0, (c * c + b * b - 1.0) / SQRT_2 * share);
            } else {
                put(other, c * share * other_b);
                put(one, other_c * other_share * b);
                put(0, c * share * other_c * other_share);
            }
        }
    }

    /// Squares as of Gaussian values.
    fn typical_square(&self, observed: f64) -> f64 {
        let others = (observed - 1.0).max(0.0);
        1.0 + 2.0 * others + 0.5 * others * (others - 1.0).max(0.0)
    }

    fn speaks_of(&self, place: u32, owner: impl Fn(u32) -> Set) -> Set {
        let (low, high) = pair_at(place);
        owner(low).joined(owner(high))
    }

    fn places_of(&self, evicted: &Evicted, linear: &Explicit) -> Vec<u32> {
        pairs_of(&evicted.coordinates, linear)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learner::{Learner, Lesson};
    use crate::loss::Loss;

    fn learner() -> Products {
        Products::new(Step::arow(Loss::Hinge, 1.0), 18).unwrap()
    }

    fn take(learner: &mut Products, coordinates: &[u32], values: &[f64], label: f64) -> f64 {
        let event = Event::of(coordinates, coordinates, values);
        let mut scores = [f64::NAN];
        learner.step(event, Lesson::of(label), &mut scores);
        scores[0]
    }

    #[test]
    fn features_are_the_values_their_products_and_centred_squares() {
        let (coordinates, values) = ([0, 2, 5], [1.0, 3.0, -2.0]);
        let event = Event::of(&coordinates, &coordinates, &values);
        let features = |most: usize| {
            let mut items = Items::default();
            ProductFeatures { most }.expand(&event, &mut items);
            (items.coordinates, items.values)
        };
        let all = [1.0, 3.0, 8.0 / SQRT_2, -2.0, -6.0, 3.0 / SQRT_2];
        assert_eq!(features(MOST), (vec![0, 3, 5, 15, 17, 20], all.to_vec()));
        assert_eq!(features(5).0, [0, 3, 5, 15, 17, 20]);
        // With the largest one alone, and with none.
        assert_eq!(features(1), (vec![0, 3, 5, 15], vec![1.0, 3.0, 8.0 / SQRT_2, -2.0]));
        assert_eq!(features(0), (vec![0, 3, 15], values.to_vec()));
    }

    #[test]
    fn learns_attribute_agreement_and_state_round_trip() {
        let mut learner = learner();
        for t in 0..200 {
            let (a, b) = (f64::from(t % 2) * 2.0 - 1.0, f64::from(t / 2 % 2) * 2.0 - 1.0);
            let score = take(&mut learner, &[0, 1, 2], &[1.0, a, b], a * b);
            assert!(t < 20 || score * a * b > 0.0);
        }
        let mut back = self::learner();
        back.restore(&learner.state(), 3, 3).unwrap();
        assert_eq!(back.state(), learner.state());
        assert!(self::learner().restore(&learner.state(), 3, 2).is_err());
    }

    #[test]
    fn unknown_names_have_no_effect() {
        let mut learner = learner();
        take(&mut learner, &[0, 1], &[1.0, 1.0], 1.0);
        let before = learner.state();
        let last = u32::MAX >> 1;
        take(&mut learner, &[0, 1, last], &[1.0, 1.0, 5.0], f64::NAN);
        assert_eq!(learner.state(), before);
        take(&mut learner, &[0, 100_000, last], &[1.0, 1.0, 5.0], 1.0);
        assert!(take(&mut learner, &[0, 1], &[1.0, 1.0], -1.0).is_finite());
    }
}
