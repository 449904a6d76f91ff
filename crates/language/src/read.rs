//! Typed reading: the two traits every record is made of, and the reader that collects problems.
//!
//! The traits name the schema of a record as well; the schema itself knows nothing of them.

use std::ops::RangeBounds;
use std::sync::Arc;

use super::problem::{Problem, Problems};
use super::range::{Limited, describe};
use super::schema::{Alternative, Definitions, Json};
use super::show::Shown;
use super::source::{At, Source, Sources};
use super::suggest;
use super::tree::{Entry, Node, Syntax, Table, Value, parse};

/// A value that can stand behind a key.
pub trait Field: Sized {
    /// The value of `node`; `None` after the reader was told what is wrong.
    fn read(node: &Node, reader: &mut Reader) -> Option<Self>;

    /// The value of a key that is left out; `None` if it is required.
    fn absent() -> Option<Self> {
        None
    }

    /// How it is printed; `None` if it is not.
    fn show(&self) -> Option<Shown>;

    /// The JSON schema of the value.
    fn schema(definitions: &mut Definitions) -> Json;
}

/// A set of keys: a record, or a choice among records. May be a table of its own or part of another.
pub trait Part: Sized {
    /// Its name among the schema's definitions.
    const TITLE: &'static str;

    /// The key that chooses, if the value may be shortened to the text behind it
    /// (`queue = "drop-tail"` for `queue = { kind = "drop-tail" }`).
    const TAG: Option<&'static str> = None;

    /// Adds the keys that may be written, given what is written.
    fn keys(table: &Table, keys: &mut Keys);

    /// Reads its keys from `table`, which stands at `at`.
    fn read_part(table: &Table, at: At, reader: &mut Reader) -> Option<Self>;

    /// Appends its keys and values.
    fn show_part(&self, shown: &mut Vec<(String, Shown)>);

    /// The sets of keys it can consist of.
    fn schema_part(definitions: &mut Definitions) -> Vec<Alternative>;
}

/// The keys a table may have.
#[derive(Debug, Default)]
pub struct Keys {
    /// These are fine.
    pub known: Vec<String>,
    /// These belong to another choice than the one that is written.
    pub elsewhere: Vec<Elsewhere>,
    /// Keys of earlier versions with the present ones, see [`record!`](crate::record).
    pub renamed: Vec<(&'static str, &'static str)>,
    /// Keys that this file cannot have, with the reason.
    pub refused: Vec<(&'static str, &'static str)>,
    /// The choice itself is wrong, so nothing can be said about other keys.
    pub open: bool,
}

/// A key of another choice.
#[derive(Debug)]
pub struct Elsewhere {
    /// The key.
    pub key: String,
    /// What would have to be written for it: `kind = "mptcp"`.
    pub owner: &'static str,
    /// What is written.
    pub chosen: &'static str,
}

impl<T: Part> Field for T {
    fn read(node: &Node, reader: &mut Reader) -> Option<T> {
        let short;
        let table = match (&node.value, T::TAG) {
            (Value::Table(table), _) => table,
            (Value::Text(_), Some(tag)) => {
                let entry = Entry { key: tag.to_owned(), key_at: node.at, node: node.clone() };
                short = Table { entries: vec![entry] };
                &short
            }
            (_, Some(tag)) => {
                return reader.wrong_kind(node, &format!("a table with `{tag}`, or the {tag} alone as text"));
            }
            (_, None) => return reader.wrong_kind(node, "a table"),
        };
        let mut keys = Keys::default();
        T::keys(table, &mut keys);
        reader.unknown_keys(table, &keys);
        T::read_part(table, node.at, reader)
    }

    fn show(&self) -> Option<Shown> {
        let mut shown = Vec::new();
        self.show_part(&mut shown);
        Some(Shown::Table(shown))
    }

    fn schema(definitions: &mut Definitions) -> Json {
        definitions.refer::<T>()
    }
}

