//! The one way in: names and values of an event become what the learners see.
//!
//! A reader calls [`Encoder::begin`], then [`Encoder::number`], [`Encoder::text`] or [`Encoder::missing`]
//! for everything that the event has, and [`Encoder::finish`]. Nothing leaves a trace before that, so that
//! an event in which a reader finds a fault is dropped by beginning another.
//!
//! Names that are new in the same event are numbered in the order of their text, and items stand in
//! ascending order of attributes, so that the order of an event's keys never shows.

use std::cmp::Ordering;
use std::ops::Range;

use crate::ascending::Ascending;
use crate::encoded::Encoded;
use crate::names::{Foreign, Name};
use crate::scale::{LARGEST, Scale, WIDTH, within};
use crate::spelled::spelled_number;
use crate::state::{Refused, ensure};
use crate::vocabulary::{Before, Bounds, PASSING, Vocabulary, size};

/// Vocabulary, running scales, and the event that is being read.
#[derive(Clone, Debug)]
pub struct Encoder {
    vocabulary: Vocabulary,
    scales: Vec<Scale>,
    scale: bool,
    longest: f64,
    // The event that is being read: what has a coordinate, and what is new.
    items: Vec<Item>,
    sorted: Vec<Item>,
    ascending: Ascending,
    new: Vec<New>,
    /// Names and categories of what is new.
    bytes: Vec<u8>,
    foreign: Vec<Foreign>,
    /// The number of the event, and in which event each attribute was there last.
    event: u64,
    seen: Vec<u64>,
    /// An attribute that was there twice.
    repeated: Option<u32>,
}

/// Something observed at a coordinate.
#[derive(Clone, Copy, Debug)]
struct Item {
    attribute: u32,
    coordinate: u32,
    is_number: bool,
    value: f64,
}

