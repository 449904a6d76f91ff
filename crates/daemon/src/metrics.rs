//! Metrics for Prometheus (text format 0.0.4).
//!
//! Source: prometheus.io/docs/instrumenting/exposition_formats.

use std::fmt::Write as _;

/// The media type of a [`Page`].
pub const KIND: &str = "text/plain; version=0.0.4; charset=utf-8";

/// The type of a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A value that goes up and down.
    Gauge,
    /// A count since the start; its name ends in `_total`.
    Counter,
}

/// A page of metrics.
#[derive(Debug)]
pub struct Page {
    prefix: &'static str,
    text: String,
}

impl Page {
    /// An empty one, of metrics whose names begin with `prefix` and an underscore.
    pub fn new(prefix: &'static str) -> Page {
        Page { prefix, text: String::new() }
    }

    /// A metric with the values that `values` puts, each with its labels.
    pub fn family(&mut self, name: &str, kind: Kind, help: &str, values: impl FnOnce(&mut dyn FnMut(&Labels, f64))) {
        let Page { prefix, text } = self;
        let word = match kind {
            Kind::Gauge => "gauge",
            Kind::Counter => "counter",
        };
        let _ = writeln!(text, "# HELP {prefix}_{name} {help}\n# TYPE {prefix}_{name} {word}");
        values(&mut |labels, value| {
            let all: Vec<String> =
                labels.iter().map(|(label, value)| format!("{label}=\"{}\"", escaped(value))).collect();
            let labels = if all.is_empty() { String::new() } else { format!("{{{}}}", all.join(",")) };
            let _ = writeln!(text, "{prefix}_{name}{labels} {value}");
        });
    }

    /// The page.
    pub fn text(self) -> String {
        self.text
    }
}

/// Names and values of labels.
pub type Labels<'a> = [(&'a str, &'a str)];

/// As the format wants the value of a label.
fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_family_has_its_header_and_a_line_per_value() {
        let mut page = Page::new("headway_x");
        page.family("up", Kind::Gauge, "Whether it is up", |put| {
            put(&[("card", "a\"b\\c\nd"), ("port", "1")], 1.0);
            put(&[], 0.5);
        });
        page.family("frames_total", Kind::Counter, "Frames", |_| {});
        let text = page.text();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines,
            [
                "# HELP headway_x_up Whether it is up",
                "# TYPE headway_x_up gauge",
                r#"headway_x_up{card="a\"b\\c\nd",port="1"} 1"#,
                "headway_x_up 0.5",
                "# HELP headway_x_frames_total Frames",
                "# TYPE headway_x_frames_total counter",
            ]
        );
    }
}
