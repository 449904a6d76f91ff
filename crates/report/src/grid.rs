//! Columns of text.

use crate::{Layout, harmless};

const GAP: &str = "  ";

/// A cell: a value, its interval (`± 1.2`, or `[9.1, 14.9]`), and a mark that points to a footnote. Intervals are
/// aligned within a column.
#[derive(Debug, Clone, Default)]
pub(crate) struct Cell {
    pub value: String,
    pub half: Option<String>,
    pub mark: &'static str,
}

impl From<String> for Cell {
    fn from(value: String) -> Cell {
        Cell { value, ..Cell::default() }
    }
}

impl Cell {
    /// What follows the value.
    fn tail(&self) -> String {
        let half = self.half.as_deref().map(|half| format!(" {half}")).unwrap_or_default();
        half + self.mark
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Align {
    Left,
    Right,
}

#[derive(Debug, Clone)]
pub(crate) struct Column {
    /// In lines; of numbers the last one is the unit.
    header: Vec<String>,
    align: Align,
    cells: Vec<Cell>,
}

impl Column {
    pub fn new(header: &[&str], align: Align, cells: Vec<Cell>) -> Column {
        let header = header.iter().map(|line| harmless(line)).collect();
        let clean = |cell: Cell| Cell { value: harmless(&cell.value), ..cell };
        Column { header, align, cells: cells.into_iter().map(clean).collect() }
    }

    /// In characters.
    pub fn width(&self) -> usize {
        self.lines(self.header.len()).first().map_or(0, |line| width(line))
    }

    /// All lines, each of the column's width; the header takes `header_lines`, filled up below.
    fn lines(&self, header_lines: usize) -> Vec<String> {
        let value = self.cells.iter().map(|cell| width(&cell.value)).max().unwrap_or(0);
        let tails: Vec<String> = self.cells.iter().map(Cell::tail).collect();
        let tail = tails.iter().map(|tail| width(tail)).max().unwrap_or(0);
        let pad = |text: &str, to: usize, align: Align| {
            let fill = " ".repeat(to.saturating_sub(width(text)));
            if align == Align::Left { format!("{text}{fill}") } else { format!("{fill}{text}") }
        };
        let body = self
            .cells
            .iter()
            .zip(&tails)
            .map(|(cell, own)| format!("{}{}", pad(&cell.value, value, self.align), pad(own, tail, Align::Left)));
        let header = self.header.iter().cloned().chain(std::iter::repeat(String::new())).take(header_lines);
        let lines: Vec<String> = header.chain(body).collect();
        let all = lines.iter().map(|line| width(line)).max().unwrap_or(0);
        lines.iter().map(|line| pad(line, all, self.align)).collect()
    }
}

/// The columns beside each other, with two spaces between. If they are wider than the layout, several blocks
/// below each other, each beginning with the first `labels` columns.
pub(crate) fn render(columns: &[Column], labels: usize, layout: Layout) -> String {
    let header_lines = columns.iter().map(|column| column.header.len()).max().unwrap_or(0);
    let columns: Vec<Vec<String>> = columns.iter().map(|column| column.lines(header_lines)).collect();
    let width_of = |column: &Vec<String>| column.first().map_or(0, |line| width(line)) + GAP.len();
    let (labels, mut rest) = columns.split_at(labels);
    let taken: usize = labels.iter().map(width_of).sum();
    let mut text = String::new();
    loop {
        let mut used = taken;
        let fits = |column: &&Vec<String>| {
            used += width_of(column);
            used <= layout.width + GAP.len()
        };
        // One at least, or it would never end.
        let count = rest.iter().take_while(fits).count().max(1).min(rest.len());
        let block: Vec<&Vec<String>> = labels.iter().chain(&rest[..count]).collect();
        for line in 0..block.first().map_or(0, |column| column.len()) {
            let cells: Vec<&str> = block.iter().map(|column| column[line].as_str()).collect();
            let whole = cells.join(GAP);
            let whole = whole.trim_end();
            text.push_str(&if line < header_lines { layout.dim(whole) } else { whole.to_owned() });
            text.push('\n');
        }
        rest = &rest[count..];
        if rest.is_empty() {
            return text;
        }
        text.push('\n');
    }
}

/// In characters; names are ASCII, so that no wide ones need counting.
fn width(text: &str) -> usize {
    text.chars().count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(value: &str, half: Option<&str>, mark: &'static str) -> Cell {
        Cell { value: value.into(), half: half.map(Into::into), mark }
    }

    fn columns() -> Vec<Column> {
        let names = ["a", "long-name"].map(|name| Cell::from(name.to_owned())).to_vec();
        let numbers = vec![cell("1.23", Some("± 0.04"), "*"), cell("123", Some("± 4"), "")];
        vec![
            Column::new(&["name"], Align::Left, names),
            Column::new(&["one"], Align::Right, numbers.clone()),
            Column::new(&["a long header", "ms"], Align::Right, numbers),
        ]
    }

    #[test]
    fn parts_of_cells_are_aligned() {
        let expected = "\
name                one  a long header
                                    ms
a          1.23 ± 0.04*   1.23 ± 0.04*
long-name   123 ± 4        123 ± 4
";
        let text = render(&columns(), 1, Layout::PLAIN);
        assert_eq!(text, expected, "\n{text}");
    }

    #[test]
    fn what_is_too_wide_goes_below() {
        let text = render(&columns(), 1, Layout { width: 30, colour: false });
        assert_eq!(text.matches("long-name").count(), 2, "\n{text}");
        assert!(text.lines().all(|line| width(line) <= 30), "\n{text}");
        // No room at all still ends.
        assert_eq!(render(&columns(), 1, Layout { width: 0, colour: false }).matches("long-name").count(), 2);
    }

    #[test]
    fn control_characters_do_not_reach_the_terminal() {
        let column = Column::new(&["x\x1b[2J"], Align::Left, vec![Cell::from("\x1b]0;title\x07".to_owned())]);
        assert!(!render(&[column], 1, Layout::PLAIN).contains('\x1b'));
    }
}
