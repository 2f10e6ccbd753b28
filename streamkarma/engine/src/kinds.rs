//! The kinds that can be given for attributes.

use crate::spelled::spelled_number;
use crate::times::{Moment, basic_date, moment, seconds_since_1970};

/// The kind of an attribute's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Numbers, or texts that spell them.
    Number,
    /// True or false.
    Boolean,
    /// One of several categories; a number is the category that it spells.
    Category,
    /// Words.
    Text,
    /// A set; a text is split at commas, semicolons and vertical bars.
    Tags,
    /// Points in time; numbers are seconds or milliseconds since 1970.
    Time,
    /// Nearly always new: only its presence counts.
    Identifier,
}

impl Kind {
    /// All kinds, with their names.
    pub const ALL: [(&'static str, Self); 7] = [
        ("number", Self::Number),
        ("boolean", Self::Boolean),
        ("category", Self::Category),
        ("text", Self::Text),
        ("tags", Self::Tags),
        ("time", Self::Time),
        ("identifier", Self::Identifier),
    ];

    /// The kind with that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(each, _)| *each == name).map(|(_, kind)| *kind)
    }

    /// Whether its numbers are compared by magnitude; otherwise they are names.
    pub fn is_numeric(self) -> bool {
        matches!(self, Self::Number | Self::Boolean)
    }

    /// The name of a kind.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, kind)| *kind == self).map_or("", |(name, _)| *name)
    }
}

/// Whether a text stands for true or for false; None if for neither.
pub fn truth(text: &[u8]) -> Option<bool> {
    let is_one_of =
        |words: [&str; 6]| words.iter().any(|word| text.trim_ascii().eq_ignore_ascii_case(word.as_bytes()));
    if is_one_of(["true", "t", "yes", "y", "on", "1"]) {
        Some(true)
    } else if is_one_of(["false", "f", "no", "n", "off", "0"]) {
        Some(false)
    } else {
        None
    }
}

/// A text that is declared to be a point in time, in ISO 8601 or as a number that counts from 1970.
pub fn told_moment(text: &[u8]) -> Option<Moment> {
    moment(text).or_else(|| basic_date(text)).or_else(|| Moment::since_1970(spelled_number(text)?))
}

/// Numbers from this one on may be seconds since 1970: it is 1 January 2000.
pub const EPOCH: f64 = 946_684_800.0;
/// They must also be below this, 1 January 2100.
const EPOCH_END: f64 = 4_102_444_800.0;

/// Whether a number is clearly a point in time: it counts from 1970 to between the years 2000 and 2100, and the name of
/// its attribute suggests it.
pub fn is_plainly_time(name: &[u8], value: f64) -> bool {
    if !seconds_since_1970(value).is_some_and(|seconds| (EPOCH..EPOCH_END).contains(&seconds)) {
        return false;
    }
    let last = name.rsplit(|byte| *byte == b'.').next().unwrap_or(name);
    let last = last.rsplit(|byte| *byte == b'_').next().unwrap_or(last);
    ["ts", "time", "timestamp", "date", "datetime", "at", "epoch"]
        .iter()
        .any(|word| last.eq_ignore_ascii_case(word.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_recognised_by_name_and_value() {
        assert!(is_plainly_time(b"ts", 1.7e9) && is_plainly_time(b"order.created_at", 1.7e18));
        assert!(!is_plainly_time(b"counts", 1.7e9) && !is_plainly_time(b"ts", 7.0));
    }

    #[test]
    fn kinds_have_names() {
        assert!(
            Kind::ALL.iter().all(|(name, kind)| Kind::named(name) == Some(*kind) && kind.name() == *name)
        );
        assert_eq!(Kind::named("colour"), None);
    }

    #[test]
    fn declared_booleans_and_times_are_parsed() {
        assert_eq!([&b"Yes"[..], b" off ", b"2"].map(truth), [Some(true), Some(false), None]);
        let seconds = |text: &[u8]| told_moment(text).map(|moment| moment.seconds);
        assert_eq!(seconds(b"1700000000"), Some(1.7e9));
        assert_eq!(seconds(b"1700000000123"), Some(1_700_000_000.123));
        assert_eq!(seconds(b"19700102"), Some(86_400.0));
        assert_eq!([&b"soon"[..], b"1e300", b"1970-1-02", b"19+01-02"].map(seconds), [None; 4]);
    }
}
