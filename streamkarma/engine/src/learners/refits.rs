//! The latest events, and the schedule for refitting models to them.
//!
//! A fit is due when there are half as many events again, or twice as many if many are kept. When errors begin to grow,
//! see [`Errors`], the events from before the change are dropped, and a fit is due at once. A learner that makes few
//! predictions, for instance because a mixture has no use for it, is fitted less often until it makes more of them.
//!
//! Events are kept with raw values and targets: those of early events were standardised on a scale that has moved
//! since.

use std::cmp::Ordering;
use std::f64::consts::LN_2;

use super::errors::{Errors, ROUNDING};
use super::latest::{Latest, LearnedEvent};
use super::latest_state::Bounds;
use super::moved_codes::{dropped_by, moved_owners, owners_of};
use super::row::Row;
use super::thinning::kept_weight;
use crate::block::Evicted;
use crate::math::exp;
use crate::merging::counted_together;
use crate::scale::LARGEST;
use crate::state::{Refused, State, ensure};
use crate::translation::Translation;

/// Weights of events are capped at this.
const LARGEST_WEIGHT: f64 = 1e6;
/// Minimum weight of kept events, see [`thinning`](crate::learners::thinning). On 800 stays in hospital, in four orders
/// and with events drawn at random, boosted trees alone had a log loss of 0.412 with 0.125, 0.410 with 0.3 and 0.420
/// with 1.
pub const LIGHT: f64 = 0.25;
/// Events until the first fit, and the minimum number between two fits.
pub const FIRST: u64 = 32;
const SHORTEST: u64 = 8;
/// The next fit is due when the number of events has grown by this factor. With 2, boosted trees alone make 1 to 2 %
/// more errors on 54 streams of river's generators and on R's tables; with 1.3, as many.
const GROWTH: f64 = 1.5;
/// The same factor if more than so many events are kept. With 1.5, `auto` makes as many errors on 15 streams of 13,000
/// to 50,000 events, in a fifth more time.
const MANY: usize = 4096;
const GROWTH_OF_MANY: f64 = 2.0;
/// The same factor if fewer than half of the events since the last fit were predicted.
const GROWTH_UNASKED: f64 = 4.0;
/// The longest pause, while at least half of the events are predicted, relative to the maximum number of events kept. An
/// attribute that appears late in a long stream would otherwise wait for as long again as the stream has lasted.
const LONGEST_PAUSE: f64 = 4.0;
/// With forgetting, events older than so many half-lives are dropped.
const HALF_LIVES: f64 = 8.0;
/// Lower bound of the factor that forgetting applies to an event's weight.
const LEAST_KEPT: f64 = 1e-30;
const ERRORS: &str = "fit_errors";
const WHY: &str = "the clock of refits contradicts itself, or does not fit this model";

/// The latest events, and the schedule of the fits to them.
#[derive(Clone, Debug)]
pub struct Refits {
    half_life: f64,
    /// Number of events learned.
    pub steps: u64,
    /// The last event from an old distribution; 0 if there is none.
    pub begun: u64,
    /// The steps of the last fit and of the next one.
    pub fitted: u64,
    pub due: u64,
    /// Approximate number of predictions since the last fit.
    asked: u64,
    /// The current event.
    pub row: Row<f64>,
    pub latest: Latest<f64>,
    errors: Errors,
}

impl Refits {
    /// Number of its own arrays in a state.
    pub const ARRAYS: usize = 2 + Latest::<f64>::ARRAYS;

    /// No data yet. At most `window` events are kept; their weights halve after `half_life` others, 0 for never.
    pub fn new(window: usize, half_life: f64) -> Self {
        let lasting = if half_life > 0.0 { HALF_LIVES * half_life } else { f64::INFINITY };
        Self {
            half_life,
            steps: 0,
            begun: 0,
            fitted: 0,
            due: FIRST,
            asked: 0,
            row: Row::new(),
            latest: Latest::new(window.min(lasting as usize)),
            errors: Errors::new(1),
        }
    }

    /// Keep the current event if its weight is large; of events with small weights only some are kept, with larger
    /// weights. Returns the event's own weight.
    pub fn keep(&mut self, label: f64, weight: f64) -> f64 {
        self.steps += 1;
        let own = weight.min(LARGEST_WEIGHT);
        if let Some(weight) = kept_weight(own, LIGHT, self.steps) {
            self.latest.keep(&self.row, label, weight, self.steps);
        }
        own
    }

