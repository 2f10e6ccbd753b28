//! Flat objects of JSON in one pass: what nearly every line is.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use crate::encoder::Encoder;
use crate::fields::Roles;
use crate::json::{Fault, Text, not_json};
use crate::lines::Taken;
use crate::names::Name;

/// Read an object whose values are no objects and arrays: attributes go to the encoder, in which an event was
/// begun, and the rest is taken out. False if it is not as flat as that, or has a name twice.
///
/// # Errors
///
/// If it is no JSON, or holds an infinite number.
pub fn read<'a>(
    encoder: &mut Encoder,
    roles: &Roles,
    object: &'a str,
    taken: &mut Taken<'a>,
) -> Result<bool, Fault> {
    let mut is_odd = false;
    let mut deserializer = serde_json::Deserializer::from_str(object);
    let flat = Flat { encoder, roles, taken, is_odd: &mut is_odd };
    let read = deserializer.deserialize_map(flat).and_then(|()| deserializer.end());
    if is_odd || encoder.repeated().is_some() {
        return Ok(false);
    }
    read.map(|()| true).map_err(|error| not_json(&error))
}

struct Flat<'r, 'a> {
    encoder: &'r mut Encoder,
    roles: &'r Roles,
    taken: &'r mut Taken<'a>,
    is_odd: &'r mut bool,
}

impl<'a> Visitor<'a> for Flat<'_, 'a> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'a>>(self, mut map: A) -> Result<(), A::Error> {
        let Self { encoder, roles, taken, is_odd } = self;
        while let Some(Text(name)) = map.next_key()? {
            match roles.of(&name) {
                None => map.next_value_seed(Attribute { encoder, name: &name, is_odd })?,
                Some(role) => {
                    let raw = map.next_value::<&RawValue>()?.get();
                    // A name with a dot may lie in there.
                    *is_odd |= roles.dotted && raw.starts_with(['{', '[']);
                    *is_odd |= taken.put(role, raw);
                }
            }
        }
        Ok(())
    }
}

/// The value of an attribute.
struct Attribute<'r> {
    encoder: &'r mut Encoder,
    name: &'r str,
    is_odd: &'r mut bool,
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

    /// The object is read again: what is in it need not be looked at now.
    fn nested<E: Error>(self) -> Result<(), E> {
        *self.is_odd = true;
        Err(E::custom("nested"))
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
        self.number(value as f64);
        Ok(())
    }

    fn visit_i64<E>(self, value: i64) -> Result<(), E> {
        self.number(value as f64);
        Ok(())
    }

    fn visit_f64<E>(self, value: f64) -> Result<(), E> {
        self.number(value);
        Ok(())
    }

    fn visit_str<E>(self, text: &str) -> Result<(), E> {
        self.encoder.text(Name::Text(self.name.as_bytes()), text.as_bytes());
        Ok(())
    }

    fn visit_map<A: MapAccess<'a>>(self, _: A) -> Result<(), A::Error> {
        self.nested()
    }

    fn visit_seq<A: SeqAccess<'a>>(self, _: A) -> Result<(), A::Error> {
        self.nested()
    }
}
