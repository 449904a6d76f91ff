//! Printing values with every default, as TOML that reads back to the same values.

use std::fmt::Write as _;

/// What is printed: values whose meaning is forgotten.
#[derive(Debug, Clone, PartialEq)]
pub enum Shown {
    /// Text.
    Text(String),
    /// Wide enough for every integer of the language.
    Integer(i128),
    /// Any other number.
    Float(f64),
    /// True or false.
    Bool(bool),
    /// Values in their order.
    List(Vec<Shown>),
    /// Keys and values in their order.
    Table(Vec<(String, Shown)>),
    /// Not the same at every sweep point; never printed.
    Varies,
}

/// A line no longer than this may hold a whole table or list.
const WIDTH: usize = 100;

/// The document with `entries` at its top.
pub fn document(entries: &[(String, Shown)]) -> String {
    let mut text = String::new();
    section(&mut text, "", entries);
    text
}

/// A table's own lines, then the tables below it: those that are too long for a line, and all behind them, for the order
/// of tables may have a meaning.
fn section(text: &mut String, path: &str, entries: &[(String, Shown)]) {
    let fits = |(name, shown): &(String, Shown)| match shown {
        Shown::Table(_) => !path.is_empty() && inline(shown).len() + name.len() <= WIDTH,
        Shown::List(items) => !(path.is_empty() && matches!(items.first(), Some(Shown::Table(_)))),
        _ => true,
    };
    let long = entries.iter().position(|entry| !fits(entry)).unwrap_or(entries.len());
    let own = |index: usize| index < long || !matches!(entries[index].1, Shown::Table(_)) && fits(&entries[index]);
    let of = |wanted: bool| entries.iter().enumerate().filter(move |(index, _)| own(*index) == wanted);
    for (_, (name, shown)) in of(true) {
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
    for (_, (name, shown)) in of(false) {
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

/// `shown` in one line, as a value is written.
pub fn inline(shown: &Shown) -> String {
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
    fn tables_keep_their_order() {
        let table = |length: usize| Shown::Table(vec![("a".to_owned(), Shown::Text("x".repeat(length)))]);
        let tables = ["z", "y", "x"].map(str::to_owned).into_iter().zip([table(1), table(200), table(1)]).collect();
        let text = document(&[("hosts".to_owned(), Shown::Table(tables))]);
        let parsed = toml_edit::Document::parse(text).unwrap();
        let names: Vec<&str> = parsed["hosts"].as_table().unwrap().iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["z", "y", "x"]);
    }

    #[test]
    fn lists_of_tables_at_the_top_get_headers_and_deeper_ones_do_not() {
        let item = Shown::Table(vec![("a".to_owned(), Shown::List(vec![Shown::Table(vec![])]))]);
        let text = document(&[("x".to_owned(), Shown::List(vec![item]))]);
        assert_eq!(text, "\n[[x]]\na = [{}]\n");
    }
}
