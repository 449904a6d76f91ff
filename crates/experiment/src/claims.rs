//! Claims of a scenario, held against its results.

use std::collections::BTreeMap;
use std::path::Path;

use headway_results::{Case, Estimate, Metric, Outcome, Printed, Statistic, Verdict, paired_difference};
use headway_units::Time;

use crate::published::{Table, Unit};
use headway_language::{Map, Problem, Quantity, Scalar};
use headway_scenario::plan::PlanError;
use headway_scenario::schema::{ClaimRecord, NumberRecord, OperandRecord, Published, ScenarioRecord, TrafficRecord};
use headway_scenario::{Document, SweepPoint};

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
    /// The operand differs from `value` by no more than the share `within` of it.
    Near {
        operand: Operand,
        value: f64,
        within: f64,
    },
}

/// A claim tied to cells.
#[derive(Debug, Clone)]
struct Claim {
    text: String,
    rule: Rule,
    printed: Vec<Printed>,
    known: Option<String>,
    /// Sweep points it is about, by index; for each, those that its operands are taken at.
    cases: Vec<(usize, [usize; 2])>,
    /// How many more there would be without overrides.
    skipped: usize,
}

/// All claims of a scenario, and the values seen so far.
#[derive(Debug, Clone)]
pub(crate) struct Claims {
    list: Vec<Claim>,
    points: Vec<String>,
    /// Per (claim, operand of it, point that it is taken at, repeat).
    values: BTreeMap<(usize, u8, usize, u32), Option<f64>>,
}

impl Claims {
    /// The claims of `scenario`, whose names of metrics and published numbers are checked here. Tables are looked for
    /// in `folder`.
    pub(crate) fn new(scenario: &ScenarioRecord, document: &Document, folder: &Path) -> Result<Claims, Vec<Problem>> {
        let points = document.points();
        let names: Vec<&str> = scenario.sweep.names().names().collect();
        let values = |point: &SweepPoint, other: &Map<Scalar>| -> Vec<String> {
            let value = |name: &&str| other.get(name).or(point.get(name)).map(ToString::to_string).unwrap_or_default();
            names.iter().map(value).collect()
        };
        let places: BTreeMap<Vec<String>, usize> =
            points.iter().enumerate().map(|(index, point)| (values(point, &Map::new()), index)).collect();
        let mut problems = Vec::new();
        let mut claims = Vec::new();
        for (index, record) in scenario.claim.iter().enumerate() {
            let skipped = document.skipped_points(index);
            let known = record.known.clone();
            match rule(record, index, scenario, folder) {
                Ok((rule, printed)) => {
                    let about = |(_, point): &(usize, &SweepPoint)| {
                        record.at.iter().all(|(name, wanted)| point.get(name).is_some_and(|v| wanted.contains(v)))
                    };
                    let taken_at = |operand: &OperandRecord, index: usize| {
                        if operand.at.is_empty() { index } else { places[&values(&points[index], &operand.at)] }
                    };
                    let case = |(index, _)| {
                        let [first, second] = record.operands();
                        (index, [first, second].map(|one| one.map_or(index, |one| taken_at(one, index))))
                    };
                    let cases = points.iter().enumerate().filter(about).map(case).collect();
                    claims.push(Claim { text: record.text.clone(), rule, printed, known, cases, skipped });
                }
                Err(fault) => problems.push(document.locate(fault)),
            }
        }
        let points = points.iter().map(ToString::to_string).collect();
        if problems.is_empty() { Ok(Claims { list: claims, points, values: BTreeMap::new() }) } else { Err(problems) }
    }

