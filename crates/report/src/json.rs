//! The same numbers for programs.

use headway_results::{Estimate, Finished, Row, Summary, SweepPoint, SweepValue, compare};
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

/// `a` and `b` (what identifies each run), `differences` (between these, as sentences), `rows` (in both, with
/// `change_percent` from A to B and `intervals_overlap`), `only_a`, `only_b`.
pub fn comparison_json(a: &Finished, b: &Finished) -> Value {
    let run = |folder: &Finished| {
        let m = &folder.manifest;
        json!({
            "folder": folder.path.display().to_string(),
            "scenario": m.scenario,
            "scenario_sha256": m.scenario_sha256,
            "seed": m.seed,
            "repeats": m.repeats,
            "version": m.version,
        })
    };
    let comparison = compare(&a.summary, &b.summary);
    let pairs = comparison.both.iter().map(|pair| {
        let mut object = key(&pair.a);
        object.insert("a".into(), Value::Object(estimate(&pair.a.estimate)));
        object.insert("b".into(), Value::Object(estimate(&pair.b)));
        object.insert("change_percent".into(), json!(pair.change()));
        object.insert("intervals_overlap".into(), json!(pair.overlap()));
        Value::Object(object)
    });
    json!({
        "a": run(a),
        "b": run(b),
        "differences": differences(&a.manifest, &b.manifest),
        "rows": pairs.collect::<Value>(),
        "only_a": comparison.only_a.iter().map(row_json).collect::<Value>(),
        "only_b": comparison.only_b.iter().map(row_json).collect::<Value>(),
    })
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
