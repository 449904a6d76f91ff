//! Sizes of flows. A distribution is one file here (record, checks, plan), one in `traffic`, and its lines in this list.

mod cdf;
mod exponential;
mod fixed;
mod kind;
mod pareto;
mod shared;
mod uniform;
mod unlimited;

use std::path::Path;

pub use cdf::CdfRecord;
pub use exponential::ExponentialRecord;
pub use fixed::FixedRecord;
use headway_language::{Definitions, Field, Json, Node, Reader, Shown, Value, suggest_nearest};
use headway_traffic::{Cdf, Size};
use headway_units::Bytes;
pub use pareto::ParetoRecord;
use serde_json::json;
pub use shared::SharedRecord;
pub use uniform::UniformRecord;
pub use unlimited::UnlimitedRecord;

use crate::checker::Checker;
use crate::kinds::kinds;
use kind::SizeSource;

/// How to write the table of sizes that `text` means: `websearch`, for example. Kinds of sizes are none.
fn table_help(text: &str) -> Option<String> {
    let plain = |text: &str| text.to_lowercase().replace(['-', '_', ' '], "");
    let whole = Cdf::builtin_names().find(|name| plain(name) == plain(text));
    let beginning = || Cdf::builtin_names().find(|name| text.len() > 3 && plain(name).starts_with(&plain(text)));
    let name = whole.or_else(beginning)?;
    Some(format!("write {{ kind = \"cdf\", name = \"{name}\" }}"))
}

/// How much each flow carries: `"64KB"`, `"unlimited"`, or a table with `kind`.
#[derive(Debug, Clone, PartialEq)]
pub struct SizeRecord(pub SizeKind);

impl Field for SizeRecord {
    fn read(node: &Node, reader: &mut Reader) -> Option<SizeRecord> {
        const EXPECTED: &str = "an amount of data like \"64KB\", \"unlimited\", or a table with `kind`";
        let kind = match &node.value {
            Value::Table(table) => {
                let help = table.get("kind").and_then(|kind| match &kind.value {
                    Value::Text(text) => Some((kind, table_help(text)?)),
                    _ => None,
                });
                match help {
                    Some((kind, help)) => {
                        let message = format!("`{}.kind` names a table of sizes, which is no kind", reader.path());
                        reader.problem(kind.at, message, "", Some(help));
                        None
                    }
                    None => SizeKind::read(node, reader),
                }
            }
            Value::Text(text) if text == "unlimited" => Some(SizeKind::Unlimited(UnlimitedRecord {})),
            Value::Text(text) if text.starts_with(char::is_alphabetic) => {
                let message = format!("`{}` must be {EXPECTED}", reader.path());
                let near = || suggest_nearest(text, ["unlimited"]).map(|near| format!("did you mean `{near}`?"));
                reader.problem(node.at, message, "", table_help(text).or_else(near));
                None
            }
            Value::Bool(_) | Value::Date | Value::List(_) => reader.wrong_kind(node, EXPECTED),
            _ => {
                let bytes = Bytes::read(node, reader);
                let bytes = reader.limited_at(node.at, bytes, &(Bytes::new(1)..));
                bytes.map(|bytes| SizeKind::Fixed(FixedRecord { bytes }))
            }
        };
        kind.map(SizeRecord)
    }

    /// Always the long form, so that a key below it has a place in what is printed.
    fn show(&self) -> Option<Shown> {
        self.0.show()
    }

    fn schema(definitions: &mut Definitions) -> Json {
        let amount = Bytes::schema(definitions);
        let kind = SizeKind::schema(definitions);
        json!({ "anyOf": [amount, { "const": "unlimited" }, kind] })
    }
}

kinds! {
    /// How much each flow carries.
    pub enum SizeKind of SizeSource by "kind" {
        /// Always the same.
        "fixed" => Fixed(FixedRecord),
        /// Without end.
        "unlimited" => Unlimited(UnlimitedRecord),
        /// Every size from `min` to `max` equally likely.
        "uniform" => Uniform(UniformRecord),
        /// Exponential, rounded up to a byte.
        "exponential" => Exponential(ExponentialRecord),
        /// Pareto: few flows carry most of the data.
        "pareto" => Pareto(ParetoRecord),
        /// As in a table of sizes and cumulative shares.
        "cdf" => Cdf(CdfRecord),
        /// An equal part of a total that all senders of a destination send together.
        "shared" => Shared(SharedRecord),
    }
}

impl SizeKind {
    /// Notes mistakes of the sizes at `path`, which messages call `label`.
    pub(crate) fn check(&self, label: &str, path: &[&str], checker: &mut Checker) {
        self.kind().check(label, path, checker);
    }

    /// The distribution; none of flows without end. Files that it names are in `folder`.
    pub(crate) fn size(&self, folder: &Path) -> Result<Option<Size>, String> {
        self.kind().size(folder)
    }
}
