//! A factorisation machine: a weight for each coordinate, and for each pair of them one that factorises.
//!
//! The score of an event, with x its values divided by their norm and 0 the constant, is [R]
//!
//! ```text
//! f = Σ_k w_k x_k + Σ_{0<j<k} <v_j, v_k> x_j x_k.
//! ```
//!
//! The second sum is (|Σ_{0<k} v_k x_k|² - Σ_{0<k} |v_k|² x_k²) / 2, so that an event costs no more than its items
//! times the rank.
//!
//! Two categories that never co-occurred still have a weight for their product, inferred from their products with
//! others. That pays where attributes have many categories. Where they have few, the products learner has a weight for
//! each pair and learns it faster, so this learner sleeps until there are enough coordinates: it scores 0 and costs
//! nothing. Once awake it remains so.
//!
//! Missing values are 0. A coordinate that was never learned only counts in the norm, so that the prediction of an
//! event does not depend on whether it will be learned. It is learned with its initial factors.
//!
//! Of several classes, each has its own factors. There is a row of parameters for each coordinate, until they are too
//! many for the table; then some share one.
//!
//! - [R] Rendle: Factorization Machines, ICDM 2010.

mod merging;
#[cfg(test)]
mod merging_tests;
mod rotation;
mod rows;
mod state;
#[cfg(test)]
mod tests;

use rows::{RANK, Row, Rows};

use crate::block::{Event, Evicted, room_for};
use crate::explaining::Explanation;
use crate::learner::{Fact, Learner, Lesson};
use crate::learners::linear::LARGEST;
use crate::loss::Loss;
use crate::math::dot;
use crate::merging::of_kind;
use crate::state::{Refused, State, ensure};
use crate::translation::Translation;

/// When the learner wakes up: at four coordinates per attribute, and 16 more.
///
/// A number has one coordinate, or a few with its marks. With 20 numbers the mixture was no better with this expert
/// awake and took 8 % more time; asleep it costs 1 to 2 %.
fn wakes_up(attributes: usize, coordinates: usize) -> bool {
    coordinates >= 4 * attributes + 16
}

/// How a factorisation machine learns; fixed for its whole life.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// Logistic for classes, squared for a regression.
    pub loss: Loss,
    /// AdaGrad's step size, above 0.
    pub eta: f64,
    /// How strongly parameters shrink towards their initial values, 0 or more.
    pub shrink: f64,
    /// Number of steps after which what was learned has half its weight, 1 or more; 0 for never.
    pub half_life: f64,
    /// log2 of the maximum number of parameters of all classes together: 8 to 30.
    pub table_bits: u32,
}

/// The learner.
#[derive(Clone, Debug)]
pub struct FactorisationMachine {
    steps: u64,
    attributes: usize,
    coordinates: usize,
    awake: bool,
    rows: Rows,
    slopes: Vec<f64>,
    /// The current event: its learned items, and the sums of its factors for each class.
    items: Vec<(u32, f64)>,
    sums: Vec<[f64; RANK]>,
}

impl FactorisationMachine {
    /// A learner that has learned nothing.
    ///
    /// # Errors
    ///
    /// If `table_bits` is out of its range.
    pub fn new(settings: Settings) -> Result<Self, Refused> {
        let bits = settings.table_bits;
        ensure((8..=30).contains(&bits), &format!("table_bits must be between 8 and 30, not {bits}"))?;
        Ok(Self {
            steps: 0,
            attributes: 0,
            coordinates: 0,
            awake: false,
            rows: Rows::new(settings),
            slopes: vec![0.0],
            items: Vec::new(),
            sums: Vec::new(),
        })
    }

    /// Extend the parameters to the attributes and coordinates of an event.
    fn register(&mut self, event: &Event) {
        let attributes = room_for(event.attributes).max(self.attributes);
        let coordinates = room_for(event.coordinates).max(self.coordinates);
        if (attributes, coordinates) != (self.attributes, self.coordinates) {
            (self.attributes, self.coordinates) = (attributes, coordinates);
            self.wake_up();
        }
    }

    /// Wake up if there are enough coordinates, and allocate their rows.
    fn wake_up(&mut self) {
        self.awake |= wakes_up(self.attributes, self.coordinates);
        if self.awake {
            self.rows.make_room(self.coordinates);
        }
    }

    /// Whether a coordinate contributes to the score.
    fn is_learned(&self, coordinate: u32) -> bool {
        self.awake && (coordinate as usize) < self.coordinates && self.rows.has_learned(coordinate)
    }

