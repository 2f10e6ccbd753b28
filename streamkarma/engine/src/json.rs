//! Parses JSON one value at a time.
//!
//! serde_json finds where values begin and end, and rejects invalid JSON; this module converts them to numbers and
//! texts. (The numbers of serde_json do not distinguish 0 from -0, nor an id of 1.50 from one of 1.5.)

use std::borrow::Cow;
use std::collections::HashMap;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

/// Deeper values are rejected: what is not an attribute may be deeper than the attributes, within reason.
pub const DEEPEST: usize = 200;

const INFINITE: &str = "the record contains an infinite number";

/// Why a record cannot be used, in one line.
pub type Fault = String;

/// A value of a record.
#[derive(Clone, Debug, PartialEq)]
pub enum Value<'a> {
    /// Nothing.
    Null,
    /// True or false.
    Boolean(bool),
    /// A finite number.
    Number(Number),
    /// A text, without its quotes.
    Text(Cow<'a, str>),
    /// An object or an array, unparsed.
    Nested(&'a str),
}

/// A finite number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Number {
    /// The nearest float.
    pub value: f64,
    /// Whether it is written without a decimal point and an exponent.
    pub is_integer: bool,
}

/// Integers of at most this magnitude are exact as floats.
pub const EXACT: u64 = 1 << 53;

impl Number {
    /// Whether it is not an integer so large that its float may equal that of a neighbour.
    pub fn is_exact(self) -> bool {
        !self.is_integer || self.value.abs() < EXACT as f64
    }
}

impl<'a> Value<'a> {
    /// Parses a value from a text that is valid JSON.
    ///
    /// # Errors
    ///
    /// If a number is infinite, or a text is not valid Unicode.
    pub fn of(raw: &'a str) -> Result<Self, Fault> {
        Ok(match raw.as_bytes().first() {
            None | Some(b'n') => Self::Null,
            Some(b't') => Self::Boolean(true),
            Some(b'f') => Self::Boolean(false),
            Some(b'{' | b'[') => Self::Nested(raw),
            Some(b'"') if memchr::memchr(b'\\', raw.as_bytes()).is_none() => {
                Self::Text(Cow::Borrowed(raw.get(1..raw.len() - 1).unwrap_or_default()))
            }
            Some(b'"') => Self::Text(Cow::Owned(serde_json::from_str(raw).map_err(|e| not_json(&e))?)),
            Some(_) => Self::Number(number(raw)?),
        })
    }
}

fn number(raw: &str) -> Result<Number, Fault> {
    if let Some(number) = short_number(raw.as_bytes()) {
        return Ok(number);
    }
    let is_integer = !raw.bytes().any(|byte| matches!(byte, b'.' | b'e' | b'E'));
    let value: f64 = raw.parse().map_err(|_| format!("not JSON: {raw:.40} is no number"))?;
    if value.is_infinite() {
        return Err(INFINITE.to_owned());
    }
    Ok(Number { value, is_integer })
}

/// A number of up to 15 digits without an exponent: integers and powers of ten this small are exact, so that their
/// quotient is rounded once, and correctly.
fn short_number(raw: &[u8]) -> Option<Number> {
    const POWERS: [f64; 17] =
        [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16];
    let (digits, is_negative) = match raw {
        [b'-', digits @ ..] => (digits, true),
        digits => (digits, false),
    };
    if digits.len() > 16 {
        return None;
    }
    let (mut whole, mut point) = (0_u64, digits.len());
    for (i, byte) in digits.iter().enumerate() {
        match byte {
            b'0'..=b'9' => whole = 10 * whole + u64::from(byte - b'0'),
            b'.' => point = i + 1,
            _ => return None,
        }
    }
    let (decimals, is_integer) = (digits.len() - point, point == digits.len());
    if whole > EXACT {
        return None;
    }
    let value = whole as f64 / POWERS[decimals];
    // An integer has no negative zero.
    let is_negative = is_negative && !(is_integer && whole == 0);
    Some(Number { value: if is_negative { -value } else { value }, is_integer })
}

