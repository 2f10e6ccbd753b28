//! How late labels come: which events were asked about before they were learned, and when.

use std::collections::{BTreeMap, HashMap};

use crate::block::{Block, Event};
use crate::state::{Refused, State, ensure};

/// Most events that are remembered; past it the oldest counts as never asked about.
pub const MOST: usize = 10_000;
/// Coordinates from here on are names that are not stored: they stand for no place.
pub const PASSING: u32 = 1 << 30;
/// The key of an event of which no name is known: it could be any, and is not remembered.
pub const NOTHING: u64 = 0;

/// The clock of a state is below this.
const LATEST: i64 = 1 << 53;

/// Events that were asked about and wait for their label, known by what is in them.
///
/// Events are seen as they are before encoding: items in any order, NaN for a missing value. The clock
/// counts events that were learned, or asked about for the first time.
#[derive(Clone, Debug)]
pub struct LabelDelay {
    /// When each key was asked about.
    asked: HashMap<u64, u64>,
    /// The keys by these times, which are all different.
    keys: BTreeMap<u64, u64>,
    clock: u64,
    most: usize,
    /// Items of an event in hand: coordinate and bits of the value.
    items: Vec<(u32, u64)>,
}

impl Default for LabelDelay {
    fn default() -> Self {
        Self { asked: HashMap::new(), keys: BTreeMap::new(), clock: 0, most: MOST, items: Vec::new() }
    }
}

impl LabelDelay {
    /// Take note of the events of a block, and say how late their labels come.
    ///
    /// `learned` tells whether an event has its label and is learned, `asked` whether it has none yet; what
    /// has one and weight 0 is neither. For each event, `delays` receives how many other events were
    /// learned, or asked about for the first time, since a learned event was asked about; 0 where it was
    /// not.
    pub fn delays(&mut self, raw: &Block, learned: &[bool], asked: &[bool], delays: &mut [f64]) {
        delays.fill(0.0);
        for (t, delay) in delays.iter_mut().enumerate() {
            if learned[t] {
                *delay = self.learn(raw.event(t));
            } else if asked[t] {
                self.ask(key(raw.event(t)));
            }
        }
    }

    /// Take note of an event that has no label yet, by its key.
    pub fn ask(&mut self, key: u64) {
        if key == NOTHING || self.asked.contains_key(&key) {
            return;
        }
        self.clock += 1;
        self.asked.insert(key, self.clock);
        self.keys.insert(self.clock, key);
        if self.keys.len() > self.most
            && let Some((_, oldest)) = self.keys.pop_first()
        {
            self.asked.remove(&oldest);
        }
    }

    fn learn(&mut self, event: Event) -> f64 {
        let before = self.clock;
        self.clock += 1;
        if self.asked.is_empty() {
            // The usual stream, in which labels are there at once.
            return 0.0;
        }
        let whole = Some(key(event)).filter(|key| self.asked.contains_key(key));
        let Some(found) = whole.or_else(|| self.partial_key(event)) else { return 0.0 };
        let at = self.asked.remove(&found).unwrap_or(before);
        self.keys.remove(&at);
        (before - at) as f64
    }

    /// The key under which an event was asked about while the last of its names, or the last two and so on,
    /// were unknown.
    fn partial_key(&mut self, event: Event) -> Option<u64> {
        let items = event.coordinates.iter().zip(event.values);
        self.items.clear();
        self.items
            .extend(items.filter(|item| says(*item.0, *item.1)).map(|(at, value)| (*at, value.to_bits())));
        // Names are numbered as they are learned.
        self.items.sort_unstable_by_key(|&(coordinate, _)| std::cmp::Reverse(coordinate));
        let mut key = self.items.iter().fold(0, |key: u64, &(at, bits)| key.wrapping_add(item_key(at, bits)));
        let (_, all_but_one) = self.items.split_last()?;
        for &(at, bits) in all_but_one {
            key = key.wrapping_sub(item_key(at, bits)).wrapping_add(item_key(PASSING, bits));
            if self.asked.contains_key(&key) {
                return Some(key);
            }
        }
        None
    }

    /// What is known.
    pub fn state(&self) -> State {
        let mut state = State::default();
        let keys: Vec<u64> = self.keys.values().copied().collect();
        let mut times: Vec<i64> = self.keys.keys().map(|&at| at as i64).collect();
        times.push(self.clock as i64);
        let count = keys.len();
        state.put_u64s("asked", keys, &[count]);
        state.put_i64s("asked_at", times, &[count + 1]);
        state
    }