impl Definitions {
    /// A reference to the schema of `T`, which is defined if it is not yet.
    pub fn refer<T: Part>(&mut self) -> Json {
        self.define(T::TITLE, Definitions::part::<T>)
    }

    /// The whole document, of which `T` is the top.
    pub fn document<T: Part>(mut self, title: &str) -> Json {
        let top = self.part::<T>();
        self.into_document(title, top)
    }

    fn part<T: Part>(&mut self) -> Json {
        let alternatives = T::schema_part(self);
        self.one_of(&alternatives, T::TAG)
    }
}

/// The record of which nothing is written.
///
/// # Panics
/// If a key of it has no default: that is a mistake in its declaration.
pub fn all_defaults<T: Part>() -> T {
    let source = Source { name: String::new(), text: String::new() };
    let mut reader = Reader::new(Arc::new(Sources(vec![source])));
    T::read_part(&Table::default(), At::whole(0), &mut reader).expect("every key has a default")
}

/// Walks the tree, knows where it is, and collects problems.
pub struct Reader {
    sources: Arc<Sources>,
    path: Vec<String>,
    problems: Vec<Problem>,
}

impl Reader {
    /// More problems than anyone reads; a hostile file could have millions.
    const MAX_PROBLEMS: usize = 200;

    /// A reader of `sources`, at the top.
    pub fn new(sources: Arc<Sources>) -> Reader {
        Reader { sources, path: Vec::new(), problems: Vec::new() }
    }

    /// What was wrong, in the order it was found.
    pub fn into_problems(self) -> Vec<Problem> {
        self.problems
    }

    /// How many problems are noted so far.
    pub fn problems(&self) -> usize {
        self.problems.len()
    }

    /// The dotted path of the value being read, as `--set` takes it.
    pub fn path(&self) -> String {
        self.path.join(".")
    }

    /// Does `work` one step further down.
    pub fn within<T>(&mut self, segment: &str, work: impl FnOnce(&mut Reader) -> T) -> T {
        self.path.push(segment.to_owned());
        let result = work(self);
        self.path.pop();
        result
    }

    /// Notes a problem. `label` goes under the place.
    pub fn problem(&mut self, at: At, message: String, label: impl Into<String>, help: Option<String>) {
        if self.problems.len() < Self::MAX_PROBLEMS {
            let sources = Arc::clone(&self.sources);
            self.problems.push(Problem { sources, at, message, label: label.into(), help, point: None });
        }
    }

    /// Notes that the first text is not TOML.
    pub fn syntax(&mut self, syntax: Syntax) {
        let Syntax { message, range } = syntax;
        let at = range.map_or(At::whole(0), |range| self.sources.place(0, &range));
        self.problem(at, format!("this is not TOML: {message}"), "", None);
    }

    /// Notes that `node` is another kind of value than `expected`, unless that is already known.
    pub fn wrong_kind<T>(&mut self, node: &Node, expected: &str) -> Option<T> {
        if !matches!(node.value, Value::Hole) {
            let message = format!("`{}` must be {expected}", self.path());
            self.problem(node.at, message, format!("this is {}", node.kind()), None);
        }
        None
    }

    /// The value of `key`, or its default, or a note that it is missing.
    pub fn field<T: Field>(
        &mut self,
        table: &Table,
        at: At,
        key: &str,
        about: &str,
        default: Option<fn() -> T>,
    ) -> Option<T> {
        if let Some(node) = table.get(key) {
            return self.within(key, |reader| T::read(node, reader));
        }
        let value = default.map(|default| default()).or_else(T::absent);
        if value.is_none() {
            let place = if self.path.is_empty() { "the file".to_owned() } else { format!("`{}`", self.path()) };
            let help = format!("`{key}`: {}", about.trim());
            self.problem(at, format!("{place} needs `{key}`"), format!("`{key}` is missing"), Some(help));
        }
        value
    }

