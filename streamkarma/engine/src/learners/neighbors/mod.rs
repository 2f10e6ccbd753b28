//! Nearest neighbours among the latest labelled events.
//!
//! The only model is a window of events, so that it fits nonlinear dependences and follows drift within the window.
//! After an abrupt change, older events are dropped from the window, see [`cutting`]. The distance from an event x to
//! an event q of the window is a sum over the attributes of x,
//!
//! ```text
//! d(x, q) = Σ_a s_a t_a,   t_a = min((x_a - q_a)², 9)   for numbers, which are standardised,
//!                                0 or 2                 for equal or different categories,
//!                                (1 + x_a²) / 2 or 1    if q lacks a number or a category.
//! ```
//!
//! An attribute that x lacks is expected to be equally far from every q and is left out. The weights s_a are learned,
//! see [`metric`]. The nearest vote: a neighbour at distance d has 1 - 0.9 d / D votes, with D the distance of the
//! farthest one, times the weight of its event. The class frequencies of the window are added to the votes with a small
//! weight.
//!
//! The number of events kept is given, or determined automatically, see [`growing`].
//!
//! Distances to all events of the window have to be computed, which pays for streams of few attributes. An event of
//! more than [`MOST_ITEMS`] is predicted by the class frequencies alone and does not enter the window; of more than
//! [`columns::MOST`] attributes at a time, some are ignored.

mod column;
mod columns;
mod cutting;
#[cfg(test)]
mod cutting_tests;
mod growing;
#[cfg(test)]
mod growing_tests;
mod merging;
#[cfg(test)]
mod merging_tests;
mod metric;
mod moments;
mod nearest;
mod state;
#[cfg(test)]
mod state_tests;
#[cfg(test)]
mod tests;
mod votes;

use self::column::Item;
use self::columns::Columns;
use self::cutting::BATCH;
use self::growing::Halves;
use self::metric::Metric;
use self::moments::Moments;
use self::nearest::Nearest;
use crate::block::{Event, Evicted};
use crate::learner::{Fact, Learner, Lesson};
use crate::learners::errors::Errors;
use crate::learners::linear::LARGEST;
use crate::learners::thinning::kept_weight;
use crate::loss::Loss;
use crate::state::{Refused, State, ensure};
use crate::translation::Translation;

/// Maximum number of items of an event, without the constant: with more, distances cost more than all other experts.
pub const MOST_ITEMS: usize = 128;
/// Maximum window size and maximum number of neighbours.
const MOST: [usize; 2] = [1 << 20, 1 << 10];
/// Events that share a label have at least this weight in the window, see [`thinning`](crate::learners::thinning). On
/// 800 hospital stays, in four orders, the log loss of the neighbours alone is .427 with this, and .450 if they keep
/// all events.
const LIGHT: f64 = 1.0;
/// The weights in a window are summed in multiples of this fraction of an event, so that an event that leaves subtracts
/// exactly what it added.
const PARTS: f64 = 1_099_511_627_776.0; // 2^40
/// Maximum weight of an event in these sums.
const HEAVIEST: f64 = 1e15;
/// When weights are learned, differences between the target and those of neighbours are cut at this many standard
/// deviations.
const FAR: f64 = 1e3;

/// How neighbours are found; fixed for the whole life of a learner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Whether labels are targets.
    pub regression: bool,
    /// Number of events kept.
    pub window: usize,
    /// Whether the window may grow beyond that, see [`growing`].
    pub grows: bool,
    /// Number of events that vote.
    pub neighbors: usize,
}

/// The learner.
#[derive(Clone, Debug)]
pub struct Neighbors {
    settings: Settings,
    classes: usize,
    steps: u64,
    columns: Columns,
    /// By slot: the class index or the target, and the weight of the event.
    labels: Vec<f64>,
    weights: Vec<f64>,
    /// By slot: the step in which the event was learned; see [`merging`].
    learned_at: Vec<u64>,
    /// By slot: whether the neighbours predicted the event before it was learned.
    asked: Vec<bool>,
    /// The errors of their predictions; see [`cutting`].
    errors: Errors,
    /// The current maximum number of events.
    room: usize,
    /// Events added since the last decision on that, and the statistics for the next one.
    since: usize,
    halves: Halves,
    /// The slot to be filled next, which is that of the oldest event once the window is full.
    next: usize,
    /// The total weight of the events of each class in the window, see [`PARTS`].
    counts: Vec<u128>,
    target: Moments,
    /// The current event: its items, the events nearest to it, and scratch buffers.
    items: Vec<Item>,
    nearest: Nearest,
    metric: Metric,
    shares: Vec<f64>,
    slopes: Vec<f64>,
    compared: Vec<f64>,
}

