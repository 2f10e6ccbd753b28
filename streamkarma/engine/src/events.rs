//! Events that were read out of lines, and what is known of each beside its attributes.

use crate::encoded::Encoded;
use crate::json::Fault;

/// Events that were read, and what is known of each beside its attributes.
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
    /// Where the first line that was not read begins.
    pub end: usize,
    /// Why it was not, if it is none too many.
    pub stop: Option<Stop>,
}

/// Why reading stopped at a line.
#[derive(Debug, PartialEq)]
pub struct Stop {
    /// Which of the lines it is, from 0.
    pub line: usize,
    /// Where the line after it begins.
    pub behind: usize,
    /// What is wrong.
    pub why: Why,
}

/// What is wrong with a line.
#[derive(Debug, PartialEq)]
pub enum Why {
    /// It is no event.
    Fault(Fault),
    /// Its label, in JSON, is not known.
    Label(String),
}

impl Events {
    /// No events, with the room of those before.
    pub fn clear(&mut self, begin: usize, kept: usize) {
        self.encoded.clear();
        self.lines.clear();
        self.labels.clear();
        self.kinds.clear();
        self.weights.clear();
        self.kept.resize_with(kept, Vec::new);
        self.kept.iter_mut().for_each(Vec::clear);
        (self.end, self.stop) = (begin, None);
    }
}
