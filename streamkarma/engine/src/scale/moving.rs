//! Detects whether a number has moved recently, in which case its scale forgets.
//!
//! A scale of all values so far is the best one as long as nothing moves. If the mean keeps moving, the scale lags
//! further and further behind; and since the lag changes, everything learned from standardised values is wrong a while
//! later.
//!
//! So for each value we take its distance a from the mean, and its excess a² - σ² over the variance; both have mean 0
//! as long as nothing moves. Their running means over about the latest w = [`LATEST`] values,
//!
//! ```text
//! m ← m + (a - m) / w,
//! ```
//!
//! then have the variance σ² / (2 w) in the long run, or v / (2 w) where v is that of the excess. All that is known of
//! the excess is that a² lies between 0 and E, the squared edge at which values are clipped, and has mean σ²: v is at
//! most (E - σ²) σ² (Bhatia and Davis). A number *has moved* if one of the squared means is more than [`SURE`] times
//! its variance. A normal mean is that large once in 130,000 values, and then for some w / `SURE` values in a row. It
//! takes a lag of 0.14 deviations, or a deviation that grows by a sixth or shrinks by a quarter.
//!
//! As long as that holds, the scale's values fade by [`FADING`] each time, down to [`SHORTEST`] of them; then their
//! number grows again. After a jump, the scale is a new one within a few hundred values. If the mean keeps moving, the
//! scale stays as far behind as is just not detected, which is a nearly constant distance. A false alarm costs about
//! four tenths of the values. A number that wanders and comes back, as with the seasons, is followed as well.
//!
//! Scales with fewer values than that never fade, since mean and deviation of so few are noise in every event. On
//! streams of rank 5 with drifting means, errors were higher with 500 and with 2,000.

/// The window of the running means, in values.
const LATEST: f64 = 500.0;
/// A number has moved if a squared mean is this many times its variance by chance.
const SURE: f64 = 20.0;
/// The fraction of a scale that fades with each value while its number has moved.
pub(super) const FADING: f64 = 0.02;
/// Minimum number of values that the scale of a moving number keeps.
pub(super) const SHORTEST: f64 = 1000.0;

/// The latest values, relative to all of them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Latest {
    /// Their mean distance from the mean.
    pub lag: f64,
    /// The mean excess of their squared distances over the variance.
    pub excess: f64,
}

impl Latest {
    /// Observe a value at this distance from the mean, for values with this variance; its weight is at most that of one
    /// value.
    pub fn observe(&mut self, away: f64, variance: f64, weight: f64) {
        let rate = weight * (1.0 / LATEST);
        self.lag += (away - self.lag) * rate;
        self.excess += (away * away - variance - self.excess) * rate;
    }

    /// Whether they differ by more than chance; no value lies beyond the edge, which is given squared.
    pub fn have_moved(&self, variance: f64, edge: f64) -> bool {
        let by_chance = variance * (SURE / (2.0 * LATEST));
        self.lag * self.lag > by_chance || self.excess * self.excess > by_chance * (edge - variance)
    }

    /// The farther of two, whatever their order.
    pub fn farther(self, other: Self) -> Self {
        let farther =
            |one: f64, other: f64| match one.abs().total_cmp(&other.abs()).then(one.total_cmp(&other)) {
                std::cmp::Ordering::Less => other,
                _ => one,
            };
        Self { lag: farther(self.lag, other.lag), excess: farther(self.excess, other.excess) }
    }
}
