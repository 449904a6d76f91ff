//! Values that may be none: limits that do not hold, and what can be switched off.

use headway_units::Span;
use serde_json::json;

use super::range::Limited;
use super::read::{Field, Reader};
use super::schema::{Definitions, Json};
use super::show::Shown;
use super::tree::{Node, Value};

/// A limit, or `"unlimited"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit<T> {
    /// There is none.
    Unlimited,
    /// So much and no more.
    AtMost(T),
}

impl<T> Limit<T> {
    /// The limit, if there is one.
    pub fn get(self) -> Option<T> {
        match self {
            Limit::Unlimited => None,
            Limit::AtMost(most) => Some(most),
        }
    }
}

impl<T> From<Option<T>> for Limit<T> {
    fn from(most: Option<T>) -> Limit<T> {
        most.map_or(Limit::Unlimited, Limit::AtMost)
    }
}

impl<T: Field> Field for Limit<T> {
    fn read(node: &Node, reader: &mut Reader) -> Option<Limit<T>> {
        match &node.value {
            Value::Text(text) if text == "unlimited" => Some(Limit::Unlimited),
            _ => T::read(node, reader).map(Limit::AtMost),
        }
    }

    fn show(&self) -> Option<Shown> {
        match self {
            Limit::Unlimited => Some(Shown::Text("unlimited".to_owned())),
            Limit::AtMost(most) => most.show(),
        }
    }

    fn schema(definitions: &mut Definitions) -> Json {
        or(T::schema(definitions), &json!("unlimited"))
    }
}

impl<T: Limited> Limited for Limit<T> {
    type Bound = T::Bound;
    fn bound(&self) -> Option<T::Bound> {
        match self {
            Limit::Unlimited => None,
            Limit::AtMost(most) => most.bound(),
        }
    }
}

/// A value, or `false` for off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OrOff<T> {
    /// Switched off.
    Off,
    /// Switched on, with this value.
    On(T),
}

impl<T> OrOff<T> {
    /// The value, if it is on.
    pub fn get(self) -> Option<T> {
        match self {
            OrOff::Off => None,
            OrOff::On(value) => Some(value),
        }
    }
}

impl<T> From<Option<T>> for OrOff<T> {
    fn from(value: Option<T>) -> OrOff<T> {
        value.map_or(OrOff::Off, OrOff::On)
    }
}

impl<T: Field> Field for OrOff<T> {
    fn read(node: &Node, reader: &mut Reader) -> Option<OrOff<T>> {
        match node.value {
            Value::Bool(false) => Some(OrOff::Off),
            Value::Bool(true) => reader.wrong_kind(node, "false, or how much"),
            _ => T::read(node, reader).map(OrOff::On),
        }
    }

    fn show(&self) -> Option<Shown> {
        match self {
            OrOff::Off => Some(Shown::Bool(false)),
            OrOff::On(value) => value.show(),
        }
    }

    fn schema(definitions: &mut Definitions) -> Json {
        or(T::schema(definitions), &json!(false))
    }
}

impl<T: Limited> Limited for OrOff<T> {
    type Bound = T::Bound;
    fn bound(&self) -> Option<T::Bound> {
        match self {
            OrOff::Off => None,
            OrOff::On(value) => value.bound(),
        }
    }
}

/// A time after which something happens, or `"never"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Never {
    /// It does not happen.
    Never,
    /// After so long.
    After(Span),
}

impl Never {
    /// The time, if there is one.
    pub fn get(self) -> Option<Span> {
        match self {
            Never::Never => None,
            Never::After(time) => Some(time),
        }
    }
}

impl Field for Never {
    fn read(node: &Node, reader: &mut Reader) -> Option<Never> {
        match &node.value {
            Value::Text(text) if text == "never" => Some(Never::Never),
            Value::Bool(false) => {
                let message = format!("`{}` must be a time, or \"never\"", reader.path());
                reader.problem(node.at, message, "this is a boolean", Some("write \"never\"".to_owned()));
                None
            }
            _ => Span::read(node, reader).map(Never::After),
        }
    }

    fn show(&self) -> Option<Shown> {
        match self {
            Never::Never => Some(Shown::Text("never".to_owned())),
            Never::After(time) => time.show(),
        }
    }

    fn schema(definitions: &mut Definitions) -> Json {
        or(Span::schema(definitions), &json!("never"))
    }
}

impl Limited for Never {
    type Bound = Span;
    fn bound(&self) -> Option<Span> {
        self.get()
    }
}

/// The schema of a scalar, or the constant `other`.
fn or(mut schema: Json, other: &Json) -> Json {
    if let Some(all) = schema["anyOf"].as_array_mut() {
        all.push(json!({ "const": other }));
    }
    schema
}
