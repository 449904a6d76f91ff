//! The file as a tree of values with their places, and reading TOML into it.

use std::ops::Range;

use toml_edit::{Document, InlineTable, Item, TableLike, Value as TomlValue};

use super::source::{At, Sources};

/// The longest text that is read at all: 4 MB.
pub const MAX_TEXT: usize = 4_000_000;

/// A value and its place.
#[derive(Debug, Clone)]
pub struct Node {
    /// The place.
    pub at: At,
    /// The value.
    pub value: Value,
}

/// What can be written.
#[derive(Debug, Clone)]
pub enum Value {
    /// Text.
    Text(String),
    /// A whole number.
    Integer(i64),
    /// Any other number.
    Float(f64),
    /// True or false.
    Bool(bool),
    /// TOML has dates; nothing here has a use for them.
    Date,
    /// Values in their order.
    List(Vec<Node>),
    /// Keys and values.
    Table(Table),
    /// A value that is already reported as a problem and must not be reported again.
    Hole,
}

/// Keys and values in the order of the file.
#[derive(Debug, Clone, Default)]
pub struct Table {
    /// The entries in the order of the file.
    pub entries: Vec<Entry>,
}

/// One `key = value`.
#[derive(Debug, Clone)]
pub struct Entry {
    /// The key.
    pub key: String,
    /// The key's place.
    pub key_at: At,
    /// The value and its place.
    pub node: Node,
}

impl Table {
    /// The value of `key`.
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.entries.iter().find(|entry| entry.key == key).map(|entry| &entry.node)
    }
}

impl Node {
    /// What kind of value this is, with its article.
    pub fn kind(&self) -> &'static str {
        match &self.value {
            Value::Text(_) => "a text",
            Value::Integer(_) | Value::Float(_) => "a number",
            Value::Bool(_) => "true or false",
            Value::Date => "a date",
            Value::List(_) => "a list",
            Value::Table(_) => "a table",
            Value::Hole => "nothing",
        }
    }

    /// The name in a table of a list (`name = "…"`), by which it is addressed.
    pub fn name(&self) -> Option<&str> {
        match &self.value {
            Value::Table(table) => match &table.get("name")?.value {
                Value::Text(name) => Some(name),
                _ => None,
            },
            _ => None,
        }
    }

    /// The element or entry called `segment`: a key of a table, the index or name of a list's element.
    pub fn child(&self, segment: &str) -> Option<&Node> {
        match &self.value {
            Value::Table(table) => table.get(segment),
            Value::List(items) => items.get(position(items, segment)?),
            _ => None,
        }
    }

    /// The entry `key` of a table, to be changed.
    pub fn child_mut(&mut self, key: &str) -> Option<&mut Node> {
        let Value::Table(table) = &mut self.value else { return None };
        table.entries.iter_mut().find(|entry| entry.key == key).map(|entry| &mut entry.node)
    }

    /// The place of `path`, or of the nearest thing around it that exists.
    pub fn locate(&self, path: &[impl AsRef<str>]) -> At {
        let mut node = self;
        for segment in path {
            match node.child(segment.as_ref()) {
                Some(child) => node = child,
                None => break,
            }
        }
        node.at
    }
}

/// The index of the element called `segment`, which is an index or a name.
pub fn position(items: &[Node], segment: &str) -> Option<usize> {
    match segment.parse::<usize>() {
        Ok(index) if index < items.len() => Some(index),
        _ => items.iter().position(|item| item.name() == Some(segment)),
    }
}

/// A text that is not TOML: why and where.
pub struct Syntax {
    /// Why.
    pub message: String,
    /// Where, if the parser says.
    pub range: Option<Range<usize>>,
}

/// Parses text `source` of `sources` as a file. Nesting is limited by the TOML parser (80 levels), so the recursion here is too.
///
/// # Errors
/// If it is not TOML.
pub fn parse(sources: &Sources, source: usize) -> Result<Node, Syntax> {
    let document = document(&sources.0[source].text)?;
    let converter = Converter { sources, source, shift: 0 };
    Ok(Node { at: At::whole(source), value: Value::Table(converter.table(document.as_table())) })
}

/// Parses the value that starts at byte `start` of an override; `None` if it is not a TOML value.
pub fn parse_value(sources: &Sources, source: usize, start: usize) -> Option<Node> {
    const KEY: &str = "v=";
    let text = format!("{KEY}{}", &sources.0[source].text[start..]);
    let document = document(&text).ok()?;
    let table = document.as_table();
    // A newline in an override could otherwise smuggle in further keys.
    if table.len() != 1 {
        return None;
    }
    let converter = Converter { sources, source, shift: start as isize - KEY.len() as isize };
    converter.table(table).entries.into_iter().next().map(|entry| entry.node)
}

fn document(text: &str) -> Result<Document<&str>, Syntax> {
    Document::parse(text).map_err(|error| {
        // Of all its errors the parser gives no place to one: a key of too many parts.
        let range = error.span().or_else(|| longest_key(text));
        Syntax { message: error.message().to_owned(), range }
    })
}

/// The place of the key that looks like the one of most parts.
fn longest_key(text: &str) -> Option<Range<usize>> {
    let mut start = 0;
    let mut longest = None;
    for line in text.split_inclusive('\n') {
        let key = line.split_once('=').map_or(line, |(key, _)| key).trim_end();
        let parts = key.matches('.').count();
        if parts > longest.as_ref().map_or(0, |(most, _)| *most) {
            longest = Some((parts, start..start + key.len()));
        }
        start += line.len();
    }
    longest.map(|(_, range)| range)
}

struct Converter<'a> {
    sources: &'a Sources,
    source: usize,
    shift: isize,
}

impl Converter<'_> {
    fn place(&self, range: Option<Range<usize>>) -> At {
        let moved = |index: usize| index.saturating_add_signed(self.shift);
        match range {
            Some(range) => self.sources.place(self.source, &(moved(range.start)..moved(range.end))),
            None => At::whole(self.source),
        }
    }

    fn table(&self, table: &dyn TableLike) -> Table {
        let entry = |(key, item): (&str, &Item)| {
            let key_at = self.place(table.key(key).and_then(toml_edit::Key::span));
            let node = self.item(item)?;
            Some(Entry { key: key.to_owned(), key_at, node })
        };
        Table { entries: table.iter().filter_map(entry).collect() }
    }

    fn item(&self, item: &Item) -> Option<Node> {
        let value = match item {
            Item::None => return None,
            Item::Value(value) => return Some(self.value(value)),
            Item::Table(table) => Value::Table(self.table(table)),
            Item::ArrayOfTables(tables) => {
                let element = |table: &toml_edit::Table| Node {
                    at: self.place(table.span()),
                    value: Value::Table(self.table(table)),
                };
                Value::List(tables.iter().map(element).collect())
            }
        };
        Some(Node { at: self.place(item.span()), value })
    }

    fn value(&self, value: &TomlValue) -> Node {
        let inline = |table: &InlineTable| Value::Table(self.table(table));
        let converted = match value {
            TomlValue::String(text) => Value::Text(text.value().clone()),
            TomlValue::Integer(number) => Value::Integer(*number.value()),
            TomlValue::Float(number) => Value::Float(*number.value()),
            TomlValue::Boolean(flag) => Value::Bool(*flag.value()),
            TomlValue::Datetime(_) => Value::Date,
            TomlValue::Array(items) => Value::List(items.iter().map(|item| self.value(item)).collect()),
            TomlValue::InlineTable(table) => inline(table),
        };
        Node { at: self.place(value.span()), value: converted }
    }
}
