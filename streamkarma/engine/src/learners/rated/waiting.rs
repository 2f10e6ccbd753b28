//! The number of labels at prediction time, for events whose labels arrive late.
//!
//! The labels of one patient may all arrive at once, long after the events: the first of them then tells nothing new
//! about the others, although it is learned before them. So the number of labels when each event was predicted is
//! recorded.

use std::collections::BTreeMap;

use crate::state::{Refused, State, ensure};

/// Maximum number of events recorded; beyond it, the older half is treated as predicted when the label arrives.
const MOST: usize = 10_000;

/// The names of its arrays in a state.
pub const ARRAYS: [&str; 2] = ["waiting", "waiting_since"];

/// The number of labels at prediction time, by ticket.
#[derive(Clone, Debug, Default)]
pub struct Waiting(BTreeMap<u64, u64>);

impl Waiting {
    /// Record that an event was predicted after this many labels.
    pub fn ask(&mut self, ticket: u64, labels: u64) {
        self.0.entry(ticket).or_insert(labels);
        if self.0.len() > MOST {
            let mut all: Vec<u64> = self.0.values().copied().collect();
            all.sort_unstable();
            let last = all[MOST / 2];
            // Of those predicted after as many labels, it is not known which are older; the newest stays.
            let mut equal = all[..=MOST / 2].iter().filter(|labels| **labels == last).count();
            self.0.retain(|each, labels| {
                let goes = *each != ticket && (*labels < last || (*labels == last && equal > 0));
                equal -= usize::from(goes && *labels == last);
                !goes
            });
        }
    }

    /// The number of labels when the event that now has its label was predicted, if it was predicted before.
    pub fn take(&mut self, ticket: u64) -> Option<u64> {
        self.0.remove(&ticket)
    }

    /// Save everything to a state, if there is anything.
    pub fn put(&self, state: &mut State) {
        if !self.0.is_empty() {
            let size = self.0.len();
            state.put_u64s(ARRAYS[0], self.0.keys().copied().collect(), &[size]);
            state.put_u64s(ARRAYS[1], self.0.values().copied().collect(), &[size]);
        }
    }

    /// Restore from a state.
    ///
    /// # Errors
    ///
    /// If the state is invalid.
    pub fn from_state(state: &State) -> Result<Self, Refused> {
        let Ok((tickets, shape)) = state.u64s(ARRAYS[0]) else { return Ok(Self::default()) };
        let (since, since_shape) = state.u64s(ARRAYS[1])?;
        let size = tickets.len();
        let fits = shape == [size] && since_shape == [size] && since.len() == size && size <= MOST;
        ensure(
            fits && tickets.is_sorted_by(|a, b| a < b),
            "the events that wait for labels contradict each other",
        )?;
        Ok(Self(tickets.iter().copied().zip(since.iter().copied()).collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::super::lines::Lines;
    use super::super::{Rated, Settings};
    use super::*;
    use crate::block::{Block, Event};
    use crate::learner::{Learner, Lesson};
    use crate::rate_key::{as_value, key_of, neighbourhood_of};

    #[test]
    fn event_whose_number_is_no_longer_a_name_is_learned_the_same_alone_and_in_a_block() {
        let keys = [as_value(key_of(1, b"7")), as_value(neighbourhood_of(1, b"0"))];
        let with_name = Event::of(&[1; 2], &[1; 2], &keys);
        let settings = Settings { rates: 1, regression: false, scale: false, longest: f64::INFINITY };
        let mut single = Rated::new(Box::new(Lines::new()), settings);
        single.step(with_name, Lesson { ticket: 5, ..Lesson::NONE }, &mut [0.0]);
        let mut whole = single.clone();
        let lessons = [Lesson { ticket: 5, ..Lesson::of(1.0) }, Lesson::of(-1.0)];
        // The first event has only its number by now, and the second only a category.
        let values = [1.5, as_value(key_of(2, b"a"))];
        let both = Event::of(&[1, 2], &[7, 2], &values);
        let block = Block { starts: &[0, 1, 2], ..Block::of(&both, &[0, 2]) };
        whole.run(&block, &lessons, &mut [0.0; 2], &mut [0.0; 2]);
        for (t, lesson) in lessons.into_iter().enumerate() {
            single.step(block.event(t), lesson, &mut [0.0]);
        }
        assert_eq!(single.state(), whole.state());
    }

    #[test]
    fn states_round_trip_and_invalid_ones_are_refused() {
        let mut waiting = Waiting::default();
        (1..=100).rev().for_each(|ticket| waiting.ask(ticket, 7 * ticket % 11));
        waiting.ask(5, 1_000);
        let mut state = State::default();
        waiting.put(&mut state);
        let mut again = Waiting::from_state(&state).unwrap();
        assert_eq!(again.0, waiting.0);
        assert_eq!((again.take(5), again.take(5)), (Some(2), None));
        state.put_u64s("waiting", vec![3; 100], &[100]);
        assert!(Waiting::from_state(&state).is_err());
        state.put_u64s("waiting", vec![3], &[1]);
        assert!(Waiting::from_state(&state).is_err());
        assert!(Waiting::from_state(&State::default()).unwrap().0.is_empty());
    }

    #[test]
    fn older_half_is_evicted_when_full() {
        let mut waiting = Waiting::default();
        (1..=3 * MOST as u64).for_each(|ticket| waiting.ask(ticket, ticket / 2));
        assert!(waiting.0.len() <= MOST && waiting.0.len() >= MOST / 2);
        assert_eq!((waiting.take(1), waiting.take(3 * MOST as u64)), (None, Some(3 * MOST as u64 / 2)));
    }

    #[test]
    fn half_are_kept_where_no_label_has_come() {
        let mut waiting = Waiting::default();
        (1..=MOST as u64 + 1).rev().for_each(|ticket| waiting.ask(ticket, 7));
        assert_eq!(waiting.0.len(), MOST / 2);
        assert_eq!(waiting.take(1), Some(7));
    }
}
