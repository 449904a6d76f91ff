//! The file: data, styles and scripts in one.
//!
//! Everything of a scenario goes into the data and stays text there: `<`, `>` and `&` are written as `\u003c`, `\u003e`
//! and `\u0026`, so nothing in it can end the element or begin another, and so are U+2028 and U+2029, which end lines in
//! scripts of old browsers. The scripts set it as text, never as HTML.

use std::io::{self, Read as _, Write};

use flate2::read::GzDecoder;
use serde::Serialize;

use super::model::Page;

const TEMPLATE: &str = include_str!("../../assets/page.html");
const STYLE: &str = include_str!("../../assets/style.css");
/// The charts' library, compressed.
const CHARTS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/echarts.min.js.gz"));

/// The scripts, in the order of `assets/README.md`: each uses those before it.
const APP: [&str; 13] = [
    include_str!("../../assets/app/format.js"),
    include_str!("../../assets/app/dom.js"),
    include_str!("../../assets/app/model.js"),
    include_str!("../../assets/app/theme.js"),
    include_str!("../../assets/app/chart.js"),
    include_str!("../../assets/app/tables.js"),
    include_str!("../../assets/app/overview.js"),
    include_str!("../../assets/app/sweep.js"),
    include_str!("../../assets/app/distributions.js"),
    include_str!("../../assets/app/series.js"),
    include_str!("../../assets/app/network.js"),
    include_str!("../../assets/app/player.js"),
    include_str!("../../assets/app/main.js"),
];

/// The data as it stands in the file.
pub(super) fn json(page: &Page) -> String {
    let mut text = Escaped(Vec::new());
    write(page, &mut text);
    String::from_utf8(text.0).expect("characters are escaped whole")
}

/// How many bytes the value takes in the file. It is counted, not made: values are measured again and again.
pub(super) fn size(value: &impl Serialize) -> usize {
    let mut counted = Escaped(Count(0));
    write(value, &mut counted);
    counted.0.0
}

fn write(value: &impl Serialize, to: impl Write) {
    serde_json::to_writer(to, value).expect("no map with keys other than text, and a writer that takes all");
}

/// Counts what is written.
struct Count(usize);

impl Write for Count {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Escapes JSON on its way. What JSON consists of comes in pieces that end between characters.
struct Escaped<W>(W);

impl<W: Write> Write for Escaped<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let (mut begun, mut at) = (0, 0);
        while at < bytes.len() {
            let (code, length) = match bytes[at..] {
                [b'<', ..] => (0x3c, 1),
                [b'>', ..] => (0x3e, 1),
                [b'&', ..] => (0x26, 1),
                [0xe2, 0x80, 0xa8, ..] => (0x2028, 3),
                [0xe2, 0x80, 0xa9, ..] => (0x2029, 3),
                _ => {
                    at += 1;
                    continue;
                }
            };
            self.0.write_all(&bytes[begun..at])?;
            write!(self.0, "\\u{code:04x}")?;
            at += length;
            begun = at;
        }
        self.0.write_all(&bytes[begun..])?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// `text` in HTML.
fn in_html(text: &str) -> String {
    let mut html = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '<' => html.push_str("&lt;"),
            '>' => html.push_str("&gt;"),
            '&' => html.push_str("&amp;"),
            '"' => html.push_str("&quot;"),
            '\'' => html.push_str("&#39;"),
            '\u{2028}' | '\u{2029}' => html.push(' '),
            c if c.is_control() => html.push('\u{fffd}'),
            c => html.push(c),
        }
    }
    html
}

/// The charts' library.
fn charts() -> String {
    let mut text = String::new();
    GzDecoder::new(CHARTS).read_to_string(&mut text).expect("the build script packed it");
    text
}

/// The whole file.
///
/// # Panics
/// If the template lacks a place: a bug.
pub fn html(page: &Page) -> String {
    // One pass from left to right, so that nothing that is put in is taken for a place.
    let parts = [
        ("{{title}}", in_html(&page.title)),
        ("{{style}}", STYLE.to_owned()),
        ("{{data}}", json(page)),
        ("{{echarts}}", charts()),
        ("{{app}}", APP.join("\n")),
    ];
    let mut html = String::with_capacity(parts.iter().map(|(_, part)| part.len()).sum::<usize>() + TEMPLATE.len());
    let mut rest = TEMPLATE;
    for (place, part) in &parts {
        let (before, after) = rest.split_once(place).unwrap_or_else(|| panic!("the template has no {place}"));
        html.push_str(before);
        html.push_str(part);
        rest = after;
    }
    html.push_str(rest);
    html
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_those_of_the_escaped_text() {
        let hostile = "</script>&amp; a\u{2028}b\u{2029}c \u{2027}\u{202a} \u{e9} \u{1d11e} \"quoted\" \n";
        let mut text = Escaped(Vec::new());
        write(&hostile, &mut text);
        let text = String::from_utf8(text.0).unwrap();
        assert_eq!(serde_json::from_str::<String>(&text).unwrap(), hostile);
        assert!(!text.contains(['<', '>', '&', '\u{2028}', '\u{2029}']), "{text}");
        assert!(text.contains("\\u003c/script\\u003e\\u0026amp; a\\u2028b\\u2029c"), "{text}");
        assert_eq!(size(&hostile), text.len());
    }
}
