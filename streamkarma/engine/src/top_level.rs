//! Reads the names and values of an object by hand.
//!
//! Nearly all values of nearly all events are plain: short numbers, and texts without escapes. Reading these by hand
//! takes a third of the time that serde_json takes, which knows many more ways to write them. The value of an
//! attribute that is anything else is left to serde_json. A line in which anything is wrong is left to it as a whole,
//! so that it is serde_json that decides what is valid JSON, and says what is wrong.

use serde::de::{Deserialize, DeserializeSeed};
use serde_json::value::RawValue;

use crate::encoder::Encoder;
use crate::fields::Roles;
use crate::json::{EXACT, POWERS_OF_TEN};
use crate::lines::ExtractedFields;
use crate::names::Name;
use crate::one_pass::{Attribute, Nest};

/// Read an object like [`one_pass::read`](crate::one_pass::read). None if something may be wrong with it; what was read
/// by then has to be dropped.
pub fn read<'a>(
    encoder: &mut Encoder,
    roles: &Roles,
    object: &'a str,
    taken: &mut ExtractedFields<'a>,
    nest: &mut Nest,
) -> Option<()> {
    let mut text = Cursor { text: object, at: 0 };
    text.expect(b'{')?;
    loop {
        text.skip_blanks();
        let name = text.plain_text()?;
        text.skip_blanks();
        text.expect(b':')?;
        text.skip_blanks();
        match roles.of(name) {
            None => text.attribute(encoder, nest, name, !roles.dotted)?,
            Some(role) => {
                let raw = text.raw_value()?;
                // It may contain a field that a dotted name refers to.
                nest.is_odd |= roles.dotted && raw.starts_with(['{', '[']);
                nest.is_odd |= taken.put(role, raw);
            }
        }
        text.skip_blanks();
        match text.next()? {
            b',' => {}
            b'}' => return (text.at == object.len()).then_some(()),
            _ => return None,
        }
    }
}

/// By byte: whether it stands for itself in a text.
const IS_PLAIN: [bool; 256] = {
    let (mut is_plain, mut byte) = ([true; 256], 0);
    while byte < b' ' {
        is_plain[byte as usize] = false;
        byte += 1;
    }
    (is_plain[b'"' as usize], is_plain[b'\\' as usize]) = (false, false);
    is_plain
};

/// A text, read up to a position.
struct Cursor<'a> {
    text: &'a str,
    at: usize,
}

/// A number without an exponent.
struct Scanned {
    /// Its digits as an integer; without meaning if these are too many.
    whole: u64,
    digits: usize,
    /// The number of digits after the point; 0 if there is none.
    decimals: usize,
    is_negative: bool,
}

