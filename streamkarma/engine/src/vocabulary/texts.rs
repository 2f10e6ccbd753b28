//! The attributes whose names are texts, by name.
//!
//! A reader looks up every name of every event. Most names are short and few are in use, so they are kept a second time
//! where they are found by comparing two words, which takes a fifth of the time of a hash table.

use std::sync::Arc;

use foldhash::HashMap;

/// Number of slots of short names, a power of two: more than most streams have names.
const SLOTS: usize = 256;

/// Attributes by name.
#[derive(Clone, Debug)]
pub struct Texts {
    // Names are untrusted, so the hash is keyed, and nothing depends on its order.
    all: HashMap<Arc<[u8]>, u32>,
    /// Some of them again, by a hash that is not keyed: of short names with the same slot, the latest.
    short: Vec<Slot>,
}

/// A short name, as words that equal those of no other name, and its attribute.
#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    words: [u64; 2],
    /// 0 if there is none.
    attribute: u32,
}

impl Default for Texts {
    fn default() -> Self {
        Self { all: HashMap::default(), short: vec![Slot::default(); SLOTS] }
    }
}

impl Texts {
    /// The attribute with that name.
    #[inline]
    pub fn get(&self, name: &[u8]) -> Option<u32> {
        if let Some(words) = words_of(name) {
            let slot = &self.short[slot_of(words)];
            if slot.words == words && slot.attribute > 0 {
                return Some(slot.attribute);
            }
        }
        self.all.get(name).copied()
    }

    /// Name an attribute.
    pub fn insert(&mut self, name: Arc<[u8]>, attribute: u32) {
        if let Some(words) = words_of(&name) {
            self.short[slot_of(words)] = Slot { words, attribute };
        }
        self.all.insert(name, attribute);
    }

    /// Remove a name.
    pub fn remove(&mut self, name: &[u8]) {
        if let Some(words) = words_of(name) {
            let slot = &mut self.short[slot_of(words)];
            if slot.words == words {
                *slot = Slot::default();
            }
        }
        self.all.remove(name);
    }
}

/// The bytes of a name of up to 15 bytes as two words, which differ from those of any other name.
#[inline]
fn words_of(name: &[u8]) -> Option<[u64; 2]> {
    // The length goes where no name of that length has bytes.
    let length = (name.len() as u64) << 56;
    if let Some(first) = name.first_chunk() {
        // The last eight bytes, less those among the first eight.
        let last = u64::from_le_bytes(*name.last_chunk()?);
        let shared = 16_usize.checked_sub(name.len()).filter(|&shared| shared > 0)?;
        let rest = if shared == 8 { 0 } else { last >> (8 * shared) };
        return Some([u64::from_le_bytes(*first), rest | length]);
    }
    Some([name.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte)), length])
}

fn slot_of([first, rest]: [u64; 2]) -> usize {
    let mixed = (first ^ rest.rotate_left(29)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> 56) as usize % SLOTS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_whatever_their_length() {
        let mut names: Vec<Vec<u8>> =
            (0..20).flat_map(|n| [vec![b'a'; n], vec![0; n], vec![255; n]]).collect();
        names.extend((0..600).map(|i| format!("x{i}").into_bytes()));
        names.extend((0..9).map(|i| format!("a long name {i}").into_bytes()));
        names.sort_unstable();
        names.dedup();
        let mut texts = Texts::default();
        for (name, attribute) in names.iter().zip(1..) {
            assert_eq!(texts.get(name), None);
            texts.insert(name[..].into(), attribute);
        }
        for (name, attribute) in names.iter().zip(1..) {
            assert_eq!(texts.get(name), Some(attribute));
        }
        for (name, attribute) in names.iter().zip(1..) {
            if attribute % 2 == 0 {
                texts.remove(name);
            }
        }
        for (name, attribute) in names.iter().zip(1..) {
            assert_eq!(texts.get(name), (attribute % 2 == 1).then_some(attribute));
        }
    }
}
