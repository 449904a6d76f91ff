//! Tables of numbers that sources printed: those of the folder `published`, and a user's own.
//!
//! CSV as these tables need it: lines that begin with `#` say what it is, then the names of the columns, then rows;
//! commas between, no quotes. A column with a unit has it at the end of its name: `mean_ms`, `throughput_mbps`.

use std::path::Path;

use headway_input::read_text;
use headway_language::{Quantity, Row, Scalar, SweepPoint, placeholder, suggest_help};

/// The tables that come with Headway, by the name of their file.
const BUNDLED: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/published.rs"));

/// A table has at most this many bytes.
const LARGEST: u64 = 4 << 20;

/// A mistake in a reference to a table: the key, the problem and its remedy.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Wrong {
    pub key: &'static str,
    pub message: String,
    pub help: Option<String>,
}

impl Wrong {
    fn new(key: &'static str, message: String) -> Wrong {
        Wrong { key, message, help: None }
    }

    fn help(mut self, help: String) -> Wrong {
        self.help = Some(help);
        self
    }
}

/// A table of texts.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Table {
    name: String,
    columns: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// The table `name` in `folder`, otherwise the one that comes with Headway.
    pub fn find(name: &str, folder: &Path) -> Result<Table, Wrong> {
        let cannot = |error: &dyn std::fmt::Display| Wrong::new("file", format!("{name}: {error}"));
        let path = folder.join(name);
        let text = match read_text(&path, LARGEST) {
            Ok(text) => text,
            Err(error) if error.is_missing() => {
                let bundled = BUNDLED.iter().find(|(own, _)| *own == name).map(|(_, text)| (*text).to_owned());
                bundled.ok_or_else(|| {
                    let message = format!("there is no table `{name}`, neither beside the scenario nor with Headway");
                    let names = BUNDLED.iter().map(|(name, _)| *name);
                    Wrong::new("file", message).help(suggest_help(name, names, "tables that come with Headway"))
                })?
            }
            Err(error) => return Err(cannot(&error)),
        };
        Table::parse(name, &text).map_err(|error| cannot(&error))
    }

    fn parse(name: &str, text: &str) -> Result<Table, String> {
        let cells = |line: &str| line.split(',').map(|cell| cell.trim().to_owned()).collect::<Vec<_>>();
        let data = |(_, line): &(usize, &str)| !line.trim().is_empty() && !line.starts_with('#');
        let mut lines = text.lines().enumerate().filter(data);
        let Some((_, first)) = lines.next() else { return Err("the table is empty".to_owned()) };
        let columns = cells(first);
        if let Some(twice) = columns.iter().enumerate().find(|(index, column)| columns[..*index].contains(column)) {
            return Err(format!("two columns are called `{}`", twice.1));
        }
        let mut rows = Vec::new();
        for (number, line) in lines {
            let row = cells(line);
            if row.len() != columns.len() {
                let (number, has, wanted) = (number + 1, row.len(), columns.len());
                return Err(format!(
                    "line {number} is not a row of the table: its cells are {has}, the columns {wanted}"
                ));
            }
            rows.push(row);
        }
        Ok(Table { name: name.to_owned(), columns, rows })
    }

    fn column(&self, name: &str, key: &'static str) -> Result<usize, Wrong> {
        self.columns.iter().position(|column| column == name).ok_or_else(|| {
            let names = self.columns.iter().map(String::as_str);
            let message = format!("{} has no column `{name}`", self.name);
            Wrong::new(key, message).help(suggest_help(name, names, "columns"))
        })
    }

    /// The cell in `column` of the one row that has the values of `row`, where names of the sweep have their values at
    /// `point`. `suspect` is the column that marks doubtful rows.
    pub fn cell(&self, row: &Row, column: &str, suspect: Option<&str>, point: &SweepPoint) -> Result<Found, Wrong> {
        let wanted: Vec<(usize, Wanted<'_>)> = row
            .iter()
            .map(|(name, value)| Ok((self.column(name, "row")?, Wanted::new(value, point))))
            .collect::<Result<_, _>>()?;
        let has = |cells: &&Vec<String>| {
            wanted.iter().all(|(column, value)| value.is_in(&cells[*column], unit(&self.columns[*column])))
        };
        let found: Vec<&Vec<String>> = self.rows.iter().filter(has).collect();
        let index = self.column(column, "column")?;
        let [cells] = found[..] else {
            let message = match found.len() {
                0 => format!("{} has no such row", self.name),
                n => format!("{} has {n} such rows", self.name),
            };
            let named: Vec<usize> = if wanted.is_empty() {
                (0..self.columns.len().min(1)).collect()
            } else {
                wanted.iter().map(|(column, _)| *column).collect()
            };
            let values = named.iter().map(|&column| {
                let mut values: Vec<&str> = self.rows.iter().map(|cells| cells[column].as_str()).collect();
                values.dedup();
                values.truncate(10);
                format!("`{}` is {}", self.columns[column], values.join(", "))
            });
            let help = values.collect::<Vec<_>>().join("; ");
            return Err(Wrong::new("row", message).help(help));
        };
        let number = |index: usize, key| {
            cells[index].parse::<f64>().ok().filter(|number| number.is_finite()).ok_or_else(|| {
                let text: String = cells[index].chars().take(60).collect();
                Wrong::new(key, format!("{} has no number there, but `{text}`", self.name))
            })
        };
        let (unit, factor) = unit(column);
        let suspect = match suspect {
            Some(name) => number(self.column(name, "suspect")?, "suspect")? != 0.0,
            None => false,
        };
        Ok(Found { value: number(index, "column")? * factor, unit, suspect })
    }
}

