//! What points in time tell.
//!
//! A text that is a point in time becomes attributes of its own: `NAME.hour`, `NAME.weekday` and
//! `NAME.month`, which are categories; where in the day and the year it is, as sine and cosine; and
//! `NAME.since`, the logarithm of the seconds since the event before. All but the last are by the clock of
//! the zone that the text names.

use super::Encoder;
use crate::math::log1p;
use crate::names::Name;
use crate::times::{Moment, Part};

/// The category of places on a circle.
pub(super) const CIRCLE: &str = "circle";
const SINCE: &[u8] = b".since";

impl Encoder {
    /// Have what the times of the event tell observed, unless the event has something of that name.
    pub(super) fn derive_times(&mut self) {
        let times = std::mem::take(&mut self.times);
        for (name, moment) in &times {
            for (what, part) in moment.parts() {
                let name = [name, &b"."[..], what.as_bytes()].concat();
                if self.has(Name::Text(&name)) {
                    continue;
                }
                // A place on a circle has a scale of its own: it stands where categories do, as it is.
                let (category, value) = match &part {
                    Part::Category(category) => (category.as_str(), 1.0),
                    Part::Circle(place) => (CIRCLE, *place),
                };
                self.observe(Name::Text(&name), Some(category.as_bytes()), value + 0.0);
            }
            self.derive_since(name, *moment);
        }
        self.times = times;
    }

    fn derive_since(&mut self, name: &[u8], moment: Moment) {
        let name = [name, SINCE].concat();
        if self.has(Name::Text(&name)) {
            return;
        }
        let latest = self.vocabulary.find(Name::Text(&name)).map_or(0, |attribute| self.latest(attribute));
        let before = if latest == 0 { milliseconds(moment) } else { latest };
        let seconds = milliseconds(moment).saturating_sub(before) as f64 / 1e3;
        self.observe(Name::Text(&name), None, log1p(seconds));
    }

    fn latest(&self, attribute: u32) -> u64 {
        self.tallies[attribute as usize].latest
    }

    /// Remember the times of an event that is learned, for the `since` of the next one.
    pub(super) fn remember_times(&mut self) {
        for (name, moment) in &self.times {
            if let Some(attribute) = self.vocabulary.find(Name::Text(&[name, SINCE].concat())) {
                let latest = &mut self.tallies[attribute as usize].latest;
                let (is_first, now) = (*latest == 0, milliseconds(*moment));
                *latest = now.max(*latest);
                if is_first && now > 0 && self.rules.kind_of(name).is_none() {
                    self.vocabulary.tell_of_time(name);
                }
            }
        }
    }
}

/// Since 1970; what was before counts as then.
fn milliseconds(moment: Moment) -> u64 {
    (1e3 * moment.seconds.max(0.0)) as u64
}
