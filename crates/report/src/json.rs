//! The same numbers for programs.

use headway_results::{Differences, Estimate, Judgement, Method, Row, Side, Summary, SweepPoint, SweepValue};
use serde_json::{Map, Value, json};

use crate::differences;

/// The rows of a summary, each as [`row_json`] gives it.
pub fn summary_json(summary: &Summary) -> Value {
    summary.rows.iter().map(row_json).collect()
}

/// `policy`, `sweep` (an object of numbers and texts), `traffic`, `metric`, `unit`, `value`, `ci95_low`,
/// `ci95_high`, `repeats`; what has no value is null.
pub fn row_json(row: &Row) -> Value {
    let mut object = key(row);
    object.extend(estimate(&row.estimate));
    Value::Object(object)
}

/// `a` and `b` (what identifies each side, with the `choice` of its rows), `differences` (between these, as sentences),
/// `rows` (in both), `only_a`, `only_b`. A row has `a`, `b` and `difference` (B − A) with their intervals, `change_percent`
/// from A to B, `method` (`paired` or `independent`), and `judgement`: `same`, `differ`, `overlap` (the interval of the
/// difference has zero in it), `unjudged` (no interval) or `one-sided` (only one has a value).
pub fn comparison_json(a: &Side<'_>, b: &Side<'_>, found: &Differences) -> Value {
    let run = |side: &Side<'_>| {
        let m = &side.folder.manifest;
        let choice = side.choice.iter().map(|(name, value)| (name.clone(), json!(value)));
        json!({
            "folder": side.folder.path.display().to_string(),
            "choice": choice.collect::<Map<String, Value>>(),
            "scenario": m.scenario,
            "scenario_sha256": m.scenario_sha256,
            "seed": m.seed,
            "repeats": m.repeats,
            "version": m.version,
        })
    };
    let rows = found.both.iter().map(|row| {
        let mut object = key(&row.a);
        object.insert("a".into(), Value::Object(estimate(&row.a.estimate)));
        object.insert("b".into(), Value::Object(estimate(&row.b)));
        object.insert("difference".into(), Value::Object(estimate(&row.difference.unwrap_or_default())));
        object.insert("change_percent".into(), json!(row.relative().map(|share| share * 100.0)));
        object.insert("method".into(), json!(method(row.method)));
        object.insert("judgement".into(), json!(judgement(row.judgement)));
        Value::Object(object)
    });
    json!({
        "a": run(a),
        "b": run(b),
        "differences": differences(&a.folder.manifest, &b.folder.manifest),
        "rows": rows.collect::<Value>(),
        "only_a": found.only_a.iter().map(row_json).collect::<Value>(),
        "only_b": found.only_b.iter().map(row_json).collect::<Value>(),
    })
}

fn method(method: Method) -> &'static str {
    match method {
        Method::Paired => "paired",
        Method::Independent => "independent",
    }
}

pub(crate) fn judgement(judgement: Judgement) -> &'static str {
    match judgement {
        Judgement::Same => "same",
        Judgement::Differ => "differ",
        Judgement::Overlap => "overlap",
        Judgement::Unjudged => "unjudged",
        Judgement::OneSided => "one-sided",
    }
}

fn key(row: &Row) -> Map<String, Value> {
    let mut object = Map::new();
    object.insert("policy".into(), json!(row.policy));
    object.insert("sweep".into(), sweep(&row.sweep));
    object.insert("traffic".into(), json!(row.traffic));
    object.insert("metric".into(), json!(row.metric.to_string()));
    object.insert("unit".into(), json!(row.metric.unit()));
    object
}

fn estimate(estimate: &Estimate) -> Map<String, Value> {
    let fields = [
        ("value", json!(estimate.value)),
        ("ci95_low", json!(estimate.low)),
        ("ci95_high", json!(estimate.high)),
        ("repeats", json!(estimate.n)),
    ];
    fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

fn sweep(point: &SweepPoint) -> Value {
    let value = |value: &SweepValue| match (value.number, value.text.parse::<i64>()) {
        (Some(_), Ok(whole)) => json!(whole),
        (Some(number), Err(_)) => json!(number),
        (None, _) => json!(value.text),
    };
    Value::Object(point.iter().map(|(name, text)| (name.to_owned(), value(text))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_keeps_numbers_as_numbers() {
        let row = Row {
            policy: "tcp".into(),
            sweep: SweepPoint::new().with("senders", 8).with("load", 0.6).with("queue", "128KB"),
            traffic: "short".into(),
            metric: "fct.p95".parse().unwrap(),
            estimate: Estimate { value: Some(0.5), low: None, high: None, n: 1 },
        };
        let expected = r#"{"policy":"tcp","sweep":{"senders":8,"load":0.6,"queue":"128KB"},"traffic":"short","metric":"fct.p95","unit":"s","value":0.5,"ci95_low":null,"ci95_high":null,"repeats":1}"#;
        assert_eq!(row_json(&row).to_string(), expected);
    }
}
