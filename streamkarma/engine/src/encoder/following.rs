//! The entity and the time of the current event, and the past values of entities.

use super::New;
use crate::entities::{Entities, EntityRules, PastLabel, PastLabels, Remembered};
use crate::json::EXACT;
use crate::kinds::told_moment;
use crate::spelled::{name_of, spelled_number};
use crate::state::{Refused, State, ensure};
use crate::times::seconds_since_1970;

/// The entity of the current event, and the past values of all entities.
#[derive(Clone, Debug)]
pub struct Following {
    /// How entities are identified, and what is carried into their events.
    pub rules: EntityRules,
    /// Maximum length of an entity's name in bytes; a longer name is treated as none.
    pub(super) longest_name: usize,
    /// Their past values.
    pub entities: Entities,
    /// Number of events so far, and the latest time of any.
    clock: u64,
    latest: f64,
    /// Whether events are neither remembered nor have anything carried into them.
    pub(super) pauses: bool,
    /// Whether events that are not learned may come again to be learned.
    pub(super) awaiting: bool,
    /// The entity of the current event, its index if it is known, and the event's time.
    pub(super) entity: Option<Vec<u8>>,
    /// Scratch buffer for the name of the next one.
    pub(super) spare: Vec<u8>,
    pub(super) place: Option<u32>,
    time: Option<f64>,
    /// Whether the entity was given as a float and may be an integer with more digits.
    pub(super) lacks_digits: bool,
    /// Whether the value of the time attribute is not a time.
    pub(super) has_no_time: bool,
    /// The event's own values, and those that have no coordinate yet.
    pub(super) own: Vec<Remembered>,
    pub(super) new: Vec<New>,
    /// The values carried into it, with their ages, and its past labels.
    pub(super) carried: Vec<(Remembered, f64)>,
    pub(super) labels: Option<PastLabels>,
    /// Attributes carried into it whose names are unknown, as numbered in an event that is not learned; ascending.
    pub(super) passing: Vec<u32>,
    /// Whether the current event is the one that was remembered last.
    pub(super) is_remembered: bool,
}

impl Following {
    /// An empty one, for names of entities up to this many bytes.
    pub fn new(rules: EntityRules, longest_name: usize) -> Self {
        let entities = Entities::new(rules.most);
        Self {
            rules,
            longest_name,
            entities,
            clock: 0,
            latest: 0.0,
            pauses: false,
            awaiting: false,
            entity: None,
            spare: Vec::new(),
            place: None,
            time: None,
            lacks_digits: false,
            has_no_time: false,
            own: Vec::new(),
            new: Vec::new(),
            carried: Vec::new(),
            labels: None,
            passing: Vec::new(),
            is_remembered: false,
        }
    }

    /// The past values of entities, and the clock.
    pub fn state(&self) -> State {
        let mut state = self.entities.state();
        let clock = vec![self.clock as f64, self.latest, self.entities.evicted as f64];
        state.put_f64s("entity_clock", clock, &[3]);
        state
    }

    /// Restore a state of a model with this many attributes and coordinates.
    ///
    /// # Errors
    ///
    /// If the state is invalid. This is then unchanged.
    pub fn restore(&mut self, state: &State, attributes: usize, coordinates: usize) -> Result<(), Refused> {
        let wrong = "the clock of the entities is invalid";
        let (&[clock, latest, evicted], _) = state.f64s("entity_clock")? else {
            return Err(wrong.to_owned());
        };
        let is_count = |number: f64| (0.0..MOST_EVENTS).contains(&number) && number.fract() == 0.0;
        ensure(is_count(clock) && is_count(evicted) && latest.is_finite(), wrong)?;
        self.entities.restore(state, attributes, coordinates)?;
        (self.clock, self.latest, self.entities.evicted) = (clock as u64, latest, evicted as u64);
        Ok(())
    }

    /// Merge what is remembered here and in parts that continued from here, each with the mapping of its values.
    pub(super) fn merged(&self, renew: &Renew, parts: &[(&Self, Renew)]) -> Self {
        let since = |part: &Self| part.clock.saturating_sub(self.clock);
        let clock = parts.iter().map(|(part, _)| since(part)).fold(self.clock, u64::saturating_add);
        let mut entities = self.entities.renewed(renew, |time| time);
        let renewed = |(part, renew): &(&Self, Renew)| {
            // Where time is a count of events, what happened so many events ago in a part happened as many ago
            // overall.
            let is_later = |time: f64| self.rules.time.is_none() && time > self.clock as f64;
            let delay = clock.saturating_sub(part.clock) as f64;
            part.entities.renewed(renew, |time| if is_later(time) { time + delay } else { time })
        };
        entities.merge(&parts.iter().map(renewed).collect::<Vec<_>>());
        let latest = parts.iter().map(|(part, _)| part.latest).fold(self.latest, f64::max);
        Self { entities, clock, latest, ..Self::new(self.rules.clone(), self.longest_name) }
    }

