//! Verdicts: what became of a scenario's claims.

use serde_json::{Value, json};

use crate::stats::Estimate;

/// A claim held against the results.
#[derive(Debug, Clone, PartialEq)]
pub struct Verdict {
    /// The claim in words.
    pub text: String,
    /// Whether it holds at every point that it is about.
    pub held: bool,
    /// Why it is known not to hold, if it is.
    pub known: Option<String>,
    /// What the source printed: in words, or a number for each operand.
    pub printed: Vec<Printed>,
    /// Points that it is also about and that were not run.
    pub skipped: usize,
    /// The points one by one.
    pub cases: Vec<Case>,
}

/// What the source printed.
#[derive(Debug, Clone, PartialEq)]
pub struct Printed {
    /// For people: a number with its unit and where it stands, or words.
    pub text: String,
    /// The number in s, bit/s or without a unit, if it is one.
    pub value: Option<f64>,
}

/// A claim at one sweep point.
#[derive(Debug, Clone, PartialEq)]
pub struct Case {
    /// The sweep point, empty without a sweep.
    pub point: String,
    /// Whether it holds there: for a comparison, whether the 95 % interval of the paired difference over repeats is
    /// on the right side of zero (with one repeat, the difference itself); for a range, whether the estimate is in it.
    pub held: bool,
    /// What was compared with what, with numbers, for people.
    pub numbers: String,
    /// The first operand's estimate.
    pub first: Estimate,
    /// The second operand's, for comparisons.
    pub second: Option<Estimate>,
}

impl Verdict {
    /// Whether it does not hold, and is not known not to: what a check fails by.
    pub fn failed(&self) -> bool {
        !self.held && self.known.is_none()
    }

    /// As in `manifest.json`.
    pub fn to_json(&self) -> Value {
        let estimate = |e: &Estimate| json!({"value": e.value, "ci95_low": e.low, "ci95_high": e.high, "repeats": e.n});
        let cases: Vec<_> = self
            .cases
            .iter()
            .map(|case| {
                json!({
                    "point": case.point,
                    "held": case.held,
                    "numbers": case.numbers,
                    "first": estimate(&case.first),
                    "second": case.second.as_ref().map(estimate),
                    "ratios": self.ratios(case),
                })
            })
            .collect();
        let printed = |printed: &Printed| json!({"text": printed.text, "value": printed.value});
        json!({
            "text": self.text,
            "held": self.held,
            "known": self.known,
            "published": self.printed.iter().map(printed).collect::<Value>(),
            "skipped_points": self.skipped,
            "cases": cases,
        })
    }

    /// From what [`Verdict::to_json`] gave; `None` of anything else.
    pub fn from_json(json: &Value) -> Option<Verdict> {
        let text = |json: &Value, key: &str| json.get(key)?.as_str().map(str::to_owned);
        let number = |json: &Value, key: &str| json.get(key).and_then(Value::as_f64);
        let estimate = |json: &Value| {
            let n = json.get("repeats")?.as_u64()? as usize;
            let [value, low, high] = ["value", "ci95_low", "ci95_high"].map(|key| number(json, key));
            Some(Estimate { value, low, high, n })
        };
        let case = |json: &Value| {
            let second = json.get("second").filter(|second| !second.is_null());
            Some(Case {
                point: text(json, "point")?,
                held: json.get("held")?.as_bool()?,
                numbers: text(json, "numbers")?,
                first: estimate(json.get("first")?)?,
                second: match second {
                    Some(second) => Some(estimate(second)?),
                    None => None,
                },
            })
        };
        let printed = |json: &Value| Some(Printed { text: text(json, "text")?, value: number(json, "value") });
        Some(Verdict {
            text: text(json, "text")?,
            held: json.get("held")?.as_bool()?,
            known: text(json, "known"),
            printed: json.get("published")?.as_array()?.iter().map(printed).collect::<Option<_>>()?,
            skipped: json.get("skipped_points")?.as_u64()? as usize,
            cases: json.get("cases")?.as_array()?.iter().map(case).collect::<Option<_>>()?,
        })
    }

    /// What we measured in `case` over what the source printed, for each operand with a number; empty without any.
    pub fn ratios(&self, case: &Case) -> Vec<Option<f64>> {
        if self.printed.iter().all(|printed| printed.value.is_none()) {
            return Vec::new();
        }
        let measured = [case.first.value, case.second.and_then(|second| second.value)];
        let ratio = |(printed, measured): (&Printed, Option<f64>)| {
            Some(measured? / printed.value?).filter(|ratio: &f64| ratio.is_finite())
        };
        self.printed.iter().zip(measured).map(ratio).collect()
    }
}