/// A value in normal form, which nearly always is how it is written already.
pub fn normal(raw: &str) -> Result<Cow<'_, str>, Fault> {
    let odd = "cannot be written as JSON";
    Ok(match Value::of(raw)? {
        Value::Text(Cow::Owned(text)) => Cow::Owned(serde_json::to_string(&text).map_err(|_| odd)?),
        Value::Number(number) if !number.is_integer => {
            Cow::Owned(serde_json::to_string(&number.value).map_err(|_| odd)?)
        }
        // An integer has no negative zero.
        Value::Number(_) if raw == "-0" => Cow::Borrowed("0"),
        Value::Nested(raw) => without_blanks(raw),
        _ => Cow::Borrowed(raw),
    })
}

/// An object or an array without insignificant whitespace.
fn without_blanks(raw: &str) -> Cow<'_, str> {
    let (mut text, mut rest) = (String::new(), raw);
    while let Some(at) = rest.find(['"', ' ', '\t', '\r']) {
        let behind = if rest[at..].starts_with('"') { at + behind_text(&rest[at..]) } else { at };
        text.push_str(&rest[..behind]);
        rest = &rest[behind.max(at + 1)..];
    }
    if text.len() + rest.len() == raw.len() {
        return Cow::Borrowed(raw);
    }
    text.push_str(rest);
    Cow::Owned(text)
}

/// The names and values of an object; if a name occurs twice, its last value is used, at the position of the first.
///
/// # Errors
///
/// If the text is not a JSON object.
pub fn members(object: &str) -> Result<Vec<(Cow<'_, str>, &str)>, Fault> {
    let mut deserializer = serde_json::Deserializer::from_str(object);
    let read = deserializer.deserialize_map(Members);
    let (members, ()) =
        read.and_then(|members| Ok((members, deserializer.end()?))).map_err(|e| not_json(&e))?;
    let (mut last, mut places) = (Vec::with_capacity(members.len()), HashMap::new());
    for (name, value) in members {
        let place = *places.entry(Cow::clone(&name)).or_insert(last.len());
        if place == last.len() {
            last.push((name, value));
        } else {
            last[place].1 = value;
        }
    }
    Ok(last)
}

/// The elements of an array.
pub fn elements(array: &str) -> Result<Vec<&str>, Fault> {
    let mut deserializer = serde_json::Deserializer::from_str(array);
    deserializer.deserialize_seq(Elements).map_err(|error| not_json(&error))
}

/// Checks all values within a value, which is at some depth of its record.
///
/// # Errors
///
/// If a number is infinite, a text is not valid Unicode, or one is too deep.
pub fn check_values(raw: &str, depth: usize) -> Result<(), Fault> {
    // Only what seems invalid needs a closer look: a later value of the same name may replace it.
    if depth == 1 && serde_json::from_str::<Valid>(raw).is_ok() {
        return Ok(());
    }
    match Value::of(raw)? {
        Value::Nested(_) if depth == DEEPEST => Err(too_deep()),
        Value::Nested(object) if object.starts_with('{') => {
            members(object)?.into_iter().try_for_each(|(_, inner)| check_values(inner, depth + 1))
        }
        Value::Nested(array) => {
            elements(array)?.into_iter().try_for_each(|inner| check_values(inner, depth + 1))
        }
        _ => Ok(()),
    }
}

/// The fault of a value at the depth `DEEPEST`.
pub fn too_deep() -> Fault {
    format!("nested deeper than {DEEPEST} levels")
}

/// Whether a text is JSON.
pub fn check(text: &str) -> Result<(), Fault> {
    serde_json::from_str::<&RawValue>(text).map(|_| ()).map_err(|error| not_json(&error))
}

/// The fault for an error of serde_json.
pub fn not_json(error: &serde_json::Error) -> Fault {
    // Without the position in the document, which is of little use for a line.
    let message = error.to_string();
    if message.starts_with("number out of range") {
        return INFINITE.to_owned();
    }
    format!("not JSON: {}", message.split(" at line").next().unwrap_or_default())
}

