//! Reads JSON objects in one pass, which suffices for nearly every line.
//!
//! Names inside objects and arrays are joined with dots along the way. Anything unusual, such as a duplicate name, is
//! left to the long way of [`lines`](crate::lines), which defines what it means.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use crate::encoder::Encoder;
use crate::fields::Roles;
use crate::json::{EXACT, Text};
use crate::lines::{ExtractedFields, MAX_DEPTH, MAX_NAMES};
use crate::names::Name;

/// Read an object: attributes go to the encoder, where an event must have been begun, and the other fields to `taken`.
/// Returns false if it has to be read the long way, as whatever seems invalid: a value may be followed by another of the
/// same name, which is the one that counts.
pub fn read<'a>(
    encoder: &mut Encoder,
    roles: &Roles,
    object: &'a str,
    taken: &mut ExtractedFields<'a>,
) -> bool {
    let mut nest = Nest::default();
    let mut deserializer = serde_json::Deserializer::from_str(object);
    let whole = Object { encoder, roles, taken, nest: &mut nest };
    let read = deserializer.deserialize_map(whole).and_then(|()| deserializer.end());
    let repeats = encoder.repeated().is_some() || nest.untagged().any(|name| encoder.has(Name::Text(name)));
    read.is_ok() && !nest.is_odd && !repeats && !encoder.lacks_digits()
}

/// The objects and arrays inside a record.
#[derive(Default)]
struct Nest {
    /// The joined name of the current value.
    name: String,
    depth: usize,
    /// Total bytes of all joined names.
    bytes: usize,
    /// The joined names of all objects and arrays, and where each of them ends.
    names: Vec<u8>,
    ends: Vec<usize>,
    /// Indices of those that are attributes, since they have tags; ascending.
    tagged: Vec<usize>,
    is_odd: bool,
}

impl Nest {
    fn containers(&self) -> impl Iterator<Item = &[u8]> {
        let begins = std::iter::once(0).chain(self.ends.iter().copied());
        begins.zip(&self.ends).map(|(begin, &end)| &self.names[begin..end])
    }

    fn untagged(&self) -> impl Iterator<Item = &[u8]> {
        let all = self.containers().enumerate();
        all.filter(|(at, _)| !self.tagged.contains(at)).map(|(_, name)| name)
    }

    /// Record an object or array with the current name; false if the record has to be read the long way.
    fn enter(&mut self) -> bool {
        self.bytes += self.name.len();
        let is_known = self.containers().any(|name| name == self.name.as_bytes());
        self.is_odd |= is_known || self.depth + 1 >= MAX_DEPTH || self.ends.len() >= MOST_CONTAINERS;
        self.names.extend_from_slice(self.name.as_bytes());
        self.ends.push(self.names.len());
        self.depth += 1;
        !self.is_odd
    }

    /// Step into `name` below the name that ends at `end`; false if all names together are too long by now.
    fn step_into(&mut self, end: usize, name: &impl fmt::Display) -> bool {
        use fmt::Write;

        self.name.truncate(end);
        // Writing to a string cannot fail.
        _ = write!(self.name, ".{name}");
        self.bytes += self.name.len();
        self.is_odd |= self.bytes > MAX_NAMES;
        !self.is_odd
    }
}

/// A record with more objects and arrays than this is read the long way, which looks names up by hash.
const MOST_CONTAINERS: usize = 16;

/// The record itself.
struct Object<'r, 'a> {
    encoder: &'r mut Encoder,
    roles: &'r Roles,
    taken: &'r mut ExtractedFields<'a>,
    nest: &'r mut Nest,
}

impl<'a> Visitor<'a> for Object<'_, 'a> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'a>>(self, mut map: A) -> Result<(), A::Error> {
        let Self { encoder, roles, taken, nest } = self;
        while let Some(Text(name)) = map.next_key()? {
            match roles.of(&name) {
                None => {
                    let inside = !roles.dotted;
                    map.next_value_seed(Attribute { encoder, nest, name: &name, inside, tags: None })?;
                }
                Some(role) => {
                    let raw = map.next_value::<&RawValue>()?.get();
                    // It may contain a field that a dotted name refers to.
                    nest.is_odd |= roles.dotted && raw.starts_with(['{', '[']);
                    nest.is_odd |= taken.put(role, raw).unwrap_or(true);
                }
            }
        }
        Ok(())
    }
}

