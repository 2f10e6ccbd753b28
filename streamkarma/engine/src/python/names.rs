//! Names between Python and the engine.

use std::borrow::Cow;
use std::collections::HashMap;

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyString};

use crate::names::{Foreign, Name};
use crate::vocabulary::Vocabulary;

/// Names that are not texts, such as numbers: Python decides which are equal.
pub struct Foreigners {
    numbers: Py<PyDict>,
    objects: HashMap<u64, Py<PyAny>>,
    last: u64,
    /// Names of the current event that have no index yet.
    new: Vec<(u64, Py<PyAny>)>,
}

/// A name from Python.
pub enum Key<'a> {
    /// A text.
    Text(Cow<'a, [u8]>),
    /// Any other object.
    Foreign(Foreign),
}

impl Key<'_> {
    /// The name, in the encoder's form.
    pub fn name(&self) -> Name<'_> {
        match self {
            Self::Text(text) => Name::Text(text),
            Self::Foreign(foreign) => Name::Foreign(foreign),
        }
    }
}

impl Foreigners {
    /// None so far.
    pub fn new(py: Python) -> Self {
        Self { numbers: PyDict::new(py).unbind(), objects: HashMap::new(), last: 0, new: Vec::new() }
    }

    /// An independent copy.
    pub fn copied(&self, py: Python) -> PyResult<Self> {
        Ok(Self {
            numbers: self.numbers.bind(py).copy()?.unbind(),
            objects: self.objects.iter().map(|(id, object)| (*id, object.clone_ref(py))).collect(),
            last: self.last,
            new: Vec::new(),
        })
    }

    /// Begin an event.
    pub fn begin(&mut self) {
        self.new.clear();
    }

    /// A name in the engine's form.
    pub fn key<'a>(&mut self, name: &'a Bound<'_, PyAny>) -> PyResult<Key<'a>> {
        if let Ok(text) = name.cast::<PyString>() {
            return Ok(Key::Text(bytes_of(text)?));
        }
        let py = name.py();
        let id = match self.numbers.bind(py).get_item(name)? {
            Some(id) => id.extract()?,
            None => {
                self.last += 1;
                self.new.push((self.last, name.clone().unbind()));
                self.last
            }
        };
        let text = bytes_of(&name.str()?)?.into_owned();
        let kind = bytes_of(&name.get_type().name()?)?.into_owned();
        let size = name.cast::<PyBytes>().map_or(0, |bytes| bytes.as_bytes().len());
        Ok(Key::Foreign(Foreign { id, text, kind, size }))
    }

    /// Keep the new names that have an index by now, of which the others may get one until the next `begin`, and drop
    /// those that were evicted.
    pub fn keep(&mut self, py: Python, vocabulary: &Vocabulary) -> PyResult<()> {
        for (id, object) in self.new.extract_if(.., |(id, _)| vocabulary.has_foreign(*id)) {
            self.numbers.bind(py).set_item(&object, id)?;
            self.objects.insert(id, object);
        }
        if self.objects.len() > vocabulary.foreign_count() {
            for (_, object) in self.objects.extract_if(|id, _| !vocabulary.has_foreign(*id)) {
                self.numbers.bind(py).del_item(object)?;
            }
        }
        Ok(())
    }

    /// A name as a Python object; None for that of the constant.
    pub fn object<'py>(&self, py: Python<'py>, name: Name) -> PyResult<Bound<'py, PyAny>> {
        Ok(match name {
            Name::Text(text) => text_of(py, text)?.into_any(),
            Name::Foreign(foreign) => match self.objects.get(&foreign.id) {
                Some(object) => object.bind(py).clone(),
                None => py.None().into_bound(py),
            },
        })
    }
}

/// UTF-8, in which lone surrogates are encoded like characters.
pub fn bytes_of<'a>(text: &'a Bound<'_, PyString>) -> PyResult<Cow<'a, [u8]>> {
    match text.to_str() {
        Ok(text) => Ok(Cow::Borrowed(text.as_bytes())),
        Err(_) => {
            let bytes = text.call_method1("encode", ("utf-8", "surrogatepass"))?;
            Ok(Cow::Owned(bytes.extract()?))
        }
    }
}

/// The inverse.
pub fn text_of<'py>(py: Python<'py>, bytes: &[u8]) -> PyResult<Bound<'py, PyString>> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Ok(PyString::new(py, text)),
        Err(_) => {
            let text = PyBytes::new(py, bytes).call_method1("decode", ("utf-8", "surrogatepass"))?;
            Ok(text.cast_into()?)
        }
    }
}
