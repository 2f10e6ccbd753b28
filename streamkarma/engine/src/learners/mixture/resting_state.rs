//! Saving, restoring and merging the state of experts that may rest.

use super::dormancy::{Dormancy, LONG};
use super::newcomers::Newcomers;
use super::resting::{PROBATION, Rest, Rester, Resting, SEGMENT};
use crate::adwin::state::ARRAYS as OF_ERRORS;
use crate::rise::Rise;
use crate::state::{Refused, State, ensure};

/// Number of arrays that `put` writes.
pub const ARRAYS: usize = 9 + OF_ERRORS;
const WHY: &str = "the state of resting experts is inconsistent";
/// Prefix of the arrays of the window of errors.
const ERRORS: &str = "errors_";
/// Tolerance for rounding in sums of weights.
const ROUNDING: f64 = 1e-9;
/// Indexed by their numbers in a state.
const RESTS: [Rest; 3] = [Rest::Awake, Rest::Unasked, Rest::Dormant];

impl Resting {
    /// Write everything into a state.
    pub(super) fn put(&self, state: &mut State) {
        let Dormancy { loss, earliest, errors, batch, newcomers } = &self.dormancy;
        let experts = || self.experts.iter();
        let number = |each: &Rester| RESTS.iter().position(|rest| *rest == each.rest).unwrap_or(0) as i64;
        state.put_f64s("gains", experts().map(|each| each.gain).collect(), &[self.experts.len()]);
        state.put_f64s("long_gains", experts().map(|each| each.long_gain).collect(), &[self.experts.len()]);
        state.put_f64s(
            "long_squares",
            experts().map(|each| each.long_square).collect(),
            &[self.experts.len()],
        );
        state.put_i64s("rests", experts().map(number).collect(), &[self.experts.len()]);
        state.put_f64s("mean_losses", vec![self.loss, *loss], &[2]);
        state.put_f64s("seen", vec![self.seen, *earliest, self.calm_from], &[3]);
        state.put_f64s("rise", self.rise.numbers().to_vec(), &[5]);
        state.put_f64s("batch", batch.to_vec(), &[3]);
        let Newcomers { known, greatest, events } = *newcomers;
        state.put_i64s("newcomers", vec![known.into(), greatest.into(), events as i64], &[3]);
        for (name, array) in errors.state().0 {
            state.0.insert(format!("{ERRORS}{name}"), array);
        }
    }

    /// Restore the state of these experts after so many steps.
    ///
    /// # Errors
    ///
    /// If the arrays contradict each other.
    pub(super) fn take(&mut self, state: &State, steps: u64) -> Result<(), Refused> {
        let (gains, long_gains) = (state.f64s("gains")?.0, state.f64s("long_gains")?.0);
        let (long_squares, rests) = (state.f64s("long_squares")?.0, state.i64s("rests")?.0);
        let of_errors = state.0.iter().filter_map(|(name, array)| {
            name.strip_prefix(ERRORS).map(|name| (name.to_owned(), array.clone()))
        });
        let errors = self.dormancy.errors.restored(&State(of_errors.collect()))?;
        let (&[loss, long_loss], &[seen, earliest, calm_from], &[count, sum, squares]) =
            (state.f64s("mean_losses")?.0, state.f64s("seen")?.0, state.f64s("batch")?.0)
        else {
            return Err(WHY.to_owned());
        };
        let lengths = [gains.len(), long_gains.len(), long_squares.len(), rests.len()];
        ensure(lengths == [self.experts.len(); 4], WHY)?;
        ensure(gains.iter().chain(long_gains).all(|each| each.is_finite()), WHY)?;
        ensure(long_squares.iter().all(|each| each.is_finite() && *each >= 0.0), WHY)?;
        ensure([loss, long_loss].iter().all(|each| each.is_finite() && *each >= 0.0), WHY)?;
        ensure((0.0..=LONG).contains(&count) && count.fract() == 0.0, WHY)?;
        ensure((0.0..=count).contains(&sum) && (0.0..=count).contains(&squares), WHY)?;
        ensure((0.0..=(1.0 + ROUNDING) * steps as f64).contains(&seen), WHY)?;
        ensure((0.0..=seen + LONG).contains(&earliest), WHY)?;
        ensure((0.0..=seen + PROBATION).contains(&calm_from), WHY)?;
        let newcomers = newcomers(state.i64s("newcomers")?.0).ok_or(WHY)?;
        (self.seen, self.calm_from) = (seen, calm_from);
        (self.loss, self.rise) = (loss, Rise::restored(state.f64s("rise")?.0)?);
        let batch = [count, sum, squares];
        self.dormancy = Dormancy { loss: long_loss, earliest, errors, batch, newcomers };
        for (place, each) in self.experts.iter_mut().enumerate() {
            (each.gain, each.long_gain, each.long_square) =
                (gains[place], long_gains[place], long_squares[place]);
            each.rest =
                usize::try_from(rests[place]).ok().and_then(|rest| RESTS.get(rest).copied()).ok_or(WHY)?;
            ensure(each.learns_unasked || each.rest != Rest::Unasked, WHY)?;
        }
        Ok(())
    }

    /// Whether the same experts may rest, in the same way.
    pub(super) fn are_of(&self, other: &Self) -> bool {
        self.restarted().experts == other.restarted().experts
    }

    /// Merge parts, given with their shares of all events learned: each number is a mean. An expert that is dormant in
    /// all parts stays so.
    pub(super) fn merged(parts: &[(&Self, f64)]) -> Self {
        let mean =
            |of: &dyn Fn(&Self) -> f64| parts.iter().map(|(part, share)| share * of(part)).sum::<f64>();
        let mut merged = parts[0].0.restarted();
        merged.seen = mean(&|part| part.seen);
        merged.loss = mean(&|part| part.loss);
        merged.rise = Rise::mean(parts.iter().map(|(part, share)| (part.rise, *share)));
        merged.dormancy.loss = mean(&|part| part.dormancy.loss);
        merged.dormancy.earliest = merged.seen + LONG;
        for (place, each) in merged.experts.iter_mut().enumerate() {
            each.gain = mean(&|part| part.experts[place].gain);
            each.long_gain = mean(&|part| part.experts[place].long_gain);
            each.long_square = mean(&|part| part.experts[place].long_square);
            if parts.iter().all(|(part, _)| part.experts[place].rest == Rest::Dormant) {
                each.rest = Rest::Dormant;
            }
        }
        merged.decide_for_unasked();
        merged
    }
}

/// From the numbers of a state; None if they are impossible.
fn newcomers(numbers: &[i64]) -> Option<Newcomers> {
    let &[known, greatest, events] = numbers else { return None };
    let found = Newcomers {
        known: known.try_into().ok()?,
        greatest: greatest.try_into().ok()?,
        events: events.try_into().ok()?,
    };
    (found.known <= found.greatest && found.events < SEGMENT).then_some(found)
}
