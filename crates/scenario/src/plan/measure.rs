//! Quantities recorded over time.

use headway_fabric::LinkId;
use headway_transport::{Measure, SampleKind};

use super::error::PlanError;
use super::network::Network;
use crate::schema::{ScenarioRecord, Series};

/// More samples of one quantity than this are a mistake in the interval.
const MAX_SAMPLES: u64 = 10_000_000;

/// The quantities of `scenario` that are recorded over time.
pub(super) fn build(scenario: &ScenarioRecord, network: &Network) -> Result<Measure, PlanError> {
    let record = &scenario.measure;
    let end = scenario.duration.checked_add(scenario.drain).unwrap_or(scenario.duration);
    if !record.series.is_empty() && end.picos() / record.interval.picos().max(1) > MAX_SAMPLES {
        let message = format!("an interval of {} is over {MAX_SAMPLES} samples in {end}", record.interval);
        return Err(PlanError::new(&["measure", "interval"], message));
    }
    let kinds = record.series.iter().map(|series| match series {
        Series::Goodput => SampleKind::Goodput,
        Series::Cwnd => SampleKind::Cwnd,
        Series::Rtt => SampleKind::Rtt,
        Series::LinkCost => SampleKind::LinkCost,
        Series::Queue => SampleKind::Queue,
        Series::Core => SampleKind::Core,
    });
    let chosen = |name: &str| record.traffic.as_ref().is_none_or(|names| names.iter().any(|one| one.as_str() == name));
    let mut traffics = Vec::new();
    let mut behind = scenario.traffic.len() as u16;
    for (index, traffic) in (0..).zip(&scenario.traffic) {
        let apart = traffic.tree().is_some() || traffic.flows().is_some_and(|flows| flows.short.is_some());
        let reported = if apart { traffic.reported().len() as u16 } else { 0 };
        if chosen(&traffic.name) {
            traffics.push(index);
            traffics.extend(behind..behind + reported);
        }
        behind += reported;
    }
    let links = if record.series.contains(&Series::Queue) { network.switch_ports() } else { Vec::<LinkId>::new() };
    Ok(Measure { interval: record.interval, kinds: kinds.collect(), traffics, links })
}
