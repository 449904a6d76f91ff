//! `[sweep]` of a scenario file, held against the names that the rest of it uses.

use std::collections::BTreeSet;

use headway_language::{At, Entry, Field, Node, Reader, Sweep, Table, Value, suggest_help, used};

/// There are at most this many combinations of sweep points and policies.
const MAX_CELLS: usize = 100_000;

/// The names of the sweep that the rest of the tree uses.
pub(super) fn used_names(tree: &Node) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let Value::Table(root) = &tree.value else { return names };
    // Claims are about what is varied; that makes them no use of it.
    for entry in root.entries.iter().filter(|entry| entry.key != "sweep" && entry.key != "claim") {
        used(&entry.node, &mut Vec::new(), &mut |name, _, _| _ = names.insert(name.to_owned()));
    }
    names
}

/// Takes `[sweep]` out of the tree and holds it against the names the rest uses.
pub(super) fn read_sweep(tree: &mut Node, reader: &mut Reader) -> Option<Sweep> {
    let Value::Table(root) = &mut tree.value else { return None };
    let index = root.entries.iter().position(|entry| entry.key == "sweep");
    let written = index.map(|index| root.entries.remove(index).node);
    let sweep = match &written {
        Some(node) => reader.within("sweep", |reader| Sweep::read(node, reader)),
        None => Some(Sweep::default()),
    };
    let none = Table::default();
    let table = match written.as_ref().map(|node| &node.value) {
        Some(Value::Table(table)) => table,
        _ => &none,
    };
    check_names(tree, table, reader);
    let sweep = sweep?;
    let policies = match tree.child("policy").map(|policies| &policies.value) {
        Some(Value::List(policies)) => policies.len().max(1),
        _ => 1,
    };
    if sweep.len().saturating_mul(policies) > MAX_CELLS {
        let at = written.map_or(At::whole(0), |node| node.at);
        let mut factors: Vec<String> = sweep.names().iter().map(|(_, values)| values.len().to_string()).collect();
        factors.push(format!("{policies} policies"));
        let product = factors.join(" × ");
        let message = format!("there are more than {MAX_CELLS} combinations of sweep values and policies");
        reader.problem(at, message, product, Some("vary fewer names together, or larger steps".to_owned()));
        return None;
    }
    Some(sweep)
}

/// The entries of `variants` that the first of them sets; all others set the same names.
pub(super) fn set_by(variants: &Node) -> &[Entry] {
    let Value::Table(variants) = &variants.value else { return &[] };
    match variants.entries.first().map(|first| &first.node.value) {
        Some(Value::Table(names)) => &names.entries,
        _ => &[],
    }
}

/// A name that can be written as `"$name"`.
struct Known<'a> {
    name: &'a str,
    /// The swept name whose variants set it.
    setter: Option<&'a str>,
    at: At,
    unused: bool,
}

/// The names of the sweep whose values are in `table`, and those that its variants set.
fn known<'a>(table: &'a Table) -> Vec<Known<'a>> {
    let mut all = Vec::new();
    for entry in &table.entries {
        let set = set_by(&entry.node);
        // Variants are there for what they set; their own name is shown, and may be used or not.
        let unused = !matches!(entry.node.value, Value::Table(_));
        all.push(Known { name: &entry.key, setter: None, at: entry.key_at, unused });
        let inner =
            |inner: &'a Entry| Known { name: &inner.key, setter: Some(&entry.key), at: inner.key_at, unused: true };
        all.extend(set.iter().map(inner));
    }
    all
}

/// Notes names of the sweep that nothing uses, and uses of names that the sweep, whose values are in `table`, has not.
fn check_names(tree: &Node, table: &Table, reader: &mut Reader) {
    let mut known = known(table);
    used(tree, &mut Vec::new(), &mut |name, node, path| {
        if is_fixed(path) {
            let message = format!("`{}` cannot vary with the sweep", path.join("."));
            let help =
                "names, descriptions, the seed, repeats, the kernel, its files, claims (but for rows of published tables) and quick sizes are about the whole \
                 sweep"
                    .to_owned();
            reader.problem(node.at, message, "write the value itself", Some(help));
        }
        if let Some(known) = known.iter_mut().find(|known| known.name == name) {
            // A claim's row is looked up at each point; it is not what varies.
            known.unused &= path.first().is_some_and(|key| key == "claim");
            return;
        }
        let help = if known.is_empty() {
            format!("give it values: [sweep] with {name} = [1, 2, 5]")
        } else {
            suggest_help(name, known.iter().map(|known| known.name), "names in [sweep]")
        };
        reader.problem(node.at, format!("`${name}` is not in [sweep]"), "no such name", Some(help));
    });
    for Known { name, setter, at, .. } in known.iter().filter(|known| known.unused) {
        let message = match setter {
            None => format!("`sweep.{name}` is varied, but nothing uses `\"${name}\"`"),
            Some(setter) => format!("`sweep.{setter}` sets `{name}`, but nothing uses `\"${name}\"`"),
        };
        let help = "write the name where the value goes, or take it out".to_owned();
        reader.problem(*at, message, "never used", Some(help));
    }
}

/// Whether the value at `path` must be the same at all points: they share one set of results.
fn is_fixed(path: &[String]) -> bool {
    let path: Vec<&str> = path.iter().map(String::as_str).collect();
    let is_row =
        matches!(path.as_slice(), ["claim", _, "published", "row", _] | ["claim", _, "published", _, "row", _]);
    !is_row
        && matches!(
            path.as_slice(),
            [
                "name"
                    | "about"
                    | "source"
                    | "seed"
                    | "repeats"
                    | "kernel"
                    | "files"
                    | "claim"
                    | "quick"
                    | "kernel-hosts",
                ..
            ] | ["policy" | "traffic", _, "name"]
        )
}
