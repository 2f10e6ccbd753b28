//! Texts that are points in time, and the features that an event gets from them.

use chrono::{DateTime, Datelike, FixedOffset, NaiveDate, NaiveDateTime, NaiveTime, Timelike};

use crate::math::{cos, sin};

/// Longer texts are not parsed.
const LONGEST: usize = 40;

/// A point in time as it was written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Moment {
    /// Date and time of day in its own time zone.
    local: NaiveDateTime,
    /// Whether it has a time of day.
    has_time: bool,
    /// Seconds since 1970, UTC; a time without a zone is treated as UTC.
    pub seconds: f64,
}

/// Parse a text in ISO 8601: a date, optionally with a time of day, and that optionally with a time zone.
pub fn moment(text: &[u8]) -> Option<Moment> {
    if !(10..=LONGEST).contains(&text.len()) || text[4] != b'-' || text[7] != b'-' {
        return None;
    }
    let text = std::str::from_utf8(text).ok()?;
    let (date, rest) = text.split_at_checked(10)?;
    let date: NaiveDate = date.parse().ok()?;
    if rest.is_empty() {
        let local = date.and_time(NaiveTime::MIN);
        return Some(Moment { local, has_time: false, seconds: seconds(local, 0) });
    }
    let time = rest.strip_prefix(['T', 't', ' '])?;
    let (time, offset) = without_zone(time)?;
    let time = ["%H:%M:%S%.f", "%H:%M"].iter().find_map(|form| NaiveTime::parse_from_str(time, form).ok())?;
    let local = date.and_time(time);
    Some(Moment { local, has_time: true, seconds: seconds(local, offset) })
}

/// Parse a date of eight digits, the basic format of ISO 8601, which is a number as well.
pub fn basic_date(text: &[u8]) -> Option<Moment> {
    let [y1, y2, y3, y4, m1, m2, d1, d2] = *text else { return None };
    moment(&[y1, y2, y3, y4, b'-', m1, m2, b'-', d1, d2])
}

/// The time of day, and by how many seconds its zone is ahead of UTC.
fn without_zone(time: &str) -> Option<(&str, i32)> {
    if let Some(time) = time.strip_suffix(['Z', 'z']) {
        return Some((time, 0));
    }
    let Some(at) = time.rfind(['+', '-']) else { return Some((time, 0)) };
    let (time, zone) = time.split_at(at);
    let digits: String = zone[1..].chars().filter(|&c| c != ':').collect();
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let (hours, minutes) = match digits.len() {
        2 => (digits.parse::<i32>().ok()?, 0),
        4 => (digits[..2].parse().ok()?, digits[2..].parse::<i32>().ok()?),
        _ => return None,
    };
    let ahead = 3600 * hours + 60 * minutes;
    FixedOffset::east_opt(ahead)?;
    Some((time.trim_end(), if zone.starts_with('-') { -ahead } else { ahead }))
}

fn seconds(local: NaiveDateTime, ahead: i32) -> f64 {
    let utc = local.and_utc();
    (utc.timestamp() - i64::from(ahead)) as f64 + f64::from(utc.timestamp_subsec_micros()) / 1e6
}

/// Times are below this in seconds, the year 5138; a larger number is in a smaller unit.
const MOST_SECONDS: f64 = 1e11;

/// The seconds since 1970 that a number stands for: it counts seconds, milliseconds, microseconds or nanoseconds, which its
/// size tells. None if it is too large for any of them.
pub fn seconds_since_1970(number: f64) -> Option<f64> {
    [1.0, 1e3, 1e6, 1e9].iter().map(|unit| number / unit).find(|seconds| seconds.abs() < MOST_SECONDS)
}

impl Moment {
    /// The moment for which a number stands, UTC: see `seconds_since_1970`.
    pub fn since_1970(number: f64) -> Option<Self> {
        let seconds = seconds_since_1970(number)?;
        let local = DateTime::from_timestamp(seconds.floor() as i64, 0)?.naive_utc();
        Some(Self { local, has_time: true, seconds })
    }

    /// Its features, each with a value: the position in the day, the week and the year.
    pub fn parts(&self) -> Vec<(String, f64)> {
        let share = |part: u32, whole: f64| 2.0 * std::f64::consts::PI * f64::from(part) / whole;
        let year = share(self.local.ordinal0(), 366.0);
        let mut parts = vec![
            (format!("month {}", self.local.month()), 1.0),
            (format!("weekday {}", self.local.weekday()), 1.0),
            ("(year cos)".to_owned(), cos(year)),
            ("(year sin)".to_owned(), sin(year)),
        ];
        if self.has_time {
            let day = share(self.local.num_seconds_from_midnight(), 86_400.0);
            parts.extend([
                (format!("hour {}", self.local.hour()), 1.0),
                ("(day cos)".to_owned(), cos(day)),
                ("(day sin)".to_owned(), sin(day)),
            ]);
        }
        parts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_in_iso_8601_are_moments() {
        assert_eq!(moment(b"1970-01-02T01:00:00+01:00").map(|moment| moment.seconds), Some(86_400.0));
        assert!(
            [&b"2026-11-22"[..], b"2026-11-22 07:30", b"2026-11-22T07:30:00.5Z"]
                .iter()
                .all(|t| moment(t).is_some())
        );
        assert!(
            [&b"2026-13-01"[..], b"22.11.2026", b"2026-11", b"12:30"].iter().all(|t| moment(t).is_none())
        );
    }

    #[test]
    fn units_of_numbers_are_recognised_by_size() {
        assert!(
            [1.7e9, 1.7e12, 1.7e15, 1.7e18].iter().all(|number| seconds_since_1970(*number) == Some(1.7e9))
        );
        assert_eq!(seconds_since_1970(1e21), None);
    }

    #[test]
    fn invalid_time_zones_are_refused() {
        for zone in ["+aéb", "+é1", "-1é", "+٣٤", "+a", "+aa", "+aaaa", "+12é", "+", "-:", "+99", "+1 00"]
        {
            assert!(moment(format!("2024-01-01T00:00:00{zone}").as_bytes()).is_none(), "{zone}");
        }
        assert!(moment(b"2024-01-01T00:00:00+0530").is_some());
    }
}
