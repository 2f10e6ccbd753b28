//! Whose the event in hand is, when it happened, and what entities said before.

use super::New;
use crate::entities::{Entities, PastLabel, PastLabels, Remembered, Rules};
use crate::json::EXACT;
use crate::spelled::{name_of, spelled_number};
use crate::state::{Refused, State, ensure};
use crate::times::moment;

/// Whose the event is that is being read, and what all entities said before.
#[derive(Clone, Debug)]
pub struct Following {
    /// Whose events are whose, and what becomes of it.
    pub rules: Rules,
    /// In bytes; one with a longer name is none.
    pub(super) longest_name: usize,
    /// What they said.
    pub entities: Entities,
    /// Events so far, and the latest time of any.
    clock: u64,
    latest: f64,
    /// Whether what comes is not remembered, nor has it anything carried.
    pub(super) pauses: bool,
    /// Whether events that are not learned may come again to be learned.
    pub(super) asks: bool,
    /// Of the event in hand: its entity, where that is if it is known, and its time.
    pub(super) entity: Option<Vec<u8>>,
    /// Room for the name of the next one.
    pub(super) spare: Vec<u8>,
    pub(super) place: Option<u32>,
    time: Option<f64>,
    /// Whether the entity was given as a float, and may be an integer of more digits.
    pub(super) lacks_digits: bool,
    /// Whether what should be a time is none.
    pub(super) has_no_time: bool,
    /// What it says itself, and, of that, what has no place yet.
    pub(super) own: Vec<Remembered>,
    pub(super) new: Vec<New>,
    /// What was carried into it, with its age, and what of its labels.
    pub(super) carried: Vec<(Remembered, f64)>,
    pub(super) labels: Option<PastLabels>,
    /// Whether it is the one that was remembered last.
    pub(super) is_remembered: bool,
}

impl Following {
    /// Nothing so far, and names of entities up to so many bytes.
    pub fn new(rules: Rules, longest_name: usize) -> Self {
        let entities = Entities::new(rules.most);
        Self {
            rules,
            longest_name,
            entities,
            clock: 0,
            latest: 0.0,
            pauses: false,
            asks: false,
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
            is_remembered: false,
        }
    }

    /// What entities said, and the clock.
    pub fn state(&self) -> State {
        let mut state = self.entities.state();
        let clock = vec![self.clock as f64, self.latest, self.entities.evicted as f64];
        state.put_f64s("entity_clock", clock, &[3]);
        state
    }

    /// Take over a state, of a model with so many attributes and coordinates.
    ///
    /// # Errors
    ///
    /// If its parts make no sense. What is known is then as it was.
    pub fn restore(&mut self, state: &State, attributes: usize, coordinates: usize) -> Result<(), Refused> {
        let wrong = "the clock of the entities makes no sense";
        let (&[clock, latest, evicted], _) = state.f64s("entity_clock")? else {
            return Err(wrong.to_owned());
        };
        let is_count = |number: f64| (0.0..MOST_EVENTS).contains(&number) && number.fract() == 0.0;
        ensure(is_count(clock) && is_count(evicted) && latest.is_finite(), wrong)?;
        self.entities.restore(state, attributes, coordinates)?;
        (self.clock, self.latest, self.entities.evicted) = (clock as u64, latest, evicted as u64);
        Ok(())
    }

    /// What is remembered here and in parts that went on from here; with each comes what becomes of its values.
    pub(super) fn merged(&self, renew: &Renew, parts: &[(&Self, Renew)]) -> Self {
        let since = |part: &Self| part.clock.saturating_sub(self.clock);
        let clock = parts.iter().map(|(part, _)| since(part)).fold(self.clock, u64::saturating_add);
        let mut entities = self.entities.renewed(renew, |time| time);
        let renewed = |(part, renew): &(&Self, Renew)| {
            // Where events are counted, what came so many events ago in a part came so many ago in all.
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
    }

    /// When the event in hand happened.
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

    /// Remember a label that came late, of some event of an entity.
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

    /// Take note of a text if it says whose the event is, or when it happened; whether it is no attribute. It
    /// may spell a number that stands for nothing.
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
            // One byte more than there may be says that it is too long.
            let mut name = std::mem::take(&mut self.spare);
            name.clear();
            name.extend_from_slice(&text[..text.len().min(self.longest_name + 1)]);
            self.entity = Some(name);
            return !self.rules.is_attribute;
        }
        let is_time = self.rules.time.as_deref() == Some(name);
        if is_time {
            self.time = moment(text).map(|moment| moment.seconds).or_else(|| spelled_number(text));
            self.has_no_time = self.time.is_none();
        }
        is_time
    }

    /// The same of a number, which may stand for nothing.
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
            self.time = (!is_sentinel(value)).then_some(value);
        }
        is_time
    }

    /// The same of an integer of which a float has not all digits.
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

    /// Whose the event in hand is, if that is known, until it is finished.
    pub fn entity(&self) -> Option<&[u8]> {
        self.entity.as_deref().filter(|name| name.len() <= self.longest_name)
    }
}

/// What a remembered value is in another model; None if it has no place there.
pub(super) type Renew<'a> = Box<dyn Fn(&Remembered) -> Option<Remembered> + 'a>;

/// Counts are below this: a number in a file holds no more.
const MOST_EVENTS: f64 = 9_007_199_254_740_992.0;