    /// Takes in the outcome of a repeat of `policy` at `point`. The order does not matter.
    pub(crate) fn add(&mut self, policy: usize, point: usize, outcome: &Outcome) {
        for (index, claim) in self.list.iter().enumerate() {
            for (position, operand) in claim.rule.operands().into_iter().enumerate() {
                if operand.policy == policy && claim.cases.iter().any(|(_, taken_at)| taken_at[position] == point) {
                    // A mean over finished flows would speak for whoever leaves the slow ones unfinished.
                    let unfinished = Metric::Unfinished.evaluate(outcome, &operand.traffic, operand.window);
                    let of_finished = matches!(
                        operand.metric,
                        Metric::Fct(Statistic::Mean | Statistic::Deviation)
                            | Metric::Slowdown(Statistic::Mean | Statistic::Deviation)
                    );
                    let partial = of_finished && unfinished.is_some_and(|n| n > 0.0);
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
                let cases: Vec<Case> =
                    claim.cases.iter().map(|&(point, taken_at)| self.case(index, claim, point, taken_at)).collect();
                let held = !cases.is_empty() && cases.iter().all(|case| case.held);
                let (text, known, printed) = (claim.text.clone(), claim.known.clone(), claim.printed.clone());
                Verdict { text, held, known, printed, skipped: claim.skipped, cases }
            })
            .collect()
    }

    /// The values of an operand by repeat; `None` if any is missing.
    fn series(&self, claim: usize, operand: u8, point: usize) -> Option<Vec<f64>> {
        self.values.range((claim, operand, point, 0)..=(claim, operand, point, u32::MAX)).map(|(_, v)| *v).collect()
    }

    fn case(&self, index: usize, claim: &Claim, point: usize, taken_at: [usize; 2]) -> Case {
        let estimate = |values: &Option<Vec<f64>>| Estimate::of(values.as_deref().unwrap_or(&[]));
        let point_text = self.points[point].clone();
        let a = self.series(index, 0, taken_at[0]);
        let first = estimate(&a);
        let (first_operand, second_operand, by, sign, symbol) = match &claim.rule {
            Rule::Between { operand, low, high } => {
                let held = first.value.is_some_and(|value| (*low..=*high).contains(&value));
                let show = |value| operand.metric.display(value);
                let numbers =
                    format!("{} = {}, allowed {} to {}", operand.text, operand.show(&first), show(*low), show(*high));
                return Case { point: point_text, held, numbers, first, second: None };
            }
            Rule::Near { operand, value, within } => {
                let held = first.value.is_some_and(|own| (own - value).abs() <= within * value.abs());
                let (wanted, percent) = (operand.metric.display(*value), within * 100.0);
                let own = operand.show(&first);
                let numbers = format!("{} = {own}, wanted within {percent} % of {wanted}", operand.text);
                return Case { point: point_text, held, numbers, first, second: None };
            }
            Rule::Less { first, second, by } => (first, second, *by, 1.0, "<"),
            Rule::Greater { first, second, by } => (first, second, *by, -1.0, ">"),
        };
        let b = self.series(index, 1, taken_at[1]);
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
            Rule::Between { operand, .. } | Rule::Near { operand, .. } => vec![operand],
        }
    }
}

/// The rule of claim number `index`, and the printed numbers of its operands.
fn rule(
    record: &ClaimRecord,
    index: usize,
    scenario: &ScenarioRecord,
    folder: &Path,
) -> Result<(Rule, Vec<Printed>), PlanError> {
    let number = index.to_string();
    let printed = |operands: &[&Operand]| printed(record, &number, operands, folder);
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
            return Err(PlanError::new(&["claim", &number, key], message));
        }
        Ok((first, second))
    };
    if let Some(records) = &record.less {
        let (first, second) = pair("less", records)?;
        let printed = printed(&[&first, &second])?;
        return Ok((Rule::Less { first, second, by: record.by }, printed));
    }
    if let Some(records) = &record.greater {
        let (first, second) = pair("greater", records)?;
        let printed = printed(&[&first, &second])?;
        return Ok((Rule::Greater { first, second, by: record.by }, printed));
    }
    if let Some(near) = &record.near {
        let operand = operand(&near.operand, &["claim", &number, "near"], scenario)?;
        let printed = printed(&[&operand])?;
        let value = printed.first().and_then(|printed| printed.value).unwrap_or(f64::NAN);
        return Ok((Rule::Near { operand, value, within: near.within.get() }, printed));
    }
    let Some(between) = &record.between else {
        let message = "a claim needs one of `less`, `greater`, `between` and `near`";
        return Err(PlanError::new(&["claim", &number], message));
    };
    let path = ["claim", &number, "between"];
    let operand = operand(&between.operand, &path, scenario)?;
    let bound = |key: &str, quantity: &Quantity| {
        let (value, unit) = base(quantity);
        let message = || format!("`{}` is compared with {}", between.operand.value, example(operand.metric));
        if fits(operand.metric, unit) {
            Ok(value)
        } else {
            Err(PlanError::new(&["claim", &number, "between", key], message()))
        }
    };
    let (low, high) = (bound("low", &between.low)?, bound("high", &between.high)?);
    let printed = printed(&[&operand])?;
    Ok((Rule::Between { operand, low, high }, printed))
}

fn base(quantity: &Quantity) -> (f64, Unit) {
    match quantity {
        Quantity::Number(number) => (*number, Unit::None),
        Quantity::Span(span) => (span.as_secs_f64(), Unit::Seconds),
        Quantity::Rate(rate) => (rate.bps() as f64, Unit::Rate),
        Quantity::Bytes(bytes) => (bytes.get() as f64, Unit::Bytes),
    }
}

/// Whether values of `metric` are in `unit`.
fn fits(metric: Metric, unit: Unit) -> bool {
    unit == match metric.unit() {
        "s" => Unit::Seconds,
        "bit/s" => Unit::Rate,
        _ => Unit::None,
    }
}

fn example(metric: Metric) -> &'static str {
    match metric.unit() {
        "s" => "a time such as \"20ms\"",
        "bit/s" => "a rate such as \"100Mbps\"",
        _ => "a number",
    }
}

