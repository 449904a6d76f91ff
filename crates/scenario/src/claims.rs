//! What the results must show, held against the results.

use std::collections::BTreeMap;

use headway_results::{Estimate, Metric, Outcome, Statistic, paired_difference};
use headway_units::Time;
use serde_json::json;

use crate::Document;
use crate::language::{Problem, Quantity};
use crate::plan::Fault;
use crate::schema::{ClaimRecord, OperandRecord, ScenarioRecord};

/// A value that a claim is about, in one repeat of one cell.
#[derive(Debug, Clone, PartialEq)]
struct Operand {
    policy: usize,
    traffic: String,
    metric: Metric,
    window: Option<(Time, Time)>,
    /// `lanes-link-cost short fct.p95`, for people.
    text: String,
}

#[derive(Debug, Clone, PartialEq)]
enum Rule {
    /// The first is less than `by` times the second.
    Less {
        first: Operand,
        second: Operand,
        by: f64,
    },
    /// As less, the other way round.
    Greater {
        first: Operand,
        second: Operand,
        by: f64,
    },
    Between {
        operand: Operand,
        low: f64,
        high: f64,
    },
}

/// A claim tied to cells.
#[derive(Debug, Clone)]
struct Claim {
    text: String,
    rule: Rule,
    /// Sweep points it is about, by index.
    points: Vec<usize>,
}

/// All claims of a scenario, and the values seen so far.
#[derive(Debug)]
pub(crate) struct Claims {
    list: Vec<Claim>,
    points: Vec<String>,
    /// Per (claim, operand of it, point, repeat).
    values: BTreeMap<(usize, u8, usize, u32), Option<f64>>,
}

/// A claim held against the results.
#[derive(Debug, Clone, PartialEq)]
pub struct Verdict {
    /// The claim in words.
    pub text: String,
    /// Whether it holds at every point that it is about.
    pub held: bool,
    /// The points one by one.
    pub cases: Vec<Case>,
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
    /// As in `manifest.json`.
    pub fn to_json(&self) -> serde_json::Value {
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
                })
            })
            .collect();
        json!({"text": self.text, "held": self.held, "cases": cases})
    }
}

impl Claims {
    /// The claims of `scenario`, whose names of metrics are checked here.
    pub(crate) fn new(scenario: &ScenarioRecord, document: &Document) -> Result<Claims, Vec<Problem>> {
        let points = document.points();
        let mut problems = Vec::new();
        let mut claims = Vec::new();
        for (index, record) in scenario.claim.iter().enumerate() {
            match rule(record, index, scenario) {
                Ok(rule) => {
                    let about = |(_, point): &(usize, &crate::SweepPoint)| {
                        record.at.iter().all(|(name, wanted)| point.get(name).is_some_and(|v| wanted.contains(v)))
                    };
                    let points = points.iter().enumerate().filter(about).map(|(i, _)| i).collect();
                    claims.push(Claim { text: record.text.clone(), rule, points });
                }
                Err(fault) => problems.push(fault.locate(document)),
            }
        }
        let points = points.iter().map(ToString::to_string).collect();
        if problems.is_empty() { Ok(Claims { list: claims, points, values: BTreeMap::new() }) } else { Err(problems) }
    }

    /// Takes in the outcome of a repeat of `policy` at `point`. The order does not matter.
    pub(crate) fn add(&mut self, policy: usize, point: usize, outcome: &Outcome) {
        for (index, claim) in self.list.iter().enumerate() {
            if !claim.points.contains(&point) {
                continue;
            }
            for (position, operand) in claim.rule.operands().into_iter().enumerate() {
                if operand.policy == policy {
                    // A mean over finished flows would speak for whoever leaves the slow ones unfinished.
                    let unfinished = Metric::Unfinished.evaluate(outcome, &operand.traffic, operand.window);
                    let partial =
                        matches!(operand.metric, Metric::Fct(Statistic::Mean) | Metric::Slowdown(Statistic::Mean))
                            && unfinished.is_some_and(|n| n > 0.0);
                    let value = operand.metric.evaluate(outcome, &operand.traffic, operand.window);
                    let value = value.filter(|_| !partial);
                    self.values.insert((index, position as u8, point, outcome.job.repeat), value);
                }
            }
        }
    }

