//! Running mean and variance.

/// Running mean and variance of targets, over about as many events as the window holds.
#[derive(Clone, Copy, Debug, Default)]
pub struct Moments {
    /// The weight of the targets, as far as it is remembered.
    pub count: f64,
    /// Their mean.
    pub mean: f64,
    /// Their variance.
    pub variance: f64,
}

impl Moments {
    /// Update with a target of some weight; at most a weight of `longest` is remembered.
    pub fn observe(&mut self, target: f64, weight: f64, longest: f64) {
        let weight = weight.min(longest);
        self.count = (self.count + weight).min(longest);
        let away = target - self.mean;
        self.mean += weight * away / self.count;
        self.variance += weight * (away * (target - self.mean) - self.variance) / self.count;
        // If only one target is remembered, the rest is rounding error.
        self.variance = self.variance.max(0.0);
    }
}
