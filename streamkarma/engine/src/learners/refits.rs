//! The latest events, and when what is fitted to them is fitted again.
//!
//! Fits are due when there are half as many events again. Where the errors begin to grow, see [`Errors`], what is from
//! before the change is dropped, and a fit is due at once. A learner that is hardly asked, as where a mixture has no use
//! for it, is fitted less often.
//!
//! Events are kept with values and targets as they came: those of early events were standardised on a scale that has moved
//! since.

use std::cmp::Ordering;
use std::f64::consts::LN_2;

use super::errors::{Errors, ROUNDING};
use super::latest::{Kept, Latest};
use super::latest_state::Bounds;
use super::moved_codes::{dropped_by, moved_owners, owners_of};
use super::row::Row;
use super::thinning::kept_weight;
use crate::block::Gone;
use crate::change::Change;
use crate::math::exp;
use crate::merging::counted_together;
use crate::scale::LARGEST;
use crate::state::{Refused, State, ensure};

/// Lessons count no more than this.
const LARGEST_WEIGHT: f64 = 1e6;
/// Events that are kept have at least this weight, see [`thinning`](crate::learners::thinning). On 800 stays in hospital, in
/// four orders and with events drawn at random, boosted trees alone had a log loss of .412 with .125, .410 with .3 and .420
/// with 1.
pub const LIGHT: f64 = 0.25;
/// Events until the first fit, and at least from one to the next.
pub const FIRST: u64 = 32;
const SHORTEST: u64 = 8;
/// The next fit is due when there are so many times as many events. With 2, boosted trees alone make 1 to 2 % more errors
/// on 54 streams of river's generators and on R's tables, with 1.3 as many.
const GROWTH: f64 = 1.5;
/// And when there are so many times as many, if it was asked about fewer than half of the events since the last.
const GROWTH_UNASKED: f64 = 4.0;
/// Where there is forgetting, events older than so many half-lives are dropped.
const HALF_LIVES: f64 = 8.0;
/// What is left of an event after forgetting is at least this part.
const LEAST_KEPT: f64 = 1e-30;
const ERRORS: &str = "fit_errors";
const WHY: &str = "the clock of refits contradicts itself, or does not fit this model";

/// The latest events, and the clock of the fits to them.
#[derive(Clone, Debug)]
pub struct Refits {
    half_life: f64,
    /// Events learned.
    pub steps: u64,
    /// The last event of an older world; 0 if there is none.
    pub begun: u64,
    /// When it was fitted, and when it will be next.
    pub fitted: u64,
    pub due: u64,
    /// About how many events since the last fit it was asked.
    asked: u64,
    /// The event in hand.
    pub row: Row<f64>,
    pub latest: Latest<f64>,
    errors: Errors,
}

impl Refits {
    /// Arrays of a state of its own.
    pub const ARRAYS: usize = 2 + Latest::<f64>::ARRAYS;

    /// Nothing is known; so many events are to be kept, and count half after `half_life` others, 0 for never.
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

    /// Keep the event in hand, if it counts much; of those that count little some, which count more. Returns how much it
    /// counts.
    pub fn keep(&mut self, label: f64, weight: f64) -> f64 {
        self.steps += 1;
        let own = weight.min(LARGEST_WEIGHT);
        if let Some(weight) = kept_weight(own, LIGHT, self.steps) {
            self.latest.keep(&self.row, label, weight, self.steps);
        }
        own
    }

    /// Take in the error about the event in hand, from 0 to 1, and drop what is from before a change.
    pub fn watch(&mut self, error: f64, weight: f64) {
        self.asked += 1;
        let Some(mut newer) = self.errors.observe(error, weight) else { return };
        // Of events that it was not asked about more are dropped than need be.
        let is_newer = |event: &&Kept<f64>| {
            let left = newer;
            newer -= event.weight.min(1.0);
            left > ROUNDING
        };
        let kept = self.latest.events.iter().rev().take_while(is_newer).count();
        self.latest.events.drain(..self.latest.events.len() - kept);
        self.begun = self.latest.events.front().map_or(self.steps, |oldest| oldest.step - 1);
        self.due = self.steps;
    }

    /// How much each event that is kept counts by now.
    pub fn weights(&self) -> impl Iterator<Item = f64> {
        // Never 0, since events of next to no weight may be the only ones that are kept.
        let left = |age: u64| exp(-LN_2 * age as f64 / self.half_life).max(LEAST_KEPT);
        let events = self.latest.events.iter();
        events.map(move |event| {
            event.weight * if self.half_life > 0.0 { left(self.steps - event.step) } else { 1.0 }
        })
    }

    /// Whether a fit is due.
    pub fn is_due(&self) -> bool {
        self.steps >= self.due
    }