impl Neighbors {
    /// A learner that has learned nothing.
    ///
    /// # Errors
    ///
    /// If a setting is out of its range.
    pub fn new(settings: Settings) -> Result<Self, Refused> {
        let Settings { window, neighbors, .. } = settings;
        ensure(
            (1..=MOST[0]).contains(&window),
            &format!("window must be between 1 and {}, not {window}", MOST[0]),
        )?;
        ensure(
            (1..=MOST[1]).contains(&neighbors),
            &format!("neighbors must be between 1 and {}, not {neighbors}", MOST[1]),
        )?;
        Ok(Self {
            settings,
            classes: 1,
            steps: 0,
            columns: Columns::new(0),
            labels: Vec::new(),
            weights: Vec::new(),
            learned_at: Vec::new(),
            asked: Vec::new(),
            errors: Errors::new(BATCH),
            room: settings.window,
            since: 0,
            halves: Halves::default(),
            next: 0,
            counts: vec![0; 2],
            target: Moments::default(),
            items: Vec::new(),
            nearest: Nearest::default(),
            metric: Metric::default(),
            shares: Vec::new(),
            slopes: vec![0.0],
            compared: Vec::new(),
        })
    }

    fn is_wide(event: &Event) -> bool {
        event.len() > MOST_ITEMS + 1
    }

    fn predict(&mut self, event: &Event, scores: &mut [f64]) {
        let Self { columns, items, nearest, settings, .. } = self;
        if Self::is_wide(event) {
            nearest.found.clear();
        } else {
            columns.read(event, items);
            nearest.find(columns, items, self.labels.len(), self.next, settings.neighbors);
        }
        self.write_scores(scores);
    }

    /// Predict from the nearest events found.
    fn write_scores(&mut self, scores: &mut [f64]) {
        if self.settings.regression {
            scores[0] = self.mean();
        } else {
            self.vote(scores);
        }
    }

    fn loss(&self) -> Loss {
        if self.settings.regression { Loss::Squared } else { Loss::Logistic }
    }

    /// Suffer the loss of a label, if there is one, and learn the event that was predicted.
    fn learn(&mut self, event: &Event, lesson: &Lesson, scores: &[f64]) -> f64 {
        if !lesson.is_labelled() {
            return f64::NAN;
        }
        let suffered_loss = self.loss().loss_and_gradient(scores, lesson.label, &mut self.slopes);
        if lesson.is_learned() {
            self.steps += 1;
            if !Self::is_wide(event) {
                let label = self.label_of(lesson.label);
                self.learn_metric(label, lesson.weight);
                let error = self.error(label, scores);
                error.into_iter().for_each(|error| self.compare(lesson, label, error));
                let kept = if lesson.shares_label {
                    kept_weight(lesson.weight, LIGHT, self.steps)
                } else {
                    Some(lesson.weight)
                };
                if let Some(weight) = kept {
                    self.keep(event, label, weight.min(LARGEST), error.is_some());
                }
                error.into_iter().for_each(|error| self.watch(error, lesson.weight));
            }
        }
        suffered_loss
    }

    /// The class index or the target as it is stored, without negative zero.
    fn label_of(&self, label: f64) -> f64 {
        match (self.settings.regression, self.classes) {
            (true, _) => label.clamp(-LARGEST, LARGEST) + 0.0,
            (_, 1) => f64::from(u8::from(label > 0.0)),
            _ => label,
        }
    }

