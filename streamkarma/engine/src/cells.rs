//! The cells of a table of text, converted to JSON.

use std::borrow::Cow;
use std::collections::HashSet;

use crate::spelled::is_plain_number;

/// The finite number that a cell spells, as JSON: its digits are kept as they are.
pub fn number(cell: &str) -> Option<Cow<'_, str>> {
    let text = cell.trim();
    if !is_plain_number(text) || !text.parse().is_ok_and(f64::is_finite) {
        return None;
    }
    let text = text.strip_prefix('+').unwrap_or(text);
    let unsigned = text.strip_prefix('-').unwrap_or(text);
    // JSON requires a digit on either side of the point.
    let Some((whole, part)) = unsigned.split_once('.') else { return Some(text.into()) };
    let digits_follow = part.starts_with(|first: char| first.is_ascii_digit());
    if !whole.is_empty() && digits_follow {
        return Some(text.into());
    }
    let sign = &text[..text.len() - unsigned.len()];
    let whole = if whole.is_empty() { "0" } else { whole };
    let zero = if digits_follow { "" } else { "0" };
    Some(format!("{sign}{whole}.{zero}{part}").into())
}

/// The boolean that a cell spells, as JSON.
pub fn boolean(cell: &str) -> Option<&'static str> {
    let cell = cell.trim();
    ["true", "false"].into_iter().find(|word| word.eq_ignore_ascii_case(cell))
}

/// Which cells stand for a missing value: empty ones, and those that hold one of some words, in any case and with any
/// surrounding blanks.
pub struct MissingWords {
    /// In lower case.
    words: HashSet<String>,
    /// Maximum number of bytes of a cell with such a word, in any case; longer cells are not looked up.
    longest: usize,
}

/// A letter has at most three times as many bytes in another case.
const CASE: usize = 3;

impl MissingWords {
    /// Cells that are empty or one of these words.
    pub fn new<'a>(words: impl IntoIterator<Item = &'a str>) -> Self {
        let words: HashSet<String> = words.into_iter().map(|word| word.trim().to_lowercase()).collect();
        let longest = words.iter().map(|word| CASE * word.len()).max().unwrap_or(0);
        Self { words, longest }
    }

    /// Whether the cell stands for a missing value.
    pub fn contains(&self, cell: &str) -> bool {
        let cell = cell.trim();
        cell.is_empty() || cell.len() <= self.longest && self.words.contains(&cell.to_lowercase())
    }
}

/// The type of a column.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Numbers; a cell that spells none is a text.
    Number,
    /// `true` and `false`, in any case; any other cell is a text.
    Boolean,
    /// Texts, even if they spell something else.
    Text,
    /// Nothing has been observed in the column yet, so each cell is typed by itself.
    Unknown,
}

/// A column of a table.
pub struct Column {
    /// What precedes a value in an object: the comma, the name of the member, and the colon.
    begin: String,
    kind: Kind,
}

impl Column {
    /// The column of this name and kind.
    pub fn new(name: &str, kind: Kind) -> Self {
        Self { begin: format!(",{}:", serde_json::Value::from(name)), kind }
    }

    /// Append a cell to the members of an object, preceded by a comma; nothing if it is missing.
    pub fn write(&self, cell: &str, missing: &MissingWords, object: &mut String) {
        if missing.contains(cell) {
            return;
        }
        object.push_str(&self.begin);
        let number = matches!(self.kind, Kind::Number | Kind::Unknown).then(|| number(cell)).flatten();
        let boolean = || matches!(self.kind, Kind::Boolean | Kind::Unknown).then(|| boolean(cell)).flatten();
        match number {
            Some(number) => object.push_str(&number),
            None => match boolean() {
                Some(boolean) => object.push_str(boolean),
                None => object.push_str(&serde_json::Value::from(cell).to_string()),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_of_cells_are_kept_as_json() {
        let spelled = ["1.50", " +.5", "-3.e2", "007", "1,5", "1e999"].map(number);
        let json = [Some("1.50"), Some("0.5"), Some("-3.0e2"), None, None, None];
        assert_eq!(
            spelled.map(|number| number.map(String::from)),
            json.map(|number| number.map(String::from))
        );
    }

    #[test]
    fn cells_spell_booleans() {
        assert_eq!(["TRUE", " false ", "yes"].map(boolean), [Some("true"), Some("false"), None]);
    }

    #[test]
    fn missing_words_match_in_any_case() {
        let missing = MissingWords::new(["N/A", "Ø"]);
        assert!(missing.contains("n/a ") && missing.contains("ø") && missing.contains(" "));
        assert!(!missing.contains("?"));
    }
}
