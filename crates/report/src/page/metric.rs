//! Metrics for people who do not know our names for them, and in the page's units.

use headway_results::{Metric, Statistic};

use super::model;

/// The metric as the page has it.
pub(super) fn metric(metric: Metric) -> model::Metric {
    model::Metric { name: metric.to_string(), label: label(metric), unit: unit(metric).0, better: better(metric) }
}

/// The page's unit, and the factor from that of [`Metric::unit`].
pub(super) fn unit(metric: Metric) -> (&'static str, f64) {
    match metric.unit() {
        "s" => ("ns", 1e9),
        "bit/s" => ("bps", 1.0),
        "B" => ("B", 1.0),
        "1/s" => ("1/s", 1.0),
        _ if metric.is_share() => ("share", 1.0),
        _ => ("1", 1.0),
    }
}

/// The metric in words.
pub(crate) fn label(metric: Metric) -> String {
    let of = |statistic: Statistic, what: &str| match statistic {
        Statistic::Mean => format!("mean {what}"),
        Statistic::Deviation => format!("standard deviation of {what}"),
        Statistic::Max => format!("longest {what}"),
        Statistic::Percentile(_) => format!("{statistic} {what}"),
    };
    match metric {
        Metric::Fct(statistic) => of(statistic, "FCT"),
        Metric::FctOver(limit) => format!("share of flows with FCT over {limit}"),
        Metric::Slowdown(Statistic::Max) => "largest slowdown".to_owned(),
        Metric::Slowdown(statistic) => of(statistic, "slowdown"),
        Metric::Stall(statistic) => of(statistic, "stall"),
        Metric::HostWait(statistic) => of(statistic, "host wait"),
        Metric::SwitchWait(statistic) => of(statistic, "switch wait"),
        Metric::Reach(rate) => format!("time to reach {rate}"),
        Metric::Recovery(rate) => format!("time to return to {rate}"),
        Metric::GoodputMean => "mean goodput of a flow".to_owned(),
        Metric::GoodputDeviation => "standard deviation of goodput among flows".to_owned(),
        Metric::GoodputSum => "goodput of all flows".to_owned(),
        Metric::Fairness => "Jain's index of fairness".to_owned(),
        Metric::Throughput => "mean throughput".to_owned(),
        Metric::ThroughputDeviation => "standard deviation of throughput".to_owned(),
        Metric::Drops => "frames dropped".to_owned(),
        Metric::Unfinished => "unfinished flows".to_owned(),
        Metric::SwitchMean => "mean time until the switch of lanes".to_owned(),
        Metric::Switched => "share of flows that switched lanes".to_owned(),
        Metric::DeadlineMissed => "share of flows that missed their deadline".to_owned(),
        Metric::Undelivered => "share of bytes not delivered".to_owned(),
        Metric::Paused => "share of time paused".to_owned(),
        Metric::Rate => "flows finished a second".to_owned(),
        // their names say it
        _ => metric.to_string().replace(['-', '.'], " "),
    }
}

fn better(metric: Metric) -> Option<&'static str> {
    match metric {
        Metric::Flows | Metric::SwitchMean | Metric::Switched => None,
        Metric::GoodputMean | Metric::GoodputSum | Metric::Fairness | Metric::Throughput | Metric::Rate => Some("more"),
        _ => Some("less"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_have_labels_units_and_a_direction() {
        let cases = [
            ("fct.p99.9", "p99.9 FCT", "ns", Some("less")),
            ("slowdown.mean", "mean slowdown", "1", Some("less")),
            ("goodput.sum", "goodput of all flows", "bps", Some("more")),
            ("fct.over-200ms", "share of flows with FCT over 200ms", "share", Some("less")),
            ("host-wait.p99", "p99 host wait", "ns", Some("less")),
            ("rate", "flows finished a second", "1/s", Some("more")),
            ("flows", "flows", "1", None),
            ("headroom-drops", "headroom drops", "1", Some("less")),
        ];
        for (name, label, unit, better) in cases {
            let own = metric(name.parse().unwrap());
            assert_eq!((own.name.as_str(), own.label.as_str(), own.unit, own.better), (name, label, unit, better));
        }
    }
}
