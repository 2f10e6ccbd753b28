//! Four running quantiles of the targets.

use crate::state::{Refused, State, ensure};

/// Which quantiles are tracked: those of a standard Gaussian at ± this. Slifker and Shapiro advise 0.524 and three
/// times that.
pub const INNER: f64 = 0.524;
/// See [`INNER`].
pub const OUTER: f64 = 3.0 * INNER;
/// The quantiles of a standard Gaussian, which are the initial ones.
pub const GAUSSIAN: [f64; 4] = [-OUTER, -INNER, INNER, OUTER];
/// The probability below each of them.
const SHARES: [f64; 4] = [0.058, 0.3, 0.7, 0.942];
/// Number of targets before the first update. The next updates come after twice as many targets each time,
const FIRST: usize = 32;
/// up to this number. From then on each update uses this many new targets,
pub(super) const ALL: usize = 512;
/// and has a weight of one in this many, once there have been as many updates.
pub(super) const LOOKS: u64 = 8;
/// The quantiles are estimated from scratch after this many consecutive targets far out on the same side, as happens
/// when their unit changes: farther from the outer quantile than that is from the inner one. Where targets became a
/// hundred times as large, the mean absolute error was 1 and 8 % smaller (two streams) than with an update after the
/// next 512 targets.
const LEAPT: usize = 8;
/// Lower bound of the distance between the inner quantiles, as a fraction of that between the outer ones; it matters
/// where many targets have the same value.
const LEAST_MIDDLE: f64 = 0.01;
/// Upper bound of the numbers in a state.
const LARGEST: f64 = 1e101;
/// The message for an invalid state.
const CONTRADICTION: &str = "the quantiles of the targets contradict themselves";

/// The quantiles, and the targets for the next update.
#[derive(Clone, Debug)]
pub struct Quantiles {
    /// The current quantiles; they ascend, and the inner two differ.
    pub now: [f64; 4],
    /// Number of updates from [`ALL`] new targets, up to [`LOOKS`].
    pub(super) looks: u64,
    /// The targets since the last of these updates, with their weights.
    pub(super) recent: Vec<(f64, f64)>,
}

impl Default for Quantiles {
    fn default() -> Self {
        Self { now: GAUSSIAN, looks: 0, recent: Vec::new() }
    }
}

impl Quantiles {
    /// Observe a finite target with its weight. Returns whether the quantiles may have changed.
    pub fn observe(&mut self, target: f64, weight: f64) -> bool {
        self.recent.push((target, weight.min(LARGEST)));
        if self.has_leapt() {
            self.recent.drain(..self.recent.len() - LEAPT);
            self.looks = 0;
            self.look();
            return true;
        }
        let count = self.recent.len();
        let is_time = count == ALL || (self.looks == 0 && count >= FIRST && count.is_power_of_two());
        if is_time {
            self.look();
        }
        is_time
    }

    /// Whether the latest targets come from a different distribution.
    fn has_leapt(&self) -> bool {
        let [lowest, low, high, highest] = self.now;
        let Some(latest) = self.recent.last_chunk::<LEAPT>().filter(|_| self.now != GAUSSIAN) else {
            return false;
        };
        let mut newest_first = latest.iter().rev();
        let all_far = newest_first.clone().all(|(target, _)| *target > 2.0 * highest - high)
            || newest_first.all(|(target, _)| *target < 2.0 * lowest - low);
        let mean = |targets: &[(f64, f64)]| {
            targets.iter().map(|(_, weight)| weight).sum::<f64>() / targets.len() as f64
        };
        all_far && mean(latest) > 0.5 * mean(&self.recent)
    }

