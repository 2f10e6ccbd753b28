//! Names of attributes, and messages about those that are ignored or evicted.
//!
//! Texts are bytes in UTF-8, except that Python's lone surrogates are encoded like other characters: the order of the
//! bytes is that of the characters.

use std::collections::HashSet;
use std::sync::Arc;

/// Maximum number of attributes with ignored values that are named to the user, and characters shown of each name.
const MOST_NAMED: usize = 5;
const SHOWN: usize = 60;

/// A name that is not a text, such as a number or a pair.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Foreign {
    /// From 1; equal names share one id, which is assigned where equality can be decided.
    pub id: u64,
    /// Its text representation.
    pub text: Vec<u8>,
    /// Its type, by which names with the same text are ordered.
    pub kind: Vec<u8>,
    /// Its contribution to the bytes of all names.
    pub size: usize,
}

/// The name of an attribute.
#[derive(Clone, Copy, Debug)]
pub enum Name<'a> {
    /// A text, as nearly all names are.
    Text(&'a [u8]),
    /// See [`Foreign`].
    Foreign(&'a Foreign),
}

impl<'a> Name<'a> {
    /// Its text representation.
    pub fn text(&self) -> &'a [u8] {
        match self {
            Self::Text(text) => text,
            Self::Foreign(foreign) => &foreign.text,
        }
    }

    /// Its type, by which names with the same text are ordered.
    pub fn kind(&self) -> &'a [u8] {
        match self {
            Self::Text(_) => b"str",
            Self::Foreign(foreign) => &foreign.kind,
        }
    }

    /// Its size in bytes.
    pub fn size(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Foreign(foreign) => foreign.size,
        }
    }

    /// An owned copy.
    pub fn stored(&self) -> Stored {
        match *self {
            Self::Text(text) => Stored::Text(text.into()),
            Self::Foreign(foreign) => Stored::Foreign(foreign.clone()),
        }
    }
}

/// An owned name.
#[derive(Clone, Debug)]
pub enum Stored {
    /// See [`Name`].
    Text(Arc<[u8]>),
    /// See [`Name`].
    Foreign(Foreign),
}

impl Stored {
    /// A borrowed view.
    pub fn name(&self) -> Name<'_> {
        match self {
            Self::Text(text) => Name::Text(text),
            Self::Foreign(foreign) => Name::Foreign(foreign),
        }
    }
}

/// Why a new name or category gets no index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitExceeded {
    /// The name has more bytes than this.
    Name(usize),
    /// The category has more bytes than this.
    Category(usize),
    /// There are already this many coordinates.
    Coordinates(usize),
    /// There are already this many attributes.
    Attributes(usize),
    /// All names and categories already have this many bytes.
    Bytes(usize),
}

impl LimitExceeded {
    /// As a message to the user about an attribute with an ignored value.
    fn message(self, name: &str) -> String {
        match self {
            Self::Name(most) => format!(
                "attribute {name} is ignored: its name is longer than {} bytes (--max-name-bytes)",
                grouped(most)
            ),
            Self::Category(most) => format!(
                "attribute {name}: categories longer than {} bytes are ignored (--max-name-bytes)",
                grouped(most)
            ),
            _ => format!("attribute {name} is ignored in events with more than {}", self.bound()),
        }
    }

    /// What has run out, and the option, if any, that raises its bound.
    fn bound(self) -> String {
        match self {
            Self::Coordinates(most) => {
                format!("{} numbers and categories (--max-coordinates)", grouped(most))
            }
            Self::Attributes(most) => format!("{} attributes (--max-attributes)", grouped(most)),
            Self::Bytes(most) | Self::Name(most) | Self::Category(most) => {
                format!("{} bytes of names and categories", grouped(most))
            }
        }
    }
}

/// Messages about ignored values, evictions and what attributes are taken for, not yet shown to the user.
#[derive(Clone, Debug, Default)]
pub struct Notices {
    lines: Vec<String>,
    named: HashSet<String>,
    /// How many sentinels were reported.
    sentinels: usize,
    /// Whether evictions were reported.
    limit_reported: bool,
}

