//! The latest events with a label, as codes, for learners that go over them more than once.

use std::collections::VecDeque;

use crate::block::Gone;
use crate::learners::codes::Codes;

/// None with more values than this is kept: it would take long to copy, and much room.
pub const WIDEST: usize = 64;

/// An event that was learned.
#[derive(Clone, Debug, Default)]
pub struct Kept {
    /// Its coordinates, but for the constant; some may have been given up since.
    pub coordinates: Vec<u32>,
    /// And their codes.
    pub codes: Vec<u16>,
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
pub struct Latest {
    /// So many are kept.
    pub most: usize,
    pub events: VecDeque<Kept>,
    /// By coordinate, the last event before it was given up.
    gone_at: Vec<u64>,
}

impl Latest {
    /// Room for so many events.
    pub fn new(most: usize) -> Self {
        Self { most, events: VecDeque::new(), gone_at: Vec::new() }
    }

    /// Keep the event in hand, which is in no leaf so far; returns whether it is not too wide.
    pub fn keep(&mut self, codes: &Codes, label: f64, weight: f64, step: u64) -> bool {
        if codes.len() > WIDEST {
            return false;
        }
        let is_full = self.events.len() >= self.most;
        let room = if is_full { self.events.pop_front() } else { None };
        let mut kept = Kept { label, weight, step, ..room.unwrap_or_default() };
        codes.copy(&mut kept.coordinates, &mut kept.codes);
        kept.leaves.clear();
        self.events.push_back(kept);
        true
    }

    /// What an event has of coordinates that were not given up since.
    pub fn items<'a>(&'a self, event: &'a Kept) -> impl Iterator<Item = (u32, u16)> {
        let items = event.coordinates.iter().copied().zip(event.codes.iter().copied());
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
    pub fn whole(&self) -> impl Iterator<Item = Kept> {
        self.events.iter().map(|event| {
            let (coordinates, codes) = self.items(event).unzip();
            Kept { coordinates, codes, ..event.clone() }
        })
    }

    /// Have these events, of which nothing was given up.
    pub fn refill(&mut self, events: Vec<Kept>) {
        (self.events, self.gone_at) = (events.into(), Vec::new());
    }

    /// Change what events have; of the coordinates that `place` does not know they have nothing.
    pub fn change(&mut self, place: impl Fn(u32, u16) -> Option<(u32, u16)>, label: impl Fn(f64) -> f64) {
        let mut events = std::mem::take(&mut self.events);
        for event in &mut events {
            let items = self.items(event).filter_map(|(k, code)| place(k, code));
            (event.coordinates, event.codes) = items.unzip();
            event.label = label(event.label);
        }
        *self = Self { events, ..Self::new(self.most) };
    }

    /// Bytes of all there is.
    pub fn bytes(&self) -> usize {
        let each = |event: &Kept| 6 * event.codes.len() + 4 * event.leaves.len() + size_of::<Kept>();
        self.events.iter().map(each).sum::<usize>() + 8 * self.gone_at.len()
    }
}
