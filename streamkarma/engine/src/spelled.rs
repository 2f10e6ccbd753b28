//! Texts that are taken for the number they spell.

use crate::json::EXACT;

/// Longer texts are not looked at: no number is written with more characters.
const LONGEST: usize = 32;

/// The finite number that a text spells, as JSON would write it or nearly so.
///
/// With a leading zero (a postal code) or in another form (a date, "1_000", "inf") it is a category.
///
/// ```
/// use _engine::spelled::spelled_number;
/// assert_eq!([&b"-1.5"[..], b" 2e3 "].map(spelled_number), [Some(-1.5), Some(2000.0)]);
/// assert_eq!([&b"02139"[..], b"v1", b"1e999"].map(spelled_number), [None; 3]);
/// ```
pub fn spelled_number(text: &[u8]) -> Option<f64> {
    if text.len() > LONGEST {
        return None;
    }
    let text = std::str::from_utf8(text).ok()?;
    let text = text.trim_matches([' ', '\t', '\n', '\r', '\x0b', '\x0c']);
    let rest = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (whole, rest) = digits(rest);
    let (part, rest) = match rest.strip_prefix('.') {
        Some(rest) => digits(rest),
        None => ("", rest),
    };
    let leading_zero = whole.len() > 1 && whole.starts_with('0');
    if leading_zero || whole.is_empty() && part.is_empty() {
        return None;
    }
    if let Some(power) = rest.strip_prefix(['e', 'E']) {
        let (power, rest) = digits(power.strip_prefix(['+', '-']).unwrap_or(power));
        if power.is_empty() || !rest.is_empty() {
            return None;
        }
    } else if !rest.is_empty() {
        return None;
    }
    text.parse().ok().filter(|number: &f64| number.is_finite())
}

/// The name that a number is, where it tells which one of several something is: without an exponent, so that it
/// is the text which spells it, and an integer has all of its digits.
///
/// ```
/// use _engine::spelled::name_of;
/// assert_eq!([7.0, -0.0, 1e16, 0.5e-6].map(name_of), ["7", "0", "10000000000000000", "0.0000005"]);
/// assert_eq!(name_of((1_u64 << 60) as f64), (1_u64 << 60).to_string());
/// ```
pub fn name_of(value: f64) -> String {
    if value.fract() != 0.0 {
        return value.to_string();
    }
    // Integers are written much faster as such.
    if value.abs() < EXACT as f64 { (value as i64).to_string() } else { format!("{value:.0}") }
}

/// The digits in front, and what follows.
fn digits(text: &str) -> (&str, &str) {
    text.split_at(text.bytes().take_while(u8::is_ascii_digit).count())
}
