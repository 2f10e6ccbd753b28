//! The arrays of what a mixture has learned: writing them, and checking them when they are restored.

use nalgebra::{DMatrix, SymmetricEigen};

use super::Mixture;
use super::aggregator::Aggregator;
use super::calibration::{OFFSET_PRIOR_VARIANCE, SMALLEST, prior_variances};
use super::completeness::{ADJUSTING_PRIOR_VARIANCE, Completeness, MEASURES};
use super::fixed_share::BLEND_PRIOR_VARIANCE;
use super::late::Late;
use super::mean_weight::MeanWeight;
use super::range::Range;
use super::relevance::Relevance;
use super::resting_state;
use super::succession::Succession;
use super::ties::Ties;
use crate::state::{Refused, State, ensure};

/// Why a state is rejected.
const CONTRADICTION: &str = "the state of the mixture is inconsistent";
/// Number of arrays that `state` writes.
const ARRAYS: usize = 16 + resting_state::ARRAYS;
/// Number of those that only a regression has.
const OF_REGRESSION: usize = 2;
/// Maximum number of steps in a state: up to here they are whole numbers as f64, too.
const MOST_STEPS: i64 = 1 << 53;
/// Maximum ratio of a variance to its initial value, which it exceeds by rounding only.
const MOST_VARIANCE: f64 = 1.0 + 1e-6;
/// Maximum number of iterations to find the eigenvalues of a covariance.
const ROUNDS: usize = 10_000;

impl Mixture {
    /// Restores a state, as far as it is valid.
    pub(super) fn take(
        &mut self,
        state: &State,
        attributes: usize,
        coordinates: usize,
    ) -> Result<(), Refused> {
        let parts = state.parts();
        let wrong = "the state has other experts than the mixture";
        ensure(parts.len() == self.learners.len() + 3 + usize::from(self.recent.is_some()), wrong)?;
        self.aggregator.restore(parts.get("").ok_or(wrong)?)?;
        let late = Late::new(self.aggregator.experts(), self.aggregator.classes());
        self.late = late.restored(parts.get("late").ok_or(wrong)?, self.aggregator.steps())?;
        self.relevance = Relevance::restored(parts.get("relevance").ok_or(wrong)?, attributes, coordinates)?;
        if let Some(recent) = &mut self.recent {
            *recent = recent.restored(parts.get("recent").ok_or(wrong)?, self.aggregator.classes())?;
        }
        self.make_room();
        for (number, learner) in self.learners.iter_mut().enumerate() {
            let part = parts.get(number.to_string().as_str()).ok_or(wrong)?;
            learner.restore(part, attributes, coordinates)?;
            let fits = learner.classes() == self.aggregator.classes();
            ensure(fits, "the experts do not match the state of the mixture")?;
        }
        Ok(())
    }
}

impl Aggregator {
    /// Everything learned.
    pub fn state(&self) -> State {
        let (experts, size) = (self.experts, self.size());
        let columns = if self.classes > 1 { self.classes } else { 0 };
        let mut state = State::default();
        let known = &self.calibration;
        state.put_f64s("squares", known.squares.clone(), &[experts]);
        state.put_f64s("parameters", known.parameters.clone(), &[experts, size]);
        state.put_f64s("covariances", known.covariances.clone(), &[experts, size, size]);
        state.put_f64s("offsets", known.offsets.clone(), &[experts, columns]);
        state.put_f64s("slack", known.offset_variances.clone(), &[experts, columns]);
        state.put_f64s("shares", self.shares.weights.clone(), &[experts + 1]);
        state.put_f64s("mean_shares", self.shares.means.clone(), &[experts + 1]);
        state.put_f64s("mix", self.blend.mix.clone(), &[experts]);
        state.put_f64s("looseness", self.blend.covariance.clone(), &[experts, experts]);
        let Completeness { moments, parameters, covariance, .. } = &self.completeness;
        let adjusting = parameters.len();
        state.put_f64s("completeness", moments.to_vec(), &[moments.len()]);
        state.put_f64s("adjusting", parameters.to_vec(), &[adjusting]);
        state.put_f64s("adjusting_covariance", covariance.to_vec(), &[adjusting, adjusting]);
        state.put_f64s("scales", self.scales.weights.clone(), &[self.scales.weights.len()]);
        state.put_f64s("labels", self.succession.numbers().to_vec(), &[2]);
        state.put_f64s("mean_weight", self.mean_weight.numbers().to_vec(), &[2]);
        if self.regression {
            state.put_f64s("ties", self.ties.numbers().to_vec(), &[5]);
            state.put_f64s("range", self.range.numbers().to_vec(), &[3]);
        }
        self.resting.put(&mut state);
        state.put_i64s("steps", vec![self.steps as i64], &[1]);
        state
    }

