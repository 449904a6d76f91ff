//! When a rate is reached, and how long until it is back.

use std::collections::BTreeMap;

use headway_units::{Rate, Span, Time};

use super::{Scalar, Statistic, Subject, flow_number};
use crate::record::Outcome;

/// See [`Metric::Reach`](super::Metric::Reach).
pub(super) fn reach(outcome: &Outcome, subject: &Subject<'_>, rate: Rate) -> Scalar {
    let (mut reached, mut never) = (Vec::new(), 0);
    for (start, rates) in flows(outcome, subject) {
        match rates.iter().find(|(_, value)| *value >= rate.bps() as f64) {
            Some((time, _)) => reached.push(time.since(start).as_secs_f64()),
            None => never += 1,
        }
    }
    if never > 0 { Scalar::Censored } else { Statistic::Mean.of(reached, 0) }
}

/// See [`Metric::Recovery`](super::Metric::Recovery).
pub(super) fn recovery(outcome: &Outcome, subject: &Subject<'_>, rate: Rate) -> Scalar {
    let (mut longest, mut open) = (Vec::new(), false);
    for (_, rates) in flows(outcome, subject) {
        let high = rates.iter().filter(|(_, value)| *value >= rate.bps() as f64).map(|(time, _)| *time);
        let high: Vec<Time> = high.collect();
        let (Some(&last_high), Some(&(last, _))) = (high.last(), rates.last()) else { continue };
        let fell = |one: Time, next: Time| rates.iter().any(|(time, _)| one < *time && *time < next);
        let back = high.windows(2).filter(|pair| fell(pair[0], pair[1])).map(|pair| pair[1].since(pair[0]));
        let back = back.max().unwrap_or_default();
        open |= last.since(last_high) > back;
        longest.push(back.as_secs_f64());
    }
    if open { Scalar::Censored } else { Statistic::Mean.of(longest, 0) }
}

/// The start of each flow, and the rates in its life: the ends of intervals and the means over them.
fn flows(outcome: &Outcome, subject: &Subject<'_>) -> Vec<(Time, Vec<(Time, f64)>)> {
    let metric = if subject.port.is_some() { "arrivals_bps" } else { "goodput_bps" };
    let mut samples: BTreeMap<&str, Vec<(Time, f64)>> = BTreeMap::new();
    for sample in outcome.samples.iter().filter(|sample| *sample.metric == *metric) {
        let owner = match subject.port {
            Some(port) => (*sample.entity == *port).then_some(""),
            None => flow_number(&sample.entity, subject.traffic),
        };
        if let Some(owner) = owner {
            samples.entry(owner).or_default().push((sample.time, sample.value));
        }
    }
    let inside = |time: Time| subject.window.is_none_or(|(from, to)| from < time && time <= to);
    let of_flow = |flow: &crate::record::FlowRecord| {
        let owner = if subject.port.is_some() { String::new() } else { flow.id.to_string() };
        let own = samples.get(owner.as_str()).map_or(&[][..], Vec::as_slice);
        let rates = means(own, flow.start, subject.over.unwrap_or_default());
        (flow.start, rates.into_iter().filter(|(time, _)| inside(*time)).collect())
    };
    outcome.flows.iter().filter(|flow| *flow.traffic == *subject.traffic).map(of_flow).collect()
}

/// At the end of each sample, the mean over those of the last `over`, from when all of that is after `start`; without
/// `over` the samples themselves.
fn means(samples: &[(Time, f64)], start: Time, over: Span) -> Vec<(Time, f64)> {
    let (mut first, mut means) = (0, Vec::new());
    for (index, &(time, _)) in samples.iter().enumerate() {
        while first < index && time.since(samples[first].0) >= over {
            first += 1;
        }
        if time > start && time.since(start) >= over {
            let own = &samples[first..=index];
            means.push((time, own.iter().map(|(_, value)| value).sum::<f64>() / own.len() as f64));
        }
    }
    means
}
