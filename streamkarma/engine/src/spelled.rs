//! Texts that are read as the numbers they spell.

use crate::json::EXACT;

/// Longer texts are not parsed: no number is written with more characters.
const LONGEST: usize = 32;

/// The finite number that a text spells, in the syntax of JSON or close to it.
///
/// Texts with a leading zero (a postal code) or in another form (a date, "1_000", "inf") are categories.
pub fn spelled_number(text: &[u8]) -> Option<f64> {
    if text.len() > LONGEST {
        return None;
    }
    let text = std::str::from_utf8(text).ok()?;
    let text = text.trim_matches([' ', '\t', '\n', '\r', '\x0b', '\x0c']);
    if is_plain_number(text) { text.parse().ok().filter(|number: &f64| number.is_finite()) } else { None }
}

/// Whether a text is formatted as a number without a leading zero: digits with at most one decimal point, with an
/// optional sign before and an optional exponent after them.
pub fn is_plain_number(text: &str) -> bool {
    let (whole, rest) = digits(text.strip_prefix(['+', '-']).unwrap_or(text));
    let (part, rest) = match rest.strip_prefix('.') {
        Some(rest) => digits(rest),
        None => ("", rest),
    };
    let has_leading_zero = whole.len() > 1 && whole.starts_with('0');
    if has_leading_zero || whole.is_empty() && part.is_empty() {
        return false;
    }
    match rest.strip_prefix(['e', 'E']) {
        Some(power) => {
            let (power, rest) = digits(power.strip_prefix(['+', '-']).unwrap_or(power));
            !power.is_empty() && rest.is_empty()
        }
        None => rest.is_empty(),
    }
}

/// A number as a name that identifies something: without an exponent, so that it equals the text that spells it, and
/// with all digits of an integer.
pub fn name_of(value: f64) -> String {
    if value.fract() != 0.0 {
        return value.to_string();
    }
    // Integers are formatted much faster as such.
    if value.abs() < EXACT as f64 { (value as i64).to_string() } else { format!("{value:.0}") }
}

/// The leading digits, and the rest.
fn digits(text: &str) -> (&str, &str) {
    text.split_at(text.bytes().take_while(u8::is_ascii_digit).count())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_finite_numbers_are_spelled() {
        assert_eq!([&b"-1.5"[..], b" 2e3 "].map(spelled_number), [Some(-1.5), Some(2000.0)]);
        assert_eq!([&b"02139"[..], b"v1", b"1e999"].map(spelled_number), [None; 3]);
    }

    #[test]
    fn plain_numbers_have_digits_without_leading_zeros() {
        assert!(["+.5", "5.", "0.25e-3"].into_iter().all(is_plain_number));
        assert!(!["", ".", "05", "1e", "1_000", "1,5"].into_iter().any(is_plain_number));
    }

    #[test]
    fn names_of_numbers_have_no_exponent() {
        assert_eq!([7.0, -0.0, 1e16, 0.5e-6].map(name_of), ["7", "0", "10000000000000000", "0.0000005"]);
        assert_eq!(name_of((1_u64 << 60) as f64), (1_u64 << 60).to_string());
    }
}
