//! Results as text for a person: tables, claims with their numbers, two runs side by side; the same as JSON for
//! programs; and as a page for a browser ([`page`]).
//!
//! Everything here turns values into a `String` or a JSON value. It prints nothing, reads no file and
//! asks nothing of the terminal: width and colour come in as a [`Layout`].

mod beside;
mod claims;
mod compare;
mod drawing;
mod grid;
mod json;
mod number;
pub mod page;
mod sizes;
mod summary;
mod table;
mod text;
mod waits;
mod warnings;

pub use beside::{beside, beside_json};
pub use claims::{claims, tally};
pub use compare::{comparison, differences};
pub use drawing::{Drawing, DrawnLink, DrawnNode, MAX_DRAWN, draw};
pub use json::{comparison_json, row_json, summary_json};
pub use number::three_digits;
pub use sizes::BySize;
pub use summary::{Choice, summary};
pub use table::table;
pub use text::{listing, wrapped};
pub use waits::waits;
pub use warnings::warning;

/// How text is laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// Tables are split into several below each other rather than made wider than this, in characters.
    /// What names the rows is never cut, so a line may still be longer.
    pub width: usize,
    /// Whether to mark up with the colours of a terminal (ANSI escape codes).
    pub colour: bool,
}

impl Layout {
    /// For files, pipes and terminals of unknown width.
    pub const PLAIN: Layout = Layout { width: 120, colour: false };

    fn paint(self, code: &str, text: &str) -> String {
        if self.colour { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }

    fn bold(self, text: &str) -> String {
        self.paint("1", text)
    }

    fn dim(self, text: &str) -> String {
        self.paint("2", text)
    }

    fn good(self, text: &str) -> String {
        self.paint("1;32", text)
    }

    fn bad(self, text: &str) -> String {
        self.paint("1;31", text)
    }
}

impl Default for Layout {
    fn default() -> Layout {
        Layout::PLAIN
    }
}

/// `text` without control characters: names and claims come from files, and must not steer the terminal.
fn harmless(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

/// `1 repeat`, `2 repeats`.
fn counted(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}
