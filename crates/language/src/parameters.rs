//! Numbers by names that something else knows.

use serde_json::json;

use super::lists::entries;
use super::read::{Field, Reader};
use super::schema::{Definitions, Json};
use super::show::Shown;
use super::tree::Node;

/// Nothing has more parameters.
const MOST: usize = 100;

/// Parameters by name, in the order of the file: `{ hystart = 0, beta = 0.8 }`. Who has them knows their names, some of
/// which have underscores, as in the kernel.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Parameters(Vec<(String, f64)>);

impl Parameters {
    /// None.
    pub const fn new() -> Parameters {
        Parameters(Vec::new())
    }

    /// Names and values in the order of the file.
    pub fn iter(&self) -> impl Iterator<Item = (&str, f64)> {
        self.0.iter().map(|(name, value)| (name.as_str(), *value))
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Field for Parameters {
    fn read(node: &Node, reader: &mut Reader) -> Option<Parameters> {
        entries(node, reader, "a table of numbers", MOST).map(Parameters)
    }

    fn show(&self) -> Option<Shown> {
        let shown = |(name, value): &(String, f64)| (name.clone(), Shown::Float(*value));
        (!self.0.is_empty()).then(|| Shown::Table(self.0.iter().map(shown).collect()))
    }

    fn schema(definitions: &mut Definitions) -> Json {
        json!({ "type": "object", "additionalProperties": f64::schema(definitions) })
    }
}