    /// Take note of a fit.
    pub fn set_fitted(&mut self) {
        let is_asked = 2 * self.asked >= self.steps - self.fitted;
        let growth = if is_asked { GROWTH } else { GROWTH_UNASKED };
        let mut pause = (growth - 1.0) * (self.steps - self.begun) as f64;
        if self.half_life > 0.0 {
            pause = pause.min(self.half_life);
        }
        (self.fitted, self.asked) = (self.steps, 0);
        self.due = self.steps + (pause as u64).max(SHORTEST);
    }

    /// Forget everything, and go on as after so many steps.
    pub fn restart(&mut self, steps: u64) {
        let fresh = Self::new(self.latest.most, self.half_life);
        *self = Self { steps, begun: steps, fitted: steps, due: steps + FIRST, ..fresh };
    }

    /// Forget coordinates that were given up.
    pub fn forget(&mut self, gone: &Gone) {
        self.latest.forget(gone, self.steps);
        self.row.forget(gone);
    }

    /// Bytes of all there is.
    pub fn bytes(&self) -> usize {
        self.row.bytes() + self.latest.bytes()
    }

    /// Go over to the names of a merged model. Values and targets are as they came, and in no unit of the model's; only
    /// what labels say of categories is, in a regression, in the unit of its targets, and keeps that until the events are no
    /// longer kept.
    pub fn carry(&mut self, change: &Change) {
        self.forget(&dropped_by(change));
        self.latest.change(
            |coordinate, value| {
                change.attribute(self.row.owner(coordinate))?;
                Some((change.coordinate(coordinate)?, value))
            },
            |label| label,
        );
        let owners = moved_owners(&self.row, change);
        self.row.restore(owners);
    }

    /// Have the latest events of models that learned apart, beside those of this one, which they began from.
    ///
    /// Events keep the step in which they were learned, counted back from where their part ended: the latest of each part
    /// are the latest of all, as if the parts had learned side by side. The base's are older than what came since. Of equally
    /// old events their content decides which has room. So neither the order of the parts shows, nor whether some were
    /// merged before. Of what the base had, the events that every part has dropped since, as they do after a change, do not
    /// come back. Errors are watched anew: they were of other fits.
    pub fn merge(&mut self, parts: &[&Self]) {
        let steps = counted_together(self.steps, parts.iter().map(|part| part.steps));
        let oldest = parts.iter().filter_map(|part| Some(part.latest.events.front()?.step)).min();
        let mut all: Vec<Kept<f64>> = self.latest.whole().collect();
        all.retain(|event| oldest.is_some_and(|oldest| event.step >= oldest));
        for part in parts {
            let since = part.latest.whole().filter(|event| event.step > self.steps);
            all.extend(since.map(|event| Kept { step: steps - (part.steps - event.step), ..event }));
        }
        all.sort_by(|one, other| one.step.cmp(&other.step).then_with(|| by_content(one, other)));
        all.drain(..all.len().saturating_sub(self.latest.most));
        self.row.restore(owners_of(parts.iter().map(|part| &part.row).chain([&self.row])));
        self.latest.refill(all);
        self.steps = steps;
        self.begun = steps - (self.latest.events.len() as u64).min(steps);
        self.errors = Errors::new(1);
        self.asked = steps;
    }

    /// Put everything into a state.
    pub fn put(&self, state: &mut State) {
        let clock = [self.steps, self.begun, self.fitted, self.due, self.asked];
        state.put_i64s("clock", clock.map(|count| count as i64).to_vec(), &[clock.len()]);
        state.put_i32s("owners", self.row.owners(), &[self.row.coordinates()]);
        self.latest.put(state);
        state.put_part(ERRORS, self.errors.state());
    }

    /// Take all out of a state, of a model with so many attributes, coordinates and classes, these 0 in a regression;
    /// returns the learner's own arrays, with those of [`Self::ARRAYS`].
    ///
    /// # Errors
    ///
    /// If the arrays contradict each other, or point outside of the model.
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
        ensure(begun <= steps && fitted <= steps && steps < due, WHY)?;
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

fn by_content(one: &Kept<f64>, other: &Kept<f64>) -> Ordering {
    fn bits(event: &Kept<f64>) -> impl Iterator<Item = u64> {
        event.cells.iter().map(|value| value.to_bits())
    }
    let content = |event: &Kept<f64>| (event.label, event.weight);
    let ((label, weight), (other_label, other_weight)) = (content(one), content(other));
    label
        .total_cmp(&other_label)
        .then(weight.total_cmp(&other_weight))
        .then_with(|| one.coordinates.cmp(&other.coordinates))
        .then_with(|| bits(one).cmp(bits(other)))
}
