//! Running mean and variance.

/// Running mean and variance of targets, over about as many as are in the window.
#[derive(Clone, Copy, Debug, Default)]
pub struct Moments {
    /// The weight of the targets, or as much of it as is remembered.
    pub count: f64,
    /// Their mean.
    pub mean: f64,
    /// Their variance.
    pub variance: f64,
}

impl Moments {
    /// Take in a target of some weight; so much of it is remembered.
    pub fn observe(&mut self, target: f64, weight: f64, longest: f64) {
        let weight = weight.min(longest);
        self.count = (self.count + weight).min(longest);
        let away = target - self.mean;
        self.mean += weight * away / self.count;
        self.variance += weight * (away * (target - self.mean) - self.variance) / self.count;
        // Where one target is remembered, what is left is rounding.
        self.variance = self.variance.max(0.0);
    }
}
