//! Events that were predicted and await their label, identified by their content.

use std::collections::BTreeMap;

use foldhash::{HashMap, HashMapExt};

use crate::block::{Block, Event};
use crate::random::mix;
use crate::state::{Refused, State, ensure};

/// Maximum number of events that are remembered; beyond it the oldest counts as never predicted.
pub const MOST: usize = 10_000;
/// Coordinates from this one on are names that are not stored: they have no index.
pub const PASSING: u32 = 1 << 30;
/// The key of an event without a known name: it could be any event, and is not remembered.
pub const NOTHING: u64 = 0;

/// Events that were predicted and await their label, identified by their content.
///
/// Events are seen as they are before encoding: items in any order, NaN for a missing value, and nothing carried over
/// from their entity, which changes with every event of it.
#[derive(Clone, Debug)]
pub struct TicketRegistry {
    /// The keys, numbered in order of arrival.
    numbers: HashMap<u64, u64>,
    keys: BTreeMap<u64, u64>,
    last: u64,
    most: usize,
    /// Items of the current event: coordinate and bits of the value.
    items: Vec<(u32, u64)>,
}

impl Default for TicketRegistry {
    fn default() -> Self {
        Self { numbers: HashMap::new(), keys: BTreeMap::new(), last: 0, most: MOST, items: Vec::new() }
    }
}

impl TicketRegistry {
    /// Record the events of a block, and assign them tickets: see [`Lesson`](crate::learner::Lesson).
    ///
    /// `labelled` tells whether an event has its label, whatever its weight, and `awaiting` whether it awaits one. An
    /// event that is predicted and the same event when its label arrives get the same one of `tickets`; all others get 0.
    pub fn tickets(&mut self, raw: &Block, labelled: &[bool], awaiting: &[bool], tickets: &mut [u64]) {
        for (t, ticket) in tickets.iter_mut().enumerate() {
            *ticket = if labelled[t] {
                self.resolve(raw.event(t))
            } else if awaiting[t] {
                self.issue(key(raw.event(t)))
            } else {
                0
            };
        }
    }

    /// Whether no event awaits its label: the usual stream, in which labels arrive with their events.
    pub fn is_empty(&self) -> bool {
        self.numbers.is_empty()
    }

    /// The ticket of an event that awaits its label; 0 for others.
    pub fn ticket_of(&self, event: Event) -> u64 {
        let key = key(event);
        if self.numbers.contains_key(&key) { key } else { NOTHING }
    }

    fn issue(&mut self, key: u64) -> u64 {
        if key != NOTHING && !self.numbers.contains_key(&key) {
            self.last += 1;
            self.numbers.insert(key, self.last);
            self.keys.insert(self.last, key);
            if self.keys.len() > self.most
                && let Some((_, oldest)) = self.keys.pop_first()
            {
                self.numbers.remove(&oldest);
            }
        }
        key
    }

    fn resolve(&mut self, event: Event) -> u64 {
        if self.is_empty() {
            return 0;
        }
        let whole = Some(key(event)).filter(|key| self.numbers.contains_key(key));
        let Some(found) = whole.or_else(|| self.partial_key(event)) else { return 0 };
        if let Some(number) = self.numbers.remove(&found) {
            self.keys.remove(&number);
        }
        found
    }

    /// The key under which an event was recorded when its last name, or its last two and so on, were still unknown.
    fn partial_key(&mut self, event: Event) -> Option<u64> {
        let items = event.coordinates.iter().zip(event.values);
        self.items.clear();
        self.items
            .extend(items.filter(|item| says(*item.0, *item.1)).map(|(at, value)| (*at, value.to_bits())));
        // Names are numbered in the order in which they are learned.
        self.items.sort_unstable_by_key(|&(coordinate, _)| std::cmp::Reverse(coordinate));
        let mut key = self.items.iter().fold(0, |key: u64, &(at, bits)| key.wrapping_add(item_key(at, bits)));
        let (_, all_but_one) = self.items.split_last()?;
        for &(at, bits) in all_but_one {
            key = key.wrapping_sub(item_key(at, bits)).wrapping_add(item_key(PASSING, bits));
            if self.numbers.contains_key(&key) {
                return Some(key);
            }
        }
        None
    }

    /// The keys of all remembered events.
    pub fn state(&self) -> State {
        let mut state = State::default();
        state.put_u64s("asked", self.keys.values().copied().collect(), &[self.keys.len()]);
        state
    }

    /// Load a state; other arrays in it are ignored.
    ///
    /// # Errors
    ///
    /// If its parts make no sense. The remembered events are then unchanged.
    pub fn restore(&mut self, state: &State) -> Result<(), Refused> {
        let wrong = "the events that wait for their labels contradict each other";
        let (keys, shape) = state.u64s("asked").map_err(|_| wrong)?;
        ensure(shape == [keys.len()] && keys.len() <= self.most && !keys.contains(&NOTHING), wrong)?;
        let numbers: HashMap<u64, u64> = keys.iter().copied().zip(1..).collect();
        ensure(numbers.len() == keys.len(), wrong)?;
        self.keys = numbers.iter().map(|(&key, &number)| (number, key)).collect();
        (self.numbers, self.last) = (numbers, keys.len() as u64);
        Ok(())
    }
}

