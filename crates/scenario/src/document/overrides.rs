//! Overrides: changes to a scenario file, and how they are written into its tree.

use std::collections::BTreeSet;
use std::fmt;

use headway_language::{At, Entry, Node, Reader, Sources, Value, suggest_help};

use super::narrowing::{drop_points, drop_rows};
use super::sweep::{set_by, used_names};
use crate::schema::HostKind;

/// Changes to the text of a scenario.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Overrides {
    /// `key=value`, later ones over earlier ones.
    pub sets: Vec<String>,
    /// The kind of all hosts.
    pub hosts: Option<HostKind>,
    /// Only these policies; all if there are none.
    pub policies: Vec<String>,
    /// The image of kernel hosts.
    pub kernel: Option<String>,
    /// As `[quick]` says; all other overrides go before it.
    pub quick: bool,
}

impl Overrides {
    /// With `sets` alone.
    pub fn sets(sets: &[String]) -> Overrides {
        Overrides { sets: sets.to_vec(), ..Overrides::default() }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        *self == Overrides::default()
    }

    /// The changes one by one, in the order in which they are made.
    pub(super) fn changes(&self) -> impl Iterator<Item = Change<'_>> {
        let sets = self.sets.iter().map(|set| Change::Set(set));
        let hosts = self.hosts.iter().map(|&kind| Change::Hosts(kind));
        let kernel = self.kernel.iter().map(|name| Change::Kernel(name));
        let policies = self.policies.iter().map(|name| Change::Policy(name));
        sets.chain(hosts).chain(kernel).chain(policies)
    }
}

/// One of the overrides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Change<'a> {
    /// `key=value`.
    Set(&'a str),
    /// The kind of all hosts.
    Hosts(HostKind),
    /// The image of kernel hosts.
    Kernel(&'a str),
    /// A policy that is run.
    Policy(&'a str),
}

impl<'a> Change<'a> {
    /// The option of the command line, by which messages call it.
    pub fn option(self) -> &'static str {
        match self {
            Change::Set(_) => "--set",
            Change::Hosts(_) => "--hosts",
            Change::Kernel(_) => "--kernel",
            Change::Policy(_) => "--policy",
        }
    }

    /// Its text.
    pub fn text(self) -> &'a str {
        match self {
            Change::Set(text) | Change::Kernel(text) | Change::Policy(text) => text,
            Change::Hosts(kind) => kind.as_str(),
        }
    }
}

/// In one line, for people.
impl fmt::Display for Overrides {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.quick {
            f.write_str("--quick")?;
        }
        for (index, change) in self.changes().enumerate() {
            let comma = if index > 0 || self.quick { ", " } else { "" };
            let option = match change {
                Change::Set(_) => String::new(),
                _ => format!("{} ", change.option()),
            };
            write!(f, "{comma}{option}{}", change.text().replace(char::is_control, " "))?;
        }
        Ok(())
    }
}

/// Writes the overrides that are not `--set` into the tree, and takes names out of the sweep that nothing uses any
/// more because of that. `before` other changes come before theirs in `sources`. Returns the policies that are no longer
/// there, and the texts of claims that are left out because they look up values of such names.
pub(super) fn apply(
    tree: &mut Node,
    sources: &Sources,
    before: usize,
    overrides: &Overrides,
    reader: &mut Reader,
) -> (Vec<String>, Vec<String>) {
    if overrides.hosts.is_none() && overrides.kernel.is_none() && overrides.policies.is_empty() {
        return (Vec::new(), Vec::new());
    }
    let used_before = used_names(tree);
    for (index, change) in overrides.changes().enumerate() {
        let at = sources.place(before + index + 1, &(0..change.text().len()));
        match change {
            Change::Set(_) => {}
            Change::Hosts(kind) => {
                put(tree, "host-kind", kind.as_str(), at);
                drop_kinds_of_groups(tree);
            }
            Change::Kernel(name) => put(tree, "kernel", name, at),
            Change::Policy(name) => check_policy(tree, name, at, reader),
        }
    }
    let taken_out = if reader.problems() == 0 { keep_policies(tree, &overrides.policies) } else { Vec::new() };
    let after = used_names(tree);
    let unused: BTreeSet<&str> = used_before.iter().filter(|name| !after.contains(*name)).map(String::as_str).collect();
    let gone = gone(tree, &unused, &after);
    let gone: Vec<&str> = gone.iter().map(String::as_str).collect();
    drop_names(tree, &gone);
    drop_points(tree, &gone);
    (taken_out, drop_rows(tree, &gone))
}

