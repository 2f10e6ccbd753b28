//! Running mean and variance.

/// Running mean and variance of targets, over about as many as are in the window.
#[derive(Clone, Copy, Debug, Default)]
pub struct Moments {
    /// How many targets, or as many as are remembered.
    pub count: f64,
    /// Their mean.
    pub mean: f64,
    /// Their variance.
    pub variance: f64,
}

impl Moments {
    /// Take in a target; so many are remembered.
    pub fn observe(&mut self, target: f64, longest: f64) {
        self.count = (self.count + 1.0).min(longest);
        let away = target - self.mean;
        self.mean += away / self.count;
        self.variance += (away * (target - self.mean) - self.variance) / self.count;
        // Where one target is remembered, what is left is rounding.
        self.variance = self.variance.max(0.0);
    }
}
