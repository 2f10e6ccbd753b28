//! Reads events from lines of JSON.
//!
//! Nearly all lines are read in one pass, in which values go straight to the encoder; see [`one_pass`]. Names inside
//! objects are joined with dots. Texts in an array are tags under the array's name, and its other elements are
//! numbered. A line in which a name occurs twice is read again by a slower method: the last value of a name in an
//! object is used.

use crate::encoder::Encoder;
use crate::entities::PastLabel;
use crate::entity_prefetch::EntityPrefetch;
use crate::events::{Events, Rejected};
use crate::fields::{Known, MOST_KEPT, Role, Roles};
use crate::json::{Fault, Value, check, check_values, elements, members, normal, without_nan};
use crate::names::{Name, shown};
use crate::one_pass;

/// Records nested deeper are rejected: real events are flat or nearly so, and a malicious record would use depth to
/// make a reader recurse.
pub const MAX_DEPTH: usize = 32;
/// Maximum number of bytes of all joined names of a record: a long name around a long array would be repeated for each
/// of its elements.
pub const MAX_NAMES: usize = 1 << 26;
/// A block ends after this many items even if it has fewer events than asked for, so that wide events do not take more
/// memory than narrow ones.
const MOST_ITEMS: usize = 1 << 17;
/// Number of bytes per item of a short name and a digit, of which the encoder makes three items; for reserving memory.
const BYTES_OF_AN_ITEM: usize = 2;
/// Number of items reserved for the last event of a block.
const ITEMS_OF_AN_EVENT: usize = 1 << 12;
/// Maximum weight of an event, to which larger ones are reduced: what it adds to a model must stay finite.
pub const HEAVIEST: f64 = 1e15;

/// How lines are read.
#[derive(Clone, Debug)]
pub struct Reading {
    /// The names that are not attributes.
    pub roles: Roles,
    /// Whether events with a label are learned.
    pub learn: bool,
    /// Whether unlabelled events are.
    pub unlabelled: bool,
    /// Whether to stop after the first line that is not an event.
    pub strict: bool,
}

/// Why a line was not accepted.
enum Rejection {
    /// It is not an event.
    Fault(Fault),
    /// Its label, in JSON, is unknown.
    Label(String),
}

/// Values extracted from a record.
#[derive(Default)]
pub struct ExtractedFields<'a> {
    label: Option<&'a str>,
    weight: Option<&'a str>,
    kept: [Option<&'a str>; MOST_KEPT],
}

impl Reading {
    /// Read up to `most` events from `begin` on, fewer if they are wide, each line but the last ended by a newline, up to
    /// the first with an unknown label. That line, and those that are not events, leave no trace.
    pub fn read(
        &self,
        encoder: &mut Encoder,
        known: &Known,
        text: &[u8],
        begin: usize,
        most: usize,
    ) -> Events {
        let items = text.len().saturating_sub(begin) / BYTES_OF_AN_ITEM;
        let room = items.min(MOST_ITEMS + ITEMS_OF_AN_EVENT);
        let mut events = Events::beginning_at(begin, self.roles.kept, room);
        let mut prefetch = EntityPrefetch::new(encoder).filter(|_| most > 1);
        while events.end < text.len() && events.lines.len() < most && events.encoded.values.len() < MOST_ITEMS
        {
            if let Some(prefetch) = &mut prefetch {
                prefetch.fetch_next(encoder, text, events.end);
            }
            let rest = &text[events.end..];
            let length = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
            let read = match std::str::from_utf8(&rest[..length]) {
                Ok(line) if line.bytes().all(is_blank) => Ok(()),
                Ok(line) => self.line(encoder, known, line, &mut events),
                Err(_) => Err(Rejection::Fault("not JSON: not UTF-8".to_owned())),
            };
            let mut stop = false;
            match read {
                Ok(()) => {}
                Err(Rejection::Fault(fault)) => {
                    let place = events.end..events.end + length;
                    events.rejected.push(Rejected { line: events.count, place, fault });
                    stop = self.strict;
                }
                Err(Rejection::Label(label)) => {
                    events.unknown = Some(label);
                    break;
                }
            }
            events.end = (events.end + length + 1).min(text.len());
            events.count += 1;
            if stop {
                break;
            }
        }
        events
    }

