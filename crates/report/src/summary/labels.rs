//! What names the rows and columns of all tables of a summary.

use headway_results::SweepPoint;

use super::View;
use crate::grid::{Align, Cell, Column};
use crate::text::{narrow, wrapped};
use crate::{Layout, harmless};

/// Names of rows, columns and tables.
pub(super) struct Rows<'a> {
    /// The columns that name the rows.
    pub columns: Vec<Column>,
    /// Of each row its policy, which is the only one if policies are columns or there is but one, and its point.
    pub cells: Vec<(&'a str, &'a SweepPoint)>,
    /// Policies are columns, and each metric has a table.
    pub by_policy: bool,
    /// The header of each policy's column, in lines.
    pub headers: Vec<Vec<String>>,
    /// The same for all rows: `load=0.6, policy tcp`.
    pub of: String,
    /// Of rows whose names are too long for a column: their numbers with their names.
    pub legend: Option<String>,
}

impl<'a> Rows<'a> {
    pub fn new(view: &View<'a>, layout: Layout) -> Rows<'a> {
        let value = |point: &SweepPoint, name: &str| point.get(name).map(|value| value.text.clone());
        let varies = |name: &&String| view.points.windows(2).any(|two| value(two[0], name) != value(two[1], name));
        let (varying, same): (Vec<&String>, Vec<&String>) = view.names.iter().partition(varies);
        let text = |point: &SweepPoint, names: &[&String]| {
            let of = |name: &&String| format!("{name}={}", value(point, name).unwrap_or_default());
            harmless(&names.iter().map(of).collect::<Vec<_>>().join(", "))
        };
        let mut of: Vec<String> = view.points.first().map(|point| text(point, &same)).into_iter().collect();
        let by_policy = !varying.is_empty() && view.policies.len() > 1;
        let first = view.policies.first().copied().unwrap_or_default();
        let (what, cells, names, columns) = if varying.is_empty() {
            let policies = view.policies.iter();
            let cells: Vec<_> = policies.filter_map(|policy| Some((*policy, *view.points.first()?))).collect();
            let names: Vec<String> = cells.iter().map(|(policy, _)| harmless(policy)).collect();
            let column = Column::new(&["policy"], Align::Left, names.iter().cloned().map(Cell::from).collect());
            ("policy", cells, names, vec![column])
        } else {
            if !by_policy {
                of.push(format!("policy {}", harmless(first)));
            }
            let cells = view.points.iter().map(|point| (first, *point)).collect();
            let names = view.points.iter().map(|point| text(point, &varying)).collect();
            ("point", cells, names, varying.iter().map(|name| column(view, name)).collect())
        };
        of.retain(|text| !text.is_empty());
        let (columns, legend) = fitting(what, columns, &names, layout);
        let taken: usize = columns.iter().map(|column| column.width() + 2).sum();
        let room = layout.width.saturating_sub(taken).max(8);
        let headers = view.policies.iter().map(|policy| narrow(&harmless(policy), room)).collect();
        Rows { columns, cells, by_policy, headers, of: of.join(", "), legend }
    }
}

/// The values of a swept name.
fn column(view: &View<'_>, name: &str) -> Column {
    let values: Vec<_> = view.points.iter().map(|point| point.get(name)).collect();
    let numbers = values.iter().all(|value| value.is_some_and(|value| value.number.is_some()));
    let cells = values.iter().map(|value| Cell::from(value.map(|v| v.text.clone()).unwrap_or_default()));
    Column::new(&[name], if numbers { Align::Right } else { Align::Left }, cells.collect())
}

/// `columns`, if they leave half of the layout to numbers; otherwise a column of numbers, and a text with the `names` that
/// they stand for.
fn fitting(what: &str, columns: Vec<Column>, names: &[String], layout: Layout) -> (Vec<Column>, Option<String>) {
    let taken: usize = columns.iter().map(|column| column.width() + 2).sum();
    if taken <= layout.width / 2 + 2 {
        return (columns, None);
    }
    let numbers = (1..=names.len()).map(|number| Cell::from(number.to_string())).collect();
    let lines = names.iter().enumerate().map(|(place, name)| format!("{what} {}: {name}", place + 1));
    let lines: Vec<String> = lines.flat_map(|line| wrapped(&line, layout.width, 2)).collect();
    (vec![Column::new(&[what], Align::Right, numbers)], Some(lines.join("\n") + "\n"))
}
