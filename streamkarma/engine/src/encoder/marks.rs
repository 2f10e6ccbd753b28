//! Standardising numbers for the learners, and marking those that are not measurements.

use std::ops::Range;

use super::kinds::spell;
use super::{Encoder, Item, New, Unclean};
use crate::cleaning::{FEW, OUT, VOTES, Verdict};
use crate::names::Name;
use crate::scale::{CLIP, FAR, Scale};
use crate::vocabulary::NOBODY;

impl Encoder {
    /// Standardise the event's own numbers.
    pub(super) fn standardise(&mut self, items: Range<usize>, learned: bool) {
        for at in items {
            let distance = self.standardise_item(at, learned);
            if distance > CLIP {
                self.handle_outlier(at, distance, learned);
            }
        }
    }

    /// Standardise numbers carried from its entity. They were checked when they were observed: those that are outliers
    /// by now are left out, and counted nowhere.
    pub(super) fn standardise_carried(&mut self, items: Range<usize>, learned: bool) {
        for at in items {
            if self.standardise_item(at, learned) >= FAR {
                self.drop_item(at);
            }
        }
    }

    /// Standardise a number; returns its distance from the mean, in deviations.
    fn standardise_item(&mut self, at: usize, learned: bool) -> f64 {
        let Item { coordinate, is_number, value, .. } = self.items[at];
        if !is_number {
            return 0.0;
        }
        if self.survey.is_some() {
            _ = learned && self.survey_number(coordinate, value);
            return 0.0;
        }
        let scale = &mut self.scales[coordinate as usize];
        let standardised = match self.frozen {
            true => scale.measure(value),
            false => scale.standardise(value, f64::from(u8::from(learned)), self.longest),
        };
        self.items[at].scaled = standardised.value;
        standardised.distance
    }

    /// Count, mark or take back a value that is far from the others.
    fn handle_outlier(&mut self, at: usize, distance: f64, learned: bool) {
        let Item { attribute, coordinate, value, .. } = self.items[at];
        // A number that was constant so far, such as the year, may move on to a next value, which is no sentinel.
        let scale = &self.scales[coordinate as usize];
        let is_out = distance > OUT && scale.is_beyond_others(value, OUT);
        let verdict = if is_out && self.finds_sentinels(attribute) && !self.frozen {
            // A value that is only predicted does not vote, and is encoded as it will be when it is learned.
            let mut sentinels = self.sentinels[coordinate as usize];
            let verdict = sentinels.vote(value);
            if learned {
                self.sentinels[coordinate as usize] = sentinels;
            }
            verdict
        } else {
            Verdict::Other
        };
        if verdict == Verdict::Found {
            if learned {
                self.found_sentinel(attribute, coordinate, value);
            }
            self.replace_by_mark(at);
        } else if distance >= FAR {
            self.unclean.push((attribute, Unclean::Far));
            self.drop_item(at);
            if verdict == Verdict::Other {
                self.add_mark(attribute, if value > 0.0 { "far_high" } else { "far_low" }, MARK);
            }
        } else {
            self.unclean.push((attribute, Unclean::Clipped));
        }
    }

    /// Whether numbers of an attribute may turn out to be sentinels. The time since the previous event is computed,
    /// not given.
    pub(super) fn finds_sentinels(&self, attribute: u32) -> bool {
        self.rules.finds && !self.is_of_times(attribute)
    }

    fn found_sentinel(&mut self, attribute: u32, coordinate: u32, value: f64) {
        self.has_sentinels = true;
        self.vocabulary.report_sentinel(attribute, value);
        let scale = &mut self.scales[coordinate as usize];
        if scale.count() < FEW * VOTES {
            *scale = Scale::default();
        }
    }

    /// Replace sentinels by marks.
    pub(super) fn take_sentinels_out(&mut self) {
        for at in 0..self.items.len() {
            let Item { coordinate, is_number, value, .. } = self.items[at];
            if is_number && self.sentinels[coordinate as usize].contain(value) {
                self.replace_by_mark(at);
            }
        }
    }

    /// Replace an item whose value turned out to be a sentinel by a mark.
    fn replace_by_mark(&mut self, at: usize) {
        let Item { attribute, value, .. } = self.items[at];
        self.unclean.push((attribute, Unclean::Sentinel));
        self.add_mark(attribute, "sentinel", &spell(value));
        self.drop_item(at);
    }

    /// Treat a value as missing.
    fn drop_item(&mut self, at: usize) {
        self.items[at] = Item { attribute: NOBODY, is_number: false, ..self.items[at] };
    }

    /// Replace given sentinels of new names by marks.
    pub(super) fn take_given_sentinels_out(&mut self) {
        if self.rules.sentinels.is_empty() {
            return;
        }
        let new = std::mem::take(&mut self.new);
        let is_given = |each: &New, this: &Self| {
            each.category.is_none() && this.rules.is_given(this.name_of(&each.name).text(), each.value)
        };
        let (given, kept): (Vec<_>, Vec<_>) = new.into_iter().partition(|each| is_given(each, self));
        self.new = kept;
        for each in given {
            let name = self.name_of(&each.name).text().to_vec();
            self.add_mark_named(&name, "sentinel", &spell(each.value));
        }
    }

    fn add_mark(&mut self, attribute: u32, what: &str, category: &str) {
        let name = self.vocabulary.name(attribute).text().to_vec();
        self.add_mark_named(&name, what, category);
    }

    /// Observe the attribute `NAME.what`, unless the event has one of that name.
    fn add_mark_named(&mut self, name: &[u8], what: &str, category: &str) {
        let name = [name, b".", what.as_bytes()].concat();
        if !self.has(Name::Text(&name)) {
            self.observe(Name::Text(&name), Some(category.as_bytes()), 1.0);
        }
    }

    /// Count what happened to the values of an event that is learned.
    pub(super) fn tally(&mut self) {
        // The tally of the constant counts the events.
        self.tallies[0].values += 1;
        let (now, mut last) = (self.tallies[0].values, 0);
        for item in &self.items {
            // Of several items of one attribute, only the first counts.
            self.tallies[item.attribute as usize].values += u64::from(item.attribute != last);
            last = item.attribute;
            self.uses[item.coordinate as usize].record(now);
        }
        self.tally_rates(now);
        if !self.bags.is_empty() {
            self.tally_bags();
        }
        for &(attribute, what) in &self.unclean {
            let tally = &mut self.tallies[attribute as usize];
            *match what {
                Unclean::Spelled => &mut tally.spelled,
                Unclean::Nothing => &mut tally.nothing,
                Unclean::Sentinel => &mut tally.sentinels,
                Unclean::Far => &mut tally.far,
                Unclean::Clipped => &mut tally.clipped,
                Unclean::Rare => &mut tally.rare,
                Unclean::Present => &mut tally.values,
            } += 1;
        }
    }
}

/// The category of marks that have only one.
pub(super) const MARK: &str = "marked";
