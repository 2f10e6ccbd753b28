//! Target statistics: what the labels of earlier events say of a category, as a number beside it.
//!
//! A category of its own weight needs many events to be learned, and one that comes for the second time has
//! learned nearly nothing. The share of positive labels among its events is a number that all categories of
//! an attribute have in common, so that one weight for it serves them all. With n labels, s of them positive,
//! and the share p among the labels of all events with that attribute, the number is
//!
//! ```text
//! log(q / (1 - q)) - log(p / (1 - p)),   q = (s + SHRINK p) / (n + SHRINK);
//! ```
//!
//! for several classes one for each against the others, and for a regression, whose targets are standardised,
//! the mean q less the mean p. Of several categories at once it is the sum, divided by the root of their number.
//! Then it is standardised as numbers are.
//!
//! Only labels of earlier events count, as they come: nothing leaks, and a label that comes late is heeded
//! from then on.

mod filled;
mod keys;
mod state;
mod table;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use self::filled::Filled;
use self::keys::Keys;
use self::table::{Labels, Table};
use crate::block::{Block, Event, Gone};
use crate::learner::{Fact, Learner, Lesson};
use crate::math::log;
use crate::rate_key::is_key;
use crate::scale::{CLIP, Scale, within};
use crate::state::{Refused, State};

/// So many labels as all have, on average, stand beside those of a category.
const SHRINK: f64 = 5.0;
/// So many of the latest labels of a category count.
const LATEST: f64 = 100.0;

/// How rates are made.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Most classes that have rates.
    pub rates: usize,
    /// Whether labels are targets.
    pub regression: bool,
    /// Whether numbers are standardised.
    pub scale: bool,
    /// How many events count in what all have in common.
    pub longest: f64,
}

/// A learner, and what labels say of categories, which it gets as numbers.
pub struct Rated {
    inner: Box<dyn Learner>,
    settings: Settings,
    table: Table,
    /// Of the attributes that have rates, by the coordinate of these.
    attributes: BTreeMap<u32, Attribute>,
    filled: Filled,
}

/// What is known of an attribute that has rates.
#[derive(Clone, Debug)]
struct Attribute {
    labels: Labels,
    /// Of the rates of each class.
    scales: Vec<Scale>,
}

impl Rated {
    /// Around a learner of two classes or a regression.
    pub fn new(inner: Box<dyn Learner>, settings: Settings) -> Self {
        let (attributes, filled) = (BTreeMap::new(), Filled::default());
        Self { inner, settings, table: Table::new(1), attributes, filled }
    }

    /// How many rates an attribute has.
    fn width(&self) -> usize {
        self.inner.classes().min(self.settings.rates)
    }

    /// Put events with their rates together. What they are is not known before the labels of those before are.
    fn fill(&mut self, block: &Block, lessons: &[Lesson]) {
        let mut filled = std::mem::take(&mut self.filled);
        filled.clear();
        for (t, lesson) in lessons.iter().enumerate() {
            let event = block.event(t);
            self.fill_event(&event, lesson.is_learned(), &mut filled);
            if lesson.is_learned() {
                self.learn(&event, lesson);
            }
        }
        self.filled = filled;
    }

    fn fill_event(&mut self, event: &Event, learned: bool, filled: &mut Filled) {
        let mut at = 0;
        while at < event.len() {
            let attribute = event.attributes[at];
            let Some(keys) = Keys::at(event, at) else {
                filled.push(attribute, event.coordinates[at], event.values[at]);
                at += 1;
                continue;
            };
            for (number, &coordinate) in keys.coordinates.iter().enumerate().take(self.width()) {
                filled.push(attribute, coordinate, self.rate(&keys, number, learned));
            }
            at += keys.values.len();
        }
        filled.starts.push(filled.values.len());
    }

    /// The rate of a number, of the categories whose keys are given.
    fn rate(&mut self, keys: &Keys, number: usize, learned: bool) -> f64 {
        let coordinate = keys.coordinates[0];
        let known = self.attributes.get(&coordinate);
        let rate = known.map_or(0.0, |attribute| {
            let found = keys.each().filter_map(|key| self.table.find(key));
            let sum: f64 = found.map(|own| self.rate_of(own, &attribute.labels, number)).sum();
            let count = keys.each().count();
            if count > 1 { sum / (count as f64).sqrt() } else { sum }
        });
        if !self.settings.scale {
            return rate;
        }
        let (width, longest) = (self.width(), self.settings.longest);
        if learned {
            let attribute = self.attributes.entry(coordinate).or_insert_with(|| Attribute::new(width));
            return attribute.scales[number].standardise(rate, true, longest).value;
        }
        let mut scale = self.attributes.get(&coordinate).map_or_else(Scale::default, |a| a.scales[number]);
        scale.standardise(rate, false, longest).value
    }

    /// Of one category, beside what all have in common.
    fn rate_of(&self, (count, sums): (f64, &[f64]), all: &Labels, number: usize) -> f64 {
        let (sum, total) = (sums[number], all.sums[number]);
        if self.settings.regression {
            let mean = if all.count > 0.0 { total / all.count } else { 0.0 };
            return (sum + SHRINK * mean) / (count + SHRINK) - mean;
        }
        let share = (total + 1.0) / (all.count + 2.0);
        let others = ((all.count - total).max(0.0) + 1.0) / (all.count + 2.0);
        let (own, rest) = (sum + SHRINK * share, (count - sum).max(0.0) + SHRINK * others);
        log(own / rest) - log(share / others)
    }

    /// Events one by one, with what was given up on the way.
    fn run_in_turn(&mut self, block: &Block, lessons: &[Lesson], scores: &mut [f64], losses: &mut [f64]) {
        let classes = self.classes();
        for (t, row) in scores.chunks_exact_mut(classes).enumerate() {
            if let Some(gone) = block.gone_before(t) {
                self.forget(gone);
            }
            losses[t] = self.step(block.event(t), lessons[t], row);
        }
    }