    /// Begin an event.
    pub(super) fn begin(&mut self) {
        (self.entity, self.time) = (None, None);
        (self.has_no_time, self.lacks_digits, self.is_remembered) = (false, false, false);
        self.labels = None;
        self.own.clear();
        self.new.clear();
        self.carried.clear();
        self.passing.clear();
    }

    /// The time of the current event.
    pub(super) fn now(&self) -> f64 {
        match self.rules.time {
            Some(_) => self.time.unwrap_or(self.latest),
            None => (self.clock + 1) as f64,
        }
    }

    /// Remember the label of the event that was finished last.
    pub fn add_label(&mut self, label: PastLabel) {
        let time = match self.rules.time {
            Some(_) => self.time.unwrap_or(self.latest),
            None => self.clock as f64,
        };
        if self.is_remembered && self.rules.labels {
            self.entities.add_label(label, time);
        }
    }

    /// Remember a late label of some event of an entity.
    pub fn add_late_label(&mut self, entity: &[u8], label: PastLabel) {
        let time = if self.rules.time.is_some() { self.latest } else { self.clock as f64 };
        if self.rules.labels {
            self.entities.add_label_of(entity, label, time);
        }
    }

    pub(super) fn advance(&mut self, now: f64) {
        self.clock += 1;
        self.latest = self.latest.max(now);
    }

    /// Record a text if it is the event's entity or time; returns whether it is no attribute. It may spell a number
    /// that is a sentinel.
    pub(super) fn take_text(
        &mut self,
        name: &[u8],
        text: &[u8],
        is_sentinel: impl FnOnce(f64) -> bool,
    ) -> bool {
        if *name == *self.rules.entity {
            if spelled_number(text).is_some_and(is_sentinel) {
                self.entity = None;
                return !self.rules.is_attribute;
            }
            // One byte more than allowed marks a name that is too long.
            let mut name = std::mem::take(&mut self.spare);
            name.clear();
            name.extend_from_slice(&text[..text.len().min(self.longest_name + 1)]);
            self.entity = Some(name);
            return !self.rules.is_attribute;
        }
        let is_time = self.rules.time.as_deref() == Some(name);
        if is_time {
            self.time = told_moment(text).map(|moment| moment.seconds);
            self.has_no_time = self.time.is_none();
        }
        is_time
    }

    /// The same for a number, which may be a sentinel.
    pub(super) fn take_number(
        &mut self,
        name: &[u8],
        value: f64,
        is_sentinel: impl FnOnce(f64) -> bool,
    ) -> bool {
        if *name == *self.rules.entity {
            let is_known = !is_sentinel(value);
            self.entity = is_known.then(|| name_of(value).into_bytes());
            self.lacks_digits = is_known && value.abs() >= EXACT as f64;
            return !self.rules.is_attribute;
        }
        let is_time = self.rules.time.as_deref() == Some(name);
        if is_time {
            let is_known = !is_sentinel(value);
            self.time = seconds_since_1970(value).filter(|_| is_known);
            self.has_no_time = is_known && self.time.is_none();
        }
        is_time
    }

    /// The same for an integer whose digits a float cannot all hold.
    pub(super) fn take_integer(
        &mut self,
        name: &[u8],
        digits: &str,
        value: f64,
        is_sentinel: impl FnOnce(f64) -> bool,
    ) -> bool {
        if *name == *self.rules.entity {
            self.take_text(name, digits.as_bytes(), is_sentinel)
        } else {
            self.take_number(name, value, is_sentinel)
        }
    }

    /// The entity of the current event, if it is known, until the event is finished.
    pub fn entity(&self) -> Option<&[u8]> {
        self.entity.as_deref().filter(|name| name.len() <= self.longest_name)
    }
}

/// Maps a remembered value to another model; None if it has no coordinate there.
pub(super) type Renew<'a> = Box<dyn Fn(&Remembered) -> Option<Remembered> + 'a>;

/// Counts are below this, the limit of a number in a file.
const MOST_EVENTS: f64 = 9_007_199_254_740_992.0;
