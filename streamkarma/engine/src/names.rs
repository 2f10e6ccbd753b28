//! Names of attributes, and lines on those that are ignored or make room.
//!
//! Texts are bytes in UTF-8, in which Python's lone surrogates are let stand as what they would be: the
//! order of the bytes is that of the characters.

use std::collections::HashSet;
use std::sync::Arc;

/// So many attributes of which something is ignored are named to the user, cut to so many characters.
const MOST_NAMED: usize = 5;
const SHOWN: usize = 60;

/// A name that is no text, such as a number or a pair.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Foreign {
    /// From 1; equal names have one number, which whoever knows what is equal gives out.
    pub id: u64,
    /// How it is written.
    pub text: Vec<u8>,
    /// What kind of thing it is, by which names of one text are put in order.
    pub kind: Vec<u8>,
    /// What it has of the bytes of all names.
    pub size: usize,
}

/// The name of an attribute.
#[derive(Clone, Copy, Debug)]
pub enum Name<'a> {
    /// As nearly all are.
    Text(&'a [u8]),
    /// See [`Foreign`].
    Foreign(&'a Foreign),
}

impl<'a> Name<'a> {
    /// How it is written.
    pub fn text(&self) -> &'a [u8] {
        match self {
            Self::Text(text) => text,
            Self::Foreign(foreign) => &foreign.text,
        }
    }

    /// By which names of one text are put in order.
    pub fn kind(&self) -> &'a [u8] {
        match self {
            Self::Text(_) => b"str",
            Self::Foreign(foreign) => &foreign.kind,
        }
    }

    /// Its bytes.
    pub fn size(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Foreign(foreign) => foreign.size,
        }
    }

    /// To keep.
    pub fn stored(&self) -> Stored {
        match *self {
            Self::Text(text) => Stored::Text(text.into()),
            Self::Foreign(foreign) => Stored::Foreign(foreign.clone()),
        }
    }
}

/// A name that is kept.
#[derive(Clone, Debug)]
pub enum Stored {
    /// See [`Name`].
    Text(Arc<[u8]>),
    /// See [`Name`].
    Foreign(Foreign),
}

impl Stored {
    /// To look at.
    pub fn name(&self) -> Name<'_> {
        match self {
            Self::Text(text) => Name::Text(text),
            Self::Foreign(foreign) => Name::Foreign(foreign),
        }
    }
}

/// Why a new name or category has no place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lack {
    /// The name has more bytes than this.
    Name(usize),
    /// The category has.
    Category(usize),
    /// There are so many coordinates.
    Coordinates(usize),
    /// There are so many attributes.
    Attributes(usize),
    /// All names and categories have so many bytes.
    Bytes(usize),
}

impl Lack {
    /// As a line for the user, on an attribute of which a value is ignored.
    fn said(self, name: &str) -> String {
        match self {
            Self::Name(most) => format!(
                "attribute {name} is ignored: its name is longer than {} bytes (--max-name-bytes)",
                grouped(most)
            ),
            Self::Category(most) => format!(
                "attribute {name}: categories longer than {} bytes are ignored (--max-name-bytes)",
                grouped(most)
            ),
            _ => format!("attribute {name} is ignored in events that alone need more than {}", self.bound()),
        }
    }

    /// Of what there is no more, and the option that gives more.
    fn bound(self) -> String {
        match self {
            Self::Coordinates(most) => {
                format!("{} places for numbers and categories (--max-coordinates)", grouped(most))
            }
            Self::Attributes(most) => format!("{} places for attributes (--max-attributes)", grouped(most)),
            Self::Bytes(most) | Self::Name(most) | Self::Category(most) => {
                format!("{} bytes of names and categories", grouped(most))
            }
        }
    }
}

/// What nobody was told yet about values that are ignored.
#[derive(Clone, Debug, Default)]
pub struct News {
    lines: Vec<String>,
    named: HashSet<String>,
    /// How many sentinels were named.
    sentinels: usize,
    /// Whether it was said that names make room for others.
    told_of_room: bool,
}

