//! Values that are not known when an event is encoded: target statistics of categories.
//!
//! The event has the *key* of the category instead, an integer below 2^53, stored as a value larger than any real one.
//! [`Rated`](crate::learners::rated::Rated) replaces it with the value; no other learner ever sees a key. Terms have keys
//! as well, which it passes on as [`Term`](crate::block::Term)s.

/// Keys of categories are below this, keys of neighbourhoods of numbers below twice this, and keys of terms below three
/// times this.
pub const KEYS: u64 = 1 << 51;

/// 2^700. Values are within 10^100, which is below 2^333.
const UNIT: f64 = f64::from_bits((1023 + 700) << 52);

/// The key of a category; `name` is the hash of the attribute's name.
pub fn key_of(name: u64, category: &[u8]) -> u64 {
    (hash_of(name, category) >> 13).max(1)
}

/// The key of a neighbourhood of a number.
pub fn neighbourhood_of(name: u64, neighbourhood: &[u8]) -> u64 {
    KEYS + key_of(name, neighbourhood)
}

/// Whether a key belongs to a neighbourhood.
pub fn is_neighbourhood(key: u64) -> bool {
    (KEYS..2 * KEYS).contains(&key)
}

/// The key of a term, which is a word, a pair of neighbouring words, or a tag, from its hash: its key as a category.
pub fn term_of(hash: u64) -> u64 {
    2 * KEYS + hash
}

/// Whether a key belongs to a term.
pub fn is_term(key: u64) -> bool {
    key >= 2 * KEYS
}

/// The hash of a term, from its key: above 0 and below [`KEYS`], whatever a model file claims.
pub fn hash_of_term(key: u64) -> u64 {
    (key % KEYS).max(1)
}

/// Continue a hash over `text`, with the same result on every machine: like FNV-1a, but eight bytes at a time.
pub fn hash_of(before: u64, text: &[u8]) -> u64 {
    let step = |hash: u64, word: u64| {
        let mixed = (hash ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        mixed ^ (mixed >> 32)
    };
    let (words, rest) = text.as_chunks::<8>();
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    let hash = words.iter().fold(step(before, 1), |hash, word| step(hash, u64::from_le_bytes(*word)));
    step(step(hash, u64::from_le_bytes(last)), text.len() as u64)
}

/// A key, encoded as the value of an item.
pub fn as_value(key: u64) -> f64 {
    key as f64 * UNIT
}

/// Whether the value of an item is a key.
pub fn is_key(value: f64) -> bool {
    value >= UNIT
}

/// Whether the value of an item is the key of a category or of a neighbourhood.
pub fn is_rate(value: f64) -> bool {
    (UNIT..2.0 * KEYS as f64 * UNIT).contains(&value)
}

/// Decode the key from the value of an item, if it is one.
pub fn from_value(value: f64) -> Option<u64> {
    is_key(value).then(|| (value / UNIT) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_round_trip_and_plain_values_are_not_keys() {
        for key in [1, 2, 12_345, KEYS - 1, 2 * KEYS - 1, 2 * KEYS, 3 * KEYS - 1] {
            assert!(as_value(key).is_finite());
            assert_eq!(from_value(as_value(key)), Some(key));
            assert_eq!(is_rate(as_value(key)), !is_term(key));
        }
        assert!(is_term(term_of(7)) && hash_of_term(term_of(7)) == 7);
        assert!([2 * KEYS, u64::MAX].map(hash_of_term).iter().all(|key| (1..KEYS).contains(key)));
        for value in [0.0, 1.0, -1e100, 1e100, f64::NAN] {
            assert_eq!(from_value(value), None);
            assert!(!is_rate(value));
        }
    }

    #[test]
    fn categories_have_distinct_keys() {
        let names = (0..20_000).map(|i| format!("{}{i}", "long ".repeat(i % 5)));
        let mut keys: Vec<u64> = names.flat_map(|name| [0, 1].map(|a| key_of(a, name.as_bytes()))).collect();
        keys.extend([&b""[..], b"\0", b"\0\0", b"12345678", b"12345678\0"].map(|name| key_of(0, name)));
        keys.extend((2..9).flat_map(|a| (0..9).map(move |category| key_of(a, &[category]))));
        let count = keys.len();
        assert!(keys.iter().all(|key| (1..KEYS).contains(key)));
        keys.sort_unstable();
        keys.dedup();
        assert_eq!(keys.len(), count);
    }
}
