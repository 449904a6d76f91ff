//! A row of a table, by the values in some of its columns.

use serde_json::json;

use super::lists::entries;
use super::point::Scalar;
use super::read::{Field, Reader};
use super::schema::{Definitions, Json};
use super::show::Shown;
use super::sweep::placeholder;
use super::tree::{Node, Value};

/// No table has more columns.
const MOST: usize = 100;

/// Values by the name of their column, in the order of the file: `{ background = "tcp", size_kb = 70 }`. A value may be a name of the sweep (`"$loss"`). Who made the
/// table knows the names, which are not those of the file.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Row(Vec<(String, Scalar)>);

impl Row {
    /// Any row.
    pub const fn new() -> Row {
        Row(Vec::new())
    }

    /// Columns and values in the order of the file.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Scalar)> {
        self.0.iter().map(|(column, value)| (column.as_str(), value))
    }
}

impl Row {
    /// The names of the sweep that stand for values.
    pub fn placeholders(&self) -> impl Iterator<Item = &str> {
        self.iter().filter_map(|(_, value)| match value {
            Scalar::Text(text) => placeholder(text),
            _ => None,
        })
    }
}

/// A value of a row. Other than values of the sweep it may refer to one: rows are looked up at each point.
struct Cell(Scalar);

impl Field for Cell {
    fn read(node: &Node, reader: &mut Reader) -> Option<Cell> {
        match &node.value {
            Value::Text(text) if placeholder(text).is_some() => Some(Cell(Scalar::Text(text.clone()))),
            _ => Scalar::read(node, reader).map(Cell),
        }
    }

    fn show(&self) -> Option<Shown> {
        self.0.show()
    }

    fn schema(definitions: &mut Definitions) -> Json {
        Scalar::schema(definitions)
    }
}

impl Field for Row {
    fn read(node: &Node, reader: &mut Reader) -> Option<Row> {
        let cells: Vec<(String, Cell)> = entries(node, reader, "a table of columns and values", MOST)?;
        Some(Row(cells.into_iter().map(|(column, Cell(value))| (column, value)).collect()))
    }

    fn show(&self) -> Option<Shown> {
        let shown = |(column, value): &(String, Scalar)| Some((column.clone(), value.show()?));
        (!self.0.is_empty()).then(|| Shown::Table(self.0.iter().filter_map(shown).collect()))
    }

    fn schema(definitions: &mut Definitions) -> Json {
        json!({ "type": "object", "additionalProperties": Scalar::schema(definitions) })
    }
}
