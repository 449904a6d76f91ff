//! Problems by key path.

use std::collections::BTreeMap;
use std::sync::Arc;

use headway_language::{Node, Problem, Reader, Sources, suggest_help};

/// Notes problems by key path.
pub(crate) struct Checker<'a> {
    tree: &'a Node,
    reader: Reader,
}

impl<'a> Checker<'a> {
    pub(crate) fn new(tree: &'a Node, sources: &Arc<Sources>) -> Checker<'a> {
        Checker { tree, reader: Reader::new(Arc::clone(sources)) }
    }

    pub(crate) fn into_problems(self) -> Vec<Problem> {
        self.reader.into_problems()
    }

    /// Notes a problem with the value at `path`, or with what is around it.
    pub(crate) fn problem(&mut self, path: &[&str], message: String, label: &str, help: Option<&str>) {
        self.reader.problem(self.tree.locate(path), message, label, help.map(str::to_owned));
    }

    /// Notes that `name` at `path` is none of `known`, if so. Returns whether it is.
    pub(crate) fn known<'k>(
        &mut self,
        path: &[&str],
        name: &str,
        what: &str,
        known: impl IntoIterator<Item = &'k str> + Clone,
    ) -> bool {
        if known.clone().into_iter().any(|one| one == name) {
            return true;
        }
        let help = suggest_help(name, known, &format!("{what} names here"));
        self.problem(path, format!("there is no {what} `{name}`"), "no such name", Some(&help));
        false
    }

    /// Notes names that occur twice in the list `key` of tables with `name`.
    pub(crate) fn unique<'k>(&mut self, key: &str, what: &str, names: impl Iterator<Item = &'k str>) {
        let mut seen = BTreeMap::new();
        for (index, name) in names.enumerate() {
            if let Some(first) = seen.insert(name, index) {
                let path = [key, &index.to_string(), "name"];
                let help = format!("give each {what} a name of its own");
                let message = format!("two {what} entries are called `{name}`");
                self.problem(&path, message, &format!("also the name of number {}", first + 1), Some(&help));
            }
        }
    }

    /// How many problems there are so far.
    pub(crate) fn problems(&self) -> usize {
        self.reader.problems()
    }
}
