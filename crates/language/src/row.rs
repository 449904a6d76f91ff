//! A row of a table, by the values in some of its columns.

use serde_json::json;

use super::lists::entries;
use super::point::Scalar;
use super::read::{Field, Reader};
use super::schema::{Definitions, Json};
use super::show::Shown;
use super::tree::Node;

/// No table has more columns.
const MOST: usize = 100;

/// Values by the name of their column, in the order of the file: `{ background = "tcp", size_kb = 70 }`. Who made the
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

impl Field for Row {
    fn read(node: &Node, reader: &mut Reader) -> Option<Row> {
        entries(node, reader, "a table of columns and values", MOST).map(Row)
    }

    fn show(&self) -> Option<Shown> {
        let shown = |(column, value): &(String, Scalar)| Some((column.clone(), value.show()?));
        (!self.0.is_empty()).then(|| Shown::Table(self.0.iter().filter_map(shown).collect()))
    }

    fn schema(definitions: &mut Definitions) -> Json {
        json!({ "type": "object", "additionalProperties": Scalar::schema(definitions) })
    }
}