impl News {
    /// Have an attribute named, if it was not yet and few were.
    pub fn tell(&mut self, name: Name, lack: Lack) {
        if self.named.len() > MOST_NAMED {
            return;
        }
        let shown = shown(name.text());
        if self.named.contains(&shown) {
            return;
        }
        self.lines.push(if self.named.len() == MOST_NAMED {
            "values of more attributes are ignored; they are counted, and not named here".to_owned()
        } else {
            lack.said(&shown)
        });
        self.named.insert(shown);
    }

    /// Say once that names make room for others.
    pub fn tell_of_room(&mut self, lack: Lack) {
        if !std::mem::replace(&mut self.told_of_room, true) {
            self.lines.push(format!(
                "all {} are taken: from here on those names and categories make room for new ones that were of \
                 least use and not seen for long",
                lack.bound()
            ));
        }
    }

    /// Have an attribute named whose values are nearly all new: one of the events, or the last label of an entity,
    /// on which `--ignore` has no effect.
    pub fn tell_of_identifier(&mut self, name: Name, is_label: bool) {
        let name = shown(name.text());
        let remedy = if is_label { "--no-carry-labels".to_owned() } else { format!("--ignore {name}") };
        self.lines.push(format!(
            "attribute {name}: nearly every value is new, as of an identifier; it counts as present, and \
             nothing more ({remedy} leaves it out)"
        ));
    }

    /// Have an attribute named whose values are points in time.
    pub fn tell_of_time(&mut self, name: Name) {
        let name = shown(name.text());
        self.lines.push(format!(
            "attribute {name}: points in time, of which the hour, the weekday, the month and the time since \
             the last one count (--kind {name}=category takes them as they are)"
        ));
    }

    /// Have an attribute named whose words count.
    pub fn tell_of_text(&mut self, name: Name) {
        let name = shown(name.text());
        self.lines.push(format!(
            "attribute {name}: most values have three words or more, so that words count, each for itself \
             (--kind {name}=category takes values as a whole)"
        ));
    }

    /// Have a sentinel named that was found.
    pub fn tell_of_sentinel(&mut self, name: Name, value: f64) {
        self.sentinels += 1;
        if self.sentinels > MOST_NAMED {
            if self.sentinels == MOST_NAMED + 1 {
                self.lines.push(
                    "more attributes have such numbers; they are counted, and not named here".to_owned(),
                );
            }
            return;
        }
        self.lines.push(format!(
            "attribute {}: {value} lies far from all other values and comes back; it counts as missing from \
             now on, with a mark of its own (--no-sentinels)",
            shown(name.text())
        ));
    }

    /// The lines since the last time.
    pub fn take(&mut self) -> Vec<String> {
        std::mem::take(&mut self.lines)
    }
}

/// A name as it can stand in a line.
pub fn shown(text: &[u8]) -> String {
    // No more is looked at than can be shown: a name may have megabytes.
    let text = String::from_utf8_lossy(&text[..text.len().min(4 * SHOWN + 4)]).into_owned();
    let mut shown: String =
        text.chars().take(SHOWN).map(|c| if is_printable(c) { c } else { '\u{fffd}' }).collect();
    if text.chars().nth(SHOWN).is_some() {
        shown.push('…');
    }
    shown
}

/// Whether a character can be shown as it is.
fn is_printable(c: char) -> bool {
    // Behind another character an accent is not escaped.
    let escaped = format!("a{c}").escape_debug().nth(1);
    matches!(c, '\'' | '"' | '\\') || escaped != Some('\\')
}

/// A number with a comma before every three digits.
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
    fn names_are_shown_without_what_cannot_be() {
        assert_eq!(shown("\x1b[31m\né".as_bytes()), "\u{fffd}[31m\u{fffd}é");
        assert_eq!(shown(&[b'x'; 1000]), format!("{}…", "x".repeat(60)));
        assert_eq!(shown("'a\\\u{301}\u{a0}".as_bytes()), "'a\\\u{301}\u{fffd}");
        assert_eq!([grouped(7), grouped(1024), grouped(16 << 20)], ["7", "1,024", "16,777,216"]);
    }
}
