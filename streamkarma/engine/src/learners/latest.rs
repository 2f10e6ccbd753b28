//! The latest labelled events, for learners that go over them more than once.

use std::collections::VecDeque;

use crate::block::Evicted;
use crate::learners::row::{Cell, Row};

/// Events with more values than this are not kept: copying them would be slow, and they would take much memory.
pub const WIDEST: usize = 64;

/// An event that was learned.
#[derive(Clone, Debug)]
pub struct LearnedEvent<C> {
    /// Its coordinates without the constant; some may have been evicted since.
    pub coordinates: Vec<u32>,
    /// The cells of these coordinates.
    pub cells: Vec<C>,
    /// The number of the class, or the target.
    pub label: f64,
    /// The weight of the event.
    pub weight: f64,
    /// The number of the event.
    pub step: u64,
}

/// The latest events, the oldest first.
#[derive(Clone, Debug)]
pub struct Latest<C> {
    /// Maximum number of events.
    pub most: usize,
    pub events: VecDeque<LearnedEvent<C>>,
    /// By coordinate, the last event before its eviction.
    evicted_at: Vec<u64>,
}

impl<C> Default for LearnedEvent<C> {
    fn default() -> Self {
        Self { coordinates: Vec::new(), cells: Vec::new(), label: 0.0, weight: 0.0, step: 0 }
    }
}

impl<C: Cell> Latest<C> {
    /// Capacity for so many events.
    pub fn new(most: usize) -> Self {
        Self { most, events: VecDeque::new(), evicted_at: Vec::new() }
    }

    /// Keep the current event; returns whether it is narrow enough.
    pub fn keep(&mut self, row: &Row<C>, label: f64, weight: f64, step: u64) -> bool {
        if row.len() > WIDEST {
            return false;
        }
        let is_full = self.events.len() >= self.most;
        let room = if is_full { self.events.pop_front() } else { None };
        let mut kept = LearnedEvent { label, weight, step, ..room.unwrap_or_default() };
        row.copy(&mut kept.coordinates, &mut kept.cells);
        self.events.push_back(kept);
        true
    }

    /// The items of an event, without coordinates that were evicted since.
    pub fn items<'a>(&'a self, event: &'a LearnedEvent<C>) -> impl Iterator<Item = (u32, C)> {
        let items = event.coordinates.iter().copied().zip(event.cells.iter().copied());
        items.filter(|&(k, _)| self.evicted_at.get(k as usize).is_none_or(|&evicted| evicted < event.step))
    }

    /// Record that coordinates were evicted after so many steps.
    pub fn forget(&mut self, evicted: &Evicted, steps: u64) {
        for &coordinate in &evicted.coordinates {
            let at = coordinate as usize;
            self.evicted_at.resize(self.evicted_at.len().max(at + 1), 0);
            self.evicted_at[at] = steps;
        }
    }

    /// The events, without coordinates that were evicted since.
    pub fn whole(&self) -> impl Iterator<Item = LearnedEvent<C>> {
        self.events.iter().map(|event| {
            let (coordinates, cells) = self.items(event).unzip();
            LearnedEvent { coordinates, cells, ..event.clone() }
        })
    }

    /// Replace the events by these, which have no evicted coordinates.
    pub fn refill(&mut self, events: Vec<LearnedEvent<C>>) {
        (self.events, self.evicted_at) = (events.into(), Vec::new());
    }

    /// Change the items and labels of the events; coordinates for which `place` returns None are dropped.
    pub fn change(&mut self, place: impl Fn(u32, C) -> Option<(u32, C)>, label: impl Fn(f64) -> f64) {
        let mut events = std::mem::take(&mut self.events);
        for event in &mut events {
            let items = self.items(event).filter_map(|(k, cell)| place(k, cell));
            (event.coordinates, event.cells) = items.unzip();
            event.label = label(event.label);
        }
        *self = Self { events, ..Self::new(self.most) };
    }

    /// Memory in bytes.
    pub fn bytes(&self) -> usize {
        let each =
            |event: &LearnedEvent<C>| (4 + size_of::<C>()) * event.cells.len() + size_of::<LearnedEvent<C>>();
        self.events.iter().map(each).sum::<usize>() + 8 * self.evicted_at.len()
    }
}
