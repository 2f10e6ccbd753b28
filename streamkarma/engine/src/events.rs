//! Events that were read out of lines, and what is known of each beside its attributes.

use std::ops::Range;

use crate::encoded::Encoded;
use crate::json::Fault;

/// Events that were read, what is known of each beside its attributes, and how far reading came.
#[derive(Debug, Default)]
pub struct Events {
    /// The events.
    pub encoded: Encoded,
    /// Which of the lines each was, from 0.
    pub lines: Vec<usize>,
    /// See `Label`.
    pub labels: Vec<f64>,
    /// See `Label`.
    pub kinds: Vec<i32>,
    /// 1 where there is none.
    pub weights: Vec<f64>,
    /// What is handed on of each, by place; "null" where there is nothing.
    pub kept: Vec<Vec<String>>,
    /// Lines that are no events.
    pub rejected: Vec<Rejected>,
    /// How many lines were read, those that are empty or rejected among them.
    pub count: usize,
    /// Where the first line that was not read begins.
    pub end: usize,
    /// The label in JSON, if reading stopped at a line whose label is not known.
    pub unknown: Option<String>,
}

/// A line that is no event.
#[derive(Debug, PartialEq)]
pub struct Rejected {
    /// Which of the lines it is, from 0.
    pub line: usize,
    /// Where it stands in the text.
    pub place: Range<usize>,
    /// What is wrong.
    pub fault: Fault,
}

impl Events {
    /// None so far, to be read from a place on, with so many values of each to be handed on, and with room
    /// for so many items.
    pub fn beginning_at(begin: usize, kept: usize, items: usize) -> Self {
        let encoded = Encoded::with_room(items);
        Self { encoded, end: begin, kept: vec![Vec::new(); kept], ..Self::default() }
    }
}