/// The same text with null for every NaN; an error if it has an infinity. None if it has neither.
pub fn without_nan(line: &str) -> Option<Result<String, Fault>> {
    let (mut text, mut rest, mut found) = (String::new(), line, false);
    while let Some(at) = rest.find(['"', 'N', 'I']) {
        text.push_str(&rest[..at]);
        rest = &rest[at..];
        if let Some(after) = rest.strip_prefix("NaN") {
            text.push_str("null");
            (rest, found) = (after, true);
        } else if rest.starts_with("Infinity") {
            return Some(Err(INFINITE.to_owned()));
        } else {
            let behind = if rest.starts_with('"') { behind_text(rest) } else { 1 };
            text.push_str(&rest[..behind]);
            rest = &rest[behind..];
        }
    }
    text.push_str(rest);
    found.then_some(Ok(text))
}

/// The end of a text that begins with a quote.
fn behind_text(text: &str) -> usize {
    let (bytes, mut at) = (text.as_bytes(), 1);
    while at < bytes.len() && bytes[at] != b'"' {
        at += if bytes[at] == b'\\' && bytes.get(at + 1).is_some_and(u8::is_ascii) { 2 } else { 1 };
    }
    (at + 1).min(bytes.len())
}

struct Members;

impl<'a> Visitor<'a> for Members {
    type Value = Vec<(Cow<'a, str>, &'a str)>;

    fn expecting(&self, formatter: &mut std::fmt::Formatter) -> std::fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'a>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut members = Vec::new();
        while let Some(Text(name)) = map.next_key()? {
            members.push((name, map.next_value::<&RawValue>()?.get()));
        }
        Ok(members)
    }
}

struct Elements;

impl<'a> Visitor<'a> for Elements {
    type Value = Vec<&'a str>;

    fn expecting(&self, formatter: &mut std::fmt::Formatter) -> std::fmt::Result {
        formatter.write_str("an array")
    }

    fn visit_seq<A: SeqAccess<'a>>(self, mut elements: A) -> Result<Self::Value, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = elements.next_element::<&RawValue>()? {
            values.push(value.get());
        }
        Ok(values)
    }
}

/// A value without infinite numbers and invalid texts, of which nothing is kept.
struct Valid;

impl<'a> Deserialize<'a> for Valid {
    fn deserialize<D: Deserializer<'a>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Self)
    }
}

impl<'a> Visitor<'a> for Valid {
    type Value = Self;

    fn expecting(&self, formatter: &mut std::fmt::Formatter) -> std::fmt::Result {
        formatter.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_str<E>(self, _: &str) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_map<A: MapAccess<'a>>(self, mut map: A) -> Result<Self, A::Error> {
        while map.next_entry::<Self, Self>()?.is_some() {}
        Ok(self)
    }

    fn visit_seq<A: SeqAccess<'a>>(self, mut list: A) -> Result<Self, A::Error> {
        while list.next_element::<Self>()?.is_some() {}
        Ok(self)
    }
}

/// A text, borrowed unless it contains escapes.
pub struct Text<'a>(pub Cow<'a, str>);

impl<'a> Deserialize<'a> for Text<'a> {
    fn deserialize<D: Deserializer<'a>>(deserializer: D) -> Result<Self, D::Error> {
        struct Borrowing;

        impl<'a> Visitor<'a> for Borrowing {
            type Value = Text<'a>;

            fn expecting(&self, formatter: &mut std::fmt::Formatter) -> std::fmt::Result {
                formatter.write_str("a text")
            }

            fn visit_borrowed_str<E>(self, text: &'a str) -> Result<Text<'a>, E> {
                Ok(Text(Cow::Borrowed(text)))
            }

            fn visit_str<E>(self, text: &str) -> Result<Text<'a>, E> {
                Ok(Text(Cow::Owned(text.to_owned())))
            }
        }
        deserializer.deserialize_str(Borrowing)
    }
}
