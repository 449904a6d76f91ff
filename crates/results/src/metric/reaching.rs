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
        // Between two that follow each other it did not come down.
        let high: Vec<usize> = (0..rates.len()).filter(|&place| rates[place].1 >= rate.bps() as f64).collect();
        let (Some(&last_high), Some(&(last, _))) = (high.last(), rates.last()) else { continue };
        let fell = high.windows(2).filter(|pair| pair[1] - pair[0] > 1);
        let back = fell.map(|pair| rates[pair[1]].0.since(rates[pair[0]].0)).max().unwrap_or_default();
        open |= last.since(rates[last_high].0) > back;
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
        let all = samples.get(owner.as_str()).map_or(&[][..], Vec::as_slice);
        // A port is there after the flow, too: what passes it then is none of the flow's.
        let end = flow.end.filter(|_| subject.port.is_some()).unwrap_or(Time::NEVER);
        let own = &all[..all.partition_point(|(time, _)| *time <= end)];
        let rates = means(own, flow.start, subject.over.unwrap_or_default());
        (flow.start, rates.into_iter().filter(|(time, _)| inside(*time)).collect())
    };
    outcome.flows.iter().filter(|flow| *flow.traffic == *subject.traffic).map(of_flow).collect()
}

/// At the end of each sample, the mean over those of the last `over`, from when all of that is after `start`; without
/// `over` the samples themselves.
fn means(samples: &[(Time, f64)], start: Time, over: Span) -> Vec<(Time, f64)> {
    let (mut first, mut means) = (0, Vec::new());
    // The sum of those from `first` on. It is formed anew when none of those that it was last formed of is left: that
    // costs one addition a sample, and roundings do not pile up.
    let (mut sum, mut formed) = (0.0, 0);
    for (index, &(time, value)) in samples.iter().enumerate() {
        sum += value;
        while first < index && time.since(samples[first].0) >= over {
            sum -= samples[first].1;
            first += 1;
        }
        if first >= formed {
            sum = samples[first..=index].iter().map(|(_, value)| value).sum();
            formed = index + 1;
        }
        if time > start && time.since(start) >= over {
            means.push((time, sum / (index + 1 - first) as f64));
        }
    }
    means
}
