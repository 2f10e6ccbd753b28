//! What attributes contribute to what is said of a target: the inner learner's contributions along the secant of the
//! curve from where the inner score is 0. What the curve says there is left to the calibration.

use super::TransformedTarget;
use crate::block::Event;
use crate::explaining::Explanation;
use crate::learner::Unit;

/// Inner scores closer to 0 than this have the slope of the curve around 0.
const FLAT: f64 = 1e-3;

impl TransformedTarget {
    pub(super) fn explain_bent(&mut self, event: Event, into: &mut Explanation) {
        let inner = Explanation::of(&mut *self.inner, event, &[], 0, Unit::NONE);
        let (z, said) = (inner.scores[0], |z| self.unbend(&self.bending.curve, z, into.unit));
        let slope = if z.abs() < FLAT {
            (said(FLAT) - said(-FLAT)) / (2.0 * FLAT)
        } else {
            (into.scores[0] - said(0.0)) / z
        };
        into.add_scaled(&inner, &[slope]);
        into.calibration[0] = into.scores[0] - slope * (z - inner.calibration[0]);
    }
}
