//! Looks ahead for the entities in the lines to come.
//!
//! The names of many entities are found before their lines are read, so that their data is fetched from memory at once.
//! Results do not depend on what is found: text that only looks like a name costs some time, and so does a name that is
//! written in an unusual way.

use crate::encoder::Encoder;

/// Number of bytes searched at a time, and maximum number of names found in them.
const BYTES: usize = 1 << 13;
const MOST: usize = 64;

/// How far a text has been searched for names.
pub struct EntityPrefetch {
    /// The quoted key that precedes the name of an entity.
    key: Vec<u8>,
    end: usize,
}

impl EntityPrefetch {
    /// For the entities that an encoder follows, if it follows any.
    pub fn new(encoder: &Encoder) -> Option<Self> {
        let rules = &encoder.following()?.rules;
        Some(Self { key: [b"\"", &*rules.entity, b"\""].concat(), end: 0 })
    }

    /// Fetch the data of the next entities, starting from the line that begins at `line`, unless that has been done
    /// already.
    pub fn fetch_next(&mut self, encoder: &Encoder, text: &[u8], line: usize) {
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

/// The name that follows its key.
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
    fn name_is_found_after_its_key() {
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
