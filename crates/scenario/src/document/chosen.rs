//! Variants of the sweep that changes choose: `sweep.link=fast` runs that one, and leaves what it means to the file.

use std::collections::BTreeMap;

use headway_language::{Field, Node, Reader, Scalar, SweepValues, Value, suggest_help};

/// The variants that are chosen, by the swept name.
#[derive(Debug, Default)]
pub(super) struct Chosen(BTreeMap<String, Node>);

impl Chosen {
    /// Makes the change `set`, which is `key=value`, by `apply`. If it would put values in the place of variants, they
    /// stay, and the values choose among them.
    pub fn change(&mut self, set: &str, tree: &mut Node, apply: impl FnOnce(&mut Node)) {
        let key = set.split_once('=').map_or(set, |(key, _)| key);
        let name = match key.split('.').map(str::trim).collect::<Vec<_>>().as_slice() {
            ["sweep", name] => (*name).to_owned(),
            ["sweep"] => {
                self.0.clear();
                return apply(tree);
            }
            _ => return apply(tree),
        };
        let variants = swept(tree, &name).filter(|node| matches!(node.value, Value::Table(_))).map(|node| {
            let at = node.at;
            std::mem::replace(node, Node { at, value: Value::Hole })
        });
        apply(tree);
        let (Some(variants), Some(place)) = (variants, swept(tree, &name)) else { return };
        match place.value {
            // refused
            Value::Hole => *place = variants,
            Value::Table(_) => _ = self.0.remove(&name),
            _ => _ = self.0.insert(name, std::mem::replace(place, variants)),
        }
    }

    /// Leaves the chosen variants alone in `tree`, in the order in which they were chosen.
    pub fn apply(self, tree: &mut Node, reader: &mut Reader) {
        for (name, values) in self.0 {
            let wanted =
                reader.within("sweep", |reader| reader.within(&name, |reader| SweepValues::read(&values, reader)));
            let (Some(wanted), Some(Node { value: Value::Table(variants), .. })) = (wanted, swept(tree, &name)) else {
                continue;
            };
            let mut all: BTreeMap<String, _> =
                std::mem::take(&mut variants.entries).into_iter().map(|entry| (entry.key.clone(), entry)).collect();
            let known: Vec<String> = all.keys().cloned().collect();
            for (index, value) in wanted.iter().map(|value: Scalar| value.to_string()).enumerate() {
                if let Some(entry) = all.remove(&value) {
                    variants.entries.push(entry);
                    continue;
                }
                let at = values.child(&index.to_string()).unwrap_or(&values).at;
                let help = suggest_help(&value, known.iter().map(String::as_str), "variants");
                reader.problem(at, format!("`sweep.{name}` has no variant `{value}`"), "no such variant", Some(help));
            }
        }
    }
}

/// The values of the swept `name`.
fn swept<'a>(tree: &'a mut Node, name: &str) -> Option<&'a mut Node> {
    tree.child_mut("sweep")?.child_mut(name)
}