    /// The verdicts, in the order of the file.
    pub(crate) fn verdicts(&self) -> Vec<Verdict> {
        self.list
            .iter()
            .enumerate()
            .map(|(index, claim)| {
                let cases: Vec<Case> = claim.points.iter().map(|&point| self.case(index, claim, point)).collect();
                let held = !cases.is_empty() && cases.iter().all(|case| case.held);
                Verdict { text: claim.text.clone(), held, cases }
            })
            .collect()
    }

    /// The values of an operand by repeat; `None` if any is missing.
    fn series(&self, claim: usize, operand: u8, point: usize) -> Option<Vec<f64>> {
        self.values.range((claim, operand, point, 0)..=(claim, operand, point, u32::MAX)).map(|(_, v)| *v).collect()
    }

    fn case(&self, index: usize, claim: &Claim, point: usize) -> Case {
        let estimate = |values: &Option<Vec<f64>>| Estimate::of(values.as_deref().unwrap_or(&[]));
        let point_text = self.points[point].clone();
        let a = self.series(index, 0, point);
        let first = estimate(&a);
        let (first_operand, second_operand, by, sign, symbol) = match &claim.rule {
            Rule::Between { operand, low, high } => {
                let held = first.value.is_some_and(|value| (*low..=*high).contains(&value));
                let show = |value| operand.metric.display(value);
                let numbers =
                    format!("{} = {}, allowed {} to {}", operand.text, operand.show(&first), show(*low), show(*high));
                return Case { point: point_text, held, numbers, first, second: None };
            }
            Rule::Less { first, second, by } => (first, second, *by, 1.0, "<"),
            Rule::Greater { first, second, by } => (first, second, *by, -1.0, ">"),
        };
        let b = self.series(index, 1, point);
        let second = estimate(&b);
        let difference = match (&a, &b) {
            (Some(a), Some(b)) if a.len() == b.len() && !a.is_empty() => {
                let a: Vec<f64> = a.iter().map(|v| v * sign).collect();
                let b: Vec<f64> = b.iter().map(|v| v * by * sign).collect();
                Some(paired_difference(&a, &b))
            }
            _ => None,
        };
        // With one repeat there is no interval: the difference itself decides.
        let held = difference.as_ref().is_some_and(|d| d.high.or(d.value).is_some_and(|high| high < 0.0));
        let factor = if by == 1.0 { String::new() } else { format!("{by} × ") };
        let mut numbers = format!(
            "{} = {} {symbol} {factor}{} = {}",
            first_operand.text,
            first_operand.show(&first),
            second_operand.text,
            second_operand.show(&second)
        );
        if !held && difference.as_ref().is_some_and(|d| d.value.is_some_and(|v| v < 0.0)) {
            numbers += " (so on average, but within the noise of the repeats)";
        }
        Case { point: point_text, held, numbers, first, second: Some(second) }
    }
}

impl Operand {
    fn show(&self, estimate: &Estimate) -> String {
        match (estimate.value, estimate.low, estimate.high) {
            (Some(value), Some(low), Some(high)) => {
                let show = |v| self.metric.display(v);
                format!("{} [{}, {}]", show(value), show(low), show(high))
            }
            (Some(value), ..) => self.metric.display(value),
            _ => "no value (no flows, or unfinished ones)".to_owned(),
        }
    }
}

impl Rule {
    fn operands(&self) -> Vec<&Operand> {
        match self {
            Rule::Less { first, second, .. } | Rule::Greater { first, second, .. } => vec![first, second],
            Rule::Between { operand, .. } => vec![operand],
        }
    }
}