impl Notices {
    /// Report an attribute with an ignored value, unless it or too many others were reported before.
    pub fn report_ignored(&mut self, name: Name, exceeded: LimitExceeded) {
        if self.named.len() > MOST_NAMED {
            return;
        }
        let shown = shown(name.text());
        if self.named.contains(&shown) {
            return;
        }
        self.lines.push(if self.named.len() == MOST_NAMED {
            "values of more attributes are ignored; they are counted but not named here".to_owned()
        } else {
            exceeded.message(&shown)
        });
        self.named.insert(shown);
    }

    /// Report once that names are evicted in favour of new ones.
    pub fn report_limit(&mut self, exceeded: LimitExceeded) {
        if !std::mem::replace(&mut self.limit_reported, true) {
            self.lines.push(format!(
                "the limit of {} is reached: new names and categories replace those that are rare and have not \
                 been seen for long",
                exceeded.bound()
            ));
        }
    }

    /// Report an attribute with nearly all values new: one of the events, or the last label of an entity, on which
    /// `--ignore` has no effect.
    pub fn report_identifier(&mut self, name: Name, is_label: bool) {
        let name = shown(name.text());
        let remedy = if is_label { "--no-carry-labels".to_owned() } else { format!("--ignore {name}") };
        self.lines.push(format!(
            "attribute {name}: nearly every value is new, as with an identifier; only its presence is used \
             ({remedy} leaves it out)"
        ));
    }

    /// Report an attribute with points in time as values.
    pub fn report_time(&mut self, name: Name) {
        let name = shown(name.text());
        self.lines.push(format!(
            "attribute {name}: points in time; the hour, the weekday, the month and the time since the last \
             one are used (--kind {name}=category for categories)"
        ));
    }

    /// Report an attribute that is split into words.
    pub fn report_text(&mut self, name: Name) {
        let name = shown(name.text());
        self.lines.push(format!(
            "attribute {name}: most values have three words or more and are split into words \
             (--kind {name}=category keeps them whole)"
        ));
    }

    /// Report a sentinel that was found.
    pub fn report_sentinel(&mut self, name: Name, value: f64) {
        self.sentinels += 1;
        if self.sentinels > MOST_NAMED {
            if self.sentinels == MOST_NAMED + 1 {
                self.lines.push(
                    "more attributes have such numbers; they are counted but not named here".to_owned(),
                );
            }
            return;
        }
        self.lines.push(format!(
            "attribute {}: {value} recurs far from all other values; it now counts as missing, with an \
             indicator of its own (--no-sentinels)",
            shown(name.text())
        ));
    }

    /// The messages since the last call.
    pub fn take(&mut self) -> Vec<String> {
        std::mem::take(&mut self.lines)
    }
}

/// A name, made safe for display in a message.
pub fn shown(text: &[u8]) -> String {
    // Process no more than can be shown: a name may have megabytes.
    let text = String::from_utf8_lossy(&text[..text.len().min(4 * SHOWN + 4)]).into_owned();
    let mut shown: String =
        text.chars().take(SHOWN).map(|c| if is_printable(c) { c } else { '\u{fffd}' }).collect();
    if text.chars().nth(SHOWN).is_some() {
        shown.push('…');
    }
    shown
}

/// Whether a character can be shown unchanged.
fn is_printable(c: char) -> bool {
    // After another character, an accent is not escaped.
    let escaped = format!("a{c}").escape_debug().nth(1);
    matches!(c, '\'' | '"' | '\\') || escaped != Some('\\')
}

/// A number with thousands separated by commas: one before every three digits.
fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shown_names_are_printable_and_short() {
        assert_eq!(shown("\x1b[31m\né".as_bytes()), "\u{fffd}[31m\u{fffd}é");
        assert_eq!(shown(&[b'x'; 1000]), format!("{}…", "x".repeat(60)));
        assert_eq!(shown("'a\\\u{301}\u{a0}".as_bytes()), "'a\\\u{301}\u{fffd}");
        assert_eq!([grouped(7), grouped(1024), grouped(16 << 20)], ["7", "1,024", "16,777,216"]);
    }
}
