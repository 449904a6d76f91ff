//! Headroom, as it is written.

use headway_language::{Definitions, Field, Json, Node, Reader, Shown, Value};
use headway_units::Bytes;

/// Room for what comes after a switch has asked for a pause.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Headroom {
    /// The least that is enough on each cable.
    Auto,
    /// So much on every cable.
    Fixed(Bytes),
}

const AUTO: &str = "auto";

impl Field for Headroom {
    fn read(node: &Node, reader: &mut Reader) -> Option<Headroom> {
        match &node.value {
            Value::Text(text) if text == AUTO => Some(Headroom::Auto),
            Value::Text(text) if !text.trim_start().starts_with(|c: char| c.is_ascii_digit() || c == '-') => {
                let message = format!("`{}` must be \"auto\" or an amount like \"40KB\"", reader.path());
                reader.problem(node.at, message, "none of them", None);
                None
            }
            _ => Bytes::read(node, reader).map(Headroom::Fixed),
        }
    }

    fn show(&self) -> Option<Shown> {
        match self {
            Headroom::Auto => Some(Shown::Text(AUTO.to_owned())),
            Headroom::Fixed(bytes) => bytes.show(),
        }
    }

    fn schema(definitions: &mut Definitions) -> Json {
        let mut schema = Bytes::schema(definitions);
        let mut constant = Json::Null;
        constant["const"] = AUTO.into();
        if let Some(all) = schema["anyOf"].as_array_mut() {
            all.push(constant);
            return schema;
        }
        let mut either = Json::Null;
        either["anyOf"] = vec![schema, constant].into();
        either
    }
}
