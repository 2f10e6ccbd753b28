//! The errors of a learner, monitored for a change point, after which the events it keeps are from an old distribution.

use crate::adwin::Adwin;
use crate::adwin::state::ARRAYS as OF_WINDOW;
use crate::state::{Refused, State, ensure};

/// Probability of a false alarm at each check. On six streams with a change (mixed and sine; 0, 30 and 50 % missing;
/// seeds 11 to 16) with anything between 1e-2 and 1e-7 nearest neighbours made as many errors afterwards.
const DELTA: f64 = 1e-4;
/// Sums of weights that differ by no more than this are equal.
pub const ROUNDING: f64 = 1e-6;
const WHY: &str = "the current batch of errors is inconsistent";

/// Errors between 0 and 1, monitored by ADWIN, see [`crate::adwin`].
///
/// Events that share a label carry the same information, so errors are weighted: events whose weights add up to 1 are
/// one error. An event with a weight above 1 is one error, too.
#[derive(Clone, Debug)]
pub struct Errors {
    window: Adwin,
    /// Number of errors that are added to the window at a time.
    size: f64,
    /// The current batch: the number of errors, their sum, and the sum of their squares.
    batch: [f64; 3],
    /// The incomplete error: its weight, less than 1, and its weighted sum.
    part: [f64; 2],
}

impl Errors {
    /// No errors so far. They are added to the window in batches of `size`, which costs less time for larger batches.
    pub fn new(size: u32) -> Self {
        Self { window: Adwin::new(DELTA), size: f64::from(size), batch: [0.0; 3], part: [0.0; 2] }
    }

    /// Observe the error of an event. If errors have increased, returns the weight of the latest events, those after
    /// the change, with weights as above.
    pub fn observe(&mut self, error: f64, weight: f64) -> Option<f64> {
        let (error, weight) = (error.clamp(0.0, 1.0), weight.min(1.0));
        let sum = self.part[0] + weight;
        if sum < 1.0 {
            self.part = [sum, self.part[1] + weight * error];
            return None;
        }
        // Below 1 even when rounded, unlike sum - 1: ten weights of 0.1 add up to just less than one error.
        let rest = (self.part[0] - (1.0 - weight)).max(0.0);
        let whole = (self.part[1] + (weight - rest) * error).min(1.0);
        self.part = [rest, rest * error];
        for (sum, more) in self.batch.iter_mut().zip([1.0, whole, whole * whole]) {
            *sum += more;
        }
        if self.batch[0] < self.size {
            return None;
        }
        let [count, sum, squares] = std::mem::take(&mut self.batch);
        let drift = self.window.update(count as u64, sum, squares)?;
        (drift.after > drift.before).then_some(drift.length as f64 + rest)
    }

    /// How many errors the window holds.
    #[cfg(test)]
    pub fn len(&self) -> u64 {
        self.window.len()
    }

    /// Everything observed.
    pub fn state(&self) -> State {
        let mut state = self.window.state();
        state.put_f64s("next", [&self.batch[..], &self.part].concat(), &[5]);
        state
    }

    /// Restore the errors of a state, with the batch size of this one.
    ///
    /// # Errors
    ///
    /// If the arrays contradict each other.
    pub fn restored(&self, mut state: State) -> Result<Self, Refused> {
        let (next, shape) = state.f64s("next")?;
        let &[count, sum, squares, weight, error] = next else { return Err(WHY.to_owned()) };
        ensure(shape == [5] && state.0.len() == OF_WINDOW + 1, WHY)?;
        ensure((0.0..self.size).contains(&count) && count.fract() == 0.0, WHY)?;
        ensure((0.0..=count).contains(&sum) && (0.0..=count).contains(&squares), WHY)?;
        ensure((0.0..1.0).contains(&weight) && (0.0..=1.0).contains(&error), WHY)?;
        state.0.remove("next");
        let window = self.window.restored(&state)?;
        Ok(Self { window, size: self.size, batch: [count, sum, squares], part: [weight, error] })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_random::TestRandom;

    /// Errors of some labels, of which more are wrong from `change` on, each observed `times` times. Returns the label
    /// at the first alarm, and the weight of the new events at that point.
    fn alarm(times: usize, weight: f64, labels: usize, change: usize) -> Option<(usize, f64)> {
        let (mut errors, mut random) = (Errors::new(1), TestRandom(5));
        (0..labels).find_map(|label| {
            let wrong = random.unit() < if label < change { 0.1 } else { 0.8 };
            let newer = (0..times).filter_map(|_| errors.observe(f64::from(u8::from(wrong)), weight)).last();
            newer.map(|newer| (label, newer))
        })
    }

    #[test]
    fn events_sharing_a_label_count_as_one_error() {
        let alone = alarm(1, 1.0, 700, 400);
        let (label, newer) = alone.unwrap();
        assert!((405..430).contains(&label) && newer <= (label + 2 - 400) as f64, "{label} {newer}");
        let (other, rest) = alarm(64, 1.0 / 64.0, 700, 400).unwrap();
        assert!(other == label && rest == newer);
        assert_eq!(alarm(64, 1.0 / 64.0, 700, 700), None);
        // With full weight, each of them is an error of its own.
        assert!(alarm(64, 1.0, 700, 700).is_some());
        assert_eq!(alarm(1, 9.0, 700, 400), alone);
    }

    fn assert_round_trip(errors: &Errors) {
        let back = Errors::new(2).restored(errors.state()).unwrap();
        assert_eq!(back.state(), errors.state());
    }

    #[test]
    fn rounded_sums_of_weights_round_trip() {
        for times in 1..100 {
            let mut errors = Errors::new(2);
            (0..times).for_each(|_| _ = errors.observe(1.0, 1.0 / f64::from(times)));
            errors.observe(1.0, 1.0);
            assert_round_trip(&errors);
        }
    }

    #[test]
    fn weights_add_up() {
        let mut errors = Errors::new(2);
        for _ in 0..50 {
            assert_eq!(errors.observe(0.5, 0.3), None);
        }
        // Fifteen, one of which is not in the window yet.
        assert_eq!(errors.len(), 14);
        assert_eq!(errors.batch[0] + errors.part[0].round(), 1.0);
        assert!((errors.window.mean() - 0.5).abs() < 1e-12);
        assert_round_trip(&errors);
    }
}