    fn look(&mut self) {
        let mut sorted = self.recent.clone();
        sorted.sort_unstable_by(|one, other| one.0.total_cmp(&other.0));
        let found = SHARES.map(|share| quantile(&sorted, share));
        if sorted.len() == ALL {
            self.looks = (self.looks + 1).min(LOOKS);
            self.recent.clear();
        }
        let Some(found) = apart(found) else { return };
        let rate = 1.0 / self.looks.max(1) as f64;
        for (quantile, found) in self.now.iter_mut().zip(found) {
            *quantile += rate * (found - *quantile);
        }
        // Equal quantiles may come apart by rounding.
        for i in 1..self.now.len() {
            self.now[i] = self.now[i].max(self.now[i - 1]);
        }
        // Beside much larger ones, the new quantiles may be lost in rounding.
        if !are_apart(&self.now) {
            self.now = found;
        }
    }

    /// Memory in bytes.
    pub fn bytes(&self) -> usize {
        size_of::<Self>() + size_of_val(self.recent.as_slice())
    }

    /// Everything learned.
    pub fn state(&self) -> State {
        let mut state = State::default();
        state.put_f64s("quantiles", self.now.to_vec(), &[4]);
        let (targets, weights) = self.recent.iter().copied().unzip();
        state.put_f64s("recent", targets, &[self.recent.len()]);
        state.put_f64s("recent_weights", weights, &[self.recent.len()]);
        state.put_i64s("looks", vec![self.looks as i64], &[1]);
        state
    }

    /// Restore from a state, which may contain other arrays as well.
    ///
    /// # Errors
    ///
    /// If no sequence of targets could have produced these numbers.
    pub fn restored(state: &State) -> Result<Self, Refused> {
        let (now, recent) = (state.f64s("quantiles")?.0, state.f64s("recent")?.0);
        let weights = state.f64s("recent_weights")?.0;
        let now: [f64; 4] = now.try_into().map_err(|_| CONTRADICTION)?;
        let &[looks] = state.i64s("looks")?.0 else { return Err(CONTRADICTION.to_owned()) };
        let weighed = weights.len() == recent.len() && weights.iter().all(|weight| *weight > 0.0);
        let bounded = now.iter().chain(recent).chain(weights).all(|number| number.abs() <= LARGEST);
        let fits = recent.len() < ALL && (0..=LOOKS as i64).contains(&looks);
        ensure(weighed && bounded && are_apart(&now) && fits, CONTRADICTION)?;
        Ok(Self {
            now,
            looks: looks as u64,
            recent: recent.iter().copied().zip(weights.iter().copied()).collect(),
        })
    }
}

/// The weighted quantile of targets in ascending order.
fn quantile(sorted: &[(f64, f64)], share: f64) -> f64 {
    let all: f64 = sorted.iter().map(|(_, weight)| weight).sum();
    let one = all / sorted.len() as f64;
    let (wanted, mut below) = (share * (all - one) + 0.5 * one, 0.0);
    let found = sorted.iter().find(|(_, weight)| {
        below += weight;
        below > wanted
    });
    found.or(sorted.last()).map_or(0.0, |(target, _)| *target)
}

/// Whether the inner quantiles are apart only because they were kept so: many targets are equal.
pub fn are_tied(now: &[f64; 4]) -> bool {
    now[2] - now[1] < 1.01 * LEAST_MIDDLE * (now[3] - now[0])
}

/// Whether quantiles ascend, with the inner two apart.
fn are_apart(now: &[f64; 4]) -> bool {
    // The distance is half as large where an inner quantile equals an outer one, less rounding errors.
    now.is_sorted() && now[1] < now[2] && now[2] - now[1] >= 0.49 * LEAST_MIDDLE * (now[3] - now[0])
}

/// The quantiles with the inner two kept apart; None if nearly all targets are equal.
fn apart([lowest, low, high, highest]: [f64; 4]) -> Option<[f64; 4]> {
    let least = LEAST_MIDDLE * (highest - lowest);
    let lack = (least - (high - low)).max(0.0);
    let (low, high) = ((low - 0.5 * lack).max(lowest), (high + 0.5 * lack).min(highest));
    (least > 0.0 && low < high).then_some([lowest, low, high, highest])
}
