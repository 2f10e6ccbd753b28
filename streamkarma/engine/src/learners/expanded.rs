//! A linear model on features that are listed for each event, such as products of its values.
//!
//! What the features are is up to an [`Expansion`]; the weights, their table, its hashing and the steps are
//! those of [`Explicit`] of order 1, to which the features are the items of another event.

use std::any::Any;

use crate::block::{Event, Gone};
use crate::learner::{Fact, Learner, Lesson};
use crate::learners::explicit::Explicit;
use crate::state::{Refused, State};

/// Places of pairs are taken modulo this prime: among more than 46,339 coordinates some share a place.
const PLACES: usize = 1_073_741_789;

/// Which features an event has.
pub trait Expansion: Any + Send + Sync + PartialEq {
    /// List the features of an event.
    fn expand(&self, event: &Event, into: &mut Items);

    /// Places that features may have, of so many attributes and coordinates.
    fn places(&self, attributes: usize, coordinates: usize) -> usize;

    /// The places, ascending below those that are known, of what was given up.
    fn places_of(&self, gone: &Gone, linear: &Explicit) -> Vec<u32>;
}

/// Features as items of an event, all of attribute 0.
#[derive(Clone, Debug, Default)]
pub struct Items {
    attributes: Vec<u32>,
    /// Where they sit.
    pub coordinates: Vec<u32>,
    /// As many.
    pub values: Vec<f64>,
}

impl Items {
    fn clear(&mut self) {
        self.coordinates.clear();
        self.values.clear();
    }

    /// Put in a feature.
    pub fn put(&mut self, coordinate: u32, value: f64) {
        self.coordinates.push(coordinate);
        self.values.push(value);
    }

    /// Put in the feature of two coordinates, in either order, or of one with itself.
    pub fn put_pair(&mut self, one: u32, other: u32, value: f64) {
        if one.max(other) < PLACES as u32 {
            self.put((pair(one, other) % PLACES) as u32, value);
        } // else a name that was never learned
    }

    fn event(&mut self) -> Event<'_> {
        self.attributes.resize(self.values.len(), 0);
        let Self { attributes, coordinates, values } = self;
        Event { attributes, coordinates, values }
    }
}

/// A linear model on such features; or several, that take other steps.
#[derive(Clone, Debug)]
pub struct Expanded<E> {
    linear: Explicit,
    expansion: E,
    items: Items,
}

impl<E> Expanded<E> {
    /// A learner with the steps and the table of one of order 1.
    pub fn around(linear: Explicit, expansion: E) -> Self {
        Self { linear, expansion, items: Items::default() }
    }

    /// The same with other features.
    #[must_use]
    pub fn with(self, change: impl FnOnce(E) -> E) -> Self {
        Self { expansion: change(self.expansion), ..self }
    }
}

impl<E: Expansion> Learner for Expanded<E> {
    fn classes(&self) -> usize {
        self.linear.classes()
    }

    fn steps(&self) -> u64 {
        self.linear.steps()
    }

    fn models(&self) -> usize {
        self.linear.models()
    }

    fn join(&mut self, other: &dyn Learner) -> bool {
        let Some(other) = (other as &dyn Any).downcast_ref::<Self>() else { return false };
        self.expansion == other.expansion && self.linear.join(&other.linear)
    }

    fn step(&mut self, event: Event, lesson: Lesson, scores: &mut [f64]) -> f64 {
        self.items.clear();
        self.expansion.expand(&event, &mut self.items);
        self.linear.step(self.items.event(), lesson, scores)
    }

    fn learn_predicted(&mut self, _event: Event, lesson: Lesson, scores: &mut [f64]) -> f64 {
        self.linear.learn_predicted(self.items.event(), lesson, scores)
    }

    fn forget(&mut self, gone: &Gone) {
        let coordinates = self.expansion.places_of(gone, &self.linear);
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

    fn restore(&mut self, state: &State, attributes: usize, coordinates: usize) -> Result<(), Refused> {
        self.linear.restore(state, 1, self.expansion.places(attributes, coordinates))
    }
}

/// The number of a pair of coordinates.
fn pair(one: u32, other: u32) -> usize {
    let (low, high) = (one.min(other) as usize, one.max(other) as usize);
    high * (high + 1) / 2 + low
}

/// Places of the pairs of so many coordinates.
pub fn pair_places(coordinates: usize) -> usize {
    (coordinates.saturating_mul(coordinates.saturating_add(1)) / 2).min(PLACES)
}

/// The places of what some coordinates have with every other one; those that several pairs share are left
/// out. Where so many cannot be cleared, of what they have with the constant and with themselves.
pub fn pairs_of(given_up: &[u32], linear: &Explicit) -> Vec<u32> {
    let known = linear.coordinates();
    let others = (0..).take_while(|&other| pair(other, other) < known).count() as u32 + 1;
    let fits = linear.can_clear(given_up.len() * others as usize);
    let others = if fits { others } else { 1 };
    let pairs = given_up.iter().flat_map(|&own| {
        (0..others).map(move |other| pair(own, other)).chain((!fits).then(|| pair(own, own)))
    });
    pairs.filter(|&pair| pair < known).map(|pair| pair as u32).collect()
}
