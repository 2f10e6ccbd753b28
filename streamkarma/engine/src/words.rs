//! The words of a text.
//!
//! Words are defined by Unicode (annex 29, on text segmentation), so that no language is assumed; case is ignored. Each
//! pair of adjacent words is a term of its own.

use unicode_segmentation::UnicodeSegmentation;

/// A text of at least this many words, separated by whitespace, is prose.
const PROSE: usize = 3;
/// So is one of this many words however they are separated: not every script uses spaces.
const UNPARTED: usize = 8;
/// Maximum number of words of a text that are used, and of its bytes.
pub const MOST_WORDS: usize = 256;
const MOST_BYTES: usize = 1 << 14;

/// Whether a text is prose, rather than a name.
pub fn is_prose(text: &[u8]) -> bool {
    if text.len() < 2 * PROSE - 1 {
        return false;
    }
    let text = beginning(text);
    if text.split(|byte| byte.is_ascii_whitespace()).filter(|part| !part.is_empty()).count() >= PROSE {
        return true;
    }
    text.len() >= 2 * UNPARTED && String::from_utf8_lossy(text).unicode_words().nth(UNPARTED - 1).is_some()
}

/// Pass each word of a text to `each` in lower case, and each pair of adjacent words with a space between them.
pub fn terms(text: &[u8], mut each: impl FnMut(&str, bool)) {
    let text = String::from_utf8_lossy(beginning(text)).to_lowercase();
    let mut last = "";
    for word in text.unicode_words().take(MOST_WORDS) {
        each(word, false);
        if !last.is_empty() {
            each(&format!("{last} {word}"), true);
        }
        last = word;
    }
}

/// The part of a text that is used.
fn beginning(text: &[u8]) -> &[u8] {
    &text[..text.len().min(MOST_BYTES)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prose_has_several_words() {
        assert!(is_prose(b"It never rains here") && is_prose("今日は雨が降りませんね".as_bytes()));
        assert!(!is_prose(b"Married-civ-spouse") && !is_prose(b"New York"));
    }

    #[test]
    fn terms_are_words_and_adjacent_pairs() {
        let (mut words, mut pairs) = (Vec::new(), Vec::new());
        terms("Nie GENUG, Öl!".as_bytes(), |term, is_pair| {
            if is_pair { pairs.push(term.to_owned()) } else { words.push(term.to_owned()) }
        });
        assert_eq!(words, ["nie", "genug", "öl"]);
        assert_eq!(pairs, ["nie genug", "genug öl"]);
    }
}