    /// Observe the error for the current event, from 0 to 1, and drop the events from before a change.
    pub fn watch(&mut self, error: f64, weight: f64) {
        self.asked += 1;
        let Some(mut newer) = self.errors.observe(error, weight) else { return };
        // Only predicted events are counted in `newer`, so more are dropped than necessary if others were kept.
        let is_newer = |event: &&LearnedEvent<f64>| {
            let left = newer;
            newer -= event.weight.min(1.0);
            left > ROUNDING
        };
        let kept = self.latest.events.iter().rev().take_while(is_newer).count();
        self.latest.drop_oldest(self.latest.events.len() - kept);
        self.begun = self.latest.events.front().map_or(self.steps, |oldest| oldest.step - 1);
        self.due = self.steps;
    }

    /// The current weight of each kept event.
    pub fn weights(&self) -> impl Iterator<Item = f64> {
        // Never 0, since events with almost no weight may be the only ones that are kept.
        let left = |age: u64| exp(-LN_2 * age as f64 / self.half_life).max(LEAST_KEPT);
        let events = self.latest.events.iter();
        events.map(move |event| {
            event.weight * if self.half_life > 0.0 { left(self.steps - event.step) } else { 1.0 }
        })
    }

    /// Whether a fit is due. A learner that was asked little before the last fit, and has been asked more since, does
    /// not wait as long as that fit decided.
    pub fn is_due(&self) -> bool {
        // Before the first fit, and after a change until the next, only `due` counts.
        let is_early =
            || self.fitted > self.begun && self.is_asked() && self.steps >= self.fitted + self.pause(true);
        self.steps >= self.due || is_early()
    }

    /// Record a fit.
    pub fn set_fitted(&mut self) {
        let is_asked = self.is_asked();
        (self.fitted, self.asked) = (self.steps, 0);
        self.due = self.steps + self.pause(is_asked);
    }

    /// Whether at least half of the events since the last fit were predicted.
    fn is_asked(&self) -> bool {
        2 * self.asked >= self.steps - self.fitted
    }

    /// Number of events between the last fit and the next.
    fn pause(&self, is_asked: bool) -> u64 {
        let known = self.fitted.saturating_sub(self.begun);
        let growth = match is_asked {
            false => GROWTH_UNASKED,
            true if self.latest.events.len() > MANY => GROWTH_OF_MANY,
            true => GROWTH,
        };
        let mut pause = (growth - 1.0) * known as f64;
        if is_asked {
            pause = pause.min(LONGEST_PAUSE * self.latest.most as f64);
        }
        if self.half_life > 0.0 {
            pause = pause.min(self.half_life);
        }
        (pause as u64).max(SHORTEST)
    }

    /// Forget everything, and continue as after so many steps.
    pub fn restart(&mut self, steps: u64) {
        let fresh = Self::new(self.latest.most, self.half_life);
        *self = Self { steps, begun: steps, fitted: steps, due: steps + FIRST, ..fresh };
    }

    /// Forget evicted coordinates.
    pub fn forget(&mut self, evicted: &Evicted) {
        self.latest.forget(evicted, self.steps);
        self.row.forget(evicted);
    }

    /// Memory in bytes.
    pub fn bytes(&self) -> usize {
        self.row.bytes() + self.latest.bytes()
    }

    /// Translate to the names of a merged model. Values and targets are raw, independent of the model's units. The
    /// exception is the category rates of a regression, which are in the unit of its targets, and stay in the old one
    /// until their events are no longer kept.
    pub fn translate(&mut self, translation: &Translation) {
        self.forget(&dropped_by(translation));
        self.latest.change(
            |coordinate, value| {
                translation.attribute(self.row.owner(coordinate))?;
                Some((translation.coordinate(coordinate)?, value))
            },
            |label| label,
        );
        let owners = moved_owners(&self.row, translation);
        self.row.restore(owners);
    }

