//! The latest labelled events, for learners that go over them more than once.

use std::collections::VecDeque;

use crate::block::Evicted;
use crate::learners::row::{Cell, Row};

/// Events with more values than this are not kept: copying them would be slow.
pub const WIDEST: usize = 1024;
/// Maximum number of values per event, on average over as many events as are kept at most: if they have more, fewer are
/// kept.
const AVERAGE_WIDTH: usize = 64;

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
    /// The number of its values when it was learned.
    pub width: u32,
}

/// The latest events, the oldest first.
#[derive(Clone, Debug)]
pub struct Latest<C> {
    /// Maximum number of events.
    pub most: usize,
    pub events: VecDeque<LearnedEvent<C>>,
    /// The sum of their widths.
    pub(super) values: usize,
    /// By coordinate, the last event before its eviction.
    evicted_at: Vec<u64>,
}

impl<C> Default for LearnedEvent<C> {
    fn default() -> Self {
        Self { coordinates: Vec::new(), cells: Vec::new(), label: 0.0, weight: 0.0, step: 0, width: 0 }
    }
}

impl<C: Cell> Latest<C> {
    /// Capacity for so many events.
    pub fn new(most: usize) -> Self {
        Self { most, events: VecDeque::new(), values: 0, evicted_at: Vec::new() }
    }

    /// Keep the current event; returns whether it is narrow enough.
    pub fn keep(&mut self, row: &Row<C>, label: f64, weight: f64, step: u64) -> bool {
        if row.len() > WIDEST {
            return false;
        }
        let mut room = None;
        while self.events.len() >= self.most || self.values + row.len() > self.most_values() {
            let Some(oldest) = self.events.pop_front() else { break };
            self.values -= oldest.width as usize;
            room = Some(oldest);
        }
        let width = row.len() as u32;
        let mut kept = LearnedEvent { label, weight, step, width, ..room.unwrap_or_default() };
        row.copy(&mut kept.coordinates, &mut kept.cells);
        self.events.push_back(kept);
        self.values += row.len();
        true
    }

    /// Maximum number of values of all events, unless there is only one.
    fn most_values(&self) -> usize {
        self.most * AVERAGE_WIDTH
    }

    /// Drop the oldest events, so many of them.
    pub fn drop_oldest(&mut self, count: usize) {
        let dropped = self.events.drain(..count);
        self.values -= dropped.map(|event| event.width as usize).sum::<usize>();
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

    /// Replace the events by the latest of these, which have no evicted coordinates, as many as can be kept.
    pub fn refill(&mut self, events: Vec<LearnedEvent<C>>) {
        self.values = events.iter().map(|event| event.width as usize).sum();
        (self.events, self.evicted_at) = (events.into(), Vec::new());
        self.drop_oldest(self.events.len().saturating_sub(self.most));
        while self.events.len() > 1 && self.values > self.most_values() {
            self.drop_oldest(1);
        }
    }

    /// Whether a run could have kept so many events with so many values.
    pub(super) fn can_keep(&self, events: usize, values: usize) -> bool {
        events <= self.most && (events <= 1 || values <= self.most_values())
    }

    /// Change the items and labels of the events; coordinates for which `place` returns None are dropped.
    pub fn change(&mut self, place: impl Fn(u32, C) -> Option<(u32, C)>, label: impl Fn(f64) -> f64) {
        let mut events = std::mem::take(&mut self.events);
        for event in &mut events {
            let items = self.items(event).filter_map(|(k, cell)| place(k, cell));
            (event.coordinates, event.cells) = items.unzip();
            event.label = label(event.label);
        }
        *self = Self { events, values: self.values, ..Self::new(self.most) };
    }

    /// Memory in bytes.
    pub fn bytes(&self) -> usize {
        let each =
            |event: &LearnedEvent<C>| (4 + size_of::<C>()) * event.cells.len() + size_of::<LearnedEvent<C>>();
        self.events.iter().map(each).sum::<usize>() + 8 * self.evicted_at.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::Event;

    /// Keep an event with so many values.
    fn keep(latest: &mut Latest<f64>, width: usize, step: u64) -> bool {
        let places: Vec<u32> = (0..=width as u32).collect();
        let (values, mut row) = (vec![0.5; places.len()], Row::new());
        let event = Event::of(&places, &places, &values);
        row.register(&event);
        row.read(&event);
        latest.keep(&row, 1.0, 1.0, step)
    }

    #[test]
    fn of_wide_events_fewer_are_kept() {
        let mut latest = Latest::new(10);
        (1..=30).for_each(|step| assert!(keep(&mut latest, AVERAGE_WIDTH, step)));
        assert_eq!(latest.events.len(), 10);
        (31..=60).for_each(|step| assert!(keep(&mut latest, 2 * AVERAGE_WIDTH, step)));
        assert_eq!(latest.events.len(), 5);
        // One is kept even if it has more values than all may have.
        assert!(keep(&mut latest, WIDEST, 61) && !keep(&mut latest, WIDEST + 1, 62));
        assert!(latest.events.len() == 1 && latest.values == WIDEST);
        (63..=90).for_each(|step| assert!(keep(&mut latest, 3, step)));
        assert!(latest.events.len() == 10 && latest.values == 30);
    }

    #[test]
    fn the_latest_events_are_refilled() {
        let mut latest = Latest::new(10);
        (1..=10).for_each(|step| _ = keep(&mut latest, AVERAGE_WIDTH, step));
        let (all, mut shorter) = (latest.whole().collect::<Vec<_>>(), Latest::new(4));
        shorter.refill(all);
        let steps: Vec<u64> = shorter.events.iter().map(|event| event.step).collect();
        assert_eq!(steps, [7, 8, 9, 10]);
        assert_eq!(shorter.values, 4 * AVERAGE_WIDTH);
    }
}
