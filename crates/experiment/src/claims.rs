//! Claims of a scenario, held against its results.

use std::collections::BTreeMap;
use std::path::Path;

use headway_results::{Case, End, Metric, Outcome, Printed, PublishedCell, Verdict, bound, paired_difference};

use crate::operand::{Operand, operand};
use crate::printed::{example, fits, printed, varies};
use crate::published::base;
use headway_language::{Map, Problem, Quantity, Scalar};
use headway_scenario::plan::PlanError;
use headway_scenario::schema::{Against, ClaimRecord, Comparison, OperandRecord, ScenarioRecord};
use headway_scenario::{Document, SweepPoint};

/// How near is near.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Nearness {
    /// Within so much of the published number.
    Share(f64),
    /// Between the published number divided by this and multiplied by it.
    Factor(f64),
}

impl Nearness {
    fn has(self, own: f64, published: f64) -> bool {
        match self {
            Nearness::Share(share) => (own - published).abs() <= share * published.abs(),
            Nearness::Factor(factor) => (published / factor..=published * factor).contains(&own),
        }
    }
}

impl std::fmt::Display for Nearness {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Nearness::Share(share) => write!(f, "{} %", share * 100.0),
            Nearness::Factor(factor) => write!(f, "a factor of {factor}"),
        }
    }
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
    /// The one-sided bound of the operand is below `limit`, or with [`End::Low`] above it.
    Limit {
        operand: Operand,
        limit: f64,
        end: End,
    },
    Between {
        operand: Operand,
        low: f64,
        high: f64,
    },
    /// The operand differs from what is printed by no more than the share `within` of that.
    Near {
        operand: Operand,
        nearness: Nearness,
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
    /// What is printed for each of them, if that is another value at each; and whether it is doubtful.
    printed_at: Vec<(Vec<Printed>, bool)>,
    /// How many more there would be without overrides.
    skipped: usize,
}

impl Claim {
    /// The claim of `record`, about nothing yet.
    fn new(record: &ClaimRecord, rule: Rule) -> Claim {
        let (text, known) = (record.text.clone(), record.known.clone());
        let (printed, printed_at, cases) = (Vec::new(), Vec::new(), Vec::new());
        Claim { text, rule, printed, known, cases, printed_at, skipped: 0 }
    }
}

/// What is taken off operand n is operand n + 2.
const TAKEN_OFF: u8 = 2;

/// All claims of a scenario, and the values seen so far.
#[derive(Debug, Clone)]
pub(crate) struct Claims {
    list: Vec<Claim>,
    points: Vec<String>,
    /// Per (claim, operand of it, point that it is taken at, repeat); what is taken off an operand follows those.
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
            match rule(record, index, scenario) {
                Ok(rule) => {
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
                    let cases: Vec<_> = points.iter().enumerate().filter(about).map(case).collect();
                    let metrics: Vec<Metric> = rule.operands().iter().map(|operand| operand.metric).collect();
                    let number = index.to_string();
                    let printed = |point: usize| printed(record, &number, &metrics, (folder, &points[point]));
                    let mut claim = Claim { cases, skipped, ..Claim::new(record, rule) };
                    let mut note = |point: usize, fault| {
                        let problem = document.locate(fault);
                        problems.push(if varies(record) { problem.at_point(&points[point]) } else { problem });
                    };
                    if varies(record) {
                        for &(point, _) in &claim.cases {
                            match printed(point) {
                                Ok(one) => claim.printed_at.push(one),
                                Err(fault) => note(point, fault),
                            }
                        }
                    } else {
                        match printed(0) {
                            Ok((printed, false)) => claim.printed = printed,
                            Ok((_, true)) => note(0, never_judged(&number)),
                            Err(fault) => note(0, fault),
                        }
                    }
                    claims.push(claim);
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
                let place = match () {
                    () if operand.policy == policy => position as u8,
                    () if operand.minus == Some(policy) => position as u8 + TAKEN_OFF,
                    () => continue,
                };
                if claim.cases.iter().any(|(_, taken_at)| taken_at[position] == point) {
                    self.values.insert((index, place, point, outcome.job.repeat), operand.value(outcome));
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
                let cases: Vec<Case> = (0..claim.cases.len()).map(|place| self.case(index, claim, place)).collect();
                let held = cases.iter().any(Case::is_judged) && cases.iter().all(|case| case.held || !case.is_judged());
                let (text, known, printed) = (claim.text.clone(), claim.known.clone(), claim.printed.clone());
                Verdict { text, held, known, printed, skipped: claim.skipped, cases }
            })
            .collect()
    }