    /// Read a line that is not empty.
    fn line(
        &self,
        encoder: &mut Encoder,
        known: &Known,
        line: &str,
        events: &mut Events,
    ) -> Result<(), Rejection> {
        match self.record(encoder, line) {
            Ok(taken) => self.enter(encoder, known, &taken, events),
            Err(fault) => match without_nan(line) {
                None => Err(Rejection::Fault(fault)),
                Some(Err(fault)) => Err(Rejection::Fault(fault)),
                Some(Ok(without)) => {
                    let taken = self.record(encoder, &without).map_err(Rejection::Fault)?;
                    self.enter(encoder, known, &taken, events)
                }
            },
        }
    }

    fn record<'a>(&self, encoder: &mut Encoder, line: &'a str) -> Result<ExtractedFields<'a>, Fault> {
        let line = line.trim_matches([' ', '\t', '\r']);
        if !line.starts_with('{') {
            check_object(line)?;
        }
        let mut taken = ExtractedFields::default();
        encoder.begin();
        if one_pass::read(encoder, &self.roles, line, &mut taken) {
            Ok(taken)
        } else {
            self.nested(encoder, line)
        }
    }

    /// A record of any kind.
    fn nested<'a>(&self, encoder: &mut Encoder, line: &'a str) -> Result<ExtractedFields<'a>, Fault> {
        let (mut taken, mut left) = (ExtractedFields::default(), MAX_NAMES);
        encoder.begin();
        for (name, raw) in members(line)? {
            match self.roles.of(&name).filter(|_| !self.roles.dotted) {
                Some(role) => _ = taken.put(role, raw)?,
                None => self.walk(encoder, &mut taken, &name, raw, 1, &mut left)?,
            }
        }
        match encoder.repeated() {
            None => Ok(taken),
            Some(name) => Err(twice(&shown(name.text()))),
        }
    }

    /// A value, or its contents.
    fn walk<'a>(
        &self,
        encoder: &mut Encoder,
        taken: &mut ExtractedFields<'a>,
        name: &str,
        raw: &'a str,
        depth: usize,
        left: &mut usize,
    ) -> Result<(), Fault> {
        let too_long = "nested names are too long once they are joined by dots";
        *left = left.checked_sub(name.len()).ok_or(too_long)?;
        let is_nested = raw.starts_with(['{', '[']);
        let whole = if is_nested { self.roles.of_whole(name) } else { self.roles.of(name) };
        if let Some(role) = whole.filter(|_| self.roles.dotted) {
            return if taken.put(role, raw)? { Err(twice(&shown(name.as_bytes()))) } else { Ok(()) };
        }
        if is_nested && depth == MAX_DEPTH {
            return Err(format!("nested deeper than {MAX_DEPTH} levels"));
        }
        if raw.starts_with('{') {
            for (key, inner) in members(raw)? {
                self.walk(encoder, taken, &format!("{name}.{key}"), inner, depth + 1, left)?;
            }
        } else if is_nested {
            let mut tags = None;
            for (i, inner) in elements(raw)?.into_iter().enumerate() {
                if inner.starts_with('"') {
                    // A label or an id is one value.
                    if self.roles.dotted && self.roles.of(name).is_some() {
                        continue;
                    }
                    let bag = *tags.get_or_insert_with(|| encoder.bag(Name::Text(name.as_bytes())));
                    if let Value::Text(text) = Value::of(inner)? {
                        encoder.tag(bag, text.as_bytes());
                    }
                    continue;
                }
                self.walk(encoder, taken, &format!("{name}.{i}"), inner, depth + 1, left)?;
            }
        } else {
            observe(encoder, name, raw)?;
        }
        Ok(())
    }

    /// Encode a record that was read, unless its label is unknown.
    fn enter(
        &self,
        encoder: &mut Encoder,
        known: &Known,
        taken: &ExtractedFields,
        events: &mut Events,
    ) -> Result<(), Rejection> {
        let mut kept = [const { None }; MOST_KEPT];
        for (slot, raw) in kept.iter_mut().zip(taken.kept) {
            *slot = raw.map(normal).transpose().map_err(Rejection::Fault)?;
        }
        let weight = weight_of(taken.weight.unwrap_or("null")).map_err(Rejection::Fault)?;
        let raw = taken.label.unwrap_or("null");
        let value = Value::of(raw).map_err(Rejection::Fault)?;
        let label = known.label(&value, raw).map_err(|reason| match reason {
            Some(reason) => Rejection::Fault(reason.clone()),
            None => Rejection::Label(raw.to_owned()),
        })?;
        let learned = if label.is_there { self.learn } else { self.unlabelled };
        let learned = learned && weight > 0.0;
        encoder.finish(learned, &mut events.encoded);
        if learned && encoder.following().is_some() {
            encoder.add_label(past_label(&value).filter(|_| label.is_there));
        }
        for (texts, text) in events.kept.iter_mut().zip(kept) {
            texts.push(text.unwrap_or("null".into()).into_owned());
        }
        events.lines.push(events.count);
        events.labels.push(label.value);
        events.kinds.push(label.kind as i32);
        events.weights.push(weight);
        Ok(())
    }
}

