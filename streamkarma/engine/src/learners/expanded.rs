//! A linear model on features that are listed for each event, such as products of its values.
//!
//! An [`Expansion`] defines the features; the weights, their table, its hashing and the steps are those of [`Explicit`]
//! of order 1, which gets the features as the items of another event.

use std::any::Any;
use std::collections::HashMap;

use crate::block::{Event, Evicted};
use crate::explaining::Explanation;
use crate::learner::{Fact, Learner, Lesson};
use crate::learners::explicit::{Explicit, Set, Translated};
use crate::merging::{ensure_alike, of_kind};
use crate::state::{Refused, State};
use crate::translation::Translation;

/// Number of indices of pairs, which are taken modulo this prime: with more than 46,339 coordinates some share an
/// index.
pub const PLACES: usize = 1_073_741_789;
/// Index of features with names that were never learned: they have no weight. They only contribute to the norm of an
/// event, as they will once they are learned.
pub const UNSEEN: u32 = PLACES as u32;

/// Defines the features of an event.
pub trait Expansion: Any + Clone + Send + Sync + PartialEq {
    /// List the features of an event.
    fn expand(&self, event: &Event, into: &mut Items);

    /// Number of feature indices, for so many attributes and coordinates.
    fn places(&self, attributes: usize, coordinates: usize) -> usize;

    /// Returns a function that lists, for each index, where to carry what was learned about the feature there.
    fn translator<'a>(&'a self, translation: &'a Translation) -> impl FnMut(u32, &mut Vec<Translated>) + 'a;

    /// The sum of squares of the features of a typical event with so many observed attributes.
    fn typical_square(&self, observed: f64) -> f64;

    /// The attributes that the feature at an index depends on; `owner` returns the attribute of a coordinate.
    ///
    /// If several features share the index, these may be the attributes of another one.
    fn speaks_of(&self, place: u32, owner: impl Fn(u32) -> Set) -> Set;

    /// The known indices of the features of evicted names, in any order.
    fn places_of(&self, evicted: &Evicted, linear: &Explicit) -> Vec<u32>;
}

/// Features as items of an event, all of attribute 0.
#[derive(Clone, Debug, Default)]
pub struct Items {
    attributes: Vec<u32>,
    /// The index of each feature.
    pub coordinates: Vec<u32>,
    /// The value of each feature.
    pub values: Vec<f64>,
}

impl Items {
    fn clear(&mut self) {
        self.coordinates.clear();
        self.values.clear();
    }

    /// Add a feature.
    pub fn put(&mut self, coordinate: u32, value: f64) {
        self.coordinates.push(coordinate);
        self.values.push(value);
    }

    /// Add the feature of two coordinates, in either order, or of a coordinate with itself.
    pub fn put_pair(&mut self, one: u32, other: u32, value: f64) {
        self.put(pair_place(one, other).unwrap_or(UNSEEN), value);
    }

    /// Add the features of the pairs with these numbers, see [`pair`].
    pub fn put_pairs<const N: usize>(&mut self, numbers: [usize; N], values: [f64; N]) {
        self.coordinates.extend(numbers.map(|number| (number % PLACES) as u32));
        self.values.extend(values);
    }

    fn event(&mut self) -> Event<'_> {
        self.attributes.resize(self.values.len(), 0);
        let Self { attributes, coordinates, values } = self;
        Event::of(attributes, coordinates, values)
    }
}

/// A linear model on such features, or several models that differ in their steps.
#[derive(Clone, Debug)]
pub struct Expanded<E> {
    linear: Explicit,
    expansion: E,
    items: Items,
}

impl<E> Expanded<E> {
    /// A learner with the steps and the table of `linear`, which is of order 1.
    pub fn around(linear: Explicit, expansion: E) -> Self {
        Self { linear, expansion, items: Items::default() }
    }

    /// The same learner with other features.
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

    fn explain(&mut self, event: Event, into: &mut Explanation) {
        self.items.clear();
        self.expansion.expand(&event, &mut self.items);
        let pairs = event.coordinates.iter().copied().zip(event.attributes.iter().copied());
        let owners: HashMap<u32, u32> = pairs.collect();
        let owner = |coordinate| owners.get(&coordinate).map_or_else(Set::default, |&own| Set::of_one(own));
        let Self { linear, expansion, items } = self;
        let places = items.coordinates.clone();
        linear.explain_items(&items.event(), |item| expansion.speaks_of(places[item], owner), into);
    }

    fn forget(&mut self, evicted: &Evicted) {
        let coordinates = self.expansion.places_of(evicted, &self.linear);
        self.linear.forget(&Evicted { coordinates, ..Evicted::default() });
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

    fn relabel(&mut self, places: &[usize]) -> Result<(), Refused> {
        self.linear.relabel(places)
    }

    fn is_hashed(&self) -> bool {
        self.linear.is_hashed()
    }

    /// As for [`Explicit`], with the approximations of each [`Expansion::translator`].
    fn translate(&mut self, translation: &Translation) -> Result<(), Refused> {
        if translation.is_none() {
            return Ok(());
        }
        let Self { linear, expansion, .. } = self;
        if linear.can_move(translation)? {
            let mut translator = expansion.translator(translation);
            let moves = linear.moves(|place, _, into| translator(place, into));
            let places = moves.iter().map(|(_, to)| to.coordinate as usize + 1).max().unwrap_or(0);
            linear.rearrange(places.min(1), places, &moves);
        }
        linear.retarget(translation, expansion.typical_square(translation.observed()));
        Ok(())
    }

    fn merge(&mut self, parts: &[&dyn Learner]) -> Result<(), Refused> {
        let parts: Vec<&Self> = of_kind(parts)?;
        ensure_alike(parts.iter().all(|part| part.expansion == self.expansion))?;
        self.linear.merge(&parts.iter().map(|part| &part.linear as &dyn Learner).collect::<Vec<_>>())
    }
}

/// The number of a pair of coordinates.
pub fn pair(one: u32, other: u32) -> usize {
    let (low, high) = (one.min(other) as usize, one.max(other) as usize);
    high * (high + 1) / 2 + low
}

/// The index of the feature of two coordinates, in either order; None for names that were never learned.
pub fn pair_place(one: u32, other: u32) -> Option<u32> {
    (one.max(other) < UNSEEN).then(|| (pair(one, other) % PLACES) as u32)
}

/// The pair of coordinates at an index, the lower one first.
pub fn pair_at(place: u32) -> (u32, u32) {
    let high = ((8 * u64::from(place) + 1).isqrt() as u32 - 1) / 2;
    (place - pair(0, high) as u32, high)
}

/// Number of indices of the pairs of so many coordinates.
pub fn pair_places(coordinates: usize) -> usize {
    (coordinates.saturating_mul(coordinates.saturating_add(1)) / 2).min(PLACES)
}

/// The indices of the pairs of some coordinates with all others, without indices that several pairs share. If these are
/// too many to be cleared, only the pairs with the constant and with themselves.
pub fn pairs_of(evicted: &[u32], linear: &Explicit) -> Vec<u32> {
    let known = linear.coordinates();
    let others = (0..).take_while(|&other| pair(other, other) < known).count() as u32 + 1;
    let fits = linear.can_clear(evicted.len() * others as usize);
    let others = if fits { others } else { 1 };
    let pairs = evicted.iter().flat_map(|&own| {
        (0..others).map(move |other| pair(own, other)).chain((!fits).then(|| pair(own, own)))
    });
    pairs.filter(|&pair| pair < known).map(|pair| pair as u32).collect()
}