impl<'a> Cursor<'a> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn next(&mut self) -> Option<u8> {
        let byte = self.peek()?;
        self.at += 1;
        Some(byte)
    }

    fn expect(&mut self, byte: u8) -> Option<()> {
        (self.next()? == byte).then_some(())
    }

    fn skip_blanks(&mut self) {
        while self.peek() == Some(b' ') {
            self.at += 1;
        }
    }

    /// A text in quotes, if it has no escapes.
    fn plain_text(&mut self) -> Option<&'a str> {
        self.expect(b'"')?;
        let begin = self.at;
        while IS_PLAIN[usize::from(self.peek()?)] {
            self.at += 1;
        }
        let end = self.at;
        self.expect(b'"')?;
        self.text.get(begin..end)
    }

    /// Read the value of an attribute.
    fn attribute(&mut self, encoder: &mut Encoder, nest: &mut Nest, name: &str, inside: bool) -> Option<()> {
        let begin = self.at;
        if self.plain_attribute(encoder, Name::Text(name.as_bytes())).is_some() {
            return Some(());
        }
        self.at = begin;
        let raw = self.other_value()?;
        let value = Attribute { encoder, nest, name, inside, tags: None };
        value.deserialize(&mut serde_json::Deserializer::from_str(raw)).ok()
    }

    /// Read the value of an attribute if it is plain.
    fn plain_attribute(&mut self, encoder: &mut Encoder, name: Name) -> Option<()> {
        let begin = self.at;
        match self.peek()? {
            b'"' => encoder.text(name, self.plain_text()?.as_bytes()),
            b't' => encoder.number(name, self.word("true").map(|()| 1.0)?),
            b'f' => encoder.number(name, self.word("false").map(|()| 0.0)?),
            b'n' => {
                self.word("null")?;
                encoder.missing(name);
            }
            _ => {
                let number = self.number()?;
                encoder.number(name, number.value(&self.text[begin..self.at])?);
            }
        }
        Some(())
    }

    fn word(&mut self, word: &str) -> Option<()> {
        let is_next = self.text.get(self.at..)?.starts_with(word);
        self.at += word.len();
        is_next.then_some(())
    }

    /// Any value, as it is written.
    fn raw_value(&mut self) -> Option<&'a str> {
        let begin = self.at;
        let is_plain =
            if self.peek()? == b'"' { self.plain_text().is_some() } else { self.number().is_some() };
        if is_plain {
            return self.text.get(begin..self.at);
        }
        self.at = begin;
        self.other_value()
    }

    /// The same, as serde_json finds it.
    fn other_value(&mut self) -> Option<&'a str> {
        let mut deserializer = serde_json::Deserializer::from_str(&self.text[self.at..]);
        let raw = <&RawValue>::deserialize(&mut deserializer).ok()?.get();
        self.at += raw.len();
        Some(raw)
    }

    /// A number without an exponent, which ends where something follows that is not part of a number.
    fn number(&mut self) -> Option<Scanned> {
        let is_negative = self.peek() == Some(b'-');
        self.at += usize::from(is_negative);
        let begins_with_0 = self.peek() == Some(b'0');
        let (mut whole, mut decimals) = (0, 0);
        let before = self.digits(&mut whole);
        if before == 0 || (begins_with_0 && before > 1) {
            return None;
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            decimals = self.digits(&mut whole);
            if decimals == 0 {
                return None;
            }
        }
        let ends = !matches!(self.peek(), Some(b'e' | b'E'));
        ends.then_some(Scanned { whole, digits: before + decimals, decimals, is_negative })
    }

    /// Append digits to a number; returns how many.
    fn digits(&mut self, number: &mut u64) -> usize {
        let begin = self.at;
        while let Some(digit) = self.peek().map(|byte| byte.wrapping_sub(b'0')).filter(|&digit| digit < 10) {
            *number = number.wrapping_mul(10).wrapping_add(u64::from(digit));
            self.at += 1;
        }
        self.at - begin
    }
}

impl Scanned {
    /// The nearest float; None if it is infinite, or an integer with more digits than a float can hold.
    fn value(&self, written: &str) -> Option<f64> {
        let &Self { whole, digits, decimals, is_negative } = self;
        // Integers and powers of ten this small are exact, so that their quotient is rounded once, and correctly.
        if digits < POWERS_OF_TEN.len() && whole <= EXACT {
            let value = whole as f64 / POWERS_OF_TEN[decimals];
            return Some(if is_negative { -value } else { value });
        }
        if decimals == 0 {
            return None;
        }
        written.parse().ok().filter(|value: &f64| value.is_finite())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_number(text: &str) -> Option<f64> {
        let mut cursor = Cursor { text, at: 0 };
        let number = cursor.number()?;
        (cursor.at == text.len()).then(|| number.value(text)).flatten()
    }

    #[test]
    fn numbers_are_those_of_serde_json() {
        let plain = [
            "0",
            "-0",
            "7",
            "-12",
            "0.5",
            "-0.0",
            "2.63202",
            "123456.789",
            "9007199254740992",
            "0.30000000000000004",
            "59.629630000000006",
            "12345678901234567.25",
            "0.1234567890123456789",
        ]; // fmt: skip
        for text in plain {
            let expected: f64 = serde_json::from_str(text).unwrap();
            assert_eq!(read_number(text).map(f64::to_bits), Some(expected.to_bits()), "{text}");
        }
        let long = format!("{}.5", "9".repeat(400));
        for text in ["", "-", "01", "-01", "1.", ".5", "1e5", "1.5E-3", "9007199254740993", "+1", &long] {
            assert_eq!(read_number(text), None, "{text}");
        }
    }
}
