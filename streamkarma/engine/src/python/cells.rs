//! Tables of text, whose rows Python splits into cells.

use std::borrow::Cow;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyString};

use super::names::bytes_of;
use crate::cells::{self, Column, Kind};

/// The words that stand for a missing value.
#[pyclass(module = "streamkarma._engine", frozen)]
pub struct MissingWords(cells::MissingWords);

#[pymethods]
impl MissingWords {
    #[new]
    fn new(words: Vec<Bound<'_, PyString>>) -> PyResult<Self> {
        let words = words.iter().map(unicode).collect::<PyResult<Vec<_>>>()?;
        Ok(Self(cells::MissingWords::new(words.iter().map(|word| &**word))))
    }

    fn __contains__(&self, cell: &Bound<'_, PyString>) -> PyResult<bool> {
        Ok(self.0.contains(&unicode(cell)?))
    }
}

/// The columns of a table; some may be left out.
#[pyclass(module = "streamkarma._engine", frozen)]
pub struct Columns {
    columns: Vec<Option<Column>>,
    missing: Py<MissingWords>,
}

#[pymethods]
impl Columns {
    #[new]
    fn new(columns: Vec<Option<(String, String)>>, missing: Py<MissingWords>) -> PyResult<Self> {
        let column = |(name, kind): (String, String)| Ok(Column::new(&name, named(&kind)?));
        let columns =
            columns.into_iter().map(|each| each.map(column).transpose()).collect::<PyResult<_>>()?;
        Ok(Self { columns, missing })
    }

    /// Rows as JSON objects, without missing values.
    fn objects<'py>(
        &self,
        py: Python<'py>,
        rows: Vec<Bound<'py, PyList>>,
    ) -> PyResult<Vec<Bound<'py, PyString>>> {
        let missing = &self.missing.get().0;
        let mut members = String::new();
        let mut objects = Vec::with_capacity(rows.len());
        for row in rows {
            if row.len() != self.columns.len() {
                return Err(PyValueError::new_err("a row has more or fewer cells than there are columns"));
            }
            members.clear();
            for (column, cell) in self.columns.iter().zip(&row) {
                if let Some(column) = column {
                    column.write(cell.cast::<PyString>()?.to_str()?, missing, &mut members);
                }
            }
            let first = members.strip_prefix(',').unwrap_or("");
            objects.push(PyString::new(py, &format!("{{{first}}}")));
        }
        Ok(objects)
    }
}

/// The number that a cell spells, as JSON.
#[pyfunction]
pub fn number(cell: &Bound<'_, PyString>) -> PyResult<Option<String>> {
    Ok(cells::number(&unicode(cell)?).map(Cow::into_owned))
}

/// The boolean that a cell spells, as JSON.
#[pyfunction]
pub fn boolean(cell: &Bound<'_, PyString>) -> PyResult<Option<&'static str>> {
    Ok(cells::boolean(&unicode(cell)?))
}

fn named(kind: &str) -> PyResult<Kind> {
    match kind {
        "number" => Ok(Kind::Number),
        "boolean" => Ok(Kind::Boolean),
        "text" => Ok(Kind::Text),
        "unknown" => Ok(Kind::Unknown),
        _ => Err(PyValueError::new_err(format!("no column holds {kind}"))),
    }
}

/// A text with a replacement character for lone surrogates.
fn unicode(text: &Bound<'_, PyString>) -> PyResult<String> {
    Ok(String::from_utf8_lossy(&bytes_of(text)?).into_owned())
}