    /// Learn the weights of attributes in distances from the neighbours found, if there are enough.
    fn learn_metric(&mut self, label: f64, weight: f64) {
        let Self { columns, items, nearest, metric, labels, weights, target, .. } = self;
        let regression = self.settings.regression;
        if nearest.found.len() < self.settings.neighbors || (regression && target.variance <= 0.0) {
            return;
        }
        let deviation = target.variance.sqrt();
        let loss = |other: f64| {
            if regression {
                let away = ((label - other) / deviation).clamp(-FAR, FAR);
                away * away
            } else {
                f64::from(u8::from(label != other))
            }
        };
        metric.losses.clear();
        metric.losses.extend(nearest.found.iter().map(|(_, slot)| loss(labels[*slot])));
        metric.chances.clear();
        metric.chances.extend(nearest.found.iter().map(|(_, slot)| weights[*slot]));
        metric.step(columns, items, &nearest.found, weight, regression);
    }

    /// Put an event into the window, replacing the oldest if the window is full.
    fn keep(&mut self, event: &Event, label: f64, weight: f64, asked: bool) {
        let slot = self.next;
        self.columns.put(event, slot);
        if slot < self.labels.len() {
            self.count(slot, u128::saturating_sub);
            (self.labels[slot], self.weights[slot]) = (label, weight);
            (self.learned_at[slot], self.asked[slot]) = (self.steps, asked);
        } else {
            self.labels.push(label);
            self.weights.push(weight);
            self.learned_at.push(self.steps);
            self.asked.push(asked);
        }
        self.count(slot, u128::saturating_add);
        self.target.observe(label, weight, self.room as f64);
        self.next = (slot + 1) % self.room;
        self.grow();
    }

    fn count(&mut self, slot: usize, by: impl Fn(u128, u128) -> u128) {
        if !self.settings.regression {
            let count = &mut self.counts[self.labels[slot] as usize];
            *count = by(*count, (PARTS * self.weights[slot].min(HEAVIEST)) as u128);
        }
    }
}

impl Learner for Neighbors {
    fn classes(&self) -> usize {
        self.classes
    }

    fn steps(&self) -> u64 {
        self.steps
    }

    fn step(&mut self, event: Event, lesson: Lesson, scores: &mut [f64]) -> f64 {
        if lesson.wants_scores {
            self.predict(&event, scores);
        } else {
            self.nearest.found.clear();
            scores.fill(f64::NAN);
        }
        self.learn(&event, &lesson, scores)
    }

    fn learns_unasked(&self) -> bool {
        true
    }

    fn learn_predicted(&mut self, event: Event, lesson: Lesson, scores: &mut [f64]) -> f64 {
        self.learn(&event, &lesson, scores)
    }

    /// Treat the dropped values as missing in the events of the window.
    fn forget(&mut self, evicted: &Evicted) {
        self.columns.forget(&evicted.attributes, &evicted.coordinates);
    }

    fn widen(&mut self, classes: usize) {
        self.classes = classes.max(self.classes).max(2);
        self.counts.resize(self.classes, 0);
        self.slopes.resize(self.classes, 0.0);
    }

    fn restart(&mut self, steps: u64) {
        if let Ok(new) = Self::new(self.settings) {
            *self = Self { steps, ..new };
        }
    }

    fn summary(&self) -> Vec<(&'static str, Fact)> {
        let bytes = self.columns.bytes() + 3 * size_of_val(&self.labels[..]) + self.asked.len();
        vec![("window", Fact::Count(self.labels.len() as u64)), ("bytes", Fact::Count(bytes as u64))]
    }

    fn state(&self) -> State {
        self.to_state()
    }

    fn restore(&mut self, state: &State, attributes: usize, coordinates: usize) -> Result<(), Refused> {
        *self = self.restored(state, attributes, coordinates)?;
        Ok(())
    }

    fn relabel(&mut self, places: &[usize]) -> Result<(), Refused> {
        self.renumber(places)
    }

    fn translate(&mut self, translation: &Translation) -> Result<(), Refused> {
        self.translate_all(translation);
        Ok(())
    }

    fn merge(&mut self, parts: &[&dyn Learner]) -> Result<(), Refused> {
        self.merge_parts(parts)
    }
}