/// A number of a table.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Found {
    /// In the base unit of its kind.
    pub value: f64,
    pub unit: Unit,
    /// Its row is marked as doubtful.
    pub suspect: bool,
}

/// A value that a row is looked up by.
#[derive(Debug, Clone, Copy)]
enum Wanted<'a> {
    /// Of the file: a number is in the unit of the column.
    Written(&'a Scalar),
    /// Of the sweep: a number has the unit that it has where it is used, which is the base unit (a ratio, not per cent).
    Swept(&'a Scalar),
}

impl<'a> Wanted<'a> {
    fn new(value: &'a Scalar, point: &'a SweepPoint) -> Wanted<'a> {
        let swept = match value {
            Scalar::Text(text) => placeholder(text).and_then(|name| point.get(name)),
            _ => None,
        };
        swept.map_or(Wanted::Written(value), Wanted::Swept)
    }

    /// Whether `cell` of a column with `unit` and factor holds it: as text, as number (`1` is `1.0`), or as the same
    /// quantity (`"1ms"` is 1 of a column in ms).
    fn is_in(self, cell: &str, (unit, factor): (Unit, f64)) -> bool {
        let (Wanted::Written(value) | Wanted::Swept(value)) = self;
        let number = match value {
            Scalar::Integer(number) => Some(*number as f64),
            Scalar::Float(number) => Some(*number),
            Scalar::Bool(_) | Scalar::Text(_) => None,
        };
        let has_unit = (unit, factor) != (Unit::None, 1.0);
        let (wanted, kind) = match (self, number, value) {
            (Wanted::Swept(_), Some(number), _) if has_unit => (number, unit),
            (_, None, Scalar::Text(text)) if has_unit => match Quantity::with_unit(text).as_ref().map(base) {
                Some(quantity) => quantity,
                None => return cell == text,
            },
            (_, Some(number), _) => return cell == value.to_string() || cell.parse::<f64>().ok() == Some(number),
            _ => return cell == value.to_string(),
        };
        // A factor such as 10^-2 is no binary fraction.
        let same = |cell: f64| (cell * factor - wanted).abs() <= 1e-9 * wanted.abs();
        kind == unit && cell.parse::<f64>().is_ok_and(same)
    }
}

/// A quantity in the base unit of its kind.
pub(crate) fn base(quantity: &Quantity) -> (f64, Unit) {
    match quantity {
        Quantity::Number(number) => (*number, Unit::None),
        Quantity::Span(span) => (span.as_secs_f64(), Unit::Seconds),
        Quantity::Rate(rate) => (rate.bps() as f64, Unit::Rate),
        Quantity::Bytes(bytes) => (bytes.get() as f64, Unit::Bytes),
    }
}