/// Makes `text` the value of `key`.
fn put(tree: &mut Node, key: &str, text: &str, at: At) {
    let Value::Table(root) = &mut tree.value else { return };
    root.entries.retain(|entry| entry.key != key);
    let node = Node { at, value: Value::Text(text.to_owned()) };
    root.entries.push(Entry { key: key.to_owned(), key_at: at, node });
}

/// Leaves no group of hosts a kind of its own.
fn drop_kinds_of_groups(tree: &mut Node) {
    let Some(Node { value: Value::Table(groups), .. }) = tree.child_mut("hosts") else { return };
    for group in &mut groups.entries {
        if let Value::Table(group) = &mut group.node.value {
            group.entries.retain(|entry| entry.key != "kind");
        }
    }
}

/// Notes that there is no policy `name`, if so.
fn check_policy(tree: &Node, name: &str, at: At, reader: &mut Reader) {
    let names: Vec<&str> = match tree.child("policy").map(|policies| &policies.value) {
        Some(Value::List(policies)) => policies.iter().filter_map(Node::name).collect(),
        _ => Vec::new(),
    };
    if !names.contains(&name) {
        let help = suggest_help(name, names.iter().copied(), "policies");
        reader.problem(at, format!("there is no policy `{name}`"), "no such policy", Some(help));
    }
}

/// Takes out all policies but `wanted`, if any are. Returns those that were taken out.
fn keep_policies(tree: &mut Node, wanted: &[String]) -> Vec<String> {
    let mut taken_out = Vec::new();
    if wanted.is_empty() {
        return taken_out;
    }
    let Some(Node { value: Value::List(policies), .. }) = tree.child_mut("policy") else { return taken_out };
    policies.retain(|policy| {
        let Some(name) = policy.name() else { return true };
        let stays = wanted.iter().any(|wanted| wanted == name);
        if !stays {
            taken_out.push(name.to_owned());
        }
        stays
    });
    taken_out
}

/// The names of the sweep that are no longer varied: `unused` ones, but variants as long as something is left of what they
/// set.
fn gone(tree: &Node, unused: &BTreeSet<&str>, used: &BTreeSet<String>) -> Vec<String> {
    let mut gone: BTreeSet<&str> = unused.clone();
    if let Some(Node { value: Value::Table(sweep), .. }) = tree.child("sweep") {
        for entry in sweep.entries.iter().filter(|entry| matches!(entry.node.value, Value::Table(_))) {
            let set_nothing = set_by(&entry.node).iter().all(|name| unused.contains(name.key.as_str()));
            if set_nothing && !used.contains(&entry.key) {
                gone.insert(&entry.key);
            } else {
                gone.remove(entry.key.as_str());
            }
        }
    }
    gone.into_iter().map(str::to_owned).collect()
}

/// Takes the names `gone` out of the sweeps, and out of variants.
fn drop_names(tree: &mut Node, gone: &[&str]) {
    let Value::Table(root) = &mut tree.value else { return };
    // What a reproduction runs on kernel hosts was said of the policies that the file has.
    root.entries.retain(|entry| entry.key != "kernel-hosts");
    for table in &mut root.entries {
        let sweep = match table.key.as_str() {
            "sweep" => Some(&mut table.node),
            "quick" => table.node.child_mut("sweep"),
            _ => None,
        };
        let Some(Node { value: Value::Table(sweep), .. }) = sweep else { continue };
        sweep.entries.retain(|entry| !gone.contains(&entry.key.as_str()));
        for entry in &mut sweep.entries {
            let Value::Table(variants) = &mut entry.node.value else { continue };
            for variant in &mut variants.entries {
                if let Value::Table(names) = &mut variant.node.value {
                    names.entries.retain(|name| !gone.contains(&name.key.as_str()));
                }
            }
        }
    }
}
