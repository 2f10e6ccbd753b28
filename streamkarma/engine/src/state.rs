//! What a learner has learned, as named arrays, which go into a model file.

use std::collections::BTreeMap;

/// An array of one of the types that a model file may contain.
#[derive(Clone, Debug, PartialEq)]
pub enum Array {
    /// Numbers.
    F64(Vec<f64>, Vec<usize>),
    /// Counts and positions.
    I64(Vec<i64>, Vec<usize>),
    /// Attributes and coordinates.
    I32(Vec<i32>, Vec<usize>),
    /// Hashes.
    U64(Vec<u64>, Vec<usize>),
    /// Flags.
    Bool(Vec<bool>, Vec<usize>),
}

/// Maximum of any count in a state: up to here floats count exactly as well, and no learner will ever count past it.
pub const MOST_COUNTED: u64 = 1 << 53;

/// Maximum of any other number, infinity aside: whatever learners compute from it is still a number.
pub const LARGEST: f64 = 1e250;

/// Why a state does not fit the learner, or why its parts contradict each other, in one line.
pub type Refused = String;

/// Arrays by name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct State(pub BTreeMap<String, Array>);

macro_rules! access {
    ($get:ident, $put:ident, $kind:ident, $type:ty) => {
        /// The array of that name and its shape; an error if it is missing or of another type.
        pub fn $get(&self, name: &str) -> Result<(&[$type], &[usize]), Refused> {
            match self.0.get(name) {
                Some(Array::$kind(values, shape)) => Ok((values, shape)),
                _ => Err(format!("the state has no array {name} of the right kind")),
            }
        }

        /// Inserts an array of that name and shape.
        pub fn $put(&mut self, name: &str, values: Vec<$type>, shape: &[usize]) {
            debug_assert_eq!(values.len(), shape.iter().product::<usize>());
            self.0.insert(name.to_owned(), Array::$kind(values, shape.to_vec()));
        }
    };
}

impl State {
    access!(f64s, put_f64s, F64, f64);
    access!(i64s, put_i64s, I64, i64);
    access!(i32s, put_i32s, I32, i32);
    access!(u64s, put_u64s, U64, u64);
    access!(bools, put_bools, Bool, bool);

    /// Rejects counts and numbers that exceed the general maximum. Tighter bounds on particular ones are checked by
    /// each learner. With `are_inputs`, numbers are raw inputs, and may have any size.
    pub fn check_sizes(&self, are_inputs: bool) -> Result<(), Refused> {
        let is_small = |value: &f64| !value.is_finite() || value.abs() <= LARGEST;
        for (name, array) in &self.0 {
            let fits = match array {
                Array::I64(values, _) => values.iter().all(|value| value.unsigned_abs() <= MOST_COUNTED),
                Array::F64(values, _) => are_inputs || values.iter().all(is_small),
                _ => true,
            };
            if !fits {
                return Err(format!("{name} is larger than anything that is learned"));
            }
        }
        Ok(())
    }

    /// Inserts all arrays of another state, as the part of that name.
    pub fn put_part(&mut self, name: &str, part: Self) {
        self.0.extend(part.0.into_iter().map(|(key, array)| (format!("{name}.{key}"), array)));
    }

    /// The parts by name; arrays that belong to no part are under "".
    pub fn parts(&self) -> BTreeMap<&str, Self> {
        let mut parts: BTreeMap<&str, Self> = BTreeMap::new();
        for (key, array) in &self.0 {
            let (part, name) = key.split_once('.').unwrap_or(("", key));
            parts.entry(part).or_default().0.insert(name.to_owned(), array.clone());
        }
        parts
    }
}

/// A number as a count; None if it is not a valid one.
pub fn count_of(number: i64) -> Option<u64> {
    u64::try_from(number).ok().filter(|&count| count <= MOST_COUNTED)
}

/// Rejects with `why` unless `holds`.
///
/// # Errors
///
/// `why`, if `holds` is false.
pub fn ensure(holds: bool, why: &str) -> Result<(), Refused> {
    if holds { Ok(()) } else { Err(why.to_owned()) }
}
