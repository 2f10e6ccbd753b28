//! Whose events the lines to come are.
//!
//! The names of many entities are found before their lines are read, so that what is known of all of them is
//! fetched at once. Nothing depends on what is found: what only looks like a name costs some time, and so
//! does a name that is written in an unusual way.

use crate::encoder::Encoder;

/// Bytes that are looked through at once, and most names that are found in them.
const BYTES: usize = 1 << 13;
const MOST: usize = 64;

/// How far names were looked for in a text.
pub struct Ahead {
    /// What the name of an entity stands behind, in its quotes.
    key: Vec<u8>,
    end: usize,
}

impl Ahead {
    /// Of the entities that an encoder follows, if it does.
    pub fn new(encoder: &Encoder) -> Option<Self> {
        let rules = &encoder.following()?.rules;
        Some(Self { key: [b"\"", &*rules.entity, b"\""].concat(), end: 0 })
    }

    /// Have what is known of the next entities fetched, from the line on that begins at a place, unless that
    /// was done before.
    pub fn reach(&mut self, encoder: &Encoder, text: &[u8], line: usize) {
        let entities = encoder.following().map(|following| &following.entities);
        let Some(entities) = entities.filter(|entities| line >= self.end && entities.are_many()) else {
            return;
        };
        let text = &text[line..text.len().min(line + BYTES)];
        let keys = memchr::memmem::find_iter(text, &self.key).take(MOST);
        let behind: Vec<usize> = keys.map(|at| at + self.key.len()).collect();
        self.end = line + behind.get(MOST - 1).copied().unwrap_or(text.len());
        let names: Vec<&[u8]> = behind.iter().filter_map(|&at| name_in(&text[at..])).collect();
        entities.fetch(&names);
    }
}

/// The name that stands behind its key.
fn name_in(text: &[u8]) -> Option<&[u8]> {
    let value = text.trim_ascii_start().strip_prefix(b":")?.trim_ascii_start();
    match value.strip_prefix(b"\"") {
        Some(text) => text.split(|byte| *byte == b'"').next(),
        None => value.split(|byte| b"\",} \t\r\n".contains(byte)).next(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stand_behind_their_key() {
        for (text, name) in [
            (&br#": "one", "x": 1}"#[..], Some(&b"one"[..])),
            (br#":"one"}"#, Some(b"one")),
            (br#" : 12, "x": 1}"#, Some(b"12")),
            (b":-1.5}\n", Some(b"-1.5")),
            (b": \"one", Some(b"one")),
            (b":", Some(b"")),
            (b", 3]", None),
            (b"", None),
        ] {
            assert_eq!(name_in(text), name);
        }
    }
}
