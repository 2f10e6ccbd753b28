//! Contributions of attributes to the prediction: those of the inner learner, scaled by the slope of the curve's secant
//! from an inner score of 0. The curve's value there is attributed to the calibration.

use super::TransformedTarget;
use crate::block::Event;
use crate::explaining::Explanation;
use crate::learner::Unit;

/// For inner scores closer to 0 than this, the slope of the curve around 0 is used.
const FLAT: f64 = 1e-3;

impl TransformedTarget {
    pub(super) fn explain_transformed(&mut self, event: Event, into: &mut Explanation) {
        if into.scores[0].is_nan() {
            return;
        }
        let inner = Explanation::of(&mut *self.inner, event, &[], 0, Unit::NONE);
        let (z, score) = (inner.scores[0], |z| self.transform_back(&self.transform.curve, z, into.unit));
        let slope = if z.abs() < FLAT {
            (score(FLAT) - score(-FLAT)) / (2.0 * FLAT)
        } else {
            (into.scores[0] - score(0.0)) / z
        };
        into.add_scaled(&inner, &[slope]);
        into.calibration[0] = into.scores[0] - slope * (z - inner.calibration[0]);
    }
}
