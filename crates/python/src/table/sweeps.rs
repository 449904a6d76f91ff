//! Columns of swept values: as text where the file has numbers, as numbers where it has text with a unit.
//!
//! In files, `sweep_NAME` is a number if all of its values are numbers without a unit, else text, with `sweep_NAME_si` in
//! base units behind it (docs/results.md).

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Float64Type;
use arrow_array::{Array, ArrayRef, Float64Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema};
use headway_results::Cell;
use headway_units::{Bytes, Rate, Span};

use super::Table;

/// A column to add behind another.
enum Extra {
    /// `sweep_NAME_text` of numbers.
    Texts(BTreeMap<u64, String>),
    /// `sweep_NAME_ns`, `_bps` or `_bytes` of texts.
    Numbers(&'static str, BTreeMap<String, f64>),
}

/// The prefix of columns of swept values.
pub const PREFIX: &str = "sweep_";

/// The table with a column more for each swept name of `cells`, where there is something to say.
pub fn extend(table: Table, cells: &[Cell]) -> Result<Table, String> {
    let (mut fields, mut extras) = (Vec::new(), Vec::new());
    for (place, field) in table.schema.fields().iter().enumerate() {
        fields.push(Arc::clone(field));
        let Some(name) = field.name().strip_prefix(PREFIX) else { continue };
        // `sweep_NAME_si`, which the file has itself.
        if cells.first().is_none_or(|cell| cell.sweep.get(name).is_none()) {
            continue;
        }
        let Some(extra) = extra(name, field.data_type(), cells) else { continue };
        let (suffix, kind) = match &extra {
            Extra::Texts(_) => ("text", DataType::Utf8),
            Extra::Numbers(unit, _) => (*unit, DataType::Float64),
        };
        fields.push(Arc::new(Field::new(format!("{PREFIX}{name}_{suffix}"), kind, false)));
        extras.push((place, extra));
    }
    if extras.is_empty() {
        return Ok(table);
    }
    let metadata = table.schema.metadata().clone();
    let schema = Arc::new(Schema::new_with_metadata(fields, metadata));
    let mut batches = Vec::with_capacity(table.batches.len());
    for batch in &table.batches {
        let mut columns = Vec::with_capacity(schema.fields().len());
        for (place, column) in batch.columns().iter().enumerate() {
            columns.push(Arc::clone(column));
            if let Some((_, extra)) = extras.iter().find(|(own, _)| *own == place) {
                columns.push(made(extra, column)?);
            }
        }
        batches.push(RecordBatch::try_new(Arc::clone(&schema), columns).map_err(|error| error.to_string())?);
    }
    Ok(Table::new(schema, batches))
}

fn extra(name: &str, kind: &DataType, cells: &[Cell]) -> Option<Extra> {
    let values = || cells.iter().filter_map(|cell| cell.sweep.get(name));
    match kind {
        DataType::Float64 => {
            let pair = |value: &headway_results::SweepValue| Some((value.number?.to_bits(), value.text.clone()));
            Some(Extra::Texts(values().filter_map(pair).collect()))
        }
        DataType::Utf8 => {
            let all = |number: fn(&str) -> Option<f64>| {
                let pair = |value: &headway_results::SweepValue| Some((value.text.clone(), number(&value.text)?));
                let found: Option<BTreeMap<_, _>> = values().map(pair).collect();
                found.filter(|found| !found.is_empty())
            };
            let nanos = |text: &str| Some(text.parse::<Span>().ok()?.picos() as f64 / 1e3);
            let rate = |text: &str| Some(text.parse::<Rate>().ok()?.bps() as f64);
            let bytes = |text: &str| Some(text.parse::<Bytes>().ok()?.get() as f64);
            let named = |unit, number| Some(Extra::Numbers(unit, all(number)?));
            named("ns", nanos).or_else(|| named("bps", rate)).or_else(|| named("bytes", bytes))
        }
        _ => None,
    }
}

fn made(extra: &Extra, column: &ArrayRef) -> Result<ArrayRef, String> {
    let strange = |value: &dyn std::fmt::Display| format!("the manifest has no sweep value {value}");
    match extra {
        Extra::Texts(texts) => {
            let column = column.as_primitive_opt::<Float64Type>().ok_or("not a column of numbers")?;
            let text = |value: f64| texts.get(&value.to_bits()).map(String::as_str).ok_or_else(|| strange(&value));
            let all = column.values().iter().map(|value| text(*value)).collect::<Result<Vec<_>, _>>()?;
            Ok(Arc::new(StringArray::from(all)))
        }
        Extra::Numbers(_, numbers) => {
            let column = column.as_string_opt::<i32>().ok_or("not a column of text")?;
            let number = |at: usize| {
                let text = column.value(at);
                numbers.get(text).copied().ok_or_else(|| strange(&text))
            };
            let all = (0..column.len()).map(number).collect::<Result<Vec<_>, _>>()?;
            Ok(Arc::new(Float64Array::from(all)))
        }
    }
}
