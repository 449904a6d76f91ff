//! Groups of hosts where traffic names them.

use std::fmt;
use std::ops::Deref;

use headway_language::{Definitions, Field, Json, Name, Node, OneOrMany, Reader, Shown};

/// A group or view of hosts, or several of them: their hosts together, in this order, each once. It reads as a name:
/// that of the only one, or all of them with `+` between, which no group can be called.
#[derive(Debug, Clone, PartialEq)]
pub struct Groups {
    names: OneOrMany<Name>,
    key: String,
}

impl Groups {
    /// The groups and views.
    pub fn names(&self) -> &[Name] {
        &self.names
    }
}

impl Deref for Groups {
    type Target = str;
    fn deref(&self) -> &str {
        &self.key
    }
}

impl fmt::Display for Groups {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.key)
    }
}

impl Field for Groups {
    fn read(node: &Node, reader: &mut Reader) -> Option<Groups> {
        let names = OneOrMany::<Name>::read(node, reader)?;
        let path = reader.path();
        if names.is_empty() {
            let help = "name a group, or several: [\"one\", \"other\"]".to_owned();
            reader.problem(node.at, format!("`{path}` names no group"), "empty", Some(help));
            return None;
        }
        let again = names.iter().enumerate().find(|(index, name)| names[..*index].contains(name));
        if let Some((index, name)) = again {
            let at = node.locate(&[&index.to_string()]);
            reader.problem(at, format!("`{path}` names `{name}` twice"), "again", None);
            return None;
        }
        let key = names.iter().map(Name::as_str).collect::<Vec<_>>().join("+");
        Some(Groups { names, key })
    }

    fn show(&self) -> Option<Shown> {
        match &self.names[..] {
            [one] => one.show(),
            _ => self.names.show(),
        }
    }

    fn schema(definitions: &mut Definitions) -> Json {
        OneOrMany::<Name>::schema(definitions)
    }
}
