//! Nearest neighbours among the last events with a label.
//!
//! The learner has no model but a window of events, so that it follows whatever bends or moves within it. After an
//! abrupt change, what is from before it leaves the window, see [`cutting`].
//! The distance from an event x to one of the window, q, is a sum over the attributes of x,
//!
//! ```text
//! d(x, q) = Σ_a s_a t_a,   t_a = min((x_a - q_a)², 9)   of numbers, which are standardised,
//!                                0 or 2                 of categories, if they are the same or not,
//!                                (1 + x_a²) / 2 or 1    if q lacks a number or a category.
//! ```
//!
//! What x lacks is to be expected as far from one q as from another, and is left out. The weights s_a are
//! learned, see [`metric`]. The nearest vote: the one at distance d counts 1 - 0.9 d / D, with D the distance
//! of the last of them, times the weight of its event. A little of the shares of classes in the window stands beside
//! the votes.
//!
//! How many events are kept is told, or found out, see [`growing`].
//!
//! Distances to all events of the window have to be found, which pays for streams of few attributes. An event
//! of more than [`MOST_ITEMS`] gets the shares in the window alone and does not enter it, and of more than
//! [`columns::MOST`] attributes at a time some are not looked at.

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
use crate::block::{Event, Gone};
use crate::change::Change;
use crate::learner::{Fact, Learner, Lesson};
use crate::learners::errors::Errors;
use crate::learners::linear::LARGEST;
use crate::learners::thinning::kept_weight;
use crate::loss::Loss;
use crate::state::{Refused, State, ensure};

/// Most items of an event, the constant apart: with more the distances cost more than all other experts.
pub const MOST_ITEMS: usize = 128;
/// The largest window, and the most neighbours.
const MOST: [usize; 2] = [1 << 20, 1 << 10];
/// Events that share a label have at least this weight in the window, see [`thinning`](crate::learners::thinning). On 800
/// stays in hospital, in four orders, the neighbours alone have a log loss of .427 by this, and .450 if they keep all.
const LIGHT: f64 = 1.0;
/// The weights of a window add up in parts of an event as small as this, so that what leaves it takes with it exactly
/// what it brought.
const PARTS: f64 = 1_099_511_627_776.0; // 2^40
/// An event counts there at most so often.
const HEAVIEST: f64 = 1e15;
/// Targets and their differences from neighbours in standard deviations are cut here in learning weights.
const FAR: f64 = 1e3;

/// How neighbours are found; the same for the whole life of a learner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Whether labels are targets.
    pub regression: bool,
    /// How many events are kept.
    pub window: usize,
    /// Whether there may be more than that, see [`growing`].
    pub grows: bool,
    /// How many of them vote.
    pub neighbors: usize,
}

/// The learner.
#[derive(Clone, Debug)]
pub struct Neighbors {
    settings: Settings,
    classes: usize,
    steps: u64,
    columns: Columns,
    /// By slot: the number of a class or a target, and the event's weight.
    labels: Vec<f64>,
    weights: Vec<f64>,
    /// By slot: the step in which it was learned; see [`merging`].
    learned_at: Vec<u64>,
    /// By slot: whether the neighbours were asked about it before it was learned.
    asked: Vec<bool>,
    /// The errors of what they said; see [`cutting`].
    errors: Errors,
    /// How many events there may be by now.
    room: usize,
    /// Events put into the window since it was decided on that, and what tells.
    since: usize,
    halves: Halves,
    /// The slot that is filled next, that of the oldest event once there are as many as may be.
    next: usize,
    /// The weight of the events of each class in the window, see [`PARTS`].
    counts: Vec<u128>,
    target: Moments,
    /// The event in hand: its items, the nearest to it, and scratch.
    items: Vec<Item>,
    nearest: Nearest,
    metric: Metric,
    shares: Vec<f64>,
    slopes: Vec<f64>,
    compared: Vec<f64>,
}

impl Neighbors {
    /// A learner that knows nothing.
    ///
    /// # Errors
    ///
    /// If a setting is out of its range.
    pub fn new(settings: Settings) -> Result<Self, Refused> {
        let Settings { window, neighbors, .. } = settings;
        ensure((1..=MOST[0]).contains(&window), &format!("the window has 1 to {} events", MOST[0]))?;
        ensure((1..=MOST[1]).contains(&neighbors), &format!("there are 1 to {} neighbours", MOST[1]))?;
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
        self.say(scores);
    }

    /// What the nearest found say.
    fn say(&mut self, scores: &mut [f64]) {
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
        let suffered = self.loss().judge(scores, lesson.label, &mut self.slopes);
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
        suffered
    }

    /// The number of a class, or a target, as it is kept; there is one zero.
    fn label_of(&self, label: f64) -> f64 {
        match (self.settings.regression, self.classes) {
            (true, _) => label.clamp(-LARGEST, LARGEST) + 0.0,
            (_, 1) => f64::from(u8::from(label > 0.0)),
            _ => label,
        }
    }

    /// Learn what counts in distances from the neighbours found, if there are enough.
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

    /// Put an event into the window, in place of the oldest if that is full.
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

    /// Events of the window that had it are as if it had been missing.
    fn forget(&mut self, gone: &Gone) {
        self.columns.forget(&gone.attributes, &gone.coordinates);
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

    fn carry(&mut self, change: &Change) -> Result<(), Refused> {
        self.carry_over(change);
        Ok(())
    }

    fn merge(&mut self, parts: &[&dyn Learner]) -> Result<(), Refused> {
        self.merge_parts(parts)
    }
}
