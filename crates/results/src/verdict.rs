//! Verdicts: what became of a scenario's claims.

use serde_json::{Value, json};

use crate::stats::Estimate;

/// A claim held against the results.
#[derive(Debug, Clone, PartialEq)]
pub struct Verdict {
    /// The claim in words.
    pub text: String,
    /// Whether it holds at every point that it is about and that judges it, of which there has to be one.
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
    /// What the source printed for this point, if that is another value at each.
    pub published: Option<PublishedCell>,
}

/// A cell of a published table, beside ours.
#[derive(Debug, Clone, PartialEq)]
pub struct PublishedCell {
    /// What is printed there, for each operand.
    pub printed: Vec<Printed>,
    /// Our value for the first operand with its interval, for people.
    pub ours: String,
    /// The table marks it as doubtful: it is shown, and the claim is not judged by it.
    pub suspect: bool,
}

impl Case {
    /// Whether the claim is judged by this point.
    pub fn is_judged(&self) -> bool {
        self.published.as_ref().is_none_or(|cell| !cell.suspect)
    }
}

impl Verdict {
    /// Whether anything judges it: not if the published cells of all its points are suspect.
    pub fn is_judged(&self) -> bool {
        self.cases.is_empty() || self.cases.iter().any(Case::is_judged)
    }

    /// Whether it does not hold, and is not known not to: what a check fails by.
    pub fn failed(&self) -> bool {
        self.is_judged() && !self.held && self.known.is_none()
    }

    /// As in `manifest.json`.
    pub fn to_json(&self) -> Value {
        let estimate = |e: &Estimate| json!({"value": e.value, "ci95_low": e.low, "ci95_high": e.high, "repeats": e.n});
        let printed = |printed: &Printed| json!({"text": printed.text, "value": printed.value});
        let cell = |cell: &PublishedCell| {
            let all: Value = cell.printed.iter().map(printed).collect();
            json!({"printed": all, "ours": cell.ours, "suspect": cell.suspect})
        };
        let cases: Vec<_> = self
            .cases
            .iter()
            .map(|case| {
                json!({
                    "published": case.published.as_ref().map(cell),
                    "point": case.point,
                    "held": case.held,
                    "numbers": case.numbers,
                    "first": estimate(&case.first),
                    "second": case.second.as_ref().map(estimate),
                    "ratios": self.ratios(case),
                })
            })
            .collect();
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
        let printed = |json: &Value| Some(Printed { text: text(json, "text")?, value: number(json, "value") });
        let all_printed = |json: &Value| json.as_array()?.iter().map(printed).collect::<Option<Vec<_>>>();
        let cell = |json: &Value| {
            let (ours, suspect) = (text(json, "ours")?, json.get("suspect")?.as_bool()?);
            Some(PublishedCell { printed: all_printed(json.get("printed")?)?, ours, suspect })
        };
        let case = |json: &Value| {
            let published = json.get("published").filter(|published| !published.is_null());
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
                published: match published {
                    Some(published) => Some(cell(published)?),
                    None => None,
                },
            })
        };
        Some(Verdict {
            text: text(json, "text")?,
            held: json.get("held")?.as_bool()?,
            known: text(json, "known"),
            printed: all_printed(json.get("published")?)?,
            skipped: json.get("skipped_points")?.as_u64()? as usize,
            cases: json.get("cases")?.as_array()?.iter().map(case).collect::<Option<_>>()?,
        })
    }

    /// What we measured in `case` over what the source printed, for each operand with a number; empty without any.
    pub fn ratios(&self, case: &Case) -> Vec<Option<f64>> {
        let all = case.published.as_ref().map_or(&self.printed, |cell| &cell.printed);
        if all.iter().all(|printed| printed.value.is_none()) {
            return Vec::new();
        }
        let measured = [case.first.value, case.second.and_then(|second| second.value)];
        let ratio = |(printed, measured): (&Printed, Option<f64>)| {
            Some(measured? / printed.value?).filter(|ratio: &f64| ratio.is_finite())
        };
        all.iter().zip(measured).map(ratio).collect()
    }
}