/// The printed numbers of `operands`, those of claim number `claim`.
fn printed(record: &ClaimRecord, claim: &str, operands: &[&Operand], folder: &Path) -> Result<Vec<Printed>, PlanError> {
    let all: &[Published] = record.published.as_deref().unwrap_or_default();
    let one = |(index, published): (usize, &Published)| {
        let index_text = index.to_string();
        let mut path = vec!["claim", claim, "published"];
        if all.len() > 1 {
            path.push(&index_text);
        }
        match (published, operands.get(index)) {
            (Published::Text(text), _) => Ok(Printed { text: text.clone(), value: None }),
            (Published::Number(record), Some(operand)) => number(record, operand.metric, &path, folder),
            (Published::Number(_), None) => Err(PlanError::new(&path, "there are more numbers than operands")),
        }
    };
    all.iter().enumerate().map(one).collect()
}

/// The number that `record` names, of `metric`.
fn number(record: &NumberRecord, metric: Metric, path: &[&str], folder: &Path) -> Result<Printed, PlanError> {
    let at = |key| [path, &[key]].concat();
    let (value, source) = match (&record.value, &record.file, &record.column) {
        (Some(quantity), ..) => {
            let (value, unit) = base(quantity);
            if !fits(metric, unit) {
                return Err(PlanError::new(&at("value"), format!("`{metric}` is compared with {}", example(metric))));
            }
            (value, record.source.clone())
        }
        (None, Some(file), Some(column)) => {
            let cell = Table::find(file, folder).and_then(|table| table.cell(&record.row, column));
            let (value, unit) = cell.map_err(|wrong| {
                let fault = PlanError::new(&at(wrong.key), wrong.message);
                wrong.help.into_iter().fold(fault, PlanError::help)
            })?;
            if !fits(metric, unit) {
                let message = format!("`{metric}` is in {}, and `{column}` of {file} is not", metric.unit());
                let help = "a column has its unit at the end of its name: _ms, _s, _us, _mbps, _gbps; none for numbers";
                return Err(PlanError::new(&at("column"), message).help(help));
            }
            (value, record.source.clone().or_else(|| Some(file.clone())))
        }
        (None, ..) => {
            return Err(PlanError::new(path, "a published number needs a `value`, or a `file` and a `column`"));
        }
    };
    let source = source.map(|source| format!(" ({source})")).unwrap_or_default();
    Ok(Printed { text: format!("{}{source}", metric.display(value)), value: Some(value) })
}

fn operand(record: &OperandRecord, path: &[&str], scenario: &ScenarioRecord) -> Result<Operand, PlanError> {
    let at = |key| [path, &[key]].concat();
    let metric: Metric = record.value.parse().map_err(|error| PlanError::new(&at("value"), format!("{error}")))?;
    let policy = scenario.policy.iter().position(|policy| policy.name == record.policy);
    let policy =
        policy.ok_or_else(|| PlanError::new(&at("policy"), format!("there is no policy `{}`", record.policy)))?;
    let reported = scenario.traffic.iter().flat_map(|traffic| {
        let names = traffic.reported().into_iter();
        names.map(move |name| (name, traffic))
    });
    let reported: Vec<(String, &TrafficRecord)> = reported.collect();
    let traffic = match (&record.traffic, &reported[..]) {
        (Some(name), _) => name.as_str(),
        (None, [(only, _)]) => only.as_str(),
        (None, []) => return Err(PlanError::new(path, "this scenario has no flows that a claim could be about")),
        _ => return Err(PlanError::new(path, "this scenario has several kinds of traffic: say which with `traffic`")),
    };
    // Without an end it is the run's, which the sweep may vary.
    let window = (record.from.is_some() || record.to.is_some())
        .then(|| (Time::ZERO + record.from.unwrap_or_default(), record.to.map_or(Time::NEVER, |to| Time::ZERO + to)));
    let recorded = scenario.measure.series.contains(&headway_scenario::schema::Series::Goodput)
        && scenario.measure.traffic.as_ref().is_none_or(|names| {
            let of = reported.iter().find(|(name, _)| name == traffic).map(|(_, of)| &of.name);
            names.iter().any(|name| Some(name) == of)
        });
    if metric == Metric::Throughput && !recorded {
        let message =
            format!("`throughput` is taken from the series, which this scenario does not record of `{traffic}`");
        let fault = PlanError::new(&at("value"), message);
        return Err(fault.help("add [measure] with series = [\"goodput\"], and the traffic if it lists any"));
    }
    if matches!(metric, Metric::Stall(_)) && scenario.failure.is_empty() {
        let fault = PlanError::new(&at("value"), format!("`{metric}` is of failures, which this scenario has none of"));
        return Err(fault.help("add a [[failure]]: flows stand still only while something is down"));
    }
    let window_text = match (record.from, record.to) {
        (None, None) => String::new(),
        (from, None) => format!(" from {}", from.unwrap_or_default()),
        (from, Some(to)) => format!(" {} to {to}", from.unwrap_or_default()),
    };
    let place: Vec<String> = record.at.iter().map(|(name, value)| format!("{name} = {value}")).collect();
    let place = if place.is_empty() { String::new() } else { format!(" at {}", place.join(", ")) };
    let text = format!("{} {} {metric}{window_text}{place}", record.policy, traffic);
    Ok(Operand { policy, traffic: traffic.to_owned(), metric, window, text })
}
