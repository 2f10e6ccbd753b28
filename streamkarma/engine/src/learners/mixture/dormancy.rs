//! Experts that have been of no use for long lie dormant: they neither say nor learn anything of most events.
//!
//! From [`LONG`] events on, after every [`NAP`], of the experts that have not been seen to spare the mixture more than
//! [`IDLE`] of its loss over some [`WINDOW`] events the one that spared least falls asleep; one at a time, since of two
//! that know the same each is of no use beside the other. Who is seen to spare [`WAKING`] of the loss again wakes up.
//! Both is to be seen beyond chance, by [`DOUBT`]. All wake up where the mixture begins to err more, by ADWIN on its
//! errors, for in a new world others may know more. After that nobody falls asleep for [`LONG`] events.
//!
//! So a stream of up to [`LONG`] events never notices, nor do as many events after a change.
//!
//! On 54 streams of 100,000 events from river's generators (complete and with 30 % withheld; where there are two
//! functions also with a change after 60,000 events; seeds 150 to 166) `auto` makes .1 % fewer errors in the mean than
//! without this, and at most 2 % more; in the 4,000 events from the thousandth after a change on .1 % fewer. The log
//! loss is .5 % higher.

use super::resting::{Rest, Rester, SEGMENT, rate};
use crate::adwin::Adwin;
use crate::math::exp;

/// Means are over about so many events.
pub const WINDOW: f64 = 16_384.0;
/// Nobody falls asleep before so many events, nor until so many after somebody woke up.
pub const LONG: f64 = 32_768.0;
/// Who lies dormant is asked about one event in so many. With one in 8 `lowrank` takes an eighth longer (1,000,000
/// events), and the log loss on the streams above is the same in the mean; with one in 32 there are .1 % more errors.
pub const PERIOD: u64 = 16;
/// Events from one who falls asleep to the next.
pub const NAP: u64 = 4096;
/// An expert may fall asleep unless it spares the mixture more than this part of its loss.
const IDLE: f64 = 0.002;
/// Who sleeps wakes up if it spares this part.
const WAKING: f64 = 0.01;
/// What is spared is above a bound where its mean is, by so many deviations of the mean.
const DOUBT: f64 = 2.0;
/// How likely it is that chance wakes everybody up, each time.
const DELTA: f64 = 0.002;

/// What there is to know of a mixture to decide who sleeps.
#[derive(Clone, Debug)]
pub struct Dormancy {
    /// The mean loss of the mixture.
    pub loss: f64,
    /// Nobody falls asleep before so much was seen, see [`Resting::seen`](super::resting::Resting::seen).
    pub earliest: f64,
    /// The errors of the mixture: 1 - exp(-loss).
    pub errors: Adwin,
    /// Those since the last decision: how many, their sum, and that of their squares.
    pub batch: [f64; 3],
}

impl Default for Dormancy {
    fn default() -> Self {
        Self { loss: 0.0, earliest: LONG, errors: Adwin::new(DELTA), batch: [0.0; 3] }
    }
}

impl Dormancy {
    /// Take note that the mixture lost so much; so much was seen with it.
    pub fn observe_loss(&mut self, loss: f64, weight: f64, seen: f64) {
        self.loss += rate(weight, seen, 1, WINDOW) * (loss - self.loss);
        let error = 1.0 - exp(-loss);
        let [count, sum, squares] = &mut self.batch;
        *count += 1.0;
        *sum += error;
        *squares += error * error;
    }

    /// Decide who sleeps after so many events, a multiple of the length of a segment, in which so much was seen.
    pub fn decide(&mut self, experts: &mut [Rester], events: u64, seen: f64) {
        let surely = |each: &Rester| surely(each, seen);
        let [count, sum, squares] = std::mem::take(&mut self.batch);
        // The window takes batches of one size. After merging the first may be smaller, as its segment had begun.
        let is_whole = count as u64 == SEGMENT;
        let change = is_whole.then(|| self.errors.update(SEGMENT, sum, squares)).flatten();
        let is_worse = change.is_some_and(|change| change.after > change.before);
        for each in experts.iter_mut().filter(|each| each.rest == Rest::Dormant) {
            if is_worse || surely(each) > WAKING * self.loss {
                each.rest = Rest::Awake;
                self.earliest = seen + LONG;
            }
        }
        if is_worse {
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

/// What an expert spares at least, but for [`DOUBT`].
fn surely(expert: &Rester, seen: f64) -> f64 {
    let period = expert.rest.period() as f64;
    let variance = (expert.long_square - expert.long_gain * expert.long_gain).max(0.0);
    // Of an exponential mean, half of what it is of a plain one over as many.
    expert.long_gain - DOUBT * (0.5 * variance * period / WINDOW.min(seen)).sqrt()
}
