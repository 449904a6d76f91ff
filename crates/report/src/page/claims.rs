//! Claims with their verdicts, and the published numbers in them as points of charts.

use std::collections::BTreeMap;

use headway_results::{Case, Metric, Printed, Verdict};

use super::grid::{Grid, Traffics};
use super::metric::unit;
use super::model::{Claim, ClaimLine, Held, Published};
use super::number::Number;

/// A value that a claim is about, if it is one that a summary could have: of a policy and a traffic over the whole run.
#[derive(Debug, Clone, PartialEq)]
pub struct Operand {
    /// The policy's name.
    pub policy: String,
    /// The traffic's name; `None` for metrics of the network.
    pub traffic: Option<String>,
    /// The metric.
    pub metric: Metric,
    /// Names and texts of swept values that are others than those of the claim's point.
    pub at: Vec<(String, String)>,
}

pub(super) fn claim(verdict: &Verdict) -> Claim {
    let held = match (verdict.held, &verdict.known) {
        _ if !verdict.is_judged() => Held::Undecided,
        (true, _) => Held::Held,
        (false, None) => Held::NotHeld,
        (false, Some(_)) => Held::Known,
    };
    let texts = |printed: &[Printed]| printed.iter().map(|printed| printed.text.clone()).collect();
    let line = |case: &Case| ClaimLine {
        at: case.point.clone(),
        text: case.numbers.clone(),
        held: case.is_judged().then_some(case.held),
        published: case.published.as_ref().map(|cell| texts(&cell.printed)).unwrap_or_default(),
        ours: case.published.as_ref().map(|cell| cell.ours.clone()),
        ratios: verdict.ratios(case).into_iter().map(|ratio| ratio.map(Number::new)).collect(),
    };
    Claim {
        text: verdict.text.clone(),
        verdict: held,
        known: verdict.known.clone(),
        published: texts(&verdict.printed),
        skipped: verdict.skipped,
        lines: verdict.cases.iter().map(line).collect(),
    }
}

/// The source of a printed number, which follows it in brackets.
fn source(text: &str) -> &str {
    text.split_once(" (").and_then(|(_, rest)| rest.strip_suffix(')')).unwrap_or_default()
}

/// What an operand has at one point of its claim.
struct Place<'a> {
    operand: &'a Operand,
    case: &'a Case,
    /// 0 or 1.
    number: usize,
    policy: usize,
    point: usize,
    traffic: Option<usize>,
}

/// Calls `with` for every operand of the claims at every of their points that is shown.
fn places<'a>(
    verdicts: &'a [Verdict],
    operands: &'a [Vec<Option<Operand>>],
    grid: &Grid,
    traffics: &Traffics,
    mut with: impl FnMut(&'a Verdict, &Place<'a>),
) {
    for (verdict, operands) in verdicts.iter().zip(operands) {
        for (number, operand) in operands.iter().enumerate() {
            let Some(operand) = operand else { continue };
            let Some(policy) = grid.policy(&operand.policy) else { continue };
            let traffic = operand.traffic.as_ref().map(|name| traffics.find(name));
            // a traffic of which nothing was reported
            if traffic == Some(None) {
                continue;
            }
            for case in &verdict.cases {
                let Some(point) = grid.point_with(&case.point, &operand.at) else { continue };
                let traffic = traffic.flatten();
                with(verdict, &Place { operand, case, number, policy, point, traffic });
            }
        }
    }
}

/// The published numbers, each kind of each source once. A number that a claim has for all of its points together is
/// shown if there is one point.
pub(super) fn published(
    verdicts: &[Verdict],
    operands: &[Vec<Option<Operand>>],
    grid: &Grid,
    traffics: &Traffics,
    metric: &mut dyn FnMut(Metric) -> usize,
) -> Vec<Published> {
    let mut all: Vec<Published> = Vec::new();
    let mut known = BTreeMap::new();
    places(verdicts, operands, grid, traffics, |verdict, place| {
        let printed = match &place.case.published {
            Some(cell) if cell.suspect => return,
            Some(cell) => &cell.printed,
            None if verdict.cases.len() == 1 => &verdict.printed,
            None => return,
        };
        let Some(printed) = printed.get(place.number) else { return };
        let Some(value) = printed.value else { return };
        let (source, own) = (source(&printed.text), metric(place.operand.metric));
        let index = *known.entry((place.policy, place.traffic, own, source)).or_insert_with(|| {
            let (policy, traffic) = (Some(place.policy), place.traffic);
            let (source, label) = (source.to_owned(), verdict.text.clone());
            all.push(Published { policy, traffic, metric: own, source, label, points: Vec::new() });
            all.len() - 1
        });
        let value = Number::new(value * unit(place.operand.metric).1);
        let points = &mut all[index].points;
        if !points.contains(&(place.point, value)) {
            points.push((place.point, value));
        }
    });
    for one in &mut all {
        one.points.sort_by_key(|(point, _)| *point);
    }
    all
}

/// Calls `with` for the measured values of claims, which are of metrics that a summary may not have.
pub(super) fn measured(
    verdicts: &[Verdict],
    operands: &[Vec<Option<Operand>>],
    grid: &Grid,
    traffics: &Traffics,
    mut with: impl FnMut(usize, usize, usize, Metric, headway_results::Estimate),
) {
    places(verdicts, operands, grid, traffics, |_, place| {
        let estimate = if place.number == 0 { Some(place.case.first) } else { place.case.second };
        if let (Some(estimate), Some(traffic)) = (estimate, place.traffic) {
            with(place.policy, place.point, traffic, place.operand.metric, estimate);
        }
    });
}
