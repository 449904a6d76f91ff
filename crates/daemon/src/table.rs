//! Status and events as text for people.

use std::fmt::Write as _;

use serde_json::Value;

/// What is printed of a value that is not there.
pub const NONE: &str = "-";

/// A time with three digits or so.
pub fn time(seconds: f64) -> String {
    match seconds {
        s if s >= 86_400.0 => format!("{:.1} d", s / 86_400.0),
        s if s >= 3_600.0 => format!("{:.1} h", s / 3_600.0),
        s if s >= 1.0 => format!("{s:.1} s"),
        s if s >= 1e-3 => format!("{:.1} ms", s * 1e3),
        s => format!("{:.0} us", s * 1e6),
    }
}

/// Rows with their cells below each other; the last column is not padded.
pub fn columns<const N: usize>(rows: &[[String; N]]) -> String {
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..N).map(width).collect();
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for (cell, width) in row.iter().zip(&widths) {
            let _ = write!(line, "{cell:<width$}  ");
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// An event, a line of JSON, as `key=value`; as it is if it is none.
pub fn event(line: &str) -> String {
    let Ok(Value::Object(event)) = serde_json::from_str::<Value>(line) else {
        return line.replace(char::is_control, " ");
    };
    let part = |(key, value): (&String, &Value)| match value {
        Value::String(text) if !text.is_empty() && !text.contains([' ', '"', '=']) => {
            format!("{key}={}", text.replace(char::is_control, " "))
        }
        other => format!("{key}={other}"),
    };
    event.iter().map(part).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell_and_lines_end_without_blanks() {
        let rows = [["A", "LONG", "C"], ["xyz", "1", ""]].map(|row| row.map(str::to_owned));
        assert_eq!(columns(&rows), "A    LONG  C\nxyz  1\n");
    }

    #[test]
    fn events_are_shown_in_the_order_of_their_keys() {
        assert_eq!(
            event(r#"{"event":"switch","token":"ab","age_s":0.5,"why":"x y"}"#),
            "event=switch token=ab age_s=0.5 why=\"x y\""
        );
        assert_eq!(event("no\u{1b}JSON"), "no JSON");
    }
}
