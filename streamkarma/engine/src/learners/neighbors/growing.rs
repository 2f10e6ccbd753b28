//! A window that grows for as long as its older half is of use.
//!
//! On a stream that stays as it is, ten of 8,000 events lie nearer than ten of 1,000; on one that drifts, the older
//! events are wrong. So of one in [`COMPARED`] events that the neighbours are asked about it is also found what the
//! newer half of the window would have said alone. Each time that the window has been filled anew, it doubles if the
//! whole of it erred less than that half, and drops its older half if it erred more, in both cases by more than
//! chance, see [`DOUBT`].
//!
//! The time that an event takes grows with the window. Neighbours that rest in a mixture, since they are of little use
//! there, are asked about few events, but they may be of use once they are more. They grow less far, see [`RESTING`].

use super::{Neighbors, Settings};
use crate::learner::Lesson;

/// The window becomes so many times as long as it is at first, at most.
const LONGEST: usize = 16;
/// The events that there are more than at first have so many values at most, which all take part in a distance.
///
/// On 54 streams of river's generators (20,000 events, seed 101) with twice as many values in all errors were .7 % fewer
/// and `auto` took a quarter longer; with half as many there were 1.6 % more.
const MOST_VALUES: usize = 1 << 16;
/// And so many times fewer where the neighbours are asked about less than half of the events.
const RESTING: usize = 2;
/// One in so many events is predicted by the newer half, too.
const COMPARED: u64 = 4;
/// A sum of differences is more than chance beyond so many of its standard deviations.
const DOUBT: f64 = 1.0;

/// How much more the newer half of the window erred than the whole.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Halves {
    /// The sum of the differences, and that of their squares.
    pub sum: f64,
    pub squares: f64,
    /// The step of the last one.
    pub at: u64,
}

impl Halves {
    fn observe(&mut self, difference: f64) {
        self.sum += difference;
        self.squares += difference * difference;
    }

    /// What was seen before counts half.
    fn faded(self) -> Self {
        Self { sum: 0.5 * self.sum, squares: 0.5 * self.squares, ..self }
    }

    /// Whether the newer half erred more, or, of the opposite `sign`, less, by more than chance.
    fn differ(&self, sign: f64) -> bool {
        sign * self.sum > DOUBT * self.squares.sqrt()
    }
}

impl Settings {
    /// How many events there may be, at one time or another.
    pub(super) fn rooms(self) -> impl Iterator<Item = usize> {
        let longest = if self.grows { LONGEST * self.window } else { self.window };
        std::iter::successors(Some(self.window), |room| Some(2 * room))
            .take_while(move |&room| room <= longest)
    }
}

impl Neighbors {
    /// Find what the newer half of the window would have said of the event in hand, if it is its turn; `error` is that
    /// of the whole.
    pub(super) fn compare(&mut self, lesson: &Lesson, label: f64, error: f64) {
        let events = self.labels.len();
        // Of a window that is being filled the halves are shorter than those that are decided on.
        let is_filled = 4 * events >= 3 * self.room;
        if !self.settings.grows || !is_filled || self.steps < self.halves.at + COMPARED {
            return;
        }
        self.halves.at = self.steps;
        self.nearest.find_newest(events, self.next, events / 2, self.settings.neighbors);
        let mut scores = std::mem::take(&mut self.compared);
        scores.resize(self.classes, 0.0);
        self.say(&mut scores);
        self.loss().judge(&scores, lesson.label, &mut self.slopes);
        let newer = self.error(label, &scores);
        self.compared = scores;
        newer.into_iter().for_each(|newer| self.halves.observe(newer - error));
    }

    /// An event was put into the window: see to its length, if it has been filled anew.
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

    /// Go on with a window of another length.
    fn resize(&mut self, room: usize) {
        let events = self.labels.len();
        let slots: Vec<usize> = (0..events).map(|age| (self.next + age) % events).collect();
        self.room = room;
        self.retain(&slots[events - events.min(room)..]);
        self.compare_anew();
    }

    /// Go on with the events of some slots, those from after a change, the oldest first.
    pub(super) fn begin_anew(&mut self, slots: &[usize]) {
        while self.room > self.settings.window && self.room / 2 >= slots.len() {
            self.room /= 2;
        }
        self.retain(slots);
        self.compare_anew();
    }

    /// Nothing is known of the halves of a window that is another now.
    pub(super) fn compare_anew(&mut self) {
        let events = self.labels.len();
        self.since = if events < self.room { events } else { 0 };
        self.halves = Halves { at: self.halves.at, ..Halves::default() };
    }
}
