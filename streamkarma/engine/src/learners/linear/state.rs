//! Writing the model to a file, and validating what is read from one.

use super::{Cell, LARGEST_GROWTH, LinearModel, SMALLEST_SCALE, Step, Update};
use crate::rise::Rise;
use crate::state::{Refused, State, ensure};

impl LinearModel {
    /// Put the weights at `index` as `weights`, their second moments as `spread`, both of shape (C, |index|), and as
    /// `clock` the steps, the global factor and, if it restarts, the record of its errors. SGD's spread has shape (C,
    /// 0).
    pub fn put_state(&self, index: &[u32], clock: &str, state: &mut State) {
        let cell = |class: usize, place: u32| self.cells[place as usize * self.width + class];
        let picked =
            || (0..self.classes).flat_map(|class| index.iter().map(move |&place| cell(class, place)));
        let moments = picked().map(|cell| cell.moment);
        let columns = if self.step.update == Update::Sgd { 0 } else { index.len() };
        let mut numbers = vec![self.steps as f64, self.factor];
        if self.step.restarts {
            numbers.extend(self.rise.numbers());
        }
        let length = numbers.len();
        state.put_f64s(clock, numbers, &[length]);
        state.put_f64s("weights", picked().map(|cell| cell.weight).collect(), &[self.classes, index.len()]);
        state.put_f64s("spread", moments.take(self.classes * columns).collect(), &[self.classes, columns]);
    }

    /// Restore the model from a state, with as many places as it has weights per class.
    ///
    /// # Errors
    ///
    /// If an array is missing or has the wrong shape, there are more than `most` classes, or a number is out of range.
    pub fn restored(step: Step, clock: &str, state: &State, most: usize) -> Result<Self, Refused> {
        let why = "the weights contradict each other";
        let clock = state.f64s(clock)?.0;
        let (weights, shape) = state.f64s("weights")?;
        let (moments, moments_shape) = state.f64s("spread")?;
        let sgd = step.update == Update::Sgd;
        let &[classes, places] = shape else { return Err(why.to_owned()) };
        ensure(moments_shape == [classes, if sgd { 0 } else { places }], why)?;
        ensure((1..=most).contains(&classes), why)?;
        ensure([clock, weights, moments].into_iter().flatten().all(|number| number.is_finite()), why)?;
        let &[steps, factor, ref rise @ ..] = clock else { return Err(why.to_owned()) };
        let rise = if step.restarts { Rise::restored(rise)? } else { Rise::default() };
        ensure(step.restarts || clock.len() == 2, why)?;
        let (least, largest) = if sgd { (SMALLEST_SCALE, 1.0) } else { (1.0, LARGEST_GROWTH) };
        ensure((0.0..2f64.powi(53)).contains(&steps) && steps.fract() == 0.0, why)?;
        ensure((least..=largest).contains(&factor) && moments.iter().all(|&moment| moment >= 0.0), why)?;
        // Class by class in the state, place by place here.
        let mut model = Self { steps: steps as u64, factor, rise, ..Self::new(step, classes, places) };
        for (place, cells) in model.cells.chunks_exact_mut(model.width).enumerate() {
            for (class, cell) in cells[..classes].iter_mut().enumerate() {
                let at = class * places + place;
                // SGD has no moments.
                *cell = Cell { weight: weights[at], moment: moments.get(at).copied().unwrap_or(0.0) };
            }
        }
        Ok(model)
    }
}
