//! Lists, tables with free keys, and the names in them.

use std::fmt;
use std::ops::Deref;

use serde_json::json;

use super::read::{Field, Reader};
use super::schema::{Definitions, Json};
use super::show::Shown;
use super::tree::{Node, Value};

/// Lists hold at most this much.
pub const LONGEST: usize = 100_000;
/// Tables with free keys hold at most this much: their keys are searched one by one.
const WIDEST: usize = 10_000;

/// A name in lower-case letters, digits and `-`, at most 64 of them: `front-end`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Name(String);

impl Name {
    const PATTERN: &'static str = "^[a-z0-9]+(-[a-z0-9]+)*$";
    const LONGEST: usize = 64;

    /// `text` if it is a name.
    pub fn new(text: &str) -> Option<Name> {
        let part = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
        (text.len() <= Self::LONGEST && text.split('-').all(part)).then(|| Name(text.to_owned()))
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// What to write instead of `text`, which is not a name.
    fn help(text: &str) -> String {
        let rule = format!("names are lower-case letters, digits and `-`, at most {} of them", Self::LONGEST);
        // What is left of other alphabets without their letters is no name anyone would choose.
        if !text.is_ascii() {
            return rule;
        }
        let kebab: String =
            text.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' }).collect();
        let kebab: Vec<&str> = kebab.split('-').filter(|part| !part.is_empty()).collect();
        match Name::new(&kebab.join("-")) {
            Some(name) => format!("{rule}; for example `{name}`"),
            None => rule,
        }
    }
}

impl Deref for Name {
    type Target = str;
    fn deref(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Field for Name {
    fn read(node: &Node, reader: &mut Reader) -> Option<Name> {
        let Value::Text(text) = &node.value else { return reader.wrong_kind(node, "a name in quotes") };
        let name = Name::new(text);
        if name.is_none() {
            let message = format!("`{}` is not a name", reader.path());
            reader.problem(node.at, message, "", Some(Name::help(text)));
        }
        name
    }

    fn show(&self) -> Option<Shown> {
        Some(Shown::Text(self.0.clone()))
    }

    fn schema(definitions: &mut Definitions) -> Json {
        definitions.scalar(&json!({ "type": "string", "pattern": Self::PATTERN, "maxLength": Self::LONGEST }))
    }
}

/// Reads every element, so that the problems of all are found.
fn read_all<T: Field>(items: &[Node], reader: &mut Reader) -> Option<Vec<T>> {
    let mut all = Some(Vec::with_capacity(items.len()));
    for (index, item) in items.iter().enumerate() {
        let name = item.name().and_then(Name::new);
        let segment = name.map_or_else(|| index.to_string(), |name| name.0);
        let value = reader.within(&segment, |reader| T::read(item, reader));
        all = all.zip(value).map(|(mut all, value)| {
            all.push(value);
            all
        });
    }
    all
}

fn too_long(node: &Node, length: usize, most: usize, reader: &mut Reader) -> bool {
    if length > most {
        let message = format!("`{}` is too long", reader.path());
        reader.problem(node.at, message, format!("{length} elements; the most is {most}"), None);
    }
    length > most
}

impl<T: Field> Field for Vec<T> {
    fn read(node: &Node, reader: &mut Reader) -> Option<Vec<T>> {
        let Value::List(items) = &node.value else { return reader.wrong_kind(node, "a list in `[` and `]`") };
        if too_long(node, items.len(), LONGEST, reader) {
            return None;
        }
        read_all(items, reader)
    }

    fn show(&self) -> Option<Shown> {
        Some(Shown::List(self.iter().filter_map(Field::show).collect()))
    }

    fn schema(definitions: &mut Definitions) -> Json {
        json!({ "type": "array", "items": T::schema(definitions), "maxItems": LONGEST })
    }
}

impl<T: Field> Field for [T; 2] {
    fn read(node: &Node, reader: &mut Reader) -> Option<[T; 2]> {
        let Value::List(items) = &node.value else { return reader.wrong_kind(node, "a list of two") };
        if items.len() != 2 {
            let message = format!("`{}` must be a list of exactly two", reader.path());
            reader.problem(node.at, message, format!("this has {}", items.len()), None);
            return None;
        }
        read_all(items, reader)?.try_into().ok()
    }

    fn show(&self) -> Option<Shown> {
        Some(Shown::List(self.iter().filter_map(Field::show).collect()))
    }

    fn schema(definitions: &mut Definitions) -> Json {
        json!({ "type": "array", "items": T::schema(definitions), "minItems": 2, "maxItems": 2 })
    }
}

/// A list whose only element may be written without brackets.
#[derive(Debug, Clone, PartialEq)]
pub struct OneOrMany<T>(pub Vec<T>);

impl<T> Deref for OneOrMany<T> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        &self.0
    }
}

impl<T: Field> Field for OneOrMany<T> {
    fn read(node: &Node, reader: &mut Reader) -> Option<OneOrMany<T>> {
        match &node.value {
            Value::List(_) => Vec::read(node, reader).map(OneOrMany),
            _ => T::read(node, reader).map(|one| OneOrMany(vec![one])),
        }
    }

