//! Which metrics tables show where none is asked for, and what they are called.

use headway_results::{Metric, Percentile, Statistic};

use super::{Choice, View};
use crate::page::metric::label;

const fn fct(percent: u32) -> Metric {
    Metric::Fct(Statistic::Percentile(Percentile::whole(percent)))
}

const MEAN: Metric = Metric::Fct(Statistic::Mean);
/// The last only where there are [flows enough](Percentile::enough): summaries leave it out elsewhere.
const TIMES: [Metric; 5] = [MEAN, fct(50), fct(95), fct(99), Metric::Fct(Statistic::Percentile(Percentile::P999))];
const STALL: Metric = Metric::Stall(Statistic::Max);

/// How long a flow's packets waited, where that is measured.
const WAITS: [Metric; 4] = {
    const P99: Statistic = Statistic::Percentile(Percentile::whole(99));
    [
        Metric::HostWait(Statistic::Mean),
        Metric::HostWait(P99),
        Metric::SwitchWait(Statistic::Mean),
        Metric::SwitchWait(P99),
    ]
};

/// Those of the network that summaries may have.
const NETWORK: [Metric; 5] = [Metric::Drops, Metric::Pauses, Metric::Paused, Metric::HeadroomDrops, Metric::Deadlocks];

/// Whether it is of the network, and stands in its table.
pub(super) fn is_network(metric: Metric) -> bool {
    metric.is_of_network()
}

/// The metrics of `traffic`: those that were asked for; otherwise completion times of flows that have a size, goodput of
/// those without end and of those of which none finished, and counts.
pub(super) fn of_traffic(view: &View<'_>, traffic: &str, choice: &Choice) -> Vec<Metric> {
    if !choice.metrics.is_empty() {
        return choice.metrics.iter().copied().filter(|&own| !is_network(own) && view.has(traffic, own)).collect();
    }
    let has = |metric: &Metric| view.has(traffic, *metric);
    let valued = |metric: Metric| view.values(traffic, metric).next().is_some();
    let sized = view.is_positive(traffic, Metric::Unfinished) || has(&MEAN);
    let mut all = Vec::new();
    all.extend(valued(Metric::Rate).then_some(Metric::Rate));
    if sized && TIMES.into_iter().any(valued) {
        all.extend(TIMES.iter().copied().filter(|metric| *metric == MEAN || has(metric)));
    } else {
        // Of one flow both are the same.
        let several = view.values(traffic, Metric::Flows).any(|flows| flows > 1.0);
        all.push(Metric::GoodputMean);
        all.extend(several.then_some(Metric::GoodputSum));
    }
    all.extend(WAITS.into_iter().filter(|metric| valued(*metric)));
    all.extend(valued(STALL).then_some(STALL));
    all.extend([Metric::Timeouts, Metric::Retransmissions].into_iter().filter(has));
    all.extend((sized && has(&Metric::Unfinished)).then_some(Metric::Unfinished));
    all.extend(view.is_positive(traffic, Metric::Resets).then_some(Metric::Resets));
    all.extend(valued(Metric::SwitchMean).then_some(Metric::SwitchMean));
    all
}

/// The metrics of the network, with the traffic in whose rows they are: the first that has them.
pub(super) fn of_network<'a>(view: &View<'a>, choice: &Choice) -> Option<(&'a str, Vec<Metric>)> {
    let wanted = if choice.metrics.is_empty() { &NETWORK[..] } else { &choice.metrics };
    let of = |traffic: &&'a str| -> Vec<Metric> {
        wanted.iter().copied().filter(|&own| is_network(own) && view.has(traffic, own)).collect()
    };
    view.traffics.iter().map(|traffic| (*traffic, of(traffic))).find(|(_, metrics)| !metrics.is_empty())
}

/// What is counted, behind `no`, of metrics of which 0 everywhere is said in words.
pub(super) fn none_of(metric: Metric) -> Option<&'static str> {
    Some(match metric {
        Metric::Timeouts => "time-outs",
        Metric::Retransmissions => "retransmissions",
        Metric::Unfinished => "unfinished flows",
        Metric::Resets => "resets",
        Metric::Drops => "frames dropped",
        Metric::Pauses => "pauses",
        Metric::Paused => "time paused",
        Metric::HeadroomDrops => "frames dropped for want of headroom",
        Metric::Deadlocks => "deadlocks",
        _ => return None,
    })
}

/// Its name in titles and notes.
pub(super) fn name(metric: Metric) -> String {
    match metric {
        Metric::Rate => "finished".to_owned(),
        Metric::Timeouts => "time-outs".to_owned(),
        Metric::Pauses => "pauses sent".to_owned(),
        Metric::Paused => "share of time paused".to_owned(),
        _ => label(metric),
    }
}

/// The title of a table of `metric` in `unit`.
pub(super) fn title(metric: Metric, unit: &str) -> String {
    match unit {
        "" if metric.unit() == "count" => format!("{} in a run", name(metric)),
        "" => name(metric),
        unit => format!("{} in {unit}", name(metric)),
    }
}

/// The two lines above a column of `metric`.
pub(super) fn column_header(metric: Metric, unit: &'static str) -> (String, &'static str) {
    let unit = match unit {
        "" if metric.unit() == "count" => "in a run",
        unit => unit,
    };
    let short = match metric {
        Metric::GoodputMean => "goodput".to_owned(),
        Metric::GoodputSum => "goodput of all".to_owned(),
        Metric::Unfinished => "unfinished".to_owned(),
        Metric::SwitchMean => "until switch".to_owned(),
        Metric::Drops => "dropped".to_owned(),
        Metric::Paused => "paused".to_owned(),
        Metric::HeadroomDrops => "over headroom".to_owned(),
        metric if metric.is_share() => metric.to_string(),
        metric => name(metric),
    };
    // Names for people are long for some that only few ask for.
    (if short.chars().count() > 18 { metric.to_string() } else { short }, unit)
}