    /// List the items of an event, or only those learned, divided by the norm of the event.
    fn list(&mut self, event: &Event, all: bool) {
        let mut items = std::mem::take(&mut self.items);
        items.clear();
        let square = dot(event.values, event.values);
        if self.awake && square > 0.0 {
            let factor = 1.0 / square.sqrt();
            let each = event.coordinates.iter().zip(event.values);
            let listed = each.filter(|(coordinate, _)| all || self.is_learned(**coordinate));
            items.extend(listed.map(|(&coordinate, value)| (coordinate, factor * value)));
        }
        self.items = items;
    }

    fn predict(&mut self, event: &Event, scores: &mut [f64]) {
        self.list(event, false);
        self.score(scores);
    }

    /// The scores of the listed items.
    fn score(&mut self, scores: &mut [f64]) {
        self.sums.clear();
        for (class, score) in scores.iter_mut().enumerate() {
            let (value, sums) = self.rows.score(class, &self.items);
            *score = value.clamp(-LARGEST, LARGEST);
            self.sums.push(sums);
        }
    }

    /// Suffer the loss of a label, if there is one, and take a step against it; the event was predicted last.
    fn learn(&mut self, event: &Event, lesson: &Lesson, scores: &[f64]) -> f64 {
        if !lesson.is_labelled() {
            return f64::NAN;
        }
        let loss = self.rows.settings.loss;
        let suffered_loss = loss.loss_and_gradient(scores, lesson.label, &mut self.slopes);
        if lesson.is_learned() {
            self.register(event);
            self.steps += 1;
            if self.awake {
                if self.items.len() < event.len() {
                    self.list(event, true);
                    let mut scores = scores.to_vec();
                    self.score(&mut scores);
                    loss.loss_and_gradient(&scores, lesson.label, &mut self.slopes);
                }
                self.descend(lesson.weight);
            }
        }
        suffered_loss
    }

    fn descend(&mut self, weight: f64) {
        for (class, (slope, sums)) in self.slopes.iter().zip(&self.sums).enumerate() {
            let slope = (weight * slope).clamp(-LARGEST, LARGEST);
            if slope != 0.0 {
                self.rows.descend(class, &self.items, sums, slope);
            }
        }
        self.rows.forget();
    }
}

impl Learner for FactorisationMachine {
    fn classes(&self) -> usize {
        self.slopes.len()
    }

    fn steps(&self) -> u64 {
        self.steps
    }

    fn step(&mut self, event: Event, lesson: Lesson, scores: &mut [f64]) -> f64 {
        self.predict(&event, scores);
        self.learn(&event, &lesson, scores)
    }

    fn learn_predicted(&mut self, event: Event, lesson: Lesson, scores: &mut [f64]) -> f64 {
        self.learn(&event, &lesson, scores)
    }

    /// The contribution of a pair is split in halves.
    fn explain(&mut self, event: Event, into: &mut Explanation) {
        self.list(&event, false);
        let items = event.attributes.iter().zip(event.coordinates);
        let learned = items.filter(|(_, coordinate)| self.is_learned(**coordinate));
        for (item, (&attribute, _)) in learned.enumerate().take(self.items.len()) {
            for class in 0..self.classes() {
                into.add(attribute, class, self.rows.part(class, &self.items, item));
            }
        }
    }

    fn forget(&mut self, evicted: &Evicted) {
        let known =
            evicted.coordinates.iter().filter(|&&coordinate| (coordinate as usize) < self.coordinates);
        known.for_each(|&coordinate| self.rows.clear(coordinate, self.coordinates));
    }

    fn widen(&mut self, classes: usize) {
        let classes = classes.max(self.classes()).max(2);
        self.rows.widen(classes);
        self.slopes.resize(classes, 0.0);
    }

    fn restart(&mut self, steps: u64) {
        (self.steps, self.attributes, self.coordinates, self.awake) = (steps, 0, 0, false);
        (self.rows, self.slopes) = (Rows::new(self.rows.settings), vec![0.0]);
    }

    fn summary(&self) -> Vec<(&'static str, Fact)> {
        let weights = (self.rows.len() * (RANK + 1)) as u64;
        let bytes = (self.rows.len() * size_of::<Row>()) as u64;
        vec![("weights", Fact::Count(weights)), ("bytes", Fact::Count(bytes))]
    }

    fn state(&self) -> State {
        self.to_state()
    }

    fn restore(&mut self, state: &State, attributes: usize, coordinates: usize) -> Result<(), Refused> {
        *self = self.restored(state, attributes, coordinates)?;
        Ok(())
    }

    fn relabel(&mut self, places: &[usize]) -> Result<(), Refused> {
        self.rows.relabel(places);
        Ok(())
    }

    fn is_hashed(&self) -> bool {
        self.coordinates > self.rows.places && self.awake
    }

    fn translate(&mut self, translation: &Translation) -> Result<(), Refused> {
        self.translate_rows(translation)
    }

    fn merge(&mut self, parts: &[&dyn Learner]) -> Result<(), Refused> {
        self.merge_parts(&of_kind(parts)?)
    }
}