/// Something that has no coordinate yet; NaN if it is missing.
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
    /// One that knows nothing; `longest` is how many values of an attribute count, if `scale` has numbers
    /// standardised at all.
    pub fn new(bounds: Bounds, scale: bool, longest: f64) -> Self {
        Self {
            vocabulary: Vocabulary::new(bounds),
            scales: vec![Scale::default()],
            scale,
            longest,
            items: Vec::new(),
            sorted: Vec::new(),
            ascending: Ascending::default(),
            new: Vec::new(),
            bytes: Vec::new(),
            foreign: Vec::new(),
            event: 0,
            seen: vec![0],
            repeated: None,
        }
    }

    /// Names and categories so far.
    pub fn vocabulary(&self) -> &Vocabulary {
        &self.vocabulary
    }

    /// Whether numbers are standardised, and how many values of an attribute count.
    pub fn scaling(&self) -> (bool, f64) {
        (self.scale, self.longest)
    }

    /// The vocabulary, to count what is ignored elsewhere, and to take the news.
    pub fn vocabulary_mut(&mut self) -> &mut Vocabulary {
        &mut self.vocabulary
    }

    /// Begin an event, and drop the one before if it was not finished.
    pub fn begin(&mut self) {
        self.items.clear();
        self.new.clear();
        self.bytes.clear();
        self.foreign.clear();
        self.event += 1;
        self.repeated = None;
    }

    /// The attribute of that name holds a number, or NaN for none.
    pub fn number(&mut self, name: Name, value: f64) {
        // There is one zero.
        if value.is_nan() { self.missing(name) } else { self.observe(name, None, value + 0.0) }
    }

    /// The attribute of that name holds a text: a number if it spells one, else a category.
    pub fn text(&mut self, name: Name, text: &[u8]) {
        match spelled_number(text) {
            Some(value) => self.number(name, value),
            None => self.observe(name, Some(text), 1.0),
        }
    }

    /// The attribute of that name is missing: not worth saying but where a name may come twice.
    pub fn missing(&mut self, name: Name) {
        match self.vocabulary.find(name) {
            Some(attribute) => self.mark(attribute),
            None => self.remember(None, name, None, f64::NAN),
        }
    }

    /// Where the numbers of that name sit.
    pub fn place_of(&mut self, name: Name) -> Option<u32> {
        let attribute = self.vocabulary.find(name)?;
        self.vocabulary.coordinate(attribute, None)
    }

    /// A number at a coordinate that is known, of an attribute that was not there yet: no name is looked up.
    pub fn number_at(&mut self, coordinate: u32, value: f64) {
        let attribute = self.vocabulary.owner(coordinate as usize);
        self.items.push(Item { attribute, coordinate, is_number: true, value: value + 0.0 });
    }

    /// A name that was there twice.
    pub fn repeated(&mut self) -> Option<Name<'_>> {
        if let Some(attribute) = self.repeated {
            return Some(self.vocabulary.name(attribute));
        }
        self.sort_new();
        let twice = |pair: &[New]| match (&pair[0].name, &pair[1].name) {
            (NewName::Text(one), NewName::Text(other)) => {
                self.bytes[one.clone()] == self.bytes[other.clone()]
            }
            _ => false,
        };
        let at = self.new.windows(2).position(twice)?;
        Some(self.name_of(&self.new[at]))
    }

    /// Whether a name was there in this event.
    pub fn has(&mut self, name: Name) -> bool {
        match self.vocabulary.find(name) {
            Some(attribute) => self.seen[attribute as usize] == self.event,
            None => self.new.iter().any(|new| self.name_of(new).text() == name.text()),
        }
    }

    fn observe(&mut self, name: Name, category: Option<&[u8]>, value: f64) {
        let Some(attribute) = self.vocabulary.find(name) else {
            return self.remember(None, name, category, value);
        };
        self.mark(attribute);
        match self.vocabulary.coordinate(attribute, category) {
            Some(coordinate) => {
                self.items.push(Item { attribute, coordinate, is_number: category.is_none(), value });
            }
            None => self.remember(Some(attribute), name, category, value),
        }
    }

    fn mark(&mut self, attribute: u32) {
        let seen = &mut self.seen[attribute as usize];
        if *seen == self.event {
            self.repeated = Some(attribute);
        }
        *seen = self.event;
    }

    fn remember(&mut self, known: Option<u32>, name: Name, category: Option<&[u8]>, value: f64) {
        let name = match (known, name) {
            (Some(attribute), _) => NewName::Known(attribute),
            (None, Name::Text(text)) => NewName::Text(self.keep(text)),
            (None, Name::Foreign(foreign)) => {
                self.foreign.push(foreign.clone());
                NewName::Foreign(self.foreign.len() - 1)
            }
        };
        let category = category.map(|category| self.keep(category));
        self.new.push(New { name, category, value });
    }

    fn keep(&mut self, text: &[u8]) -> Range<usize> {
        let begin = self.bytes.len();
        self.bytes.extend_from_slice(text);
        begin..self.bytes.len()
    }

    fn name_of(&self, new: &New) -> Name<'_> {
        match &new.name {
            NewName::Known(attribute) => self.vocabulary.name(*attribute),
            NewName::Text(range) => Name::Text(&self.bytes[range.clone()]),
            NewName::Foreign(index) => Name::Foreign(&self.foreign[*index]),
        }
    }

    /// By text, category and kind.
    fn order(&self, one: &New, other: &New) -> Ordering {
        let key = |new| -> (Name, &[u8]) {
            let New { category, .. }: &New = new;
            (self.name_of(new), category.clone().map_or(b"", |range| &self.bytes[range]))
        };
        let ((name, category), (other, other_category)) = (key(one), key(other));
        (name.text(), category, name.kind()).cmp(&(other.text(), other_category, other.kind()))
    }

    fn sort_new(&mut self) {
        if self.new.len() > 1 {
            let mut new = std::mem::take(&mut self.new);
            new.sort_by(|one, other| self.order(one, other));
            self.new = new;
        }
    }

    /// Encode the event. What is new gets a place if the event is learned; else it leaves no trace.
    pub fn finish(&mut self, learned: bool, out: &mut Encoded) {
        if !self.new.is_empty() {
            self.sort_new();
            let new = std::mem::take(&mut self.new);
            if learned {
                self.enter(&new)
            } else {
                self.pass(&new)
            }
            self.new = new;
        }
        self.sort();
        out.push(0, 0, 1.0, 1.0);
        for item in &self.items {
            let mut value = item.value;
            if item.is_number && self.scale {
                value = self.scales[item.coordinate as usize].standardise(value, learned, self.longest);
            }
            out.push(item.attribute, item.coordinate, within(value, LARGEST), item.value);
        }
        out.starts.push(out.values.len());
    }

    /// Have the items in ascending order of attributes, of which each is there once.
    fn sort(&mut self) {
        let most = self.vocabulary.attribute_count();
        let known = self.items.iter().enumerate().filter(|(_, item)| item.attribute < PASSING);
        let known = known.map(|(place, item)| (item.attribute, place));
        self.sorted.clear();
        self.ascending.places(known, most, |place| self.sorted.push(self.items[place]));
        self.sorted.extend(self.items.iter().filter(|item| item.attribute >= PASSING));
        std::mem::swap(&mut self.items, &mut self.sorted);
    }

    fn enter(&mut self, new: &[New]) {
        let (bytes, foreign) = (std::mem::take(&mut self.bytes), std::mem::take(&mut self.foreign));
        for each in new.iter().filter(|each| !each.value.is_nan()) {
            let stored;
            let name = match &each.name {
                NewName::Known(attribute) => {
                    stored = self.vocabulary.name(*attribute).stored();
                    stored.name()
                }
                NewName::Text(range) => Name::Text(&bytes[range.clone()]),
                NewName::Foreign(index) => Name::Foreign(&foreign[*index]),
            };
            let category = each.category.clone().map(|range| &bytes[range]);
            let Some(coordinate) = self.vocabulary.enter(name, category) else {
                self.vocabulary.ignore(name, category);
                continue;
            };
            let attribute = self.vocabulary.owner(coordinate as usize);
            self.make_room();
            self.items.push(Item { attribute, coordinate, is_number: category.is_none(), value: each.value });
        }
        (self.bytes, self.foreign) = (bytes, foreign);
    }

    fn make_room(&mut self) {
        self.scales.resize(self.vocabulary.coordinate_count(), Scale::default());
        self.seen.resize(self.vocabulary.attribute_count(), 0);
    }

    /// Numbers at a name never learned are what standardising the first one makes of them, 0, so that the
    /// event looks as it will look when it is learned.
    fn pass(&mut self, new: &[New]) {
        let mut before = Before::default();
        for each in new.iter().filter(|each| !each.value.is_nan()) {
            let name = self.name_of(each);
            let known = match each.name {
                NewName::Known(attribute) => Some(attribute),
                _ => None,
            };
            let category = each.category.clone().map(|range| &self.bytes[range]);
            if self.vocabulary.lack(name, known.is_some(), category, before).is_some() {
                continue;
            }
            let value = if self.scale && category.is_none() { 0.0 } else { each.value };
            let attribute = known.unwrap_or(PASSING + before.attributes as u32);
            let coordinate = PASSING + before.coordinates as u32;
            before.attributes += usize::from(known.is_none());
            before.coordinates += 1;
            before.bytes += size(name, category);
            self.items.push(Item { attribute, coordinate, is_number: false, value });
        }
    }

    /// The running scale of a coordinate.
    pub fn scale_of(&self, coordinate: usize) -> &Scale {
        &self.scales[coordinate]
    }

    /// The rows of all running scales, one after another.
    pub fn moments(&self) -> Vec<f64> {
        self.scales.iter().flat_map(Scale::row).collect()
    }

    /// Take over names, what was ignored, and the rows of the running scales.
    ///
    /// # Errors
    ///
    /// If the parts contradict each other or the bounds; the encoder is then as it was.
    pub fn restore(&mut self, vocabulary: Vocabulary, moments: &[f64]) -> Result<(), Refused> {
        const WHY: &str = "the running statistics do not fit the vocabulary";
        ensure(moments.len() == vocabulary.coordinate_count() * WIDTH, WHY)?;
        let scales: Option<Vec<Scale>> = moments.chunks_exact(WIDTH).map(Scale::from_row).collect();
        self.scales = scales.ok_or(WHY)?;
        self.vocabulary = vocabulary;
        self.seen = vec![0; self.vocabulary.attribute_count()];
        self.begin();
        Ok(())
    }
}
