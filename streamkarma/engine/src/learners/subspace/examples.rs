//! The last labelled events, kept for replay.

use std::collections::VecDeque;

use super::NOBODY;
use super::state::{WHY, numbers, numbers_below, put_numbers};
use crate::block::{Event, Evicted};
use crate::learner::Lesson;
use crate::state::{Refused, State, ensure};

/// Maximum number of events kept.
pub const MOST: usize = 1024;
/// Maximum number of items in all of them.
pub const MOST_ITEMS: usize = 1 << 16;

/// A labelled event.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Example {
    pub attributes: Vec<u32>,
    pub coordinates: Vec<u32>,
    pub values: Vec<f64>,
    pub label: f64,
    pub weight: f64,
}

impl Example {
    pub fn event(&self) -> Event<'_> {
        Event::of(&self.attributes, &self.coordinates, &self.values)
    }

    fn of(event: &Event, lesson: &Lesson) -> Self {
        Self {
            attributes: event.attributes.to_vec(),
            coordinates: event.coordinates.to_vec(),
            values: event.values.to_vec(),
            label: lesson.label,
            weight: lesson.weight,
        }
    }
}

/// The last labelled events since the first event without a label.
#[derive(Clone, Debug, Default)]
pub struct Examples {
    /// Oldest first.
    pub all: VecDeque<Example>,
    /// Total number of their items.
    pub items: usize,
    /// Index of the next one to be replayed.
    pub next: usize,
    /// Fraction of a replay that is due.
    pub due: f64,
}

impl Examples {
    /// Keep one more event, replacing the oldest ones if there is no room.
    pub fn keep(&mut self, event: &Event, lesson: &Lesson) {
        if event.len() > MOST_ITEMS {
            return;
        }
        while self.all.len() >= MOST || self.items + event.len() > MOST_ITEMS {
            self.items -= self.all.pop_front().map_or(0, |oldest| oldest.values.len());
            self.next = self.next.saturating_sub(1);
        }
        self.items += event.len();
        self.all.push_back(Example::of(event, lesson));
    }

    /// Drop the evicted coordinates.
    pub fn forget(&mut self, evicted: &Evicted) {
        let is_evicted = |k: &u32| evicted.coordinates.binary_search(k).is_ok();
        for example in self.all.iter_mut().filter(|each| each.coordinates.iter().any(is_evicted)) {
            let event = example.event();
            let items = event.attributes.iter().zip(event.coordinates).zip(event.values);
            let left = items.filter(|((_, k), _)| !is_evicted(k)).map(|((&a, &k), &x)| ((a, k), x));
            let (places, values): (Vec<(u32, u32)>, Vec<f64>) = left.unzip();
            (example.attributes, example.coordinates) = places.into_iter().unzip();
            example.values = values;
        }
        self.items = self.all.iter().map(|each| each.values.len()).sum();
    }

    /// Turn the labels of two classes into class numbers.
    pub fn number_classes(&mut self) {
        for example in &mut self.all {
            example.label = f64::from(example.label > 0.0);
        }
    }

    pub fn to_state(&self) -> State {
        let column = |of: fn(&Example) -> f64| self.all.iter().map(of).collect::<Vec<f64>>();
        let joined =
            |of: fn(&Example) -> &Vec<u32>| self.all.iter().flat_map(of).copied().collect::<Vec<u32>>();
        let mut state = State::default();
        let kept = [self.all.len()];
        state.put_f64s("clock", vec![self.next as f64, self.due], &[2]);
        state.put_f64s("labels", column(|each| each.label), &kept);
        state.put_f64s("weights", column(|each| each.weight), &kept);
        state.put_i32s("sizes", self.all.iter().map(|each| each.values.len() as i32).collect(), &kept);
        put_numbers(&mut state, "attributes", &joined(|each| &each.attributes));
        put_numbers(&mut state, "coordinates", &joined(|each| &each.coordinates));
        let values = self.all.iter().flat_map(|each| &each.values).copied().collect();
        state.put_f64s("values", values, &[self.items]);
        state
    }

    /// Restore the examples of a model with so many attributes and coordinates; `is_label` validates a label.
    pub fn from_state(
        state: &State,
        attributes: usize,
        coordinates: usize,
        is_label: impl Fn(f64) -> bool,
    ) -> Result<Self, Refused> {
        let (sizes, shape) = state.i32s("sizes").map_err(|_| WHY)?;
        let (labels, weights) = (numbers(state, "labels", shape)?, numbers(state, "weights", shape)?);
        ensure(shape == [sizes.len()] && sizes.len() <= MOST && sizes.iter().all(|&size| size >= 0), WHY)?;
        ensure(
            labels.iter().all(|&label| is_label(label)) && weights.iter().all(|&weight| weight > 0.0),
            WHY,
        )?;
        let items: usize = sizes.iter().map(|&size| size as usize).sum();
        let attributes = numbers_below(state, "attributes", attributes)?;
        let coordinates = numbers_below(state, "coordinates", coordinates)?;
        let values = numbers(state, "values", &[items])?;
        ensure(items <= MOST_ITEMS && attributes.len() == items && coordinates.len() == items, WHY)?;
        ensure(!attributes.iter().chain(&coordinates).any(|&place| place == NOBODY), WHY)?;
        let clock = numbers(state, "clock", &[2])?;
        let (next, due) = (clock[0], clock[1]);
        ensure((0.0..=MOST as f64).contains(&next) && (0.0..1.0).contains(&due), WHY)?;
        let (mut all, mut begin) = (VecDeque::new(), 0);
        for ((&size, label), weight) in sizes.iter().zip(labels).zip(weights) {
            let own = begin..begin + size as usize;
            begin = own.end;
            let (attributes, coordinates) =
                (attributes[own.clone()].to_vec(), coordinates[own.clone()].to_vec());
            all.push_back(Example { attributes, coordinates, values: values[own].to_vec(), label, weight });
        }
        Ok(Self { all, items, next: next as usize, due })
    }

    /// Bytes of the kept events.
    pub fn bytes(&self) -> u64 {
        (self.all.len() * size_of::<Example>() + self.items * 16) as u64
    }
}
