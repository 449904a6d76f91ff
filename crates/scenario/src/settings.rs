//! Kernel settings: names with dots and their values.

use headway_language::{At, Definitions, Field, Json, Node, Reader, Shown, Value};
use serde_json::json;

/// So many are more than a kernel has.
const MOST: usize = 1_000;
/// Values are at most this long.
const LONGEST: usize = 1_000;

/// Kernel settings (sysctl) by name, in the order of the file: `"net.ipv4.tcp_ecn" = "1"`, or without the quotes around
/// the name. Values are text, whole numbers or flags (1 and 0).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Settings(Vec<(String, String)>);

impl Settings {
    /// None.
    pub const fn new() -> Settings {
        Settings(Vec::new())
    }

    /// Names and values in the order of the file.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    fn add(&mut self, name: &str, key_at: At, node: &Node, reader: &mut Reader) -> Option<()> {
        let value = match &node.value {
            Value::Table(table) => {
                for entry in &table.entries {
                    let name = format!("{name}.{}", entry.key);
                    self.add(&name, entry.key_at, &entry.node, reader)?;
                }
                return Some(());
            }
            Value::Text(text) => text.clone(),
            Value::Integer(number) => number.to_string(),
            Value::Bool(flag) => u8::from(*flag).to_string(),
            _ => return reader.wrong_kind(node, "a text, a whole number, or true or false"),
        };
        let path = reader.path();
        if !is_sysctl(name) {
            let message = format!("`{name}` in `{path}` is not the name of a kernel setting");
            let help = "letters, digits, `_` and `-`, with dots between, as sysctl(8) prints them".to_owned();
            reader.problem(key_at, message, "", Some(help));
            return None;
        }
        if value.len() > LONGEST || value.contains(char::is_control) || self.0.len() >= MOST {
            let message = format!("`{name}` in `{path}` must be one line of at most {LONGEST} bytes");
            reader.problem(node.at, message, "", None);
            return None;
        }
        self.0.push((name.to_owned(), value));
        Some(())
    }
}

impl Field for Settings {
    fn read(node: &Node, reader: &mut Reader) -> Option<Settings> {
        let Value::Table(table) = &node.value else { return reader.wrong_kind(node, "a table of kernel settings") };
        let mut settings = Settings::new();
        for entry in &table.entries {
            settings.add(&entry.key, entry.key_at, &entry.node, reader)?;
        }
        Some(settings)
    }

    fn show(&self) -> Option<Shown> {
        let shown = |(name, value): &(String, String)| (name.clone(), Shown::Text(value.clone()));
        (!self.0.is_empty()).then(|| Shown::Table(self.0.iter().map(shown).collect()))
    }

    fn schema(_: &mut Definitions) -> Json {
        // names may be written as tables within tables, as TOML reads names with dots
        json!({ "type": "object" })
    }
}

/// Whether `name` can be a kernel setting: parts of letters, digits, `_` and `-`, with `.` or `/` between. Nothing that
/// leads out of `/proc/sys`.
fn is_sysctl(name: &str) -> bool {
    let inside = |c: char| c.is_ascii_alphanumeric() || "_-".contains(c);
    let part = |part: &str| !part.is_empty() && part.chars().all(inside);
    name.len() <= 200 && name.contains(['.', '/']) && name.split(['.', '/']).all(part)
}

/// The name of the queueing discipline that the text after `root` is about, if it can be one: words of printable
/// characters that neither a shell nor another line could come of.
pub fn queue_name(text: &str) -> Option<&str> {
    let inside = |c: char| c.is_ascii_alphanumeric() || " ._:%/+,-".contains(c);
    let name = text.split(' ').find(|word| !word.is_empty())?;
    let word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    (text.chars().all(inside) && name.chars().all(word) && !text.contains(" dev ")).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_settings_lead_nowhere_else() {
        for good in ["net.ipv4.tcp_ecn", "net/ipv4/conf/eth0.1/rp_filter", "kernel.hostname"] {
            assert!(is_sysctl(good), "{good}");
        }
        for bad in ["", "tcp", "net..ipv4", "../../etc/passwd", "net.ipv4.a b", "net.ipv4.a;b", "/net", "net.\n"] {
            assert!(!is_sysctl(bad), "{bad}");
        }
    }

    #[test]
    fn queueing_disciplines_are_named_first() {
        assert_eq!(queue_name("tbf rate 50mbit burst 20kb latency 5ms"), Some("tbf"));
        assert_eq!(queue_name("fq_codel"), Some("fq_codel"));
        for bad in ["", "fq; reboot", "fq\nqdisc del", "$(x)", "Fq"] {
            assert_eq!(queue_name(bad), None, "{bad}");
        }
    }
}
