//! Saving a Gaussian process as arrays, and restoring it.

use super::inputs::{Input, Inputs, MOST};
use super::kernel::{Kernel, SHARED};
use super::posterior::{LARGEST_WEIGHT, Posterior};
use super::{Fitted, GaussianProcess, POINTS};
use crate::learner::Unit;
use crate::learners::refits::Refits;
use crate::scale::{CLIP, LARGEST};
use crate::state::{Refused, State, ensure};

const WHY: &str = "the arrays of a Gaussian process do not fit each other, or not this model";
const ARRAYS: usize = Refits::ARRAYS + 6;
/// Upper bound of |entries| of the covariance: the prior's diagonal is 1, and rounding errors cannot exceed this.
const LARGEST_COVARIANCE: f64 = 2.0;

impl GaussianProcess {
    /// Everything learned, as arrays.
    pub(super) fn to_state(&self) -> State {
        let mut state = State::default();
        self.refits.put(&mut state);
        if let Some(Fitted { inputs, unit, posterior }) = &self.fitted {
            let inputs = &inputs.0;
            let coordinates =
                inputs.iter().flat_map(|input| [input.coordinate as i32, i32::from(input.is_absence)]);
            let numbers = inputs.iter().flat_map(|input| [input.mean, input.factor]);
            state.put_i32s("inputs", coordinates.collect(), &[inputs.len(), 2]);
            state.put_f64s("standards", numbers.collect(), &[inputs.len(), 2]);
            let kernel = posterior.kernel().logarithms();
            state.put_f64s("kernel", [&[unit.centre, unit.spread], kernel].concat(), &[2 + kernel.len()]);
            let size = posterior.weights.len();
            state.put_f64s("points", posterior.inducing.clone(), &[posterior.points(), inputs.len()]);
            state.put_f64s("weights", posterior.weights.clone(), &[size]);
            state.put_f64s("covariance", posterior.covariance.clone(), &[posterior.covariance.len()]);
        }
        state
    }

    /// A learner restored from a state, with the settings of this one.
    pub(super) fn restored(
        &self,
        state: &State,
        attributes: usize,
        coordinates: usize,
    ) -> Result<Self, Refused> {
        let mut learner = Self::new(self.settings)?;
        let own = learner.refits.take(state, attributes, coordinates, 0)?;
        if own.0.len() == Refits::ARRAYS {
            return Ok(learner);
        }
        ensure(own.0.len() == ARRAYS, WHY)?;
        let inputs = inputs_of(&own, learner.refits.row.coordinates())?;
        let (kernel, shape) = own.f64s("kernel")?;
        ensure(
            shape == [2 + SHARED + inputs.0.len()] && kernel.iter().all(|number| number.is_finite()),
            WHY,
        )?;
        let unit = Unit { centre: kernel[0], spread: kernel[1] };
        ensure(unit.centre.abs() <= LARGEST && unit.spread > 0.0 && unit.spread <= LARGEST, WHY)?;
        let (points, shape) = own.f64s("points")?;
        ensure(shape.len() == 2 && shape[0] <= POINTS && shape[1] == inputs.0.len(), WHY)?;
        ensure(points.iter().all(|point| point.abs() <= CLIP), WHY)?;
        let mut posterior = Posterior::prior(Kernel::new(kernel[2..].to_vec()), points.to_vec());
        let size = posterior.weights.len();
        let ((weights, shape), (covariance, entries)) = (own.f64s("weights")?, own.f64s("covariance")?);
        ensure(shape == [size] && weights.iter().all(|weight| weight.abs() <= LARGEST_WEIGHT), WHY)?;
        ensure(entries == [posterior.covariance.len()], WHY)?;
        ensure(covariance.iter().all(|entry| entry.abs() <= LARGEST_COVARIANCE), WHY)?;
        posterior.weights.copy_from_slice(weights);
        posterior.covariance.copy_from_slice(covariance);
        learner.fitted = Some(Fitted { inputs, unit, posterior });
        Ok(learner)
    }
}

fn inputs_of(own: &State, coordinates: usize) -> Result<Inputs, Refused> {
    let ((which, shape), (numbers, other)) = (own.i32s("inputs")?, own.f64s("standards")?);
    let count = which.len() / 2;
    ensure(count <= MOST && shape == [count, 2] && other == shape, WHY)?;
    let pairs = which.as_chunks::<2>().0.iter().zip(numbers.as_chunks::<2>().0);
    let inputs: Vec<Input> = pairs
        .map(|(&[coordinate, is_absence], &[mean, factor])| Input {
            coordinate: coordinate as u32,
            is_absence: is_absence == 1,
            mean,
            factor,
        })
        .collect();
    let is_sound = |input: &Input| {
        let is_known = (input.coordinate as usize) < coordinates || input.coordinate == u32::MAX;
        is_known && input.mean.abs() <= LARGEST && input.factor > 0.0 && input.factor.is_finite()
    };
    ensure(
        inputs.iter().all(is_sound) && which.iter().skip(1).step_by(2).all(|kind| (0..2).contains(kind)),
        WHY,
    )?;
    Ok(Inputs(inputs))
}
