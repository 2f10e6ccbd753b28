//! A window that grows for as long as its older half is useful.
//!
//! On a stationary stream, ten of 8,000 events are nearer than ten of 1,000; on a drifting one, the older events are
//! misleading. So for one in [`COMPARED`] events that the neighbours predict, the prediction of the newer half of the
//! window alone is computed as well. Each time the window has been completely refilled, it doubles if the whole window
//! had smaller errors than that half, and drops its older half if it had larger ones, in both cases by more than
//! chance, see [`DOUBT`].
//!
//! The cost of an event grows with the window. Neighbours that rest in a mixture because they are of little use there
//! predict few events, but they may become useful once there are more of them. They grow less far, see [`RESTING`].

use super::{Neighbors, Settings};
use crate::learner::Lesson;

/// The window grows to at most this multiple of its initial length.
const LONGEST: usize = 16;
/// Maximum number of values of the events beyond the initial length; all of them take part in a distance.
///
/// On 54 streams of river's generators (20,000 events, seed 101), with twice as many values in all, errors were .7 %
/// fewer and `auto` took a quarter longer; with half as many, there were 1.6 % more errors.
const MOST_VALUES: usize = 1 << 16;
/// The divisor of that maximum if the neighbours predict less than half of the events.
const RESTING: usize = 2;
/// One in this many events is predicted by the newer half, too.
const COMPARED: u64 = 4;
/// A sum of differences is significant beyond this many of its standard deviations.
const DOUBT: f64 = 1.0;

/// How much larger the errors of the newer half of the window were than those of the whole.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Halves {
    /// The sum of the differences, and that of their squares.
    pub sum: f64,
    pub squares: f64,
    /// The step of the last comparison.
    pub at: u64,
}

impl Halves {
    fn observe(&mut self, difference: f64) {
        self.sum += difference;
        self.squares += difference * difference;
    }

    /// Halve the weight of earlier comparisons.
    fn faded(self) -> Self {
        Self { sum: 0.5 * self.sum, squares: 0.5 * self.squares, ..self }
    }

    /// Whether the newer half had larger errors or, for the opposite `sign`, smaller ones, by more than chance.
    fn differ(&self, sign: f64) -> bool {
        sign * self.sum > DOUBT * self.squares.sqrt()
    }
}

impl Settings {
    /// The lengths that the window can have.
    pub(super) fn rooms(self) -> impl Iterator<Item = usize> {
        let longest = if self.grows { LONGEST * self.window } else { self.window };
        std::iter::successors(Some(self.window), |room| Some(2 * room))
            .take_while(move |&room| room <= longest)
    }
}

impl Neighbors {
    /// Predict the current event from the newer half of the window, if it is due; `error` is that of the whole window.
    pub(super) fn compare(&mut self, lesson: &Lesson, label: f64, error: f64) {
        let events = self.labels.len();
        // While a window is being filled, its halves are shorter than those to be decided on.
        let is_filled = 4 * events >= 3 * self.room;
        if !self.settings.grows || !is_filled || self.steps < self.halves.at + COMPARED {
            return;
        }
        self.halves.at = self.steps;
        self.nearest.find_newest(events, self.next, events / 2, self.settings.neighbors);
        let mut scores = std::mem::take(&mut self.compared);
        scores.resize(self.classes, 0.0);
        self.write_scores(&mut scores);
        self.loss().loss_and_gradient(&scores, lesson.label, &mut self.slopes);
        let newer = self.error(label, &scores);
        self.compared = scores;
        newer.into_iter().for_each(|newer| self.halves.observe(newer - error));
    }

    /// Adapt the window's length after an event was added, if the window has been refilled.
    pub(super) fn grow(&mut self) {
        if !self.settings.grows {
            return;
        }
        self.since += 1;
        if self.since < self.room || self.labels.len() < self.room {
            return;
        }
        let (asked, columns) = (self.asked.iter().filter(|asked| **asked).count(), self.columns.len());
        let most = if 2 * asked > self.room { MOST_VALUES } else { MOST_VALUES / RESTING };
        let is_longest = self.settings.rooms().last() == Some(self.room);
        let has_room = !is_longest && (2 * self.room - self.settings.window) * columns <= most;
        self.since = 0;
        if has_room && self.halves.differ(1.0) {
            self.resize(2 * self.room);
        } else if self.halves.differ(-1.0) && self.room > self.settings.window {
            self.resize(self.room / 2);
        } else {
            self.halves = self.halves.faded();
        }
    }

    /// Change the length of the window.
    fn resize(&mut self, room: usize) {
        let events = self.labels.len();
        let slots: Vec<usize> = (0..events).map(|age| (self.next + age) % events).collect();
        self.room = room;
        self.retain(&slots[events - events.min(room)..]);
        self.compare_anew();
    }

    /// Keep only the events of some slots, those from after a change, the oldest first.
    pub(super) fn begin_anew(&mut self, slots: &[usize]) {
        while self.room > self.settings.window && self.room / 2 >= slots.len() {
            self.room /= 2;
        }
        self.retain(slots);
        self.compare_anew();
    }

    /// Discard the comparisons, since the window's halves have changed.
    pub(super) fn compare_anew(&mut self) {
        let events = self.labels.len();
        self.since = if events < self.room { events } else { 0 };
        self.halves = Halves { at: self.halves.at, ..Halves::default() };
    }
}
