//! Quantities recorded over time.

use headway_fabric::LinkId;
use headway_transport::{Measure, SampleKind};

use super::error::PlanError;
use super::network::Network;
use crate::schema::{MeasureRecord, ScenarioRecord, Series};

/// More samples of one quantity than this are a mistake in the interval.
const MAX_SAMPLES: u64 = 10_000_000;

/// The quantities of `scenario` that are recorded over time.
pub(super) fn build(scenario: &ScenarioRecord, network: &Network) -> Result<Measure, PlanError> {
    let record = &scenario.measure;
    check_intervals(scenario)?;
    let kinds = record.series.iter().map(|&series| kind(series)).collect();
    let own = |&series: &Series| Some((kind(series), record.intervals.of(series)?));
    let intervals = record.series.iter().filter_map(own).collect();
    let chosen = |name: &str| record.traffic.as_ref().is_none_or(|names| names.iter().any(|one| one.as_str() == name));
    let mut traffics = Vec::new();
    let mut behind = scenario.traffic.len() as u16;
    for (index, traffic) in (0..).zip(&scenario.traffic) {
        let reported = if traffic.is_reported_apart() { traffic.reported().len() as u16 } else { 0 };
        if chosen(&traffic.name) {
            traffics.push(index);
            traffics.extend(behind..behind + reported);
        }
        behind += reported;
    }
    let links = links(record, network)?;
    Ok(Measure { interval: record.interval, kinds, intervals, traffics, links })
}

fn kind(series: Series) -> SampleKind {
    match series {
        Series::Goodput => SampleKind::Goodput,
        Series::Cwnd => SampleKind::Cwnd,
        Series::Rtt => SampleKind::Rtt,
        Series::Ssthresh => SampleKind::Ssthresh,
        Series::Alpha => SampleKind::Alpha,
        Series::LinkCost => SampleKind::LinkCost,
        Series::Queue => SampleKind::Queue,
        Series::Arrivals => SampleKind::Arrivals,
        Series::Marks => SampleKind::Marks,
        Series::Core => SampleKind::Core,
        Series::Limit => SampleKind::Limit,
    }
}

/// Intervals that give too many samples, and those of quantities that are not recorded, are mistakes.
fn check_intervals(scenario: &ScenarioRecord) -> Result<(), PlanError> {
    let record = &scenario.measure;
    let end = scenario.duration.checked_add(scenario.drain).unwrap_or(scenario.duration);
    for &series in &record.series {
        let (own, interval) = (record.intervals.of(series), record.interval_of(series));
        if end.picos() / interval.picos().max(1) > MAX_SAMPLES {
            let message = format!("an interval of {interval} is over {MAX_SAMPLES} samples in {end}");
            let path = ["measure", "intervals", series.as_str()];
            return Err(PlanError::new(if own.is_some() { &path } else { &["measure", "interval"] }, message));
        }
    }
    let all = [
        Series::Goodput,
        Series::Cwnd,
        Series::Rtt,
        Series::Ssthresh,
        Series::Alpha,
        Series::LinkCost,
        Series::Queue,
        Series::Arrivals,
        Series::Marks,
        Series::Core,
        Series::Limit,
    ];
    match all.into_iter().find(|one| record.intervals.of(*one).is_some() && !record.series.contains(one)) {
        Some(series) => {
            let name = series.as_str();
            let fault = PlanError::new(
                &["measure", "intervals", name],
                format!("`{name}` has an interval, but is not in `measure.series`"),
            );
            Err(fault.help(format!("add it: series = [\"{name}\"]")))
        }
        None => Ok(()),
    }
}

/// The ports that are looked at: those that the file names, or all of switches.
fn links(record: &MeasureRecord, network: &Network) -> Result<Vec<LinkId>, PlanError> {
    let wanted = record.series.iter().any(|&series| kind(series).is_of_links());
    let Some(names) = &record.links else {
        return Ok(if wanted { network.switch_ports() } else { Vec::new() });
    };
    if !wanted {
        let fault = PlanError::new(&["measure", "links"], "links are named, but nothing of them is recorded");
        return Err(fault.help("add \"queue\", \"arrivals\" or \"marks\" to `measure.series`, or take `links` out"));
    }
    let mut chosen = Vec::new();
    for (index, name) in names.iter().enumerate() {
        let path = ["measure", "links", &index.to_string()];
        let own = network.links_called(name);
        if own.is_empty() {
            let fault = PlanError::new(&path, format!("there is no link `{name}`"));
            return Err(fault.help(network.suggest_link(name)));
        }
        if chosen.contains(&own[0]) {
            return Err(PlanError::new(&path, format!("`{name}` is named twice")));
        }
        chosen.extend(own);
    }
    Ok(chosen)
}
