//! A table of anything.

use crate::Layout;
use crate::grid::{Align, Cell, Column, render};

/// Rows of cells under `headers`, the first column to the left and all others to the right. Where it is wider than the
/// layout it goes on below, each part with the first column.
///
/// # Panics
/// If a row has fewer cells than there are headers.
pub fn table(headers: &[&str], rows: &[Vec<String>], layout: Layout) -> String {
    let column = |(at, header): (usize, &&str)| {
        let align = if at == 0 { Align::Left } else { Align::Right };
        Column::new(&[header], align, rows.iter().map(|row| Cell::from(row[at].clone())).collect())
    };
    let columns: Vec<Column> = headers.iter().enumerate().map(column).collect();
    render(&columns, 1, layout)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_column_names_the_rows() {
        let rows = [vec!["a".to_owned(), "1".to_owned()], vec!["long".to_owned(), "23".to_owned()]];
        assert_eq!(table(&["", "n"], &rows, Layout::PLAIN), "       n\na      1\nlong  23\n");
    }
}
