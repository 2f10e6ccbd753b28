//! The roles of names in a JSON record that are not attributes, and known labels.

use std::collections::{HashMap, HashSet};

use foldhash::HashMap as FastMap;

use crate::json::{EXACT, Fault, Number, Value};
use crate::spelled::name_of;

/// The role of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The label.
    Target,
    /// The weight of the event.
    Weight,
    /// Left out.
    Ignored,
    /// Passed through, in a slot below [`MOST_KEPT`]: an id, a time, a complete vector.
    Kept(usize),
}

/// Maximum number of values of an event that are passed through.
pub const MOST_KEPT: usize = 4;

/// Names that are not attributes.
#[derive(Clone, Debug, Default)]
pub struct Roles {
    names: FastMap<String, Role>,
    /// A bit for the length, modulo 64, of each such name.
    lengths: u64,
    /// Whether a name has a dot, and may be inside objects, which are then flattened first.
    pub dotted: bool,
    /// The number of values passed through.
    pub kept: usize,
    /// Names of objects that contain such names.
    outer: HashSet<String>,
}

impl Roles {
    /// The roles of these names.
    pub fn new(names: HashMap<String, Role>) -> Self {
        let kept = names.values().map(|role| if let Role::Kept(slot) = role { slot + 1 } else { 0 });
        Self {
            lengths: names.keys().fold(0, |lengths, name| lengths | bit(name)),
            dotted: names.keys().any(|name| name.contains('.')),
            outer: names.keys().flat_map(|name| outer(name).map(str::to_owned)).collect(),
            kept: kept.max().unwrap_or(0).min(MOST_KEPT),
            names: names.into_iter().collect(),
        }
    }

    /// The role of a name; None for an attribute.
    #[inline]
    pub fn of(&self, name: &str) -> Option<Role> {
        if self.lengths & bit(name) == 0 {
            return None;
        }
        self.names.get(name).copied()
    }

    /// The role of an object or an array as a whole; None if it may contain a name with a role.
    pub fn of_whole(&self, name: &str) -> Option<Role> {
        self.of(name).filter(|role| *role == Role::Ignored || !self.outer.contains(name))
    }
}

/// The names of the objects around a joined name.
fn outer(name: &str) -> impl Iterator<Item = &str> {
    name.match_indices('.').map(|(at, _)| &name[..at])
}

fn bit(name: &str) -> u64 {
    1 << (name.len() % 64)
}

/// The known labels.
#[derive(Debug)]
pub struct Known {
    /// Labels that are accepted.
    pub labels: Labels,
    /// Labels in JSON that were rejected before, and why.
    pub refused: HashMap<String, Fault>,
    /// Labels in JSON that stand for none, such as `"NA"`.
    pub missing: HashSet<String>,
}

impl From<Labels> for Known {
    fn from(labels: Labels) -> Self {
        Self { labels, refused: HashMap::new(), missing: HashSet::new() }
    }
}

/// Labels that need no further check.
#[derive(Clone, Debug)]
pub enum Labels {
    /// Numbers up to this magnitude, for a regression.
    Numbers(f64),
    /// The labels of known classes.
    Classes(Classes),
    /// Any label: the caller has it, and specifies whether there is one.
    Given(bool),
}

/// Known classes.
#[derive(Clone, Debug, Default)]
pub struct Classes {
    /// Text labels, with their indices among all classes.
    pub texts: HashMap<String, usize>,
    /// Labels that a float represents exactly.
    pub numbers: Vec<f64>,
    /// Labels whose digits may not all fit into a float, with their indices among all classes.
    pub long: HashMap<String, usize>,
    /// Whether false is a class, and whether true is.
    pub booleans: [bool; 2],
}

/// A label as a number and its kind.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Label {
    /// The class index of a text or a long integer; otherwise the number; NaN if there is no label.
    pub value: f64,
    /// The kind of the label.
    pub kind: LabelKind,
    /// Whether there is one.
    pub is_there: bool,
}

/// The kind of a label; the discriminants are those used in Python.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LabelKind {
    /// No label.
    Nothing,
    /// With a point or an exponent.
    Number,
    /// True or false.
    Boolean,
    /// A number without either.
    Integer,
    /// A text.
    Text,
    /// An integer whose digits do not all fit into a float.
    Long,
}

impl Known {
    /// A label, given its value and its text, as it is learned.
    ///
    /// # Errors
    ///
    /// If it is not a known one: why it was rejected before, or None.
    pub fn label(&self, value: &Value, written: &str) -> Result<Label, Option<&Fault>> {
        match self.labels.known(value, written) {
            Some(label) => Ok(label),
            None if self.missing.contains(written) => Ok(Label::NONE),
            None => Err(self.refused.get(written)),
        }
    }
}

impl Label {
    const NONE: Self = Self { value: f64::NAN, kind: LabelKind::Nothing, is_there: false };
}

impl Classes {
    /// Add the number of that name: the nearest float, and its index among all classes.
    pub fn add_number(&mut self, name: &str, value: f64, place: usize) {
        if name == name_of(value) {
            self.numbers.push(value);
        }
        if value.abs() >= EXACT as f64 {
            self.long.insert(name.to_owned(), place);
        }
    }
}

impl Labels {
    /// A label as it is learned, if it is a known one; `written` is its text.
    fn known(&self, value: &Value, written: &str) -> Option<Label> {
        let label = |value, kind| Some(Label { value, kind, is_there: true });
        match (self, value) {
            (&Self::Given(is_there), _) => Some(Label { is_there, ..Label::NONE }),
            (_, Value::Null) => Some(Label::NONE),
            // Its float may equal that of another label.
            (Self::Classes(classes), Value::Number(number)) if !number.is_exact() => {
                label(*classes.long.get(written)? as f64, LabelKind::Long)
            }
            (_, Value::Number(number)) if !number.is_exact() => None,
            (&Self::Numbers(most), &Value::Number(number)) if number.value.abs() <= most => {
                label(number.value, number.kind())
            }
            (Self::Classes(classes), &Value::Number(number)) if classes.numbers.contains(&number.value) => {
                label(number.value, number.kind())
            }
            (Self::Classes(classes), &Value::Boolean(truth)) if classes.booleans[usize::from(truth)] => {
                label(f64::from(u8::from(truth)), LabelKind::Boolean)
            }
            (Self::Classes(classes), Value::Text(text)) => {
                label(*classes.texts.get(&**text)? as f64, LabelKind::Text)
            }
            _ => None,
        }
    }
}

impl Number {
    fn kind(self) -> LabelKind {
        if self.is_integer { LabelKind::Integer } else { LabelKind::Number }
    }
}