    /// The values of an operand by repeat, with what is taken off; `None` if any is missing.
    fn series(&self, claim: usize, place: u8, operand: &Operand, point: usize) -> Option<Vec<f64>> {
        let values = |place: u8| -> Option<Vec<f64>> {
            self.values.range((claim, place, point, 0)..=(claim, place, point, u32::MAX)).map(|(_, v)| *v).collect()
        };
        let own = values(place)?;
        if operand.minus.is_none() {
            return Some(own);
        }
        let off = values(place + TAKEN_OFF).filter(|off| off.len() == own.len())?;
        Some(own.iter().zip(off).map(|(own, off)| own - off).collect())
    }

    /// Claim number `index` at the place `place` of its points.
    fn case(&self, index: usize, claim: &Claim, place: usize) -> Case {
        let case = self.compared(index, claim, place);
        let operands = claim.rule.operands();
        let cell = |(printed, suspect): &(Vec<Printed>, bool)| PublishedCell {
            printed: printed.clone(),
            ours: operands[0].show(&case.first),
            suspect: *suspect,
        };
        Case { published: claim.printed_at.get(place).map(cell), ..case }
    }

    fn compared(&self, index: usize, claim: &Claim, place: usize) -> Case {
        let (point, taken_at) = claim.cases[place];
        let estimate =
            |operand: &Operand, values: &Option<Vec<f64>>| operand.estimate(values.as_deref().unwrap_or(&[]));
        let point_text = self.points[point].clone();
        let a = self.series(index, 0, claim.rule.operands()[0], taken_at[0]);
        let first = estimate(claim.rule.operands()[0], &a);
        let (first_operand, second_operand, by, sign, symbol) = match &claim.rule {
            Rule::Limit { operand, limit, end } => {
                let (held, numbers) = within_limit(operand, *limit, *end, a.as_deref().unwrap_or(&[]));
                return Case { point: point_text, held, numbers, first, second: None, published: None };
            }
            Rule::Between { operand, low, high } => {
                let held = first.value.is_some_and(|value| (*low..=*high).contains(&value));
                let show = |value| operand.metric.display(value);
                let numbers =
                    format!("{} = {}, allowed {} to {}", operand.text, operand.show(&first), show(*low), show(*high));
                return Case { point: point_text, held, numbers, first, second: None, published: None };
            }
            Rule::Near { operand, nearness } => {
                let printed = claim.printed_at.get(place).map_or(&claim.printed, |(printed, _)| printed);
                let value = printed.first().and_then(|printed| printed.value).unwrap_or(f64::NAN);
                let held = first.value.is_some_and(|own| nearness.has(own, value));
                let wanted = operand.metric.display(value);
                let own = operand.show(&first);
                let numbers = format!("{} = {own}, wanted within {nearness} of {wanted}", operand.text);
                return Case { point: point_text, held, numbers, first, second: None, published: None };
            }
            Rule::Less { first, second, by } => (first, second, *by, 1.0, "<"),
            Rule::Greater { first, second, by } => (first, second, *by, -1.0, ">"),
        };
        let b = self.series(index, 1, second_operand, taken_at[1]);
        let second = estimate(second_operand, &b);
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
            numbers += NOISE;
        }
        Case { point: point_text, held, numbers, first, second: Some(second), published: None }
    }
}

/// Behind the numbers of a claim that holds on average alone.
const NOISE: &str = " (so on average, but within the noise of the repeats)";

/// Whether `operand`, of which `values` has one for each repeat, is on the right side of `limit` with 95 % confidence; and
/// the numbers for people. Without an interval the value itself decides.
fn within_limit(operand: &Operand, limit: f64, end: End, values: &[f64]) -> (bool, String) {
    let first = operand.estimate(values);
    let (symbol, side) = if end == End::High { ("<", "at most") } else { (">", "at least") };
    let right = |value: f64| if end == End::High { value < limit } else { value > limit };
    let show = |value| operand.metric.display(value);
    let far = bound(operand.support(), values, end);
    let held = far.or(first.value).is_some_and(right);
    let own = match (first.value, far) {
        (Some(value), Some(far)) => format!("{}, with 95 % confidence {side} {}", show(value), show(far)),
        (Some(value), None) if values.len() == 1 => format!("{}, one repeat", show(value)),
        (Some(value), None) => format!("{}, the same in every repeat", show(value)),
        (None, _) => operand.show(&first),
    };
    let mut numbers = format!("{} = {own}; wanted {symbol} {}", operand.text, show(limit));
    if !held && first.value.is_some_and(right) {
        numbers += NOISE;
    }
    (held, numbers)
}