/// A hash of an event that does not depend on the order of its items; [`NOTHING`] if no name is known.
pub fn key(event: Event) -> u64 {
    let (mut key, mut known) = (0_u64, false);
    for (&coordinate, &value) in event.coordinates.iter().zip(event.values) {
        if says(coordinate, value) {
            key = key.wrapping_add(item_key(coordinate, value.to_bits()));
            known |= coordinate < PASSING;
        }
    }
    if known { key } else { NOTHING }
}

/// Whether an item helps to identify an event: it is neither missing nor the constant.
fn says(coordinate: u32, value: f64) -> bool {
    coordinate > 0 && !value.is_nan()
}

/// The contribution of an item to the key; all items of unknown names contribute the same, as their values are not
/// kept.
fn item_key(coordinate: u32, bits: u64) -> u64 {
    if coordinate >= PASSING {
        scramble(PASSING.into())
    } else {
        scramble(bits ^ scramble(coordinate.into()))
    }
}

/// SplitMix64 of a number: maps nearby numbers far apart, and 0 not to itself.
fn scramble(number: u64) -> u64 {
    mix(number.wrapping_add(0x9E37_79B9_7F4A_7C15))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::Terms;

    /// The ticket of one event, learned or predicted.
    fn step(model: &mut TicketRegistry, items: &[(u32, f64)], learned: bool) -> u64 {
        let (coordinates, values): (Vec<u32>, Vec<f64>) = items.iter().copied().unzip();
        let starts = [0, values.len()];
        let (attributes, coordinates) = (&coordinates, &coordinates);
        let raw = Block {
            starts: &starts,
            attributes,
            coordinates,
            values: &values,
            raw: &values,
            terms: Terms::default(),
            evicted: &[],
        };
        let mut ticket = [u64::MAX];
        model.tickets(&raw, &[learned], &[!learned], &mut ticket);
        ticket[0]
    }

    fn event(number: u32) -> [(u32, f64); 2] {
        [(1, f64::from(number)), (2, 1.0)]
    }

    #[test]
    fn event_keeps_its_ticket_until_learned() {
        let (mut model, mut seed) = (TicketRegistry::default(), 1_u64);
        let mut waiting = std::collections::BTreeMap::new();
        for _ in 0..500 {
            seed = scramble(seed);
            let (number, learned) = ((seed % 9) as u32, seed & 64 > 0);
            let ticket = step(&mut model, &event(number), learned);
            if learned {
                assert_eq!(ticket, waiting.remove(&number).unwrap_or(0));
            } else {
                assert_eq!(ticket, *waiting.entry(number).or_insert(ticket));
                assert!(ticket > 0);
            }
            let mut resumed = TicketRegistry::default();
            resumed.restore(&model.state()).unwrap();
            assert_eq!(resumed.state(), model.state());
            model = resumed;
        }
    }

    #[test]
    fn events_match_regardless_of_order_and_new_names() {
        let mut model = TicketRegistry::default();
        let first = step(&mut model, &[(1, 2.0), (PASSING, 7.0), (PASSING + 1, 8.0), (5, f64::NAN)], false);
        step(&mut model, &event(3), false);
        assert_eq!(step(&mut model, &[(7, 8.0), (1, 2.0), (6, 7.0)], true), first);
        // Without a known name.
        assert_eq!(step(&mut model, &[(PASSING, 1.0)], false), 0);
        assert_eq!(step(&mut model, &[], true), 0);
        assert_eq!(model.state().u64s("asked").unwrap().0.len(), 1);
    }

    #[test]
    fn oldest_event_is_dropped_beyond_the_limit() {
        let mut model = TicketRegistry { most: 3, ..TicketRegistry::default() };
        let awaiting: Vec<u64> = (1..6).map(|n| step(&mut model, &event(n), false)).collect();
        let learned: Vec<u64> = (1..6).map(|n| step(&mut model, &event(n), true)).collect();
        assert_eq!(learned, [0, 0, awaiting[2], awaiting[3], awaiting[4]]);
    }

    #[test]
    fn impossible_states_are_refused() {
        for keys in [vec![1, 1], vec![NOTHING], (1..MOST as u64 + 2).collect()] {
            let mut state = State::default();
            state.put_u64s("asked", keys.clone(), &[keys.len()]);
            assert!(TicketRegistry::default().restore(&state).is_err(), "{keys:?}");
        }
        assert!(TicketRegistry::default().restore(&State::default()).is_err());
    }
}
