//! TOML as dictionaries and lists.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString};
use toml_edit::{Document, Item, TableLike, Value};

/// What `tomllib` makes of a text, in a tenth of its time; None for what only that decides: errors,
/// dates, and ends of lines that it replaces.
#[pyfunction]
pub(crate) fn toml<'py>(py: Python<'py>, text: &str) -> PyResult<Option<Bound<'py, PyDict>>> {
    match Document::parse(text) {
        Ok(document) if !text.contains('\r') => table(py, document.as_table()),
        _ => Ok(None),
    }
}

fn table<'py>(py: Python<'py>, from: &dyn TableLike) -> PyResult<Option<Bound<'py, PyDict>>> {
    let found = PyDict::new(py);
    for (key, item) in from.iter() {
        let Some(value) = item_of(py, item)? else { return Ok(None) };
        // Keys are alike in all scenarios: in memory once.
        found.set_item(PyString::intern(py, key), value)?;
    }
    Ok(Some(found))
}

fn item_of<'py>(py: Python<'py>, item: &Item) -> PyResult<Option<Bound<'py, PyAny>>> {
    match item {
        Item::None => Ok(None),
        Item::Value(value) => value_of(py, value),
        Item::Table(one) => Ok(table(py, one)?.map(Bound::into_any)),
        Item::ArrayOfTables(tables) => {
            list(py, tables.iter().map(|one| Ok(table(py, one)?.map(Bound::into_any))))
        }
    }
}

fn value_of<'py>(py: Python<'py>, value: &Value) -> PyResult<Option<Bound<'py, PyAny>>> {
    Ok(Some(match value {
        Value::String(text) => text.value().into_pyobject(py)?.into_any(),
        Value::Integer(number) => number.value().into_pyobject(py)?.into_any(),
        Value::Float(number) => number.value().into_pyobject(py)?.into_any(),
        Value::Boolean(is_so) => is_so.value().into_pyobject(py)?.to_owned().into_any(),
        Value::Datetime(_) => return Ok(None),
        Value::Array(values) => return list(py, values.iter().map(|one| value_of(py, one))),
        Value::InlineTable(one) => return Ok(table(py, one)?.map(Bound::into_any)),
    }))
}

fn list<'py>(
    py: Python<'py>,
    values: impl Iterator<Item = PyResult<Option<Bound<'py, PyAny>>>>,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let found: Option<Vec<_>> = values.collect::<PyResult<_>>()?;
    Ok(found.map(|values| PyList::new(py, values)).transpose()?.map(Bound::into_any))
}
