//! Tables of CSV: the summary and the commands.

use std::fs::File;
use std::sync::Arc;

use arrow_array::{
    ArrayRef, BooleanArray, Float64Array, Int32Array, RecordBatch, StringArray, UInt32Array, UInt64Array,
};
use arrow_schema::{DataType, Field, Schema};
use headway_results::{Cell, Row, Summary, SweepPoint};

use super::Table;
use super::sweeps::PREFIX;

/// `summary.csv`: policy, sweep, traffic, metric, unit, value, ci95_low, ci95_high, repeats.
pub fn summary(summary: &Summary) -> Result<Table, String> {
    let rows = &summary.rows;
    let texts = |of: &dyn Fn(&Row) -> String| -> ArrayRef {
        Arc::new(rows.iter().map(|row| Some(of(row))).collect::<StringArray>())
    };
    let numbers =
        |of: &dyn Fn(&Row) -> Option<f64>| -> ArrayRef { Arc::new(rows.iter().map(of).collect::<Float64Array>()) };
    let mut columns = vec![("policy".to_owned(), texts(&|row| row.policy.clone()))];
    let points: Vec<&SweepPoint> = rows.iter().map(|row| &row.sweep).collect();
    columns.extend(summary.sweep.iter().map(|name| swept(name, &points)));
    columns.push(("traffic".to_owned(), texts(&|row| row.traffic.clone())));
    columns.push(("metric".to_owned(), texts(&|row| row.metric.to_string())));
    columns.push(("unit".to_owned(), texts(&|row| row.metric.unit().to_owned())));
    columns.push(("value".to_owned(), numbers(&|row| row.estimate.value)));
    columns.push(("ci95_low".to_owned(), numbers(&|row| row.estimate.low)));
    columns.push(("ci95_high".to_owned(), numbers(&|row| row.estimate.high)));
    let repeats: UInt32Array = rows.iter().map(|row| Some(row.estimate.n as u32)).collect();
    columns.push(("repeats".to_owned(), Arc::new(repeats)));
    table(columns)
}

/// The column of a swept name: numbers if all values are, else texts, as in the files of Parquet.
fn swept(name: &str, points: &[&SweepPoint]) -> (String, ArrayRef) {
    let values = || points.iter().map(|point| point.get(name));
    let numbers: Option<Vec<f64>> = values().map(|value| value?.number).collect();
    let column: ArrayRef = if let Some(numbers) = numbers {
        Arc::new(Float64Array::from(numbers))
    } else {
        let text = |value: Option<&headway_results::SweepValue>| value.map(|value| value.text.clone());
        Arc::new(values().map(|value| Some(text(value).unwrap_or_default())).collect::<StringArray>())
    };
    (format!("{PREFIX}{name}"), column)
}

fn table(columns: Vec<(String, ArrayRef)>) -> Result<Table, String> {
    let nullable = |name: &str| matches!(name, "value" | "ci95_low" | "ci95_high");
    let field = |(name, column): &(String, ArrayRef)| Field::new(name, column.data_type().clone(), nullable(name));
    let schema = Arc::new(Schema::new(columns.iter().map(field).collect::<Vec<_>>()));
    let columns = columns.into_iter().map(|(_, column)| column).collect();
    let batch = RecordBatch::try_new(Arc::clone(&schema), columns).map_err(|error| error.to_string())?;
    Ok(Table::new(schema, vec![batch]))
}

/// The columns of `commands.csv` behind the sweep.
const COMMANDS: [(&str, DataType); 10] = [
    ("repeat", DataType::UInt32),
    ("traffic", DataType::Utf8),
    ("host", DataType::Utf8),
    ("start_ns", DataType::UInt64),
    ("end_ns", DataType::UInt64),
    ("code", DataType::Int32),
    ("ended", DataType::Boolean),
    ("stdout_bytes", DataType::UInt64),
    ("stderr_bytes", DataType::UInt64),
    ("output", DataType::Utf8),
];

/// `commands.csv`.
pub fn commands(file: File, cells: &[Cell]) -> Result<Table, String> {
    let mut reader = csv::Reader::from_reader(file);
    let header = reader.headers().map_err(|error| error.to_string())?.clone();
    let records = reader.records().collect::<Result<Vec<_>, _>>().map_err(|error| error.to_string())?;
    let names: Vec<String> =
        cells.first().map(|cell| cell.sweep.names().map(str::to_owned).collect()).unwrap_or_default();
    let expected = std::iter::once("policy".to_owned())
        .chain(names.iter().map(|name| format!("{PREFIX}{name}")))
        .chain(COMMANDS.iter().map(|(name, _)| (*name).to_owned()));
    if !header.iter().eq(expected) {
        return Err("line 1 has not the columns of commands".to_owned());
    }
    let texts = |place: usize| records.iter().map(move |record| record.get(place).unwrap_or_default());
    let mut columns: Vec<(String, ArrayRef)> = vec![("policy".to_owned(), strings(texts(0)))];
    let points = records.iter().map(|record| {
        names.iter().enumerate().fold(SweepPoint::new(), |point, (place, name)| {
            let text = record.get(1 + place).unwrap_or_default();
            let known = cells.iter().filter_map(|cell| cell.sweep.get(name)).find(|value| value.text == text);
            match known {
                Some(value) => point.with(name, value.clone()),
                None => point.with(name, text),
            }
        })
    });
    let points: Vec<SweepPoint> = points.collect();
    let points: Vec<&SweepPoint> = points.iter().collect();
    columns.extend(names.iter().map(|name| swept(name, &points)));
    for (place, (name, kind)) in COMMANDS.iter().enumerate() {
        let column = parsed(kind, texts(1 + names.len() + place)).map_err(|reason| format!("{name}: {reason}"))?;
        columns.push(((*name).to_owned(), column));
    }
    table(columns)
}

/// As [`commands`], of none.
pub fn no_commands(cells: &[Cell]) -> Result<Table, String> {
    let mut columns: Vec<(String, ArrayRef)> = vec![("policy".to_owned(), strings([].into_iter()))];
    let all: Vec<&SweepPoint> = cells.iter().map(|cell| &cell.sweep).collect();
    for name in cells.first().iter().flat_map(|cell| cell.sweep.names()) {
        let (name, column) = swept(name, &all);
        columns.push((name, column.slice(0, 0)));
    }
    for (name, kind) in COMMANDS {
        columns.push((name.to_owned(), parsed(&kind, [].into_iter())?));
    }
    table(columns)
}

fn strings<'a>(texts: impl Iterator<Item = &'a str>) -> ArrayRef {
    Arc::new(StringArray::from(texts.collect::<Vec<_>>()))
}

fn parsed<'a>(kind: &DataType, texts: impl Iterator<Item = &'a str>) -> Result<ArrayRef, String> {
    fn all<'a, T: std::str::FromStr>(texts: impl Iterator<Item = &'a str>) -> Result<Vec<T>, String> {
        texts.map(|text| text.parse().map_err(|_| format!("`{text}` does not fit"))).collect()
    }
    Ok(match kind {
        DataType::UInt32 => Arc::new(UInt32Array::from(all::<u32>(texts)?)),
        DataType::UInt64 => Arc::new(UInt64Array::from(all::<u64>(texts)?)),
        DataType::Int32 => Arc::new(Int32Array::from(all::<i32>(texts)?)),
        DataType::Boolean => Arc::new(BooleanArray::from(all::<bool>(texts)?)),
        _ => strings(texts),
    })
}
