//! Saving intervals and sets as arrays, and restoring them with checks.

use super::calibration::Calibration;
use super::intervals::Intervals;
use super::pending::{MOST, MOST_NUMBERS, PendingPredictions, Prediction};
use super::sets::Sets;
use super::window::Window;
use crate::state::{Refused, State, ensure};

/// Why a state is rejected.
const CONTRADICTION: &str = "the scores by which intervals or sets are calibrated contradict themselves";
/// The total number of scores, and the number when each remaining one arrived.
const LEARNED_AT: &str = "learned_at";
/// The allowed miss rate is driven back to about 0 to 1; it never goes beyond this.
const FARTHEST_SHARE: f64 = 10.0;
/// Upper bound on scores and predictions.
const LARGEST: f64 = 1e300;

impl Intervals {
    /// Everything learned.
    pub fn state(&self) -> State {
        state(&self.calibration, &self.pending)
    }

    /// Restore a state.
    ///
    /// # Errors
    ///
    /// If the state is invalid. This is then unchanged.
    pub fn restore(&mut self, state: &State) -> Result<(), Refused> {
        let (calibration, pending) = restored(&self.calibration, state)?;
        ensure(pending.all().all(|prediction| prediction.numbers.len() == 1), CONTRADICTION)?;
        (self.calibration, self.pending) = (calibration, pending);
        Ok(())
    }
}

impl Sets {
    /// Everything learned.
    pub fn state(&self) -> State {
        state(&self.calibration, &self.pending)
    }

    /// Restore a state.
    ///
    /// # Errors
    ///
    /// If the state is invalid. This is then unchanged.
    pub fn restore(&mut self, state: &State) -> Result<(), Refused> {
        let (calibration, pending) = restored(&self.calibration, state)?;
        let is_chance = |chance: &f64| (0.0..=1.0).contains(chance);
        let sound = pending.all().all(|prediction| prediction.numbers.iter().all(is_chance));
        let scores = calibration.window.sorted().iter().all(is_chance);
        ensure(sound && scores, CONTRADICTION)?;
        (self.calibration, self.pending) = (calibration, pending);
        Ok(())
    }
}

fn state(calibration: &Calibration, pending: &PendingPredictions) -> State {
    let mut state = State::default();
    let (window, count) = (&calibration.window, pending.len());
    let scores: Vec<f64> = window.in_order().map(|(_, score)| score).collect();
    let learned_at = [window.count()].into_iter().chain(window.in_order().map(|(at, _)| at));
    let learned_at: Vec<i64> = learned_at.map(|at| at as i64).collect();
    let numbers: Vec<f64> = pending.all().flat_map(|prediction| &prediction.numbers).copied().collect();
    // Infinity, for all labels, cannot be stored in a file.
    let threshold = |prediction: &Prediction| {
        if prediction.threshold == f64::INFINITY { -2.0 } else { prediction.threshold }
    };
    state.put_f64s("share", vec![calibration.share], &[1]);
    state.put_i64s(LEARNED_AT, learned_at, &[scores.len() + 1]);
    let size = scores.len();
    state.put_f64s("scores", scores, &[size]);
    state.put_u64s("tickets", pending.all().map(|prediction| prediction.ticket).collect(), &[count]);
    state.put_f64s("thresholds", pending.all().map(threshold).collect(), &[count]);
    state.put_i64s("labels", pending.all().map(|prediction| prediction.labels as i64).collect(), &[count]);
    state.put_i64s(
        "sizes",
        pending.all().map(|prediction| prediction.numbers.len() as i64).collect(),
        &[count],
    );
    state.put_f64s("numbers", numbers.clone(), &[numbers.len()]);
    state
}

fn restored(before: &Calibration, state: &State) -> Result<(Calibration, PendingPredictions), Refused> {
    let (&[share], scores) = (state.f64s("share")?.0, state.f64s("scores")?.0) else {
        return Err(CONTRADICTION.to_owned());
    };
    let is_score = |score: &f64| (0.0..=LARGEST).contains(score);
    ensure(share.abs() <= FARTHEST_SHARE && scores.iter().all(is_score), CONTRADICTION)?;
    let mut calibration = before.clone();
    ensure(scores.len() <= calibration.window.most(), CONTRADICTION)?;
    let (count, learned_at) = restored_counts(state, scores.len())?;
    let numbers = learned_at.into_iter().zip(scores.iter().copied()).collect();
    (calibration.share, calibration.window) = (share, Window::of(calibration.window.most(), count, numbers));
    let pending = restored_pending(state)?;
    ensure(pending.all().all(|prediction| prediction.labels <= count), CONTRADICTION)?;
    Ok((calibration, pending))
}

/// The total number of scores, and the number when each remaining one arrived.
fn restored_counts(state: &State, scores: usize) -> Result<(u64, Vec<u64>), Refused> {
    let (&[count, ref learned_at @ ..], _) = state.i64s(LEARNED_AT)? else {
        return Err(CONTRADICTION.to_owned());
    };
    let sound = (0..1 << 53).contains(&count)
        && learned_at.len() == scores
        && learned_at.is_sorted()
        && learned_at.iter().all(|at| (0..=count).contains(at));
    ensure(sound, CONTRADICTION)?;
    Ok((count as u64, learned_at.iter().map(|&at| at as u64).collect()))
}

fn restored_pending(state: &State) -> Result<PendingPredictions, Refused> {
    let (tickets, thresholds) = (state.u64s("tickets")?.0, state.f64s("thresholds")?.0);
    let (sizes, mut numbers) = (state.i64s("sizes")?.0, state.f64s("numbers")?.0);
    let labels = state.i64s("labels")?.0;
    let count = tickets.len();
    let sound = count <= MOST
        && numbers.len() <= MOST_NUMBERS
        && thresholds.len() == count
        && sizes.len() == count
        && labels.len() == count
        && labels.iter().all(|&labels| labels >= 0)
        && thresholds.iter().chain(numbers).all(|each| each.abs() <= LARGEST)
        && !tickets.contains(&0);
    ensure(sound, CONTRADICTION)?;
    let mut pending = PendingPredictions::default();
    for (((&ticket, &threshold), &labels), &size) in tickets.iter().zip(thresholds).zip(labels).zip(sizes) {
        let own = usize::try_from(size).ok().and_then(|size| numbers.split_at_checked(size));
        let (own, rest) = own.ok_or(CONTRADICTION)?;
        numbers = rest;
        let threshold = if threshold == -2.0 { f64::INFINITY } else { threshold };
        pending.keep(Prediction { ticket, threshold, labels: labels as u64, numbers: own.into() });
    }
    ensure(numbers.is_empty() && pending.len() == count, CONTRADICTION)?;
    Ok(pending)
}
