//! The single entry point: names and values of an event become what the learners see.
//!
//! A reader calls [`Encoder::begin`], then [`Encoder::number`], [`Encoder::text`] or [`Encoder::missing`] for
//! everything in the event, and [`Encoder::finish`]. Nothing leaves a trace before that, so a reader that finds a fault
//! in an event drops it by beginning another.
//!
//! Names that are new in the same event are numbered in the order of their text, and items are sorted by attribute, so
//! that the order of an event's keys has no effect.

mod bags;
mod carry;
mod following;
mod freezing;
mod kinds;
mod levels;
mod marks;
mod merging;
mod new;
mod rare;
mod rates;
mod room;
mod state;
mod survey;
mod time;
mod values;

pub use carry::Carried;
pub use following::Following;
pub use levels::Levels;
pub use rare::{RARE, SeenOnce};
pub use room::Use;
pub use state::{Counts, WIDTH};

use std::ops::Range;

use bags::Bag;
use rates::{Key, RatePlaces};
use survey::Survey;

use crate::ascending::Ascending;
use crate::block::Evicted;
use crate::cleaning::{CleaningRules, Sentinels, Tally};
use crate::encoded::Encoded;
use crate::math::within;
use crate::names::Foreign;
use crate::scale::{LARGEST, Scale};
use crate::vocabulary::{Bounds, NOBODY, PASSING, Vocabulary};

/// Vocabulary, running scales, and the event being read.
#[derive(Clone, Debug)]
pub struct Encoder {
    vocabulary: Vocabulary,
    scales: Vec<Scale>,
    scale: bool,
    longest: f64,
    rules: CleaningRules,
    /// By coordinate, and whether there are any.
    sentinels: Vec<Sentinels>,
    has_sentinels: bool,
    /// By coordinate.
    levels: Vec<Levels>,
    /// By attribute.
    tallies: Vec<Tally>,
    /// Whether any attribute has had prose.
    has_prose: bool,
    once: SeenOnce,
    /// The number of coordinates for the rates of an attribute, and by attribute, which ones.
    rates: usize,
    /// Whether events have terms.
    terms: bool,
    rated: Vec<RatePlaces>,
    /// Attributes of the event whose numbers recur and have no rates yet.
    unrated: Vec<u32>,
    /// By coordinate.
    uses: Vec<Use>,
    /// The number of coordinates evicted so far.
    evicted: u64,
    /// Earlier values of entities, if these are followed.
    following: Option<Box<Following>>,
    /// Whether names and statistics are frozen.
    frozen: bool,
    /// The results of a survey, if events are only surveyed.
    survey: Option<Box<Survey>>,
    // The event being read: items that have a coordinate, and new ones.
    items: Vec<Item>,
    sorted: Vec<Item>,
    ascending: Ascending,
    new: Vec<New>,
    /// Names and categories of new items.
    bytes: Vec<u8>,
    foreign: Vec<Foreign>,
    /// The number of the event, and the last event in which each attribute was present.
    event: u64,
    seen: Vec<u64>,
    /// An attribute that was present twice.
    repeated: Option<u32>,
    /// Whether a name was given as a float, but may be an integer with more digits.
    lacks_digits: bool,
    /// Values that were not plain ones, by attribute.
    unclean: Vec<(u32, Unclean)>,
    /// Keys of categories and numbers whose attribute has rates.
    keys: Vec<Key>,
    /// Words, tags and the parts of points in time.
    bags: Vec<Bag>,
    /// Whether an attribute may have several items.
    has_several: bool,
    /// What was evicted for the event.
    latest_evicted: Evicted,
}

/// What is counted about a value besides its presence.
#[derive(Clone, Copy, Debug)]
enum Unclean {
    Spelled,
    Nothing,
    Sentinel,
    Far,
    Clipped,
    Rare,
    /// A value of an identifier that is left out.
    Present,
}

/// Something observed at a coordinate.
#[derive(Clone, Copy, Debug)]
struct Item {
    attribute: u32,
    coordinate: u32,
    is_number: bool,
    value: f64,
    /// The value that the learners see.
    scaled: f64,
}

/// An item without a coordinate so far; its value is NaN if it is missing.
#[derive(Clone, Debug)]
struct New {
    name: NewName,
    category: Option<Range<usize>>,
    value: f64,
}

#[derive(Clone, Debug)]
enum NewName {
    Known(u32),
    Text(Range<usize>),
    Foreign(usize),
}

impl Encoder {
    /// An empty encoder; `longest` is the number of values of an attribute that its running scale covers, if `scale`
    /// enables standardisation at all.
    pub fn new(bounds: Bounds, scale: bool, longest: f64) -> Self {
        Self {
            vocabulary: Vocabulary::new(bounds),
            scales: vec![Scale::default()],
            scale,
            longest,
            rules: CleaningRules::default(),
            sentinels: vec![Sentinels::default()],
            has_sentinels: false,
            levels: vec![Levels::default()],
            tallies: vec![Tally::default()],
            has_prose: false,
            once: SeenOnce::default(),
            rates: 0,
            terms: false,
            rated: vec![RatePlaces::default()],
            unrated: Vec::new(),
            items: Vec::new(),
            sorted: Vec::new(),
            ascending: Ascending::default(),
            new: Vec::new(),
            bytes: Vec::new(),
            foreign: Vec::new(),
            event: 0,
            seen: vec![0],
            repeated: None,
            lacks_digits: false,
            unclean: Vec::new(),
            keys: Vec::new(),
            bags: Vec::new(),
            has_several: false,
            uses: vec![Use::default()],
            evicted: 0,
            following: None,
            frozen: false,
            survey: None,
            latest_evicted: Evicted::default(),
        }
    }

