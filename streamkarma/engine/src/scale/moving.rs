//! Whether a number has moved of late: what its scale forgets by.
//!
//! A scale of all values so far is the best one as long as nothing moves. Where the mean moves on, it lags ever
//! farther behind; and since the lag changes, all that is learned of standardised values is wrong a while later.
//!
//! So for each value its distance a from the mean is taken, and its excess a² - σ² over the variance; both have
//! mean 0 as long as nothing moves. Their running means over the latest w = [`LATEST`] values or so,
//!
//! ```text
//! m ← m + (a - m) / w,
//! ```
//!
//! have then the variance σ² / (2 w) in the long run, or v / (2 w) where v is that of the excess. Of the excess more
//! is not known than that a² lies between 0 and E, the squared edge at which values are cut, and has the mean σ²:
//! v is at most (E - σ²) σ² (Bhatia and Davis). A number *has moved* where one of the squared means is more than
//! [`SURE`] times its variance. A normal mean is so large once in 130,000 values, and then for some w / `SURE`
//! values at a time. It takes a lag of 0.14 deviations, or a deviation that grows by a sixth or shrinks by a quarter.
//!
//! For as long as that holds, the scale's values fade by [`FADING`] each time, down to [`SHORTEST`] of them; then
//! their number grows again. After a jump, the scale is a new one within some hundred values. Of a mean that keeps
//! moving it remains as far behind as is just not noticed, which is about the same distance all the time. A false
//! alarm costs some four tenths of the values. A number that wanders and comes back, as with the seasons, is followed as well.
//!
//! Fewer values than that never fade, since mean and deviation of so few are noise in every event. On streams of rank 5
//! whose means drift, errors were more with 500 and with 2,000.

/// The window of the running means, in values.
const LATEST: f64 = 500.0;
/// A squared mean is so many times what chance makes of it where a number has moved.
const SURE: f64 = 20.0;
/// How much of a scale fades with each value while it has moved.
pub(super) const FADING: f64 = 0.02;
/// So many values of a number that moves still count.
pub(super) const SHORTEST: f64 = 1000.0;

/// Where the latest values lie beside all of them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Latest {
    /// Their mean distance from the mean.
    pub lag: f64,
    /// By how much their squared distances exceed the variance in the mean.
    pub excess: f64,
}

impl Latest {
    /// Take in a value that was so far away from the mean, of values with such a variance; it counts at most once.
    pub fn observe(&mut self, away: f64, variance: f64, weight: f64) {
        let rate = weight * (1.0 / LATEST);
        self.lag += (away - self.lag) * rate;
        self.excess += (away * away - variance - self.excess) * rate;
    }

    /// Whether they are others than chance would make them; none lies beyond an edge, here squared.
    pub fn have_moved(&self, variance: f64, edge: f64) -> bool {
        let by_chance = variance * (SURE / (2.0 * LATEST));
        self.lag * self.lag > by_chance || self.excess * self.excess > by_chance * (edge - variance)
    }

    /// The same of values that are so many times as large.
    pub fn times(self, factor: f64) -> Self {
        Self { lag: self.lag * factor, excess: self.excess * factor * factor }
    }

    /// The farther of two, in any order.
    pub fn farther(self, other: Self) -> Self {
        let farther =
            |one: f64, other: f64| match one.abs().total_cmp(&other.abs()).then(one.total_cmp(&other)) {
                std::cmp::Ordering::Less => other,
                _ => one,
            };
        Self { lag: farther(self.lag, other.lag), excess: farther(self.excess, other.excess) }
    }
}
