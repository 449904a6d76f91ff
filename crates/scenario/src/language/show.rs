//! Printing a scenario with every default, as TOML that reads back to the same scenario.

use std::fmt::Write as _;

/// What is printed: values whose meaning is forgotten.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Shown {
    Text(String),
    /// Wide enough for every integer of the language.
    Integer(i128),
    Float(f64),
    Bool(bool),
    List(Vec<Shown>),
    Table(Vec<(String, Shown)>),
    /// Not the same at every sweep point; never printed.
    Varies,
}

/// A line no longer than this may hold a whole table or list.
const WIDTH: usize = 100;

/// The document with `entries` at its top.
pub(crate) fn document(entries: &[(String, Shown)]) -> String {
    let mut text = String::new();
    section(&mut text, "", entries);
    text
}

/// A table's own lines, then the tables below it that are too long for a line.
fn section(text: &mut String, path: &str, entries: &[(String, Shown)]) {
    let own = |shown: &Shown, key: &str| match shown {
        Shown::Table(_) => !path.is_empty() && inline(shown).len() + key.len() <= WIDTH,
        Shown::List(items) => !(path.is_empty() && matches!(items.first(), Some(Shown::Table(_)))),
        _ => true,
    };
    for (name, shown) in entries.iter().filter(|(name, shown)| own(shown, name)) {
        let name = key(name);
        let line = inline(shown);
        match shown {
            Shown::List(items) if name.len() + line.len() > WIDTH => {
                let _ = writeln!(text, "{name} = [");
                for item in items {
                    let _ = writeln!(text, "  {},", inline(item));
                }
                text.push_str("]\n");
            }
            _ => {
                let _ = writeln!(text, "{name} = {line}");
            }
        }
    }
    for (name, shown) in entries.iter().filter(|(name, shown)| !own(shown, name)) {
        let path = if path.is_empty() { key(name) } else { format!("{path}.{}", key(name)) };
        match shown {
            Shown::Table(entries) => {
                let _ = writeln!(text, "\n[{path}]");
                section(text, &path, entries);
            }
            Shown::List(items) => {
                for item in items {
                    let _ = writeln!(text, "\n[[{path}]]");
                    if let Shown::Table(entries) = item {
                        section(text, &path, entries);
                    }
                }
            }
            _ => {}
        }
    }
}

fn inline(shown: &Shown) -> String {
    match shown {
        Shown::Text(text) => quoted(text),
        Shown::Integer(number) => number.to_string(),
        // Debug keeps the point (`1.0`) and every digit; `inf` and `nan` are TOML as they are.
        Shown::Float(number) => format!("{number:?}").replace("NaN", "nan"),
        Shown::Bool(flag) => flag.to_string(),
        Shown::List(items) => format!("[{}]", items.iter().map(inline).collect::<Vec<_>>().join(", ")),
        Shown::Varies => String::new(),
        Shown::Table(entries) if entries.is_empty() => "{}".to_owned(),
        Shown::Table(entries) => {
            let entries: Vec<String> =
                entries.iter().map(|(name, shown)| format!("{} = {}", key(name), inline(shown))).collect();
            format!("{{ {} }}", entries.join(", "))
        }
    }
}

fn key(name: &str) -> String {
    let bare = !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_');
    if bare { name.to_owned() } else { quoted(name) }
}

fn quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for c in text.chars() {
        match c {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            c if c.is_control() => {
                let _ = write!(quoted, "\\u{:04X}", u32::from(c));
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_escaped_as_toml_wants_it() {
        let all: String = (0..300).filter_map(char::from_u32).collect();
        let text = document(&[("odd key".to_owned(), Shown::Text(all.clone()))]);
        let parsed = toml_edit::Document::parse(text).unwrap();
        assert_eq!(parsed["odd key"].as_str(), Some(all.as_str()));
    }

    #[test]
    fn lists_of_tables_at_the_top_get_headers_and_deeper_ones_do_not() {
        let item = Shown::Table(vec![("a".to_owned(), Shown::List(vec![Shown::Table(vec![])]))]);
        let text = document(&[("x".to_owned(), Shown::List(vec![item]))]);
        assert_eq!(text, "\n[[x]]\na = [{}]\n");
    }
}