fn rule(record: &ClaimRecord, index: usize, scenario: &ScenarioRecord) -> Result<Rule, Fault> {
    let number = index.to_string();
    let pair = |key: &str, records: &[OperandRecord; 2]| {
        let first = operand(&records[0], &["claim", &number, key, "0"], scenario)?;
        let second = operand(&records[1], &["claim", &number, key, "1"], scenario)?;
        if first.metric.unit() != second.metric.unit() {
            let message = format!(
                "{} is in {}, {} in {}: they cannot be compared",
                records[0].value,
                first.metric.unit(),
                records[1].value,
                second.metric.unit()
            );
            return Err(Fault::new(&["claim", &number, key], message));
        }
        Ok((first, second))
    };
    if let Some(records) = &record.less {
        let (first, second) = pair("less", records)?;
        return Ok(Rule::Less { first, second, by: record.by });
    }
    if let Some(records) = &record.greater {
        let (first, second) = pair("greater", records)?;
        return Ok(Rule::Greater { first, second, by: record.by });
    }
    let Some(between) = &record.between else {
        return Err(Fault::new(&["claim", &number], "a claim needs one of `less`, `greater` and `between`"));
    };
    let path = ["claim", &number, "between"];
    let operand = operand(&between.operand, &path, scenario)?;
    let bound = |key: &str, quantity: &Quantity| {
        let (value, unit) = match quantity {
            Quantity::Number(number) => (*number, ""),
            Quantity::Span(span) => (span.as_secs_f64(), "s"),
            Quantity::Rate(rate) => (rate.bps() as f64, "bit/s"),
            Quantity::Bytes(bytes) => (bytes.get() as f64, "B"),
        };
        let wanted = operand.metric.unit();
        let dimensionless = wanted != "s" && wanted != "bit/s";
        if unit == wanted || unit.is_empty() && dimensionless {
            return Ok(value);
        }
        let example = match wanted {
            "s" => "a time such as \"20ms\"",
            "bit/s" => "a rate such as \"100Mbps\"",
            _ => "a number",
        };
        let message = format!("`{}` is compared with {example}", between.operand.value);
        Err(Fault::new(&["claim", &number, "between", key], message))
    };
    let (low, high) = (bound("low", &between.low)?, bound("high", &between.high)?);
    Ok(Rule::Between { operand, low, high })
}

fn operand(record: &OperandRecord, path: &[&str], scenario: &ScenarioRecord) -> Result<Operand, Fault> {
    let at = |key| [path, &[key]].concat();
    let metric: Metric = record.value.parse().map_err(|error| Fault::new(&at("value"), format!("{error}")))?;
    let policy = scenario.policy.iter().position(|policy| policy.name == record.policy);
    let policy = policy.ok_or_else(|| Fault::new(&at("policy"), format!("there is no policy `{}`", record.policy)))?;
    let flows: Vec<_> = scenario.traffic.iter().filter(|traffic| traffic.flows().is_some()).collect();
    let traffic = match (&record.traffic, &flows[..]) {
        (Some(name), _) => name.as_str(),
        (None, [only]) => only.name.as_str(),
        (None, []) => return Err(Fault::new(path, "this scenario has no flows that a claim could be about")),
        _ => return Err(Fault::new(path, "this scenario has several kinds of traffic: say which with `traffic`")),
    };
    // Without an end it is the run's, which the sweep may vary.
    let window = (record.from.is_some() || record.to.is_some())
        .then(|| (Time::ZERO + record.from.unwrap_or_default(), record.to.map_or(Time::NEVER, |to| Time::ZERO + to)));
    let recorded = scenario.measure.series.contains(&crate::schema::Series::Goodput)
        && scenario.measure.traffic.as_ref().is_none_or(|names| names.iter().any(|name| name.as_str() == traffic));
    if metric == Metric::Throughput && !recorded {
        let message =
            format!("`throughput` is taken from the series, which this scenario does not record of `{traffic}`");
        let fault = Fault::new(&at("value"), message);
        return Err(fault.help("add [measure] with series = [\"goodput\"], and the traffic if it lists any"));
    }
    if matches!(metric, Metric::Stall(_)) && scenario.failure.is_empty() {
        let fault = Fault::new(&at("value"), format!("`{metric}` is of failures, which this scenario has none of"));
        return Err(fault.help("add a [[failure]]: flows stand still only while something is down"));
    }
    let window_text = match (record.from, record.to) {
        (None, None) => String::new(),
        (from, None) => format!(" from {}", from.unwrap_or_default()),
        (from, Some(to)) => format!(" {} to {to}", from.unwrap_or_default()),
    };
    let text = format!("{} {} {metric}{window_text}", record.policy, traffic);
    Ok(Operand { policy, traffic: traffic.to_owned(), metric, window, text })
}