    /// Restore a state.
    ///
    /// # Errors
    ///
    /// If the arrays contradict each other or this aggregator, which then stays unchanged.
    pub fn restore(&mut self, state: &State) -> Result<(), Refused> {
        let columns = match state.f64s("offsets").map_err(|_| CONTRADICTION)? {
            // No memory is allocated for more values than there are.
            (values, &[experts, columns])
                if experts == self.experts && experts.checked_mul(columns) == Some(values.len()) =>
            {
                columns
            }
            _ => return Err(CONTRADICTION.to_owned()),
        };
        ensure(columns != 1 && !(columns > 0 && self.regression), CONTRADICTION)?;
        let more = if self.regression { OF_REGRESSION } else { 0 };
        ensure(state.0.len() == ARRAYS + more, CONTRADICTION)?;
        let mut restored = Self::begin(self.experts, columns.max(1), self.regression, self.forgetting);
        restored.absolute = self.absolute;
        restored.resting = self.resting.restarted();
        restored.latecomers.clone_from(&self.latecomers);
        restored.take(state).ok_or(CONTRADICTION)?;
        ensure(restored.is_sound(), CONTRADICTION)?;
        *self = restored;
        Ok(())
    }

    /// Copies arrays of the expected kinds and shapes.
    fn take(&mut self, state: &State) -> Option<()> {
        let shapes = self.state();
        let (steps, shape) = state.i64s("steps").ok()?;
        self.steps = u64::try_from(*steps.first()?).ok().filter(|_| shape == [1] && steps[0] < MOST_STEPS)?;
        self.resting.take(state, self.steps).ok()?;
        self.succession = Succession::restored(state.f64s("labels").ok()?.0)?;
        self.mean_weight = MeanWeight::restored(state.f64s("mean_weight").ok()?.0)?;
        if self.regression {
            self.ties = Ties::restored(state.f64s("ties").ok()?.0)?;
            self.range = Range::restored(state.f64s("range").ok()?.0)?;
        }
        let known = &mut self.calibration;
        let arrays = copy_arrays(
            state,
            &shapes,
            [
                ("squares", &mut known.squares[..]),
                ("parameters", &mut known.parameters),
                ("covariances", &mut known.covariances),
                ("offsets", &mut known.offsets),
                ("slack", &mut known.offset_variances),
                ("shares", &mut self.shares.weights),
                ("mean_shares", &mut self.shares.means),
                ("mix", &mut self.blend.mix),
                ("looseness", &mut self.blend.covariance),
                ("completeness", &mut self.completeness.moments),
                ("adjusting", &mut self.completeness.parameters),
                ("adjusting_covariance", &mut self.completeness.covariance),
                ("scales", &mut self.scales.weights),
            ],
        );
        let is_absent = |&expert: &usize| self.shares.weights[expert] == 0.0;
        self.shares.absent = self.latecomers.iter().copied().filter(is_absent).collect();
        arrays
    }

    /// Whether a run could have produced these numbers.
    fn is_sound(&self) -> bool {
        let (known, size) = (&self.calibration, self.size());
        let covariance = &self.completeness.covariance;
        let variances = prior_variances(self.classes, self.regression);
        known.squares.iter().all(|&each| each >= SMALLEST)
            && known.offset_variances.iter().all(|each| (0.0..=MOST_VARIANCE * OFFSET_PRIOR_VARIANCE).contains(each))
            && [&self.shares.weights, &self.shares.means].iter().all(|shares| are_shares(shares))
            // If one of them makes no prediction, the others share its weight.
            && (0..=self.experts).all(|member| self.shares.weights[member] > 0.0 || !self.shares.has(member))
            && self.shares.absent.iter().all(|&expert| self.blend.mix[expert] == 0.0)
            && self.scales.is_sound()
            && known.covariances.chunks_exact(size * size).all(|each| is_covariance(each, variances))
            && is_covariance(&self.blend.covariance, &vec![BLEND_PRIOR_VARIANCE; self.experts])
            && self.completeness.is_sound()
            && is_covariance(covariance, &[ADJUSTING_PRIOR_VARIANCE; 2 * MEASURES])
    }
}

/// Copies arrays of numbers by name, if they are finite and have these shapes.
pub fn copy_arrays<'a>(
    state: &State,
    shapes: &State,
    arrays: impl IntoIterator<Item = (&'a str, &'a mut [f64])>,
) -> Option<()> {
    for (name, to) in arrays {
        let (values, shape) = state.f64s(name).ok()?;
        let fits = shape == shapes.f64s(name).ok()?.1 && values.len() == to.len();
        if !fits || !values.iter().all(|each| each.is_finite()) {
            return None;
        }
        to.copy_from_slice(values);
    }
    Some(())
}

pub fn are_shares(shares: &[f64]) -> bool {
    shares.iter().all(|&each| each >= 0.0) && (shares.iter().sum::<f64>() - 1.0).abs() < 1e-6
}

/// Whether a matrix is symmetric bit for bit, has no eigenvalue below 0, and no variance above its initial value.
pub fn is_covariance(entries: &[f64], prior_variances: &[f64]) -> bool {
    let size = prior_variances.len();
    let matrix = DMatrix::from_row_slice(size, size, entries);
    let largest = prior_variances.iter().fold(0.0_f64, |largest, &each| largest.max(each));
    matrix.iter().all(|each| each.abs() <= MOST_VARIANCE * largest)
        && matrix.diagonal().iter().zip(prior_variances).all(|(each, prior)| *each <= MOST_VARIANCE * prior)
        && matrix == matrix.transpose()
        && SymmetricEigen::try_new(matrix, f64::EPSILON, ROUNDS)
            .is_some_and(|eigen| eigen.eigenvalues.iter().all(|&each| each >= 0.0))
}
