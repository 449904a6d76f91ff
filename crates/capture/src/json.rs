//! A report as JSON. Units come last in names; times are nanoseconds.

use crate::analysis::{Arrivals, Report};
use crate::flow::{Class, Heading};
use crate::histogram::Histogram;
use crate::track::End;
use serde_json::{Map, Value, json};

const SHARES: [(&str, f64); 6] =
    [("p25", 0.25), ("p50", 0.5), ("p75", 0.75), ("p90", 0.9), ("p95", 0.95), ("p99", 0.99)];

/// Sums of sizes are exact up to 2⁵³, as all numbers of JSON.
fn sum(histogram: &Histogram) -> Value {
    u64::try_from(histogram.sum()).map_or_else(|_| json!(histogram.sum() as f64), |sum| json!(sum))
}

fn distribution(histogram: &Histogram) -> Value {
    let mut map = Map::new();
    map.insert("count".to_owned(), json!(histogram.count()));
    map.insert("mean".to_owned(), json!(histogram.mean()));
    for (name, share) in SHARES {
        map.insert(name.to_owned(), json!(histogram.quantile(share)));
    }
    map.insert("max".to_owned(), json!(histogram.greatest()));
    Value::Object(map)
}

/// `[bytes, share of flows, share of data]`, each up to so many bytes.
fn cumulative(sizes: &Histogram) -> Value {
    let (count, all) = (sizes.count() as f64, sizes.sum() as f64);
    sizes.steps().map(|step| json!([step.greatest, step.count as f64 / count, step.sum as f64 / all])).collect()
}

fn arrivals(arrivals: Option<Arrivals>) -> Value {
    arrivals.map_or(Value::Null, |a| json!({ "gaps": a.gaps, "mean_ns": a.mean_ns, "cv": a.variation }))
}

fn class(report: &Report, class: Class, heading: Heading) -> Value {
    let group = report.group(class, heading);
    json!({
        "class": class.name(),
        "flows": group.sizes.count(),
        "bytes": sum(&group.sizes),
        "cut": group.cut,
        "senders": group.senders,
        "receivers": group.receivers,
        "size_bytes": distribution(&group.sizes),
        "duration_ns": distribution(&group.durations),
    })
}

/// How bursty the series of each class is.
fn dispersion(report: &Report) -> Map<String, Value> {
    let of = |class: Class| {
        let (value, length) = report.series.dispersion(class as usize)?;
        Some((class.name().to_owned(), json!({ "variance_over_mean": value, "time_ns": length })))
    };
    Class::ALL.into_iter().filter_map(of).collect()
}

/// All of it, with the warnings and errors that go with it.
pub fn report_json(report: &Report, warnings: &[String], errors: &[String]) -> Value {
    let (packets, totals) = (&report.packets, &report.totals);
    let view = |name: &str, heading: Heading| {
        let sizes = report.sizes(|_, own| own == heading);
        let by_class: Vec<Value> = Class::ALL.into_iter().map(|own| class(report, own, heading)).collect();
        json!({
            "heading": name,
            "flows": sizes.count(),
            "bytes": sum(&sizes),
            "size_bytes": distribution(&sizes),
            "cdf": cumulative(&sizes),
            "classes": by_class,
            "incasts": distribution(&report.bursts[heading as usize]),
        })
    };
    let views = if report.options.host.is_some() {
        vec![view("to", Heading::To), view("from", Heading::From), view("other", Heading::Other)]
    } else {
        vec![view("all", Heading::Other)]
    };
    json!({
        "begin_ns": report.begin,
        "duration_ns": report.duration(),
        "host": report.options.host.map(|host| host.to_string()),
        "packets": {
            "all": packets.all,
            "wire_bytes": packets.bytes,
            "captured_bytes": packets.captured,
            "tcp": packets.tcp,
            "udp": packets.udp,
            "other_ip": packets.other_ip,
            "fragments": packets.fragments,
            "not_ip": packets.not_ip,
            "cut": packets.cut,
            "malformed": packets.malformed,
            "too_deep": packets.too_deep,
            "tunnelled": packets.tunnelled,
            "unknown_link": packets.unknown_link,
            "backwards": packets.backwards,
        },
        "connections": {
            "tcp": totals.connections,
            "open_before": totals.open_before,
            "open_after": totals.ended(End::Open),
            "fin": totals.ended(End::Fin),
            "reset": totals.ended(End::Reset),
            "idle": totals.ended(End::Idle),
            "reused": totals.ended(End::Reused),
            "evicted": totals.ended(End::Evicted),
            "unanswered": totals.unanswered,
            "most": report.peak_connections(),
            "long_lived": report.longlived.connections,
            "long_lived_bytes": u64::try_from(report.longlived.bytes).unwrap_or(u64::MAX),
            "mptcp": totals.multipath,
            "mptcp_with_subflows": totals.with_subflows,
            "mptcp_joined": totals.joined,
            "mptcp_orphans": totals.orphans,
        },
        "hosts": report.hosts,
        "data": {
            "bytes": totals.bytes,
            "unseen_bytes": totals.unseen,
            "segments": totals.data_packets,
            "retransmissions": totals.retransmissions,
            "retransmitted_bytes": totals.retransmitted,
            "syn_retransmissions": totals.syns_again,
            "fin_retransmissions": totals.fins_again,
            "out_of_order": totals.out_of_order,
            "duplicates": totals.duplicates,
        },
        "flows": views,
        "starts": arrivals(report.starts),
        "opens": arrivals(report.opens),
        "dispersion": dispersion(report),
        "incast_degree": distribution(&report.degrees),
        "handshake_rtt_ns": distribution(&report.handshakes),
        "rtt_ns": distribution(&report.rtt),
        "rtt_unresolved": report.rtt_unresolved,
        "hub": report.hub.map(|hub| hub.to_string()),
        "warnings": warnings,
        "errors": errors,
    })
}
