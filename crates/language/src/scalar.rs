//! Numbers, flags, texts and words, and what the macros need to read them.

use serde_json::json;

use headway_input::is_hidden;

use super::read::{Field, Reader};
use super::schema::{Definitions, Json};
use super::show::Shown;
use super::source::At;
use super::suggest;
use super::tree::{Node, Table, Value};

/// Texts in a file are at most this long.
const LONGEST: usize = 10_000;

/// The lines of a doc comment as one.
pub fn sentence(lines: &[&str]) -> String {
    lines.iter().map(|line| line.trim()).collect::<Vec<_>>().join(" ")
}

/// The choice that is written behind `tag`, if it is text; the default if nothing is.
pub fn chosen<'a>(table: &'a Table, tag: &str, default: Option<&'a str>) -> Option<&'a str> {
    match table.get(tag).map(|node| &node.value) {
        Some(Value::Text(text)) => Some(text),
        Some(_) => None,
        None => default,
    }
}

/// The one of `names` that is written behind `tag`.
pub fn choose(
    table: &Table,
    at: At,
    tag: &str,
    default: Option<&'static str>,
    names: &'static [&'static str],
    reader: &mut Reader,
) -> Option<&'static str> {
    let Some(node) = table.get(tag) else {
        if default.is_some() {
            return default;
        }
        let path = reader.path();
        let help = format!("`{tag}` is one of {}", suggest::list(names.iter().copied(), 40));
        reader.problem(at, format!("`{path}` needs `{tag}`"), format!("`{tag}` is missing"), Some(help));
        return None;
    };
    // Written short, the text itself stands where the table would.
    if node.at == at {
        word(node, names, &[], reader)
    } else {
        reader.within(tag, |reader| word(node, names, &[], reader))
    }
}

/// The one of `names` that `node` is. `renamed` are words of earlier versions with the present ones.
pub fn word(
    node: &Node,
    names: &'static [&'static str],
    renamed: &[(&str, &str)],
    reader: &mut Reader,
) -> Option<&'static str> {
    let Value::Text(text) = &node.value else {
        return reader.wrong_kind(node, &format!("one of {}", suggest::list(names.iter().copied(), 40)));
    };
    let found = names.iter().copied().find(|name| name == text);
    if found.is_none()
        && let Some((old, new)) = renamed.iter().find(|(old, _)| old == text)
    {
        let message = format!("`{}` = \"{old}\" is called \"{new}\" now", reader.path());
        reader.problem(node.at, message, "renamed", Some(format!("write \"{new}\"")));
    } else if found.is_none() {
        let near = suggest::nearest(text, names.iter().copied());
        let help = near.map(|near| format!("did you mean `{near}`?"));
        let message = format!("`{}` must be one of {}", reader.path(), suggest::list(names.iter().copied(), 40));
        reader.problem(node.at, message, "not one of them", help);
    }
    found
}

macro_rules! integer {
    ($type:ty) => {
        impl Field for $type {
            fn read(node: &Node, reader: &mut Reader) -> Option<$type> {
                let number = match node.value {
                    Value::Integer(number) => number,
                    Value::Text(ref text) if text.trim().parse::<i64>().is_ok() => {
                        let message = format!("`{}` must be a whole number", reader.path());
                        let help = format!("write {} without quotes", text.trim());
                        reader.problem(node.at, message, "this is a text", Some(help));
                        return None;
                    }
                    _ => return reader.wrong_kind(node, "a whole number"),
                };
                let value = <$type>::try_from(number).ok();
                if value.is_none() {
                    let message = format!("`{}` must be a whole number from 0 to {}", reader.path(), <$type>::MAX);
                    reader.problem(node.at, message, format!("this is {number}"), None);
                }
                value
            }

            fn show(&self) -> Option<Shown> {
                Some(Shown::Integer(i128::from(*self)))
            }

            fn schema(definitions: &mut Definitions) -> Json {
                definitions.scalar(&json!({ "type": "integer", "minimum": 0, "maximum": <$type>::MAX }))
            }
        }
    };
}
integer!(u8);
integer!(u16);
integer!(u32);
integer!(u64);

impl Field for f64 {
    fn read(node: &Node, reader: &mut Reader) -> Option<f64> {
        let number = match node.value {
            Value::Integer(number) => number as f64,
            Value::Float(number) => number,
            _ => return reader.wrong_kind(node, "a number"),
        };
        if !number.is_finite() {
            let message = format!("`{}` must be a finite number", reader.path());
            reader.problem(node.at, message, format!("this is {number}"), None);
            return None;
        }
        Some(number)
    }

    fn show(&self) -> Option<Shown> {
        Some(Shown::Float(*self))
    }

    fn schema(definitions: &mut Definitions) -> Json {
        definitions.scalar(&json!({ "type": "number" }))
    }
}

impl Field for bool {
    fn read(node: &Node, reader: &mut Reader) -> Option<bool> {
        match node.value {
            Value::Bool(flag) => Some(flag),
            _ => reader.wrong_kind(node, "true or false, without quotes"),
        }
    }

    fn show(&self) -> Option<Shown> {
        Some(Shown::Bool(*self))
    }

    fn schema(definitions: &mut Definitions) -> Json {
        definitions.scalar(&json!({ "type": "boolean" }))
    }
}

impl Field for String {
    fn read(node: &Node, reader: &mut Reader) -> Option<String> {
        let Value::Text(text) = &node.value else { return reader.wrong_kind(node, "text in quotes") };
        let wrong = if text.trim().is_empty() {
            "must not be empty".to_owned()
        } else if text.len() > LONGEST {
            format!("must be at most {LONGEST} bytes long")
        } else if let Some(hidden) = text.chars().find(|c| is_hidden(*c)) {
            // It would act on the terminals of all who print it.
            format!("must not hold the character U+{:04X}, which is not shown", u32::from(hidden))
        } else {
            return Some(text.clone());
        };
        reader.problem(node.at, format!("`{}` {wrong}", reader.path()), "", None);
        None
    }

    fn show(&self) -> Option<Shown> {
        Some(Shown::Text(self.clone()))
    }

    fn schema(_: &mut Definitions) -> Json {
        json!({ "type": "string", "minLength": 1, "maxLength": LONGEST })
    }
}

impl<T: Field> Field for Option<T> {
    fn read(node: &Node, reader: &mut Reader) -> Option<Option<T>> {
        T::read(node, reader).map(Some)
    }

    fn absent() -> Option<Option<T>> {
        Some(None)
    }

    fn show(&self) -> Option<Shown> {
        self.as_ref().and_then(Field::show)
    }

    fn schema(definitions: &mut Definitions) -> Json {
        T::schema(definitions)
    }
}
