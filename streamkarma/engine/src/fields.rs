//! What names of a JSON record are for if they are no attributes, and labels that are known.

use std::collections::HashMap;

use crate::json::{EXACT, Fault, Number, Value};
use crate::spelled::name_of;

/// What a name is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The label.
    Target,
    /// How often the event counts.
    Weight,
    /// Left out.
    Ignored,
    /// Handed on as it stands, below [`MOST_KEPT`]: an id, a time, a complete vector.
    Kept(usize),
}

/// So many values of an event can be handed on.
pub const MOST_KEPT: usize = 4;

/// Names that are no attributes.
#[derive(Clone, Debug, Default)]
pub struct Roles {
    names: HashMap<String, Role>,
    /// A bit for every length, modulo 64, that such a name has.
    lengths: u64,
    /// Whether a name has a dot, and may lie inside of objects, which are then flattened first.
    pub dotted: bool,
    /// How many values are handed on.
    pub kept: usize,
}

impl Roles {
    /// Of these names.
    pub fn new(names: HashMap<String, Role>) -> Self {
        let kept = names.values().map(|role| if let Role::Kept(slot) = role { slot + 1 } else { 0 });
        Self {
            lengths: names.keys().fold(0, |lengths, name| lengths | bit(name)),
            dotted: names.keys().any(|name| name.contains('.')),
            kept: kept.max().unwrap_or(0).min(MOST_KEPT),
            names,
        }
    }

    /// What a name is for; None for an attribute.
    pub fn of(&self, name: &str) -> Option<Role> {
        if self.lengths & bit(name) == 0 {
            return None;
        }
        self.names.get(name).copied()
    }
}

fn bit(name: &str) -> u64 {
    1 << (name.len() % 64)
}

/// What is known of labels.
#[derive(Debug)]
pub struct Known {
    /// Those that are taken.
    pub labels: Labels,
    /// Those that were refused before, in JSON, and why.
    pub refused: HashMap<String, Fault>,
}

impl From<Labels> for Known {
    fn from(labels: Labels) -> Self {
        Self { labels, refused: HashMap::new() }
    }
}

/// Labels that need no second look.
#[derive(Clone, Debug)]
pub enum Labels {
    /// Numbers up to this, for a regression.
    Numbers(f64),
    /// Those of known classes.
    Classes(Classes),
    /// Any: whoever calls knows the label, and whether there is one.
    Given(bool),
}

/// Known classes.
#[derive(Clone, Debug, Default)]
pub struct Classes {
    /// Those that are texts, with their places among all.
    pub texts: HashMap<String, usize>,
    /// Those that are floats.
    pub numbers: Vec<f64>,
    /// Those of which a float may not have all digits, with their places among all.
    pub long: HashMap<String, usize>,
    /// Whether false is one, and true.
    pub booleans: [bool; 2],
}

/// A label as a number and its kind.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Label {
    /// A text, or a long integer, as its place among the classes; NaN where there is none.
    pub value: f64,
    /// What it was.
    pub kind: LabelKind,
    /// Whether there is one.
    pub is_there: bool,
}

/// What a label is; the numbers are those that Python knows them by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LabelKind {
    /// There is none.
    Nothing,
    /// With a point or an exponent.
    Number,
    /// True or false.
    Boolean,
    /// A number without them.
    Integer,
    /// A text.
    Text,
    /// An integer of which a float has not all digits.
    Long,
}

impl Classes {
    /// Add a number of that name: the nearest float, and its place among all.
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
    /// A label as it is learned, if it is one that is known, with how it is `written`.
    pub fn known(&self, value: &Value, written: &str) -> Option<Label> {
        let label = |value, kind| Some(Label { value, kind, is_there: kind != LabelKind::Nothing });
        match (self, value) {
            (&Self::Given(is_there), _) => {
                Some(Label { value: f64::NAN, kind: LabelKind::Nothing, is_there })
            }
            (_, Value::Null) => label(f64::NAN, LabelKind::Nothing),
            // It could be taken for another one.
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
