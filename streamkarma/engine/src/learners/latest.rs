//! The latest events with a label, for learners that go over them more than once.

use std::collections::VecDeque;

use crate::block::Gone;
use crate::learners::row::{Cell, Row};

/// None with more values than this is kept: it would take long to copy, and much room.
pub const WIDEST: usize = 64;

/// An event that was learned.
#[derive(Clone, Debug)]
pub struct Kept<C> {
    /// Its coordinates, but for the constant; some may have been given up since.
    pub coordinates: Vec<u32>,
    /// And their cells.
    pub cells: Vec<C>,
    /// The number of a class, or a target.
    pub label: f64,
    /// The weight of the event.
    pub weight: f64,
    /// The number of the event.
    pub step: u64,
    /// In which leaf it is, tree by tree, if its learner wants to know.
    pub leaves: Vec<u32>,
}

/// The latest events, the oldest first.
#[derive(Clone, Debug)]
pub struct Latest<C> {
    /// So many are kept.
    pub most: usize,
    pub events: VecDeque<Kept<C>>,
    /// By coordinate, the last event before it was given up.
    gone_at: Vec<u64>,
}

impl<C> Default for Kept<C> {
    fn default() -> Self {
        let (coordinates, cells, leaves) = (Vec::new(), Vec::new(), Vec::new());
        Self { coordinates, cells, label: 0.0, weight: 0.0, step: 0, leaves }
    }
}

impl<C: Cell> Latest<C> {
    /// Room for so many events.
    pub fn new(most: usize) -> Self {
        Self { most, events: VecDeque::new(), gone_at: Vec::new() }
    }

    /// Keep the event in hand, which is in no leaf so far; returns whether it is not too wide.
    pub fn keep(&mut self, row: &Row<C>, label: f64, weight: f64, step: u64) -> bool {
        if row.len() > WIDEST {
            return false;
        }
        let is_full = self.events.len() >= self.most;
        let room = if is_full { self.events.pop_front() } else { None };
        let mut kept = Kept { label, weight, step, ..room.unwrap_or_default() };
        row.copy(&mut kept.coordinates, &mut kept.cells);
        kept.leaves.clear();
        self.events.push_back(kept);
        true
    }

    /// What an event has of coordinates that were not given up since.
    pub fn items<'a>(&'a self, event: &'a Kept<C>) -> impl Iterator<Item = (u32, C)> {
        let items = event.coordinates.iter().copied().zip(event.cells.iter().copied());
        items.filter(|&(k, _)| self.gone_at.get(k as usize).is_none_or(|&gone| gone < event.step))
    }

    /// Take note that coordinates were given up after so many steps.
    pub fn forget(&mut self, gone: &Gone, steps: u64) {
        for &coordinate in &gone.coordinates {
            let at = coordinate as usize;
            self.gone_at.resize(self.gone_at.len().max(at + 1), 0);
            self.gone_at[at] = steps;
        }
    }

    /// The events, without what was given up since.
    pub fn whole(&self) -> impl Iterator<Item = Kept<C>> {
        self.events.iter().map(|event| {
            let (coordinates, cells) = self.items(event).unzip();
            Kept { coordinates, cells, ..event.clone() }
        })
    }

    /// Have these events, of which nothing was given up.
    pub fn refill(&mut self, events: Vec<Kept<C>>) {
        (self.events, self.gone_at) = (events.into(), Vec::new());
    }

    /// Change what events have; of the coordinates that `place` does not know they have nothing.
    pub fn change(&mut self, place: impl Fn(u32, C) -> Option<(u32, C)>, label: impl Fn(f64) -> f64) {
        let mut events = std::mem::take(&mut self.events);
        for event in &mut events {
            let items = self.items(event).filter_map(|(k, cell)| place(k, cell));
            (event.coordinates, event.cells) = items.unzip();
            event.label = label(event.label);
        }
        *self = Self { events, ..Self::new(self.most) };
    }

    /// Bytes of all there is.
    pub fn bytes(&self) -> usize {
        let each = |event: &Kept<C>| {
            let items = (4 + size_of::<C>()) * event.cells.len();
            items + 4 * event.leaves.len() + size_of::<Kept<C>>()
        };
        self.events.iter().map(each).sum::<usize>() + 8 * self.gone_at.len()
    }
}
