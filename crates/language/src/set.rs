//! `--set policy.mptcp.transport.initial-window=10`: one value of the file replaced from outside.

use super::read::Reader;
use super::source::{At, Sources};
use super::suggest;
use super::tree::{Entry, Node, Table, Value, parse_value, position};

/// No record is nested deeper than this.
const DEEPEST: usize = 32;

/// Writes the override that is text `source` of `sources` into `root`. Keys that no table has yet
/// are added: whether they mean anything is for the typed reading to say, which points back here.
///
/// Recursion goes as deep as the key is long, hence the limit.
pub fn apply(root: &mut Node, sources: &Sources, source: usize, reader: &mut Reader) {
    let text = &sources.0[source].text;
    let Some(equals) = text.find('=') else {
        let help = "write it as key=value, for example --set repeats=3".to_owned();
        let at = sources.place(source, &(0..text.len()));
        reader.problem(at, "an override needs a key and a value".to_owned(), "there is no `=`", Some(help));
        return;
    };
    let start = equals + 1 + (text[equals + 1..].len() - text[equals + 1..].trim_start().len());
    let value = parse_value(sources, source, start).unwrap_or_else(|| Node {
        at: sources.place(source, &(start..text.trim_end().len().max(start))),
        value: Value::Text(text[start..].trim_end().to_owned()),
    });
    let mut segments = Vec::new();
    let mut from = 0;
    for segment in text[..equals].split('.') {
        let end = from + segment.len();
        if segment.trim().is_empty() {
            let help = "for example policy.mptcp.transport.initial-window=10".to_owned();
            let at = sources.place(source, &(0..equals.max(1)));
            let message = "an override needs a key of names with dots between".to_owned();
            reader.problem(at, message, "a name is empty here", Some(help));
            return;
        }
        segments.push((segment.trim(), sources.place(source, &(from..end))));
        from = end + 1;
    }
    if segments.len() > DEEPEST {
        let message = format!("an override's key has at most {DEEPEST} parts");
        reader.problem(At::whole(source), message, "", None);
        return;
    }
    if let Err(refusal) = insert(root, &segments, 0, value) {
        reader.problem(refusal.at, refusal.message, refusal.label, Some(refusal.help));
    }
}

struct Refusal {
    at: At,
    message: String,
    label: &'static str,
    help: String,
}

fn insert(node: &mut Node, path: &[(&str, At)], depth: usize, value: Node) -> Result<(), Refusal> {
    let Some(&(segment, at)) = path.get(depth) else {
        *node = value;
        return Ok(());
    };
    let upto = path[..depth].iter().map(|(segment, _)| *segment).collect::<Vec<_>>().join(".");
    match &mut node.value {
        Value::Table(table) => {
            let known = table.entries.iter().position(|entry| entry.key == segment);
            let index = known.unwrap_or_else(|| {
                let node = Node { at, value: Value::Table(Table::default()) };
                table.entries.push(Entry { key: segment.to_owned(), key_at: at, node });
                table.entries.len() - 1
            });
            insert(&mut table.entries[index].node, path, depth + 1, value)
        }
        Value::List(items) => {
            if let Some(index) = position(items, segment) {
                return insert(&mut items[index], path, depth + 1, value);
            }
            let names: Vec<&str> = items.iter().filter_map(Node::name).collect();
            let help = if names.is_empty() {
                format!("elements are addressed by index: there are {}, the first is 0", items.len())
            } else {
                suggest::help(segment, names, "names here")
            };
            let message = format!("`{upto}` has no element `{segment}`");
            Err(Refusal { at, message, label: "no such element", help })
        }
        Value::Text(_) | Value::Integer(_) | Value::Float(_) | Value::Bool(_) | Value::Date | Value::Hole => {
            let message = format!("`{upto}` is {} here and has no key `{segment}`", node.kind());
            let help = match node.value {
                Value::Text(_) => format!("replace it as a whole: {upto}='{{ {segment} = …, … }}'"),
                _ => format!("set `{upto}` itself"),
            };
            Err(Refusal { at, message, label: "nothing below it", help })
        }
    }
}
