//! The predictions of events with late labels as arrays: written to a state, and validated when restored.

use super::completeness::are_observed;
use super::late::{Late, PendingPrediction};
use crate::state::{Refused, State, ensure};

/// The error message for an invalid state.
const CONTRADICTION: &str = "the predictions of events with late labels are inconsistent";
/// Number of arrays in a state.
const ARRAYS: usize = 4;
/// Bounds of the counts in a state, and of residuals and scores.
const MOST_STEPS: i64 = 1 << 53;
const LARGEST: f64 = 1e250;

impl Late {
    /// Everything that is kept.
    pub fn state(&self) -> State {
        let (count, width) = (self.kept.len(), self.width());
        let (known, all) = (&self.dependence, || self.kept.values());
        let mut marks: Vec<i64> =
            all().flat_map(|each| [each.steps, each.labels]).map(|mark| mark as i64).collect();
        marks.push(known.labels as i64);
        let mut sums = known.sums.clone();
        sums.extend([known.products, known.squares]);
        let mut state = State::default();
        state.put_u64s("tickets", all().map(|each| each.ticket).collect(), &[count]);
        state.put_i64s("marks", marks, &[2 * count + 1]);
        state.put_f64s("numbers", all().flat_map(|each| &each.numbers).copied().collect(), &[count, width]);
        state.put_f64s("sums", sums, &[known.sums.len() + 2]);
        state
    }

    /// Take over a state; `steps` are those of the aggregator.
    ///
    /// # Errors
    ///
    /// If the arrays contradict each other or this one.
    pub fn restored(mut self, state: &State, steps: u64) -> Result<Self, Refused> {
        self.take_state(state, steps).ok_or(CONTRADICTION)?;
        Ok(self)
    }

    fn take_state(&mut self, state: &State, steps: u64) -> Option<()> {
        let (tickets, _) = state.u64s("tickets").ok()?;
        let (marks, _) = state.i64s("marks").ok()?;
        let (numbers, shape) = state.f64s("numbers").ok()?;
        let (sums, _) = state.f64s("sums").ok()?;
        let (count, width) = (tickets.len(), self.width());
        let fits = state.0.len() == ARRAYS
            && count <= self.most
            && marks.len() == 2 * count + 1
            && shape == [count, width]
            && sums.len() == self.dependence.sums.len() + 2
            && sums.iter().all(|each| each.abs() <= LARGEST);
        ensure(fits, CONTRADICTION).ok()?;
        let (marks, now) = (marks[..2 * count].as_chunks::<2>().0, marks[2 * count]);
        ensure((0..MOST_STEPS).contains(&now), CONTRADICTION).ok()?;
        for ((&ticket, &[then, labels]), numbers) in
            tickets.iter().zip(marks).zip(numbers.chunks_exact(width))
        {
            let is_before = (0..=steps as i64).contains(&then) && (0..=now).contains(&labels);
            let (scores, rest) = numbers.split_at(self.experts * self.classes);
            // Scores are NaN if an expert made no prediction.
            let is_sound = scores.iter().all(|each| each.is_nan() || each.abs() <= LARGEST)
                && are_observed(rest)
                && rest.iter().all(|each| each.abs() <= LARGEST);
            ensure(is_before && is_sound && ticket > 0, CONTRADICTION).ok()?;
            let (steps, labels) = (then as u64, labels as u64);
            self.put(PendingPrediction { ticket, steps, labels, numbers: numbers.into() });
        }
        let (sums, of_means) = sums.split_at(sums.len() - 2);
        self.dependence.sums.copy_from_slice(sums);
        self.dependence.labels = now as u64;
        (self.dependence.products, self.dependence.squares) = (of_means[0], of_means[1]);
        ensure(self.is_sound() && of_means[1] > 0.0, CONTRADICTION).ok()
    }
}