    /// The same with other rules for what is not a measurement.
    pub fn with_rules(self, rules: CleaningRules) -> Self {
        Self { rules, ..self }
    }

    /// The rules for what is not a measurement.
    pub fn rules(&self) -> &CleaningRules {
        &self.rules
    }

    /// Names and categories so far.
    pub fn vocabulary(&self) -> &Vocabulary {
        &self.vocabulary
    }

    /// Whether numbers are standardised, and how many values of an attribute the scale covers.
    pub fn scaling(&self) -> (bool, f64) {
        (self.scale, self.longest)
    }

    /// The vocabulary, to count what is ignored elsewhere, and to fetch its notices.
    pub fn vocabulary_mut(&mut self) -> &mut Vocabulary {
        &mut self.vocabulary
    }

    /// Begin an event; an unfinished one is dropped.
    pub fn begin(&mut self) {
        self.items.clear();
        self.new.clear();
        self.bytes.clear();
        self.foreign.clear();
        self.unclean.clear();
        self.keys.clear();
        self.unrated.clear();
        self.bags.clear();
        self.has_several = false;
        if let Some(following) = &mut self.following {
            following.begin();
        }
        self.event += 1;
        self.repeated = None;
        self.lacks_digits = false;
    }

    /// Encode the event. New names and categories get an index if the event is learned; otherwise it leaves no trace but
    /// its time.
    pub fn finish(&mut self, learned: bool, out: &mut Encoded) {
        let (wants_learning, learned) = (learned, learned && !self.frozen);
        let read = (self.items.len(), self.new.len());
        if self.has_sentinels {
            self.take_sentinels_out();
        }
        if self.scale {
            self.standardise(0..read.0, learned);
        }
        if self.following.is_some() {
            // Values that count as missing are filled in like any other missing one, and are not remembered.
            let known = self.items.len();
            self.carry(read);
            if self.scale {
                self.standardise_carried(known..self.items.len(), learned);
            }
        }
        if !self.new.is_empty() {
            self.take_given_sentinels_out();
            self.take_rare_out(learned);
        }
        if !self.bags.is_empty() {
            self.open_bags(learned);
        }
        self.add_levels(learned);
        if !self.new.is_empty() {
            self.sort_new();
            let new = std::mem::take(&mut self.new);
            match (learned, self.frozen) {
                (true, _) => self.enter(&new),
                (false, true) => self.leave_out(&new, wants_learning),
                (false, false) => self.pass(&new),
            }
            self.new = new;
        }
        if self.following.is_some() {
            self.remember_own(wants_learning);
        }
        self.derive_rates();
        self.sort();
        if learned {
            self.tally();
        } else {
            self.remember_times();
        }
        if !self.latest_evicted.coordinates.is_empty() {
            self.report_evicted(out);
        }
        let begin = out.values.len();
        out.push(0, 0, 1.0, 1.0);
        self.push_items(out);
        self.mark_carried(begin, out);
        out.starts.push(out.values.len());
    }

    fn push_items(&self, out: &mut Encoded) {
        if self.keys.is_empty() {
            // Column by column, so that each needs room only once.
            out.attributes.extend(self.items.iter().map(|item| item.attribute));
            out.coordinates.extend(self.items.iter().map(|item| item.coordinate));
            out.values.extend(self.items.iter().map(|item| within(item.scaled, LARGEST)));
            out.raw.extend(self.items.iter().map(|item| item.value));
            return;
        }
        let mut next = 0;
        for item in &self.items {
            // An item without a value has a key.
            if item.value.is_nan() {
                self.push_rates(item, &mut next, out);
            } else {
                out.push(item.attribute, item.coordinate, within(item.scaled, LARGEST), item.value);
            }
        }
    }

    /// Sort the items by attribute, and by coordinate where an attribute has several.
    fn sort(&mut self) {
        if self.has_several {
            self.items.retain(|item| item.attribute != NOBODY);
            // Several keys of an attribute share a coordinate.
            self.items.sort_unstable_by_key(|item| (item.attribute, item.coordinate, item.scaled.to_bits()));
            return;
        }
        let most = self.vocabulary.attribute_count();
        let known = self.items.iter().enumerate().filter(|(_, item)| item.attribute < PASSING);
        let known = known.map(|(place, item)| (item.attribute, place));
        self.sorted.clear();
        self.ascending.places(known, most, |place| self.sorted.push(self.items[place]));
        let passing = self.items.iter().filter(|item| (PASSING..NOBODY).contains(&item.attribute));
        self.sorted.extend(passing);
        std::mem::swap(&mut self.items, &mut self.sorted);
    }

    /// The running scale of a coordinate.
    pub fn scale_of(&self, coordinate: usize) -> &Scale {
        &self.scales[coordinate]
    }
}