    /// Take in the label of an event.
    fn learn(&mut self, event: &Event, lesson: &Lesson) {
        let (width, settings) = (self.width(), self.settings);
        let (is_binary, weight) = (self.inner.classes() == 1, lesson.weight);
        let take = |count: &mut f64, sums: &mut [f64], keep: f64| {
            *count = *count * keep + weight;
            for (number, sum) in sums.iter_mut().enumerate() {
                let label = match (settings.regression, is_binary) {
                    (true, _) if settings.scale => within(lesson.label, CLIP),
                    (true, _) => lesson.label,
                    (_, true) => f64::from(u8::from(lesson.label > 0.0)),
                    _ => f64::from(u8::from(lesson.label == class_of(number) as f64)),
                };
                *sum = *sum * keep + weight * label;
            }
        };
        let mut at = 0;
        while at < event.len() {
            let Some(keys) = Keys::at(event, at) else {
                at += 1;
                continue;
            };
            let first = keys.coordinates[0];
            let attribute = self.attributes.entry(first).or_insert_with(|| Attribute::new(width));
            let Labels { count, sums } = &mut attribute.labels;
            take(count, sums, 1.0 - 1.0 / settings.longest);
            for key in keys.each() {
                let (count, sums) = self.table.enter(key);
                take(count, sums, 1.0 - 1.0 / LATEST.min(settings.longest));
            }
            at += keys.values.len();
        }
    }
}

impl Attribute {
    fn new(width: usize) -> Self {
        Self { labels: Labels { count: 0.0, sums: vec![0.0; width] }, scales: vec![Scale::default(); width] }
    }

    fn widen(&mut self, width: usize) {
        let Labels { count, sums } = &mut self.labels;
        let before = std::mem::replace(sums, vec![0.0; width]);
        widened(*count, &before, sums);
        self.scales.resize(width, Scale::default());
    }
}

/// The class whose rate has that number. Of two classes the only rate is that of the second, and remains so
/// when there are more.
fn class_of(number: usize) -> usize {
    if number < 2 { 1 - number } else { number }
}

/// From the labels of the second of two classes to those of more.
fn widened(count: f64, before: &[f64], sums: &mut [f64]) {
    sums[..before.len()].copy_from_slice(before);
    if before.len() == 1 && sums.len() > 1 {
        sums[1] = (count - before[0]).max(0.0);
    }
}

impl Learner for Rated {
    fn classes(&self) -> usize {
        self.inner.classes()
    }

    fn steps(&self) -> u64 {
        self.inner.steps()
    }

    fn others(&self) -> usize {
        self.inner.others()
    }

    fn step(&mut self, event: Event, lesson: Lesson, scores: &mut [f64]) -> f64 {
        if !event.values.iter().any(|&value| is_key(value)) {
            return self.inner.step(event, lesson, scores);
        }
        self.fill(&Block::of(&event, &[0, event.len()]), &[lesson]);
        self.inner.step(self.filled.block().event(0), lesson, scores)
    }

    fn run(&mut self, block: &Block, lessons: &[Lesson], scores: &mut [f64], losses: &mut [f64]) {
        if !block.gone.is_empty() {
            return self.run_in_turn(block, lessons, scores, losses);
        }
        let (first, last) = (block.starts.first(), block.starts.last());
        let values = &block.values[first.map_or(0, |&start| start)..last.map_or(0, |&end| end)];
        if !values.iter().any(|&value| is_key(value)) {
            return self.inner.run(block, lessons, scores, losses);
        }
        self.fill(block, lessons);
        self.inner.run(&self.filled.block(), lessons, scores, losses);
    }

    fn learn_predicted(&mut self, event: Event, lesson: Lesson, scores: &mut [f64]) -> f64 {
        if !event.values.iter().any(|&value| is_key(value)) {
            return self.inner.learn_predicted(event, lesson, scores);
        }
        // The labels are those that it was predicted with.
        self.fill(&Block::of(&event, &[0, event.len()]), &[lesson]);
        self.inner.learn_predicted(self.filled.block().event(0), lesson, scores)
    }

    fn forget(&mut self, gone: &Gone) {
        self.inner.forget(gone);
        self.attributes.retain(|coordinate, _| gone.coordinates.binary_search(coordinate).is_err());
    }

    fn widen(&mut self, classes: usize) {
        self.inner.widen(classes);
        let width = self.width();
        self.table.widen(width, widened);
        self.attributes.values_mut().for_each(|attribute| attribute.widen(width));
    }

    fn restart(&mut self, steps: u64) {
        self.inner.restart(steps);
        self.clear();
    }

    fn summary(&self) -> Vec<(&'static str, Fact)> {
        let mut summary = self.inner.summary();
        if self.attributes.is_empty() {
            return summary;
        }
        for (name, fact) in &mut summary {
            if let (&mut "bytes", Fact::Count(count)) = (name, fact) {
                *count += self.bytes();
            }
        }
        summary.push(("rated_categories", Fact::Count(self.table.len() as u64)));
        summary
    }

    fn state(&self) -> State {
        let mut state = self.inner.state();
        state.put_part(state::PART, self.own_state());
        state
    }

    fn restore(&mut self, state: &State, attributes: usize, coordinates: usize) -> Result<(), Refused> {
        let (inner, own) = state::split(state);
        let restored = self.inner.restore(&inner, attributes, coordinates);
        let restored = restored.and_then(|()| self.restore_own(&own, coordinates));
        if restored.is_err() {
            self.restart(0);
        }
        restored
    }
}
