//! Pickles of an encoder, for copies of estimators.

use std::collections::HashMap;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::encoder::Encoder;
use super::encoder_names::Entry;
use super::following::{GivenFollowing, given_following};
use crate::cleaning::CleaningRules;
use crate::kinds::Kind;
use crate::vocabulary::Bounds;

/// Words for missing values, sentinels by attribute, whether to find more of these, and kinds by attribute.
pub type GivenRules = (Vec<String>, HashMap<String, Vec<f64>>, bool, HashMap<String, String>);

/// The arguments of the constructor.
type Arguments = (usize, usize, usize, bool, f64, GivenRules, usize, usize, bool);

/// Names, the numbers of values ignored and of coordinates evicted, how entities are followed, and all arrays.
pub type Pickled<'py> = (Vec<Option<Entry<'py>>>, u64, u64, Option<GivenFollowing>, Bound<'py, PyDict>);

/// The constructor of an encoder, its arguments, and the state.
pub type Reduced<'py> = (Bound<'py, PyAny>, Arguments, Pickled<'py>);

impl Encoder {
    /// The arguments that construct an encoder with the same settings.
    pub fn arguments(&self) -> Arguments {
        let Bounds { attributes, coordinates, name_bytes, all_bytes } = self.inner.vocabulary().bounds();
        let (scale, longest) = self.inner.scaling();
        let rules = given_rules(self.inner.rules());
        let (rates, terms) = (self.inner.rates(), self.inner.terms());
        (attributes, coordinates, name_bytes, scale, longest, rules, rates, all_bytes, terms)
    }

    /// The state, in which names may be anything.
    pub fn pickled<'py>(&self, py: Python<'py>) -> PyResult<Pickled<'py>> {
        let following = self.inner.following().map(|following| given_following(&following.rules));
        let ignored = self.inner.vocabulary().ignored;
        Ok((self.all_entries(py)?, ignored, self.inner.evicted(), following, self.state_arrays(py)?))
    }

    /// Restore such a state.
    pub fn unpickle(&mut self, (entries, ignored, evicted, following, arrays): Pickled) -> PyResult<()> {
        if let Some(following) = following {
            self.follow(following)?;
        }
        self.take_over(&entries, ignored, evicted, &arrays)
    }
}

/// The engine's form; ValueError for an unknown kind.
pub fn rules_of((words, sentinels, finds, kinds): GivenRules) -> PyResult<CleaningRules> {
    let words = words.into_iter().map(String::into_bytes).collect();
    let sentinels = sentinels.into_iter().map(|(name, values)| (name.into_bytes(), values)).collect();
    let kind = |(name, kind): (String, String)| match Kind::named(&kind) {
        Some(kind) => Ok((name.into_bytes(), kind)),
        None => Err(PyValueError::new_err(format!("no kind is called {kind:?}"))),
    };
    let kinds = kinds.into_iter().map(kind).collect::<PyResult<_>>()?;
    Ok(CleaningRules { words, sentinels, finds, kinds })
}

/// Python's form.
fn given_rules(rules: &CleaningRules) -> GivenRules {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let words = rules.words.iter().map(|word| text(word)).collect();
    let sentinels = rules.sentinels.iter().map(|(name, values)| (text(name), values.clone())).collect();
    let kinds = rules.kinds.iter().map(|(name, kind)| (text(name), kind.name().to_owned())).collect();
    (words, sentinels, rules.finds, kinds)
}