/// The value of an attribute, or, if it may be read `inside`, an object or array with more attributes.
struct Attribute<'r> {
    encoder: &'r mut Encoder,
    nest: &'r mut Nest,
    name: &'r str,
    inside: bool,
    /// Where texts go if this is an element of an array.
    tags: Option<&'r mut Tags>,
}

/// The texts of an array, which are tags under its name.
struct Tags {
    /// The length of the name, and the index of the array among the containers.
    end: usize,
    container: usize,
    /// Their bag in the encoder; None before the first text.
    bag: Option<usize>,
}

impl<'a> DeserializeSeed<'a> for Attribute<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'a>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl Attribute<'_> {
    fn number(self, value: f64) {
        self.encoder.number(Name::Text(self.name.as_bytes()), value);
    }

    /// An integer that has more digits than a float can hold.
    #[cold]
    fn integer(self, integer: impl fmt::Display, value: f64) {
        let name = Name::Text(self.name.as_bytes());
        if self.encoder.wants_digits(name) {
            self.encoder.integer(name, &integer.to_string(), value);
        } else {
            self.number(value);
        }
    }

    /// Begin the object or array of this name.
    fn enter<E: Error>(&mut self) -> Result<(), E> {
        self.nest.name.clear();
        self.nest.name.push_str(self.name);
        self.nest.is_odd |= !self.inside;
        if self.nest.enter() { Ok(()) } else { Err(E::custom("read the long way")) }
    }
}

impl<'a> Visitor<'a> for Attribute<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        self.encoder.missing(Name::Text(self.name.as_bytes()));
        Ok(())
    }

    fn visit_bool<E>(self, truth: bool) -> Result<(), E> {
        self.number(f64::from(u8::from(truth)));
        Ok(())
    }

    fn visit_u64<E>(self, value: u64) -> Result<(), E> {
        if value > EXACT {
            self.integer(value, value as f64);
        } else {
            self.number(value as f64);
        }
        Ok(())
    }

    fn visit_i64<E>(self, value: i64) -> Result<(), E> {
        if value.unsigned_abs() > EXACT {
            self.integer(value, value as f64);
        } else {
            self.number(value as f64);
        }
        Ok(())
    }

    fn visit_f64<E>(self, value: f64) -> Result<(), E> {
        self.number(value);
        Ok(())
    }

    fn visit_str<E>(self, text: &str) -> Result<(), E> {
        match self.tags {
            None => self.encoder.text(Name::Text(self.name.as_bytes()), text.as_bytes()),
            Some(tags) => {
                let bag = tags.bag.unwrap_or_else(|| {
                    self.nest.tagged.push(tags.container);
                    self.encoder.bag(Name::Text(&self.name.as_bytes()[..tags.end]))
                });
                tags.bag = Some(bag);
                self.encoder.tag(bag, text.as_bytes());
            }
        }
        Ok(())
    }

    fn visit_map<A: MapAccess<'a>>(mut self, mut map: A) -> Result<(), A::Error> {
        self.enter()?;
        let end = self.nest.name.len();
        while let Some(Text(key)) = map.next_key()? {
            if !self.nest.step_into(end, &key) {
                return Err(A::Error::custom("read the long way"));
            }
            let name = std::mem::take(&mut self.nest.name);
            map.next_value_seed(Attribute {
                encoder: self.encoder,
                nest: self.nest,
                name: &name,
                inside: true,
                tags: None,
            })?;
            self.nest.name = name;
        }
        self.nest.depth -= 1;
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'a>>(mut self, mut list: A) -> Result<(), A::Error> {
        self.enter()?;
        let (end, mut index) = (self.nest.name.len(), 0);
        let mut tags = Tags { end, container: self.nest.ends.len() - 1, bag: None };
        loop {
            if !self.nest.step_into(end, &index) {
                return Err(A::Error::custom("read the long way"));
            }
            let name = std::mem::take(&mut self.nest.name);
            let (encoder, nest) = (&mut *self.encoder, &mut *self.nest);
            let element = Attribute { encoder, nest, name: &name, inside: true, tags: Some(&mut tags) };
            let more = list.next_element_seed(element)?.is_some();
            self.nest.name = name;
            if !more {
                break;
            }
            index += 1;
        }
        self.nest.depth -= 1;
        Ok(())
    }
}