    fn show(&self) -> Option<Shown> {
        self.0.show()
    }

    fn schema(definitions: &mut Definitions) -> Json {
        json!({ "anyOf": [T::schema(definitions), Vec::<T>::schema(definitions)] })
    }
}

/// A table with free keys, in the order of the file.
#[derive(Debug, Clone, PartialEq)]
pub struct Map<T>(Vec<(Name, T)>);

impl<T> Map<T> {
    /// A table without keys.
    pub const fn new() -> Map<T> {
        Map(Vec::new())
    }

    /// The value of `name`.
    pub fn get(&self, name: &str) -> Option<&T> {
        self.0.iter().find(|(known, _)| known.as_str() == name).map(|(_, value)| value)
    }

    /// Names and values in the order of the file.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &T)> + Clone {
        self.0.iter().map(|(name, value)| (name.as_str(), value))
    }

    /// The values, to be changed.
    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.0.iter_mut().map(|(_, value)| value)
    }

    /// The names in the order of the file.
    pub fn names(&self) -> impl Iterator<Item = &str> + Clone {
        self.0.iter().map(|(name, _)| name.as_str())
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<T> FromIterator<(Name, T)> for Map<T> {
    fn from_iter<I: IntoIterator<Item = (Name, T)>>(entries: I) -> Map<T> {
        Map(entries.into_iter().collect())
    }
}

impl<T> Default for Map<T> {
    fn default() -> Map<T> {
        Map::new()
    }
}

impl<T: Field> Field for Map<T> {
    fn read(node: &Node, reader: &mut Reader) -> Option<Map<T>> {
        let Value::Table(table) = &node.value else { return reader.wrong_kind(node, "a table") };
        if too_long(node, table.entries.len(), WIDEST, reader) {
            return None;
        }
        let mut all = Some(Vec::with_capacity(table.entries.len()));
        for entry in &table.entries {
            let name = Name::new(&entry.key);
            if name.is_none() {
                let message = format!("a key of `{}` is not a name", reader.path());
                reader.problem(entry.key_at, message, "", Some(Name::help(&entry.key)));
            }
            let value = reader.within(&entry.key, |reader| T::read(&entry.node, reader));
            all = all.zip(name.zip(value)).map(|(mut all, named)| {
                all.push(named);
                all
            });
        }
        all.map(Map)
    }

    fn show(&self) -> Option<Shown> {
        let shown = |(name, value): &(Name, T)| Some((name.to_string(), value.show()?));
        (!self.0.is_empty()).then(|| Shown::Table(self.0.iter().filter_map(shown).collect()))
    }

    fn schema(definitions: &mut Definitions) -> Json {
        json!({
            "type": "object",
            "propertyNames": { "pattern": Name::PATTERN, "maxLength": Name::LONGEST },
            "additionalProperties": T::schema(definitions),
        })
    }
}

/// The entries of a table whose names something else knows, in the order of the file; `most` at most.
pub(super) fn entries<T: Field>(
    node: &Node,
    reader: &mut Reader,
    expected: &str,
    most: usize,
) -> Option<Vec<(String, T)>> {
    let Value::Table(table) = &node.value else { return reader.wrong_kind(node, expected) };
    if table.entries.len() > most {
        let message = format!("`{}` is too long", reader.path());
        reader.problem(node.at, message, format!("the most is {most}"), None);
        return None;
    }
    let mut all = Some(Vec::with_capacity(table.entries.len()));
    for entry in &table.entries {
        let value = reader.within(&entry.key, |reader| T::read(&entry.node, reader));
        all = all.zip(value).map(|(mut all, value)| {
            all.push((entry.key.clone(), value));
            all
        });
    }
    all
}