impl Rule {
    fn operands(&self) -> Vec<&Operand> {
        match self {
            Rule::Less { first, second, .. } | Rule::Greater { first, second, .. } => vec![first, second],
            Rule::Limit { operand, .. } | Rule::Between { operand, .. } | Rule::Near { operand, .. } => vec![operand],
        }
    }
}

/// A claim that has nothing but a doubtful number.
fn never_judged(number: &str) -> PlanError {
    let message = "the published number is suspect, so nothing would judge this claim";
    let help =
        "a sweep whose values are in `row` is judged by its other cells; leave `suspect` out to be judged by this one";
    PlanError::new(&["claim", number, "published"], message).help(help)
}

/// The value `quantity`, which stands at `path` of the file, in the unit of `operand`'s metric.
fn value_of(quantity: &Quantity, operand: &OperandRecord, metric: Metric, path: &[&str]) -> Result<f64, PlanError> {
    let (value, unit) = base(quantity);
    if fits(metric, unit) {
        Ok(value)
    } else {
        Err(PlanError::new(path, format!("`{}` is compared with {}", operand.value, example(metric))))
    }
}

/// The rule of `less` or `greater`, which is `key`, of claim number `number`.
fn comparison(
    record: &ClaimRecord,
    comparison: &Comparison,
    (number, key): (&str, &str),
    scenario: &ScenarioRecord,
) -> Result<Rule, PlanError> {
    let first = operand(&comparison.first, &["claim", number, key, "0"], scenario)?;
    let less = key == "less";
    let second = match &comparison.second {
        Against::Result(second) => second,
        Against::Value(value) => {
            let limit = value_of(value, &comparison.first, first.metric, &["claim", number, key, "1"])?;
            return Ok(Rule::Limit { operand: first, limit, end: if less { End::High } else { End::Low } });
        }
    };
    let other = operand(second, &["claim", number, key, "1"], scenario)?;
    if first.metric.unit() != other.metric.unit() {
        let message = format!(
            "{} is in {}, {} in {}: they cannot be compared",
            comparison.first.value,
            first.metric.unit(),
            second.value,
            other.metric.unit()
        );
        return Err(PlanError::new(&["claim", number, key], message));
    }
    let by = record.by;
    Ok(if less { Rule::Less { first, second: other, by } } else { Rule::Greater { first, second: other, by } })
}

/// The rule of claim number `index`.
fn rule(record: &ClaimRecord, index: usize, scenario: &ScenarioRecord) -> Result<Rule, PlanError> {
    let number = index.to_string();
    for (key, pair) in [("less", &record.less), ("greater", &record.greater)] {
        if let Some(pair) = pair {
            return comparison(record, pair, (&number, key), scenario);
        }
    }
    if let Some(near) = &record.near {
        let operand = operand(&near.operand, &["claim", &number, "near"], scenario)?;
        let factor = || Nearness::Factor(near.factor.expect("checked when it was read"));
        let nearness = near.within.map_or_else(factor, |within| Nearness::Share(within.get()));
        return Ok(Rule::Near { operand, nearness });
    }
    let Some(between) = &record.between else {
        let message = "a claim needs one of `less`, `greater`, `between` and `near`";
        return Err(PlanError::new(&["claim", &number], message));
    };
    let path = ["claim", &number, "between"];
    let operand = operand(&between.operand, &path, scenario)?;
    let bound =
        |key, quantity| value_of(quantity, &between.operand, operand.metric, &["claim", &number, "between", key]);
    let (low, high) = (bound("low", &between.low)?, bound("high", &between.high)?);
    Ok(Rule::Between { operand, low, high })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ends included; a share of all of it has no lower end, a factor has.
    #[test]
    fn near_is_by_a_share_or_by_a_factor() {
        let cases = [
            (Nearness::Share(0.5), [4.9, 5.0, 15.0, 15.1], [false, true, true, false]),
            (Nearness::Factor(2.0), [4.9, 5.0, 20.0, 20.1], [false, true, true, false]),
            (Nearness::Share(1.0), [0.0, 1.0, 20.0, 20.1], [true, true, true, false]),
        ];
        for (nearness, own, expected) in cases {
            assert_eq!(own.map(|own| nearness.has(own, 10.0)), expected, "{nearness}");
        }
        assert_eq!(Nearness::Factor(2.0).to_string(), "a factor of 2");
    }
}
