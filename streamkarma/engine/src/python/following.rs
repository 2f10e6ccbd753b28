//! Python bindings for entities.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};

use super::names::{bytes_of, text_of};
use super::state::{taken, to_python};
use crate::encoder::{Carried, Following};
use crate::entities::{Carry, EntityRules, PastLabel};

/// The arrays of a state.
const NAMES: [&str; 11] = [
    "entity_names",
    "entity_sizes",
    "entity_seen",
    "entity_places",
    "entity_values",
    "entity_clock",
    "entity_label_sizes",
    "entity_label_values",
    "entity_label_shares",
    "entity_label_lengths",
    "entity_label_texts",
];

/// The name of the entity, whether it is an attribute, the name of the time, what is carried, whether labels are, for
/// how long, and the maximum number of entities.
pub type GivenFollowing = (String, bool, Option<String>, String, bool, f64, usize);

/// The engine's form; ValueError for an unknown way of carrying.
pub fn following_of(given: GivenFollowing, longest_name: usize) -> PyResult<Following> {
    let (entity, is_attribute, time, carry, labels, longest, most) = given;
    let carry =
        Carry::named(&carry).ok_or_else(|| PyValueError::new_err(format!("carry cannot be {carry:?}")))?;
    let bytes = |text: String| text.into_bytes().into_boxed_slice();
    let (entity, time) = (bytes(entity), time.map(bytes));
    Ok(Following::new(EntityRules { entity, is_attribute, time, carry, labels, longest, most }, longest_name))
}

/// Python's form.
pub fn given_following(rules: &EntityRules) -> GivenFollowing {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let EntityRules { entity, is_attribute, time, carry, labels, longest, most } = rules;
    let (entity, time, carry) = (text(entity), time.as_deref().map(text), carry.name().to_owned());
    (entity, *is_attribute, time, carry, *labels, *longest, *most)
}

/// A label as it is remembered; None if there is none, or for a number that is too large.
pub fn past_label(label: &Bound<'_, PyAny>) -> PyResult<Option<PastLabel>> {
    if let Ok(text) = label.cast::<PyString>() {
        return Ok(Some(PastLabel::Text(bytes_of(text)?.into())));
    }
    let number = label.extract::<f64>().ok().filter(|number| number.is_finite());
    Ok(number.map(PastLabel::Number))
}

/// The labels of all events; those that were `learned` are remembered, if entities are followed.
pub fn past_labels(
    following: Option<&Following>,
    labels: Option<Vec<Bound<'_, PyAny>>>,
    learned: &[bool],
) -> PyResult<Vec<Option<PastLabel>>> {
    match labels.filter(|_| following.is_some()) {
        None => Ok(vec![None; learned.len()]),
        Some(labels) => {
            let each = labels.iter().zip(learned);
            each.map(|(label, learned)| if *learned { past_label(label) } else { Ok(None) }).collect()
        }
    }
}

/// The values carried into an event, by name.
pub fn dict_of<'py>(py: Python<'py>, carried: Vec<Carried>) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (name, category, value) in carried {
        let name: Bound<PyString> = text_of(py, &name)?;
        match category {
            Some(category) => dict.set_item(name, text_of(py, &category)?)?,
            None => dict.set_item(name, value)?,
        }
    }
    Ok(dict)
}

/// What is remembered of entities, as arrays by name.
pub fn arrays_of<'py>(py: Python<'py>, following: Option<&Following>) -> PyResult<Bound<'py, PyDict>> {
    to_python(py, following.map(Following::state).unwrap_or_default())
}

/// Take what is remembered of entities out of `arrays`, for a model of so many attributes and coordinates.
pub fn restore(
    following: Option<&mut Following>,
    arrays: &Bound<'_, PyDict>,
    attributes: usize,
    coordinates: usize,
) -> PyResult<()> {
    let Some(following) = following else { return Ok(()) };
    let own = taken(arrays, &NAMES)?.unwrap_or_default();
    following.restore(&own, attributes, coordinates).map_err(PyValueError::new_err)
}