    /// Combine the latest events of models trained separately with those of this one, from which they started.
    ///
    /// Events keep the step in which they were learned, counted back from the end of their part: the latest of each
    /// part are the latest of all, as if the parts had been trained side by side. The base's events are older than all
    /// learned since. Among events of equal age, their content decides which are kept. So neither the order of the
    /// parts nor earlier merges of some of them make a difference. Events of the base that every part has dropped
    /// since, as happens after a change, do not come back. Errors are monitored from scratch, since they were those of
    /// other fits.
    pub fn merge(&mut self, parts: &[&Self]) {
        let steps = counted_together(self.steps, parts.iter().map(|part| part.steps));
        let oldest = parts.iter().filter_map(|part| Some(part.latest.events.front()?.step)).min();
        let mut all: Vec<LearnedEvent<f64>> = self.latest.whole().collect();
        all.retain(|event| oldest.is_some_and(|oldest| event.step >= oldest));
        for part in parts {
            let since = part.latest.whole().filter(|event| event.step > self.steps);
            all.extend(since.map(|event| LearnedEvent { step: steps - (part.steps - event.step), ..event }));
        }
        all.sort_by(|one, other| one.step.cmp(&other.step).then_with(|| by_content(one, other)));
        self.row.restore(owners_of(parts.iter().map(|part| &part.row).chain([&self.row])));
        self.latest.refill(all);
        self.steps = steps;
        self.begun = steps - (self.latest.events.len() as u64).min(steps);
        self.errors = Errors::new(1);
        self.asked = steps;
    }

    /// Write everything into a state.
    pub fn put(&self, state: &mut State) {
        let clock = [self.steps, self.begun, self.fitted, self.due, self.asked];
        state.put_i64s("clock", clock.map(|count| count as i64).to_vec(), &[clock.len()]);
        state.put_i32s("owners", self.row.owners(), &[self.row.coordinates()]);
        self.latest.put(state);
        state.put_part(ERRORS, self.errors.state());
    }

    /// Restore everything from a state, of a model with so many attributes, coordinates and classes, the latter 0 in a
    /// regression; returns the learner's own arrays, including those of [`Self::ARRAYS`].
    ///
    /// # Errors
    ///
    /// If the arrays contradict each other, or refer to names outside of the model.
    pub fn take(
        &mut self,
        state: &State,
        attributes: usize,
        coordinates: usize,
        classes: usize,
    ) -> Result<State, Refused> {
        let mut parts = state.parts();
        let (own, errors) = (parts.remove("").unwrap_or_default(), parts.remove(ERRORS).ok_or(WHY)?);
        ensure(parts.is_empty(), WHY)?;
        self.errors = self.errors.restored(errors)?;
        let (clock, shape) = own.i64s("clock")?;
        ensure(shape == [5] && clock.iter().all(|count| (0..1 << 53).contains(count)), WHY)?;
        let &[steps, begun, fitted, due, asked] = clock else { return Err(WHY.to_owned()) };
        ensure(begun <= steps && fitted <= steps && steps <= due, WHY)?;
        [self.steps, self.begun, self.fitted, self.due, self.asked] =
            [steps, begun, fitted, due, asked].map(|count| count as u64);
        let owners = own.i32s("owners")?.0;
        ensure(owners.len() <= coordinates, WHY)?;
        ensure(owners.iter().all(|&owner| owner >= -1 && i64::from(owner) < attributes as i64), WHY)?;
        self.row.restore(owners.iter().map(|&owner| owner as u32).collect());
        let bounds = Bounds { classes, target: LARGEST, weight: LARGEST_WEIGHT, steps: self.steps };
        self.latest.take(&own, owners, &bounds)?;
        Ok(own)
    }
}

fn by_content(one: &LearnedEvent<f64>, other: &LearnedEvent<f64>) -> Ordering {
    fn bits(event: &LearnedEvent<f64>) -> impl Iterator<Item = u64> {
        event.cells.iter().map(|value| value.to_bits())
    }
    let content = |event: &LearnedEvent<f64>| (event.label, event.weight);
    let ((label, weight), (other_label, other_weight)) = (content(one), content(other));
    label
        .total_cmp(&other_label)
        .then(weight.total_cmp(&other_weight))
        .then_with(|| one.coordinates.cmp(&other.coordinates))
        .then_with(|| bits(one).cmp(bits(other)))
}
