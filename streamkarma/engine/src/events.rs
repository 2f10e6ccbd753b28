//! Events read from lines, and what belongs to each besides its attributes.

use std::ops::Range;

use crate::encoded::Encoded;
use crate::json::Fault;

/// Events read from lines, what belongs to each besides its attributes, and how far reading got.
#[derive(Debug, Default)]
pub struct Events {
    /// The events.
    pub encoded: Encoded,
    /// The line of each event, counted from 0.
    pub lines: Vec<usize>,
    /// See `Label`.
    pub labels: Vec<f64>,
    /// See `Label`.
    pub kinds: Vec<i32>,
    /// The weight of each event; 1 if it has none.
    pub weights: Vec<f64>,
    /// The values passed through for each event, by slot; "null" if there is none.
    pub kept: Vec<Vec<String>>,
    /// Lines that are not events.
    pub rejected: Vec<Rejected>,
    /// The number of lines read, including empty and rejected ones.
    pub count: usize,
    /// The position in the text where the first unread line begins.
    pub end: usize,
    /// The label in JSON, if reading stopped at a line with an unknown label.
    pub unknown: Option<String>,
}

/// A line that is not an event.
#[derive(Debug, PartialEq)]
pub struct Rejected {
    /// The line, counted from 0.
    pub line: usize,
    /// Its position in the text.
    pub place: Range<usize>,
    /// What is wrong.
    pub fault: Fault,
}

impl Events {
    /// No events yet, to be read from `begin` on, with `kept` values of each passed through, and memory reserved for
    /// `items` items.
    pub fn beginning_at(begin: usize, kept: usize, items: usize) -> Self {
        let encoded = Encoded::with_room(items);
        Self { encoded, end: begin, kept: vec![Vec::new(); kept], ..Self::default() }
    }
}
