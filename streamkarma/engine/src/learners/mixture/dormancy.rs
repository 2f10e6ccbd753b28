//! Experts that have been of no use for long become dormant: they neither predict nor learn most events.
//!
//! From [`LONG`] events on, one expert may fall asleep after every [`NAP`]: of those that have not been found to
//! reduce the mixture's loss by more than [`IDLE`] of it over some [`WINDOW`] events, the one that reduced it least.
//! It is one at a time, because of two experts that have learned the same, each is of no use beside the other. An
//! expert wakes up when it is found to reduce the loss by [`WAKING`] again. Both must be significant, by [`DOUBT`].
//! All experts wake up when ADWIN detects that the mixture's errors increase, for under a new distribution other
//! experts may be better, and when new attributes appear, see [`Newcomers`]. After that no expert falls asleep for
//! [`LONG`] events.
//!
//! So nothing changes for streams of up to [`LONG`] events, nor for as many events after a change.
//!
//! On 54 streams of 100,000 events from river's generators (complete and with 30 % withheld; if there are two
//! functions, also with a change after 60,000 events; seeds 150 to 166) `auto` makes 0.1 % fewer errors on average
//! than without this, and at most 2 % more; in the 4,000 events that begin with the thousandth after a change, 0.1 %
//! fewer. The log loss is 0.5 % higher.

use super::newcomers::Newcomers;
use super::resting::{Rest, Rester, SEGMENT, rate};
use crate::adwin::Adwin;
use crate::math::exp;

/// Window of the means, in events.
pub const WINDOW: f64 = 16_384.0;
/// No expert falls asleep before this many events, nor within this many events after one woke up.
pub const LONG: f64 = 32_768.0;
/// A dormant expert predicts one in this many events. With one in 8, `lowrank` costs an eighth more time (1,000,000
/// events), and the log loss on the streams above is the same on average; with one in 32 there are 0.1 % more errors.
pub const PERIOD: u64 = 16;
/// Events between one expert falling asleep and the next.
pub const NAP: u64 = 4096;
/// An expert may fall asleep unless it reduces the mixture's loss by more than this fraction.
const IDLE: f64 = 0.002;
/// A dormant expert wakes up if it reduces the loss by this fraction.
const WAKING: f64 = 0.01;
/// A reduction is above a bound if its mean is, by this many standard deviations of the mean.
const DOUBT: f64 = 2.0;
/// The probability, each time, that all experts are woken up by chance.
const DELTA: f64 = 0.002;

/// Statistics of a mixture for deciding which experts sleep.
#[derive(Clone, Debug)]
pub struct Dormancy {
    /// The mean loss of the mixture.
    pub loss: f64,
    /// The amount seen before which no expert falls asleep, see [`Resting::seen`](super::resting::Resting::seen).
    pub earliest: f64,
    /// The errors of the mixture: 1 - exp(-loss).
    pub errors: Adwin,
    /// Errors since the last decision: their number, their sum, and the sum of their squares.
    pub batch: [f64; 3],
    /// Attributes that appeared after experts had fallen asleep.
    pub newcomers: Newcomers,
}

impl Default for Dormancy {
    fn default() -> Self {
        Self {
            loss: 0.0,
            earliest: LONG,
            errors: Adwin::new(DELTA),
            batch: [0.0; 3],
            newcomers: Newcomers::default(),
        }
    }
}

impl Dormancy {
    /// Record a loss of the mixture; `seen` includes its event.
    pub fn observe_loss(&mut self, loss: f64, weight: f64, seen: f64) {
        self.loss += rate(weight, seen, 1, WINDOW) * (loss - self.loss);
        let error = 1.0 - exp(-loss);
        let [count, sum, squares] = &mut self.batch;
        *count += 1.0;
        *sum += error;
        *squares += error * error;
    }

    /// Decide which experts sleep after `events` events, a multiple of the length of a segment, of total weight
    /// `seen`.
    pub fn decide(&mut self, experts: &mut [Rester], events: u64, seen: f64) {
        let surely = |each: &Rester| surely(each, seen);
        let [count, sum, squares] = std::mem::take(&mut self.batch);
        // The window takes batches of one size. After a merge the first may be smaller, as its segment had already
        // begun.
        let is_whole = count as u64 == SEGMENT;
        let change = is_whole.then(|| self.errors.update(SEGMENT, sum, squares)).flatten();
        let is_worse = change.is_some_and(|change| change.after > change.before);
        let is_other = self.newcomers.matter(seen < self.earliest) || is_worse;
        for each in experts.iter_mut().filter(|each| each.rest == Rest::Dormant) {
            if is_other || surely(each) > WAKING * self.loss {
                each.rest = Rest::Awake;
                self.earliest = seen + LONG;
            }
        }
        if is_other {
            self.earliest = seen + LONG;
        }
        if seen >= self.earliest && events.is_multiple_of(NAP) {
            let idle = |each: &&mut Rester| each.rest != Rest::Dormant && surely(each) <= IDLE * self.loss;
            let idle = experts.iter_mut().filter(idle);
            if let Some(next) = idle.min_by(|one, other| one.long_gain.total_cmp(&other.long_gain)) {
                next.rest = Rest::Dormant;
            }
        }
    }
}

/// A lower bound on an expert's loss reduction, by [`DOUBT`].
fn surely(expert: &Rester, seen: f64) -> f64 {
    let period = expert.rest.period() as f64;
    let variance = (expert.long_square - expert.long_gain * expert.long_gain).max(0.0);
    // The variance of an exponential mean is half of that of a plain mean over the same window.
    expert.long_gain - DOUBT * (0.5 * variance * period / WINDOW.min(seen)).sqrt()
}