/// The unit of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unit {
    /// A number without a unit.
    None,
    /// Seconds.
    Seconds,
    /// Bits per second.
    Rate,
    /// Bytes.
    Bytes,
}

/// The unit at the end of a column's name, and the factor that turns its numbers into the base unit.
fn unit(column: &str) -> (Unit, f64) {
    match column.rsplit('_').next().unwrap_or_default() {
        _ if !column.contains('_') => (Unit::None, 1.0),
        "s" if column.ends_with("_per_s") => (Unit::None, 1.0),
        "s" => (Unit::Seconds, 1.0),
        "ms" => (Unit::Seconds, 1e-3),
        "us" => (Unit::Seconds, 1e-6),
        "ns" => (Unit::Seconds, 1e-9),
        "bps" => (Unit::Rate, 1.0),
        "kbps" => (Unit::Rate, 1e3),
        "mbps" => (Unit::Rate, 1e6),
        "gbps" => (Unit::Rate, 1e9),
        "percent" => (Unit::None, 1e-2),
        _ => (Unit::None, 1.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_table_that_comes_with_headway_reads() {
        assert!(!BUNDLED.is_empty());
        for (name, text) in BUNDLED {
            let table = Table::parse(name, text).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert!(!table.rows.is_empty(), "{name}");
        }
    }

    #[test]
    fn tables_that_are_none_are_refused() {
        for (text, word) in
            [("", "empty"), ("# only words\n", "empty"), ("a,b\n1\n", "line 2"), ("a,a\n", "two columns")]
        {
            let error = Table::parse("t.csv", text).unwrap_err();
            assert!(error.contains(word), "{error}");
        }
    }

    /// A value of the sweep in its own unit finds its row; a written number is in the unit of the column.
    #[test]
    fn rows_are_found_by_quantities() {
        let found = |column: &str, cell: &str, wanted: Wanted<'_>| wanted.is_in(cell, unit(column));
        let text = |text: &str| Scalar::Text(text.to_owned());
        let swept = |column: &str, cell: &str, value: &Scalar| found(column, cell, Wanted::Swept(value));
        let written = |column: &str, cell: &str, value: &Scalar| found(column, cell, Wanted::Written(value));
        assert!(swept("delay_ms", "1", &text("1ms")) && swept("delay_ms", "1", &text("1000us")));
        assert!(!swept("delay_ms", "1", &text("1s")) && !swept("delay_ms", "1", &text("1Mbps")));
        assert!(swept("loss_percent", "0.001", &text("0.001%")));
        assert!(swept("loss_percent", "0.001", &Scalar::Float(0.00001)), "a ratio");
        assert!(!swept("loss_percent", "0.001", &Scalar::Float(0.001)), "a ratio is no per cent");
        assert!(swept("loss_percent", "0", &Scalar::Integer(0)) && swept("delay_ms", "0", &text("0ms")));
        assert!(swept("senders", "8", &Scalar::Integer(8)) && swept("mode", "none", &text("none")));
        assert!(written("loss_percent", "0.1", &Scalar::Float(0.1)) && written("loss_percent", "0.1", &text("0.1%")));
        assert!(!written("delay_ms", "1", &text("2ms")) && !written("mode", "none", &text("other")));
    }

    #[test]
    fn the_end_of_a_columns_name_is_its_unit() {
        let cases = [
            ("mean_ms", Unit::Seconds, 1e-3),
            ("s", Unit::None, 1.0),
            ("span_s", Unit::Seconds, 1.0),
            ("requests_per_s", Unit::None, 1.0),
            ("throughput_mbps", Unit::Rate, 1e6),
            ("loss_percent", Unit::None, 1e-2),
            ("packets_lost", Unit::None, 1.0),
        ];
        for (column, kind, factor) in cases {
            assert_eq!(unit(column), (kind, factor), "{column}");
        }
    }
}
