//! A linear model on the products of what is observed: interactions that KARMA's features have not.
//!
//! KARMA's features of higher order multiply a value by what is *there* beside it; these multiply it by
//! what the others *say*. The features of an event are its values x_k, their products x_i x_k for i < k,
//! and (x_k² - 1) / √2, which is 0 for a category that holds; all divided by their norm. What is missing
//! has value 0, as with gamma = 1: beside the other experts this one knows nothing of missingness.

use crate::block::{Event, Gone};
use crate::learner::{Fact, Learner, Lesson};
use crate::learners::explicit::Explicit;
use crate::learners::linear::Step;
use crate::state::{Refused, State};

/// An event that has more products, one of 1,024 items, is taken without.
const MOST: usize = 1 << 19;

/// Places of products are taken modulo this prime: among more than 46,339 coordinates some share a place.
const PLACES: usize = 1_073_741_789;

/// AROW or AdaGrad on values and their products.
#[derive(Clone, Debug)]
pub struct Products {
    linear: Explicit,
    most: usize,
    /// The event's features as items of another event, all of attribute 0.
    attributes: Vec<u32>,
    coordinates: Vec<u32>,
    values: Vec<f64>,
}

impl Products {
    /// A learner that knows nothing; see [`Explicit::new`].
    ///
    /// # Errors
    ///
    /// If `table_bits` is out of its range.
    pub fn new(step: Step, table_bits: u32) -> Result<Self, Refused> {
        let linear = Explicit::new(1, true, step, table_bits)?;
        let (attributes, coordinates, values) = (Vec::new(), Vec::new(), Vec::new());
        Ok(Self { linear, most: MOST, attributes, coordinates, values })
    }

    /// The same, but an event with more than so many features is taken without products, too.
    #[must_use]
    pub fn with_most(self, features: usize) -> Self {
        Self { most: self.most.min(features), ..self }
    }

    /// List the products of an event, one item's with those before it and with itself after another's.
    fn multiply(&mut self, event: &Event) {
        self.coordinates.clear();
        self.values.clear();
        let alone = event.len() * (event.len() + 1) / 2 > self.most;
        for (j, (&coordinate, &value)) in event.coordinates.iter().zip(event.values).enumerate() {
            // Item 0 is the constant, whose product with a value is the value.
            let before = if alone { j.min(1) } else { j };
            for (&other, &x) in event.coordinates[..before].iter().zip(event.values) {
                self.put(other, coordinate, x * value);
            }
            if j == 0 {
                self.put(coordinate, coordinate, 1.0);
            } else if !alone {
                self.put(coordinate, coordinate, (value * value - 1.0) / std::f64::consts::SQRT_2);
            }
        }
        self.attributes.resize(self.values.len(), 0);
    }

    fn put(&mut self, one: u32, other: u32, product: f64) {
        if one.max(other) < PLACES as u32 {
            self.coordinates.push((pair(one, other) % PLACES) as u32);
            self.values.push(product);
        } // else a name that was never learned
    }
}

/// The number of a pair of coordinates.
fn pair(one: u32, other: u32) -> usize {
    let (low, high) = (one.min(other) as usize, one.max(other) as usize);
    high * (high + 1) / 2 + low
}

impl Learner for Products {
    fn classes(&self) -> usize {
        self.linear.classes()
    }

    fn steps(&self) -> u64 {
        self.linear.steps()
    }

    fn step(&mut self, event: Event, lesson: Lesson, scores: &mut [f64]) -> f64 {
        self.multiply(&event);
        let Self { linear, attributes, coordinates, values, .. } = self;
        linear.step(Event { attributes, coordinates, values }, lesson, scores)
    }

    fn learn_predicted(&mut self, _event: Event, lesson: Lesson, scores: &mut [f64]) -> f64 {
        let Self { linear, attributes, coordinates, values, .. } = self;
        linear.learn_predicted(Event { attributes, coordinates, values }, lesson, scores)
    }

    /// What a coordinate had with every other one; places that several pairs share stay as they are. Of a
    /// hashed table see [`Explicit`].
    fn forget(&mut self, gone: &Gone) {
        let known = self.linear.coordinates();
        let others = (0..).take_while(|&other| pair(other, other) < known).count() as u32 + 1;
        // With all others, or at least with the constant.
        let fits = self.linear.can_clear(gone.coordinates.len() * others as usize);
        let others = if fits { others } else { 1 };
        let pairs = gone.coordinates.iter().flat_map(|&own| {
            (0..others).map(move |other| pair(own, other)).chain((!fits).then(|| pair(own, own)))
        });
        let coordinates = pairs.filter(|&pair| pair < known).map(|pair| pair as u32).collect();
        self.linear.forget(&Gone { coordinates, ..Gone::default() });
    }

    fn widen(&mut self, classes: usize) {
        self.linear.widen(classes);
    }

    fn restart(&mut self, steps: u64) {
        self.linear.restart(steps);
    }

    fn summary(&self) -> Vec<(&'static str, Fact)> {
        self.linear.summary()
    }

    fn state(&self) -> State {
        self.linear.state()
    }

    fn restore(&mut self, state: &State, _attributes: usize, coordinates: usize) -> Result<(), Refused> {
        let pairs = coordinates.saturating_mul(coordinates.saturating_add(1)) / 2;
        self.linear.restore(state, 1, pairs.min(PLACES))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learners::linear::Update;
    use crate::loss::Loss;

    fn learner() -> Products {
        let (update, loss) = (Update::Arow, Loss::Hinge);
        let step = Step { update, loss, r: 1.0, eta: 0.0, rho: 0.0, steepness: 0.0, half_life: 0.0 };
        Products::new(step, 18).unwrap()
    }

    fn take(learner: &mut Products, coordinates: &[u32], values: &[f64], label: f64) -> f64 {
        let event = Event { attributes: coordinates, coordinates, values };
        let mut scores = [f64::NAN];
        learner.step(event, Lesson::of(label), &mut scores);
        scores[0]
    }

    #[test]
    fn features_are_the_values_their_products_and_centred_squares() {
        let mut learner = learner();
        let (items, values) = ([0, 2, 5], [1.0, 3.0, -2.0]);
        let event = Event { attributes: &items, coordinates: &items, values: &values };
        learner.multiply(&event);
        let root = std::f64::consts::SQRT_2;
        assert_eq!(learner.values, [1.0, 3.0, 8.0 / root, -2.0, -6.0, 3.0 / root]);
        assert_eq!(learner.coordinates, [0, 3, 5, 15, 17, 20]);
        learner.most = 5;
        learner.multiply(&event);
        assert_eq!((&learner.values[..], &learner.coordinates[..]), (&[1.0, 3.0, -2.0][..], &[0, 3, 15][..]));
    }

    #[test]
    fn it_says_whether_two_attributes_agree_and_comes_back() {
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
    fn names_never_learned_leave_no_trace_and_none_breaks_anything() {
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