impl<'a> ExtractedFields<'a> {
    /// Store a value; returns whether there was one already.
    ///
    /// # Errors
    ///
    /// If it is none, though nobody may ever use it: what is read by way of a dict is refused for that, too.
    pub fn put(&mut self, role: Role, raw: &'a str) -> Result<bool, Fault> {
        if role == Role::Ignored || raw.starts_with(['{', '[']) {
            check_values(raw, 1)?;
        }
        let place = match role {
            Role::Target => &mut self.label,
            Role::Weight => &mut self.weight,
            Role::Ignored => return Ok(false),
            Role::Kept(slot) => match self.kept.get_mut(slot) {
                Some(place) => place,
                None => return Ok(false),
            },
        };
        Ok(place.replace(raw).is_some())
    }
}

/// Whether a line consisting only of such bytes is treated as empty.
fn is_blank(byte: u8) -> bool {
    matches!(byte, b'\t'..=b'\r' | b' ')
}

/// Checks that a text is a JSON object.
///
/// # Errors
///
/// What is wrong.
pub fn check_object(text: &str) -> Result<(), Fault> {
    check(text)?;
    match text.trim_ascii_start() {
        object if object.starts_with('{') => Ok(()),
        other => Err(format!("expected an object, not {}", kind(other))),
    }
}

fn observe(encoder: &mut Encoder, name: &str, raw: &str) -> Result<(), Fault> {
    let name = Name::Text(name.as_bytes());
    match Value::of(raw)? {
        Value::Null | Value::Nested(_) => encoder.missing(name),
        Value::Boolean(truth) => encoder.number(name, f64::from(u8::from(truth))),
        Value::Number(number) if number.is_exact() => encoder.number(name, number.value),
        Value::Number(number) => encoder.integer(name, raw, number.value),
        Value::Text(text) => encoder.text(name, text.as_bytes()),
    }
    Ok(())
}

/// A label as it is remembered.
fn past_label(value: &Value) -> Option<PastLabel> {
    match value {
        Value::Boolean(truth) => Some(PastLabel::Number(f64::from(u8::from(*truth)))),
        Value::Number(number) => Some(PastLabel::Number(number.value)),
        Value::Text(text) => Some(PastLabel::Text(text.as_bytes().into())),
        Value::Null | Value::Nested(_) => None,
    }
}

fn weight_of(raw: &str) -> Result<f64, Fault> {
    let weight = match Value::of(raw)? {
        Value::Null => 1.0,
        Value::Boolean(truth) => f64::from(u8::from(truth)),
        Value::Number(number) => number.value,
        Value::Text(text) => text.trim().parse().unwrap_or(f64::NAN),
        Value::Nested(_) => f64::NAN,
    };
    if (0.0..f64::INFINITY).contains(&weight) {
        return Ok(weight.min(HEAVIEST));
    }
    Err(format!("the weight must be a finite number of 0 or more, not {raw:.60}"))
}

fn twice(name: &str) -> Fault {
    format!("two nested names become '{name}' when joined by dots")
}

fn kind(text: &str) -> &'static str {
    match text.as_bytes().first() {
        Some(b'[') => "an array",
        Some(b'"') => "a string",
        Some(b't' | b'f') => "a boolean",
        Some(b'n') => "null",
        _ => "a number",
    }
}
