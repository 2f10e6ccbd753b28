//! The latest events, from which new leaves learn once more.
//!
//! When a leaf is split, its histogram tells the labels on both sides, and nothing of what could split these in turn: the
//! two new leaves would wait for events of their own. So they are taught those of the latest events that belong there,
//! as often as the tree drew each of them. Events from before the tree began are left out, since it began anew where
//! what they say was wrong.
//!
//! On 54 streams of river's generators (10,000 events, seed 101, nothing and 30 % missing) a forest alone makes 8.6 %
//! fewer errors by this, in the geometric mean, and 14 % fewer in events 200 to 1,000 after a change; with 4,000 events
//! 9.4 and 15 %, in a model file that is four times as large.

use std::collections::VecDeque;

use super::codes::Codes;
use crate::block::Gone;

/// So many events are kept.
pub const MOST: usize = 1000;
/// None with more values than this: it would take long to copy, and much room.
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
    /// In which leaf it is, tree by tree.
    pub leaves: Vec<u32>,
}

/// The latest events, the oldest first.
#[derive(Clone, Debug, Default)]
pub struct Replays {
    pub events: VecDeque<Kept>,
    /// By coordinate, the last event before it was given up.
    gone_at: Vec<u64>,
}

impl Replays {
    /// Keep the event in hand, which is in no leaf so far; returns whether it is not too wide.
    pub fn keep(&mut self, codes: &Codes, label: f64, weight: f64, step: u64) -> bool {
        if codes.len() > WIDEST {
            return false;
        }
        let is_full = self.events.len() >= MOST;
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

    /// Change what events have; of the coordinates that `place` does not know they have nothing.
    pub fn change(&mut self, place: impl Fn(u32, u16) -> Option<(u32, u16)>, label: impl Fn(f64) -> f64) {
        let mut events = std::mem::take(&mut self.events);
        for event in &mut events {
            let items = self.items(event).filter_map(|(k, code)| place(k, code));
            (event.coordinates, event.codes) = items.unzip();
            event.label = label(event.label);
        }
        *self = Self { events, ..Self::default() };
    }

    /// Bytes of all there is.
    pub fn bytes(&self) -> usize {
        let each = |event: &Kept| 6 * event.codes.len() + 4 * event.leaves.len() + size_of::<Kept>();
        self.events.iter().map(each).sum::<usize>() + 8 * self.gone_at.len()
    }
}
