//! TOML from and to JSON, by the same reader and writer that scenario files have.

use headway_language::{Node, Parse, Shown, Value, show_document, show_inline};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde_json::Value as Json;

use crate::errors::Failure;

/// No value is nested deeper than serde_json reads: 128.
fn parse(json: &str) -> PyResult<Shown> {
    let value: Json = serde_json::from_str(json).map_err(|error| PyValueError::new_err(error.to_string()))?;
    shown(value).ok_or_else(|| PyValueError::new_err("TOML has no null"))
}

fn shown(value: Json) -> Option<Shown> {
    Some(match value {
        Json::Null => return None,
        Json::Bool(flag) => Shown::Bool(flag),
        Json::Number(number) => match number.as_i128() {
            Some(integer) => Shown::Integer(integer),
            None => Shown::Float(number.as_f64()?),
        },
        Json::String(text) => Shown::Text(text),
        Json::Array(items) => Shown::List(items.into_iter().map(shown).collect::<Option<_>>()?),
        Json::Object(entries) => {
            Shown::Table(entries.into_iter().map(|(key, value)| Some((key, shown(value)?))).collect::<Option<_>>()?)
        }
    })
}

/// The TOML document of a JSON object.
#[pyfunction]
pub fn to_toml(json: &str) -> PyResult<String> {
    match parse(json)? {
        Shown::Table(entries) => Ok(show_document(&entries)),
        _ => Err(PyValueError::new_err("a document is a table")),
    }
}

/// A JSON value as TOML writes it in a line.
#[pyfunction]
pub fn inline(json: &str) -> PyResult<String> {
    parse(json).map(|shown| show_inline(&shown))
}

/// The JSON object of a TOML document, shown as `name` in errors.
#[pyfunction]
pub fn from_toml(text: &str, name: &str) -> PyResult<String> {
    let parse = Parse::new(text, name, headway_language::MAX_TEXT).map_err(Failure::from)?;
    json(&parse.tree).map(|json| json.to_string()).ok_or_else(|| PyValueError::new_err("scenarios have no dates"))
}

fn json(node: &Node) -> Option<Json> {
    Some(match &node.value {
        Value::Text(text) => Json::from(text.as_str()),
        Value::Integer(number) => Json::from(*number),
        Value::Float(number) => Json::from(*number),
        Value::Bool(flag) => Json::from(*flag),
        Value::Date | Value::Hole => return None,
        Value::List(items) => items.iter().map(json).collect::<Option<Vec<_>>>()?.into(),
        Value::Table(table) => {
            let entry = |entry: &headway_language::Entry| Some((entry.key.clone(), json(&entry.node)?));
            Json::Object(table.entries.iter().map(entry).collect::<Option<_>>()?)
        }
    })
}
