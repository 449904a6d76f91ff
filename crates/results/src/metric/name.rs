//! Metrics as text.

use std::fmt;
use std::str::FromStr;

use headway_units::{Rate, Span};
use thiserror::Error;

use super::{Metric, Statistic};

pub(super) const NAMED: [(&str, Metric); 27] = [
    ("goodput.mean", Metric::GoodputMean),
    ("goodput.sd", Metric::GoodputDeviation),
    ("goodput.sum", Metric::GoodputSum),
    ("fairness", Metric::Fairness),
    ("throughput", Metric::Throughput),
    ("throughput.sd", Metric::ThroughputDeviation),
    ("drops", Metric::Drops),
    ("card-drops", Metric::CardDrops),
    ("pauses", Metric::Pauses),
    ("paused", Metric::Paused),
    ("ingress.max", Metric::Ingress),
    ("headroom.max", Metric::Headroom),
    ("headroom-drops", Metric::HeadroomDrops),
    ("watchdog-drops", Metric::WatchdogDrops),
    ("deadlocks", Metric::Deadlocks),
    ("wait.hosts", Metric::WaitHosts),
    ("wait.switches", Metric::WaitSwitches),
    ("flows", Metric::Flows),
    ("unfinished", Metric::Unfinished),
    ("retransmissions", Metric::Retransmissions),
    ("timeouts", Metric::Timeouts),
    ("switch.mean", Metric::SwitchMean),
    ("switched", Metric::Switched),
    ("deadline-missed", Metric::DeadlineMissed),
    ("undelivered", Metric::Undelivered),
    ("resets", Metric::Resets),
    ("rate", Metric::Rate),
];

const STATISTICS: [&str; 8] = ["mean", "sd", "p50", "p90", "p95", "p99", "p99.9", "max"];

/// Makes the metric with a statistic.
type Taken = fn(Statistic) -> Metric;

/// What statistics are taken of.
const TAKEN: [(&str, Taken); 5] = [
    ("fct", Metric::Fct),
    ("slowdown", Metric::Slowdown),
    ("stall", Metric::Stall),
    ("host-wait", Metric::HostWait),
    ("switch-wait", Metric::SwitchWait),
];

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Metric::Fct(statistic) => write!(f, "fct.{statistic}"),
            Metric::FctOver(limit) => write!(f, "fct.over-{limit}"),
            Metric::Slowdown(statistic) => write!(f, "slowdown.{statistic}"),
            Metric::Stall(statistic) => write!(f, "stall.{statistic}"),
            Metric::HostWait(statistic) => write!(f, "host-wait.{statistic}"),
            Metric::SwitchWait(statistic) => write!(f, "switch-wait.{statistic}"),
            Metric::Reach(rate) => write!(f, "reach.{rate}"),
            Metric::Recovery(rate) => write!(f, "recovery.{rate}"),
            named => f.write_str(NAMED.iter().find(|(_, metric)| metric == named).expect("in the table").0),
        }
    }
}

/// A text that names no metric. The message lists the known ones.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("unknown metric `{text}`{}; known are {}", unlike(text, suggestion.as_deref()), known())]
pub struct UnknownMetric {
    /// What was read.
    pub text: String,
    /// The nearest name, if one is near.
    pub suggestion: Option<String>,
}

/// How to mend `text`, if that can be told.
fn unlike(text: &str, suggestion: Option<&str>) -> String {
    let of_rate =
        ["reach", "recovery"].into_iter().find(|of| text.strip_prefix(of).is_some_and(|r| r.starts_with('.')));
    match (of_rate, suggestion) {
        (Some(of), _) => format!(", write a rate with its unit, such as {of}.50Mbps"),
        (None, Some(name)) => format!(", did you mean `{name}`?"),
        (None, None) => String::new(),
    }
}

/// The names as an error lists them.
fn known() -> String {
    let named: Vec<&str> = NAMED.iter().map(|(name, _)| *name).collect();
    format!(
        "fct.STATISTIC, slowdown.STATISTIC, stall.STATISTIC, host-wait.STATISTIC, switch-wait.STATISTIC (STATISTIC: mean, sd, max, p50, p99, p99.9, …), fct.over-200ms (any time), reach.RATE, recovery.RATE (any rate, such as 450Mbps), {}",
        named.join(", ")
    )
}

impl FromStr for Metric {
    type Err = UnknownMetric;

    fn from_str(text: &str) -> Result<Metric, UnknownMetric> {
        let named = NAMED.iter().find(|(name, _)| *name == text).map(|(_, metric)| *metric);
        let statistic = || {
            let (of, statistic) = text.split_once('.')?;
            let (_, make) = TAKEN.iter().find(|(name, _)| *name == of)?;
            Statistic::parse(statistic).map(make)
        };
        // Only as it would be printed, as percentiles.
        let over = || {
            let limit: Span = text.strip_prefix("fct.over-")?.parse().ok()?;
            Some(Metric::FctOver(limit)).filter(|over| over.to_string() == text)
        };
        let rate = |of: &str| -> Option<Rate> {
            let text = text.strip_prefix(of)?;
            text.parse().ok().filter(|rate: &Rate| rate.bps() > 0 && rate.to_string() == text)
        };
        let reach = || rate("reach.").map(Metric::Reach).or_else(|| rate("recovery.").map(Metric::Recovery));
        named.or_else(statistic).or_else(over).or_else(reach).ok_or_else(|| {
            let statistics = |of: &'static str| STATISTICS.iter().map(move |statistic| format!("{of}.{statistic}"));
            let names = NAMED.iter().map(|(name, _)| (*name).to_owned());
            let all = names.chain(TAKEN.iter().flat_map(|(name, _)| statistics(name)));
            let near = all.map(|name| (strsim::damerau_levenshtein(text, &name), name)).min();
            // Two slips of the finger, or a third of the name.
            let suggestion = near.filter(|(distance, name)| *distance <= (name.len() / 3).max(2)).map(|(_, name)| name);
            UnknownMetric { text: text.chars().take(80).collect(), suggestion }
        })
    }
}
