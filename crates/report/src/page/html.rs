//! The file: data, styles and scripts in one.
//!
//! Everything of a scenario goes into the data and stays text there: `<`, `>` and `&` are written as `\u003c`, `\u003e`
//! and `\u0026`, so nothing in it can end the element or begin another, and so are U+2028 and U+2029, which end lines in
//! scripts of old browsers. The scripts set it as text, never as HTML.

use std::fmt::Write as _;

use super::model::Page;

const TEMPLATE: &str = include_str!("../../assets/page.html");
const STYLE: &str = include_str!("../../assets/style.css");
const CHARTS: &str = include_str!("../../assets/echarts/echarts.min.js");

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
    escaped(&serde_json::to_string(page).expect("no map with keys other than text"))
}

/// How many bytes the value takes in the file.
pub(super) fn size(value: &impl serde::Serialize) -> usize {
    escaped(&serde_json::to_string(value).expect("no map with keys other than text")).len()
}

fn escaped(json: &str) -> String {
    let mut text = String::with_capacity(json.len() + json.len() / 50);
    for c in json.chars() {
        match c {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                let _ = write!(text, "\\u{:04x}", u32::from(c));
            }
            _ => text.push(c),
        }
    }
    text
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
        ("{{echarts}}", CHARTS.to_owned()),
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