    /// The value if it is within `range`; else notes what is allowed.
    pub fn limited<T: Limited>(
        &mut self,
        table: &Table,
        key: &str,
        value: Option<T>,
        range: &impl RangeBounds<T::Bound>,
    ) -> Option<T> {
        let at = table.get(key).map_or(At::whole(0), |node| node.at);
        self.within(key, |reader| reader.limited_at(at, value, range))
    }

    /// The value at `at`, which is where the reader is, if it is within `range`.
    pub fn limited_at<T: Limited>(
        &mut self,
        at: At,
        value: Option<T>,
        range: &impl RangeBounds<T::Bound>,
    ) -> Option<T> {
        let value = value?;
        let Some(outside) = value.bound().filter(|bound| !range.contains(bound)) else { return Some(value) };
        let message = format!("`{}` must be {}", self.path(), describe(range));
        self.problem(at, message, format!("this is {outside}"), None);
        None
    }

    fn unknown_keys(&mut self, table: &Table, keys: &Keys) {
        let named = |list: &[(&'static str, &'static str)], key: &str| {
            list.iter().find(|(name, _)| *name == key).map(|(_, text)| *text)
        };
        for entry in table.entries.iter().filter(|entry| !keys.known.contains(&entry.key)) {
            let known = || keys.known.iter().map(String::as_str);
            let place = if self.path.is_empty() { String::new() } else { format!(" in `{}`", self.path()) };
            let short = entry.key.chars().take(60).collect::<String>();
            let (message, label, help) = if let Some(new) = named(&keys.renamed, &entry.key) {
                let old = self.path_of(&entry.key);
                let new = self.path_of(new);
                (format!("`{old}` is no longer a key"), "renamed", format!("it is called `{new}` now"))
            } else if let Some(reason) = named(&keys.refused, &entry.key) {
                (format!("`{}` cannot be had here", self.path_of(&entry.key)), "not here", reason.to_owned())
            } else if let Some(other) = keys.elsewhere.iter().find(|other| other.key == entry.key) {
                let message = format!("`{short}` has no meaning{place} with `{}`", other.chosen);
                (message, "not with this choice", format!("it needs `{}`", other.owner))
            } else if !keys.open {
                let help = suggest::help(&entry.key, known(), "keys known here");
                (format!("unknown key `{short}`{place}"), "unknown key", help)
            } else {
                continue;
            };
            self.problem(entry.key_at, message, label, Some(help));
        }
    }

    /// The dotted path of `key`, which may itself be a path from here: down (`a.b`), or first up (`../a`).
    fn path_of(&self, mut key: &str) -> String {
        let mut above = &self.path[..];
        while let Some(rest) = key.strip_prefix("../") {
            above = above.split_last().map_or(&[], |(_, above)| above);
            key = rest;
        }
        above.iter().map(String::as_str).chain([key]).collect::<Vec<_>>().join(".")
    }
}

/// A text that is TOML, and the reader that notes what is wrong with it.
pub struct Parse {
    /// The text.
    pub tree: Node,
    /// A reader at its top.
    pub reader: Reader,
}

impl Parse {
    /// Parses `text`, shown as `name` in problems, of at most `most` bytes.
    ///
    /// # Errors
    /// If it is longer, or not TOML.
    pub fn new(text: &str, name: &str, most: usize) -> Result<Parse, Problems> {
        let kept = if text.len() > most { "" } else { text };
        let sources = Arc::new(Sources(vec![Source { name: name.to_owned(), text: kept.to_owned() }]));
        let mut reader = Reader::new(Arc::clone(&sources));
        if text.len() > most {
            reader.problem(At::whole(0), format!("there are at most {most} bytes of text"), "", None);
            return Err(Problems::new(reader.into_problems()));
        }
        match parse(&sources, 0) {
            Ok(tree) => Ok(Parse { tree, reader }),
            Err(syntax) => {
                reader.syntax(syntax);
                Err(Problems::new(reader.into_problems()))
            }
        }
    }
}

/// The key of a struct's field: `switch_latency` is `switch-latency` in the file.
pub fn key(field: &str) -> String {
    field.replace('_', "-")
}
