//! The page of metrics.

use headway_daemon::metrics::{Kind, Page};

use crate::IDENTITY;
use crate::snapshot::{Counters, LaneStatus, Snapshot, Status};

/// All metrics of all namespaces. No connection is named: there could be any number.
pub fn text(status: &Status) -> String {
    let mut page = Page::new(IDENTITY.metric_prefix);
    let mut gauge = |name: &str, help: &str, values: &dyn Fn(&Snapshot, &mut Put)| {
        family(&mut page, name, Kind::Gauge, help, status, values);
    };
    gauge("build_info", "The daemon's version", &|one, put| put(&[("version", &one.version)], 1.0));
    gauge("uptime_seconds", "Time since the daemon's start", &|one, put| put(&[], one.uptime_s));
    gauge("connections", "Connections under management now", &|one, put| put(&[], one.managed as f64));
    let mut lanes = |name: &str, help: &str, value: fn(&LaneStatus) -> Option<f64>| {
        gauge(name, help, &|one, put| {
            for lane in &one.lanes {
                if let Some(value) = value(lane) {
                    put(&[("lane", &lane.name), ("role", &lane.role)], value);
                }
            }
        });
    };
    lanes("lane_up", "Whether the lane's interface is up and has an address", |lane| {
        Some(f64::from(u8::from(lane.up)))
    });
    lanes("lane_subflows", "Subflows of managed connections on the lane", |lane| Some(lane.subflows as f64));
    lanes("lane_queueing_delay_seconds", "Queueing delay at the lane's latest measurement", |lane| {
        lane.queueing_delay_us.map(|delay| delay / 1e6)
    });
    // All namespaces count the same.
    for (name, help, value) in Counters::ALL {
        let values = |one: &Snapshot, put: &mut Put| put(&[], value(&one.counters) as f64);
        family(&mut page, &format!("{name}_total"), Kind::Counter, help, status, &values);
    }
    page.text()
}

/// Labels and a value of a metric.
type Put<'a> = dyn FnMut(&[(&str, &str)], f64) + 'a;

/// A metric with the values that `values` puts for each namespace, whose name is a label of them.
fn family(page: &mut Page, name: &str, kind: Kind, help: &str, status: &Status, values: &dyn Fn(&Snapshot, &mut Put)) {
    page.family(name, kind, help, |put| {
        for one in &status.namespaces {
            values(one, &mut |labels, value| {
                let netns = one.netns.as_deref().map(|netns| ("netns", netns));
                let all: Vec<(&str, &str)> = labels.iter().copied().chain(netns).collect();
                put(&all, value);
            });
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;
    use std::io::Write as _;
    use std::process::{Command, Stdio};

    /// Reads what is written as the format says: name, labels, value. Panics where a line is none of it.
    fn parse(text: &str) -> BTreeMap<String, f64> {
        let mut kinds = BTreeMap::new();
        let mut found = BTreeMap::new();
        for line in text.lines() {
            if let Some(rest) = line.strip_prefix("# TYPE ") {
                let (name, kind) = rest.split_once(' ').unwrap();
                assert!(matches!(kind, "gauge" | "counter"));
                assert_eq!(kind == "counter", name.ends_with("_total"), "{name}");
                assert!(kinds.insert(name.to_owned(), kind.to_owned()).is_none(), "{name} twice");
                continue;
            }
            if line.starts_with("# HELP ") {
                continue;
            }
            let (series, value) = line.rsplit_once(' ').unwrap();
            let name = series.split('{').next().unwrap();
            assert!(name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_'), "{name}");
            assert!(kinds.contains_key(name), "{name} has no TYPE before it");
            if let Some(labels) = series.strip_prefix(name).and_then(|rest| rest.strip_prefix('{')) {
                let mut rest = labels.strip_suffix('}').unwrap();
                while !rest.is_empty() {
                    let (label, after) = rest.split_once("=\"").unwrap();
                    assert!(label.bytes().all(|b| b.is_ascii_lowercase()), "{label}");
                    let mut escaped = false;
                    let end = after.bytes().position(|b| {
                        let ends = b == b'"' && !escaped;
                        escaped = b == b'\\' && !escaped;
                        ends
                    });
                    rest = after[end.unwrap() + 1..].trim_start_matches(',');
                }
            }
            assert!(found.insert(series.to_owned(), value.parse().unwrap()).is_none(), "{series} twice");
        }
        found
    }

    fn two_namespaces() -> Status {
        let lane = LaneStatus {
            name: "bulk".to_owned(),
            role: "long".to_owned(),
            up: true,
            subflows: 3,
            queueing_delay_us: Some(250.0),
            ..LaneStatus::default()
        };
        let quiet = LaneStatus { name: "fast".to_owned(), role: "short".to_owned(), ..LaneStatus::default() };
        let mut one =
            Snapshot { netns: Some("a\"b\\c\nd".to_owned()), version: "0.1.0".to_owned(), ..Snapshot::default() };
        one.lanes = vec![lane, quiet];
        one.counters.switched = 7;
        one.managed = 2;
        let two = Snapshot { netns: Some("two".to_owned()), uptime_s: 1.5, ..Snapshot::default() };
        Status { namespaces: vec![one, two] }
    }

    #[test]
    fn every_value_has_its_line_in_the_text_format() {
        let found = parse(&text(&two_namespaces()));
        let netns = r#"netns="a\"b\\c\nd""#;
        assert_eq!(found[&format!("headway_lane_switched_total{{{netns}}}")], 7.0);
        assert_eq!(found["headway_lane_switched_total{netns=\"two\"}"], 0.0);
        assert_eq!(found["headway_lane_uptime_seconds{netns=\"two\"}"], 1.5);
        assert_eq!(
            found[&format!("headway_lane_lane_queueing_delay_seconds{{lane=\"bulk\",role=\"long\",{netns}}}")],
            0.00025
        );
        assert_eq!(found[&format!("headway_lane_lane_up{{lane=\"fast\",role=\"short\",{netns}}}")], 0.0);
        let delays = found.keys().filter(|series| series.contains("queueing_delay")).count();
        assert_eq!(delays, 1, "a lane without a measurement has no delay");
        let counters = Counters::ALL.len();
        assert_eq!(found.keys().filter(|series| series.contains("_total")).count(), 2 * counters);
    }

    #[test]
    fn promtool_has_nothing_to_say() {
        let mut promtool = Command::new("promtool");
        promtool.args(["check", "metrics"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = match promtool.spawn() {
            Ok(child) => child,
            Err(error) => {
                println!("skipped: promtool (package prometheus): {error}");
                return;
            }
        };
        child.stdin.take().unwrap().write_all(text(&two_namespaces()).as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        let said = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
        assert!(output.status.success() && said.is_empty(), "{said}");
    }

    #[test]
    fn without_a_namespace_there_is_no_label_for_it() {
        let found = parse(&text(&Status { namespaces: vec![Snapshot { managed: 5, ..Snapshot::default() }] }));
        assert_eq!(found["headway_lane_connections"], 5.0);
    }
}