    /// Take over a state; other arrays in it are not looked at.
    ///
    /// # Errors
    ///
    /// If its parts make no sense. What is known is then as it was.
    pub fn restore(&mut self, state: &State) -> Result<(), Refused> {
        let wrong = "the events that wait for their labels contradict each other";
        let (keys, shape) = state.u64s("asked").map_err(|_| wrong)?;
        let (times, times_shape) = state.i64s("asked_at").map_err(|_| wrong)?;
        ensure(shape == [keys.len()] && times_shape == [keys.len() + 1] && keys.len() <= self.most, wrong)?;
        let (Some((&clock, when)), Some(&first)) = (times.split_last(), times.first()) else {
            return Err(wrong.to_owned());
        };
        ensure(times.len() == keys.len() + 1 && first >= 0 && clock < LATEST, wrong)?;
        ensure(when.is_sorted_by(|a, b| a < b) && times.is_sorted(), wrong)?;
        let asked: HashMap<u64, u64> = keys.iter().copied().zip(when.iter().map(|&at| at as u64)).collect();
        ensure(asked.len() == keys.len(), wrong)?;
        self.keys = asked.iter().map(|(&key, &at)| (at, key)).collect();
        (self.asked, self.clock) = (asked, clock as u64);
        Ok(())
    }
}

/// A number for an event, the same whatever the order of its items; [`NOTHING`] if no name is known.
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

/// Whether an item tells one event from another: it is not missing, and not the constant.
fn says(coordinate: u32, value: f64) -> bool {
    coordinate > 0 && !value.is_nan()
}

/// An item's part of the key; items of unknown names, whose values are not kept, are all alike.
fn item_key(coordinate: u32, bits: u64) -> u64 {
    if coordinate >= PASSING {
        scramble(PASSING.into())
    } else {
        scramble(bits ^ scramble(coordinate.into()))
    }
}

/// The finaliser of splitmix64: nearby numbers end up far apart.
fn scramble(number: u64) -> u64 {
    let number = number.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let number = (number ^ (number >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    number ^ (number >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The delay of one event, learned or asked about.
    fn told(model: &mut LabelDelay, items: &[(u32, f64)], learned: bool) -> f64 {
        let (coordinates, values): (Vec<u32>, Vec<f64>) = items.iter().copied().unzip();
        let starts = [0, values.len()];
        let (attributes, coordinates) = (&coordinates, &coordinates);
        let raw = Block { starts: &starts, attributes, coordinates, values: &values, gone: &[] };
        let mut delay = [f64::NAN];
        model.delays(&raw, &[learned], &[!learned], &mut delay);
        delay[0]
    }

    fn event(number: u32) -> [(u32, f64); 2] {
        [(1, f64::from(number)), (2, 1.0)]
    }

    #[test]
    fn delays_are_those_of_the_definition() {
        let (mut model, mut seed) = (LabelDelay::default(), 1_u64);
        let mut steps: Vec<(u32, bool, bool)> = Vec::new(); // event, learned, counts
        for _ in 0..500 {
            seed = scramble(seed);
            let (number, learned) = ((seed % 9) as u32, seed & 64 > 0);
            let since = steps.iter().rposition(|step| step.0 == number && step.1).map_or(0, |t| t + 1);
            let asked = steps[since..].iter().position(|step| step.0 == number).map(|t| t + since);
            let expected = match asked {
                Some(t) if learned => steps[t + 1..].iter().filter(|step| step.2).count() as f64,
                _ => 0.0,
            };
            assert_eq!(told(&mut model, &event(number), learned), expected);
            steps.push((number, learned, learned || asked.is_none()));
            let mut resumed = LabelDelay::default();
            resumed.restore(&model.state()).unwrap();
            assert_eq!(resumed.state(), model.state());
            model = resumed;
        }
    }

    #[test]
    fn events_are_known_again_in_any_order_and_when_their_names_are_learned() {
        let mut model = LabelDelay::default();
        told(&mut model, &[(1, 2.0), (PASSING, 7.0), (PASSING + 1, 8.0), (5, f64::NAN)], false);
        told(&mut model, &event(3), false);
        assert_eq!(told(&mut model, &[(7, 8.0), (1, 2.0), (6, 7.0)], true), 1.0);
        // Of no known name.
        told(&mut model, &[(PASSING, 1.0)], false);
        assert_eq!(told(&mut model, &[], true), 0.0);
        assert_eq!(model.state().u64s("asked").unwrap().0.len(), 1);
    }

    #[test]
    fn past_the_bound_the_oldest_is_dropped() {
        let mut model = LabelDelay { most: 3, ..LabelDelay::default() };
        (1..6).for_each(|n| assert_eq!(told(&mut model, &event(n), false), 0.0));
        let delays: Vec<f64> = (1..6).map(|n| told(&mut model, &event(n), true)).collect();
        assert_eq!(delays, [0.0, 0.0, 4.0, 4.0, 4.0]);
    }

    #[test]
    fn states_no_run_could_have_left_are_refused() {
        let cases: [(&[u64], &[i64]); 7] = [
            (&[1, 1], &[1, 2, 3]),
            (&[1, 2], &[1, 1, 3]),
            (&[1, 2], &[1, 2, 1]),
            (&[], &[1 << 53]),
            (&[1], &[-1, 0]),
            (&[1], &[1]),
            (&[], &[]),
        ];
        for (keys, times) in cases {
            let mut state = State::default();
            state.put_u64s("asked", keys.to_vec(), &[keys.len()]);
            state.put_i64s("asked_at", times.to_vec(), &[times.len()]);
            assert!(LabelDelay::default().restore(&state).is_err(), "{keys:?} {times:?}");
        }
    }
}
