//! The numbers that sources printed, as claims name them.

use std::path::Path;

use headway_language::SweepPoint;
use headway_results::{Metric, Printed};
use headway_scenario::plan::PlanError;
use headway_scenario::schema::{ClaimRecord, NumberRecord, Published};

use crate::published::{Table, Unit, base};

/// Whether values of `metric` are in `unit`.
pub(crate) fn fits(metric: Metric, unit: Unit) -> bool {
    match metric.unit() {
        "s" => unit == Unit::Seconds,
        "bit/s" => unit == Unit::Rate,
        "B" => matches!(unit, Unit::Bytes | Unit::None),
        _ => unit == Unit::None,
    }
}

/// How such a value is written.
pub(crate) fn example(metric: Metric) -> &'static str {
    match metric.unit() {
        "s" => "a time such as \"20ms\"",
        "bit/s" => "a rate such as \"100Mbps\"",
        "B" => "an amount of data such as \"64KB\"",
        "ratio" => "a number, or a share such as \"5%\"",
        _ => "a number",
    }
}

/// The printed numbers of operands of `metrics`, those of claim number `claim` at `point`, and whether one of them is
/// doubtful.
pub(crate) fn printed(
    record: &ClaimRecord,
    claim: &str,
    metrics: &[Metric],
    (folder, point): (&Path, &SweepPoint),
) -> Result<(Vec<Printed>, bool), PlanError> {
    let all: &[Published] = record.published.as_deref().unwrap_or_default();
    let mut any_suspect = false;
    let one = |(index, published): (usize, &Published)| {
        let index_text = index.to_string();
        let mut path = vec!["claim", claim, "published"];
        if all.len() > 1 {
            path.push(&index_text);
        }
        match (published, metrics.get(index)) {
            (Published::Text(text), _) => Ok(Printed { text: text.clone(), value: None }),
            (Published::Number(record), Some(&metric)) => {
                let (printed, suspect) = number(record, metric, &path, (folder, point))?;
                any_suspect |= suspect;
                Ok(printed)
            }
            (Published::Number(_), None) => Err(PlanError::new(&path, "there are more numbers than operands")),
        }
    };
    let printed = all.iter().enumerate().map(one).collect::<Result<_, _>>()?;
    Ok((printed, any_suspect))
}

/// Whether the printed numbers of a claim are others at each sweep point.
pub(crate) fn varies(record: &ClaimRecord) -> bool {
    let all: &[Published] = record.published.as_deref().unwrap_or_default();
    all.iter().any(|one| matches!(one, Published::Number(number) if number.row.placeholders().next().is_some()))
}

/// The number that `record` names, of `metric`, and whether it is doubtful.
fn number(
    record: &NumberRecord,
    metric: Metric,
    path: &[&str],
    (folder, point): (&Path, &SweepPoint),
) -> Result<(Printed, bool), PlanError> {
    let at = |key| [path, &[key]].concat();
    let (value, source, suspect) = match (&record.value, &record.file, &record.column) {
        (Some(quantity), ..) => {
            let (value, unit) = base(quantity);
            if !fits(metric, unit) {
                return Err(PlanError::new(&at("value"), format!("`{metric}` is compared with {}", example(metric))));
            }
            (value, record.source.clone(), false)
        }
        (None, Some(file), Some(column)) => {
            let table = Table::find(file, folder);
            let cell = table.and_then(|table| table.cell(&record.row, column, record.suspect.as_deref(), point));
            let found = cell.map_err(|wrong| {
                let fault = PlanError::new(&at(wrong.key), wrong.message);
                wrong.help.into_iter().fold(fault, PlanError::help)
            })?;
            if !fits(metric, found.unit) {
                let message = format!("`{metric}` is in {}, and `{column}` of {file} is not", metric.unit());
                let help = "a column has its unit at the end of its name: _ms, _s, _us, _mbps, _gbps; none for numbers";
                return Err(PlanError::new(&at("column"), message).help(help));
            }
            (found.value, record.source.clone().or_else(|| Some(file.clone())), found.suspect)
        }
        (None, ..) => {
            return Err(PlanError::new(path, "a published number needs a `value`, or a `file` and a `column`"));
        }
    };
    let source = source.map(|source| format!(" ({source})")).unwrap_or_default();
    Ok((Printed { text: format!("{}{source}", metric.display(value)), value: Some(value) }, suspect))
}
