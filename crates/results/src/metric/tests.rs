use std::sync::Arc;

use headway_units::Span;
use proptest::prelude::*;

use super::*;
use crate::record::{Counters, Job, Pauses, PortRecord, Sample};
use crate::waits::FlowWaits;

fn at(ms: u64) -> Time {
    Time::ZERO + Span::from_millis(ms)
}

fn flow(id: u64, bytes: Option<u64>, start: u64, end: Option<u64>) -> FlowRecord {
    FlowRecord {
        id,
        traffic: "short".into(),
        source: "a".into(),
        destination: "b".into(),
        bytes,
        delivered: bytes.unwrap_or(0),
        start: at(start),
        end: end.map(at),
        deadline: None,
        ideal: Some(Span::from_millis(10)),
        retransmissions: 1,
        timeouts: 2,
        marks: 0,
        subflows: 1,
        paths: "".into(),
        switched: None,
        stall: None,
        resets: 0,
        waits: None,
    }
}

fn outcome(flows: Vec<FlowRecord>) -> Outcome {
    let job = Job { cell: 0, repeat: 0 };
    Outcome {
        job,
        flows,
        samples: Vec::new(),
        ports: Some(Vec::new()),
        cut: Vec::new(),
        waits: None,
        commands: Vec::new(),
        failed: Vec::new(),
        deadlock: None,
        film: None,
        paths: None,
        counters: Counters::default(),
        digest: 0,
        end: at(1000),
    }
}

fn value(text: &str, outcome: &Outcome) -> Option<f64> {
    text.parse::<Metric>().unwrap().evaluate(outcome, "short", None)
}

/// Within a few roundings.
fn assert_near(found: Option<f64>, expected: f64) {
    let found = found.expect("a value");
    assert!((found - expected).abs() <= 1e-12 * expected.abs(), "{found} is not {expected}");
}

#[test]
fn completion_times_by_hand() {
    // FCTs of 10, 20, 30, 40 ms.
    let flows = [(0, 10), (100, 120), (200, 230), (300, 340)];
    let outcome = outcome(flows.iter().map(|&(start, end)| flow(start, Some(1000), start, Some(end))).collect());
    assert_near(value("fct.mean", &outcome), 0.025);
    assert_near(value("fct.p50", &outcome), 0.025);
    assert_near(value("fct.p90", &outcome), 0.037); // h = 2.7
    assert_near(value("fct.max", &outcome), 0.040);
    // Deviations of ∓15, ∓5 ms: √(500 / 3) ms.
    assert_near(value("fct.sd", &outcome), (500.0_f64 / 3.0).sqrt() * 1e-3);
    assert_near(value("fct.over-30ms", &outcome), 0.25);
    assert_near(value("fct.over-29.999ms", &outcome), 0.5);
    assert_near(value("slowdown.mean", &outcome), 2.5);
    assert_near(value("slowdown.p95", &outcome), 3.85); // h = 2.85
    assert_eq!(value("flows", &outcome), Some(4.0));
    assert_eq!(value("unfinished", &outcome), Some(0.0));
    assert_eq!(value("retransmissions", &outcome), Some(4.0));
    assert_eq!(value("timeouts", &outcome), Some(8.0));
    assert_eq!(value("switch.mean", &outcome), None);
    assert_eq!(value("switched", &outcome), Some(0.0));
}

#[test]
fn unfinished_flows_are_larger_than_finished_ones() {
    let mut flows = vec![flow(0, Some(1), 0, Some(10)), flow(1, Some(1), 0, Some(20)), flow(2, Some(1), 0, None)];
    flows[1].ideal = None;
    let outcome = outcome(flows);
    assert_near(value("fct.p50", &outcome), 0.020);
    assert_eq!(value("fct.p51", &outcome), None);
    assert_eq!(value("fct.max", &outcome), None);
    assert_near(value("fct.mean", &outcome), 0.015);
    assert_near(value("fct.over-20ms", &outcome), 1.0 / 3.0);
    assert_eq!(value("unfinished", &outcome), Some(1.0));
    // Of the two flows with an ideal FCT one is finished: h = 0.5 has an unfinished neighbour.
    assert_eq!(value("slowdown.p50", &outcome), None);
    assert_near(value("slowdown.mean", &outcome), 1.0);
}

#[test]
fn unlimited_flows_are_never_unfinished() {
    let mut long = flow(0, None, 500, None);
    long.delivered = 1_000_000;
    let outcome = outcome(vec![long, flow(1, Some(500_000), 0, Some(100))]);
    assert_eq!(value("unfinished", &outcome), Some(0.0));
    assert_near(value("fct.max", &outcome), 0.1);
    // 8 Mbit in the 0.5 s to the end of the run, 4 Mbit in 0.1 s: 16 and 40 Mbit/s.
    assert_near(value("goodput.mean", &outcome), 28e6);
    // 12 Mbit from 0 to 1 s.
    assert_near(value("goodput.sum", &outcome), 12e6);
    // (16 + 40)² / (2 · (16² + 40²))
    assert_near(value("fairness", &outcome), 3136.0 / 3712.0);
}

#[test]
fn total_goodput_ends_with_the_last_flow() {
    let outcome = outcome(vec![flow(0, Some(1000), 100, Some(200)), flow(1, Some(3000), 150, Some(300))]);
    assert_near(value("goodput.sum", &outcome), 32_000.0 / 0.2);
}

#[test]
fn switches_are_timed_from_the_flows_start() {
    let mut flows = vec![flow(0, Some(1), 100, Some(200)), flow(1, Some(1), 100, Some(200))];
    flows[1].switched = Some(at(130));
    let outcome = outcome(flows);
    assert_near(value("switch.mean", &outcome), 0.03);
    assert_near(value("switched", &outcome), 0.5);
}

#[test]
fn stalls_are_of_the_flows_that_lived_through_a_failure() {
    let mut flows: Vec<FlowRecord> = (0..3).map(|id| flow(id, Some(1), 0, Some(200))).collect();
    assert_eq!(value("stall.max", &outcome(flows.clone())), None);
    flows[0].stall = Some(Span::from_millis(10));
    flows[2].stall = Some(Span::from_millis(30));
    flows[2].end = None;
    let outcome = outcome(flows);
    assert_near(value("stall.max", &outcome), 0.03);
    assert_near(value("stall.mean", &outcome), 0.02);
}

#[test]
fn no_flows_have_counts_but_no_times() {
    let outcome = outcome(Vec::new());
    for (text, expected) in
        [("flows", Some(0.0)), ("timeouts", Some(0.0)), ("fct.mean", None), ("fct.p99", None), ("fct.sd", None)]
    {
        assert_eq!(value(text, &outcome), expected, "{text}");
    }
    assert_eq!(value("fct.over-1ms", &outcome), None);
    assert_eq!(value("goodput.sum", &outcome), None);
    assert_eq!(value("goodput.mean", &outcome), None);
    assert_eq!(value("switched", &outcome), None);
}

#[test]
fn other_traffics_do_not_count() {
    let outcome = outcome(vec![flow(0, Some(1), 0, Some(10))]);
    assert_eq!(Metric::Flows.evaluate(&outcome, "long", None), Some(0.0));
}

#[test]
fn all_traffic_is_that_of_all_names_without_the_parts_of_parts() {
    let mut flows: Vec<FlowRecord> = (0..4).map(|id| flow(id, Some(1), 0, Some(10))).collect();
    for (flow, traffic) in flows.iter_mut().zip(["short", "web/fast", "web/fast/connect", "long"]) {
        flow.traffic = traffic.into();
    }
    assert_eq!(Metric::Flows.evaluate(&outcome(flows), crate::ALL_TRAFFIC, None), Some(3.0));
}

#[test]
fn a_window_takes_samples_up_to_its_end_and_flows_from_its_start() {
    let mut outcome = outcome(vec![flow(0, Some(1), 100, Some(110)), flow(1, Some(1), 200, Some(220))]);
    let sample = |ms, entity: &str, metric: &str, value| Sample {
        time: at(ms),
        entity: Arc::from(entity),
        metric: Arc::from(metric),
        value,
    };
    outcome.samples = vec![
        sample(100, "short/0", "goodput_bps", 1.0),
        sample(150, "short/0", "goodput_bps", 2.0),
        sample(200, "short/1", "goodput_bps", 4.0),
        sample(200, "short/1/0", "goodput_bps", 100.0),
        sample(200, "short/1", "cwnd_bytes", 100.0),
        sample(200, "shorter/1", "goodput_bps", 100.0),
        sample(250, "short/1", "goodput_bps", 8.0),
    ];
    let window = Some((at(100), at(200)));
    assert_eq!(Metric::Throughput.evaluate(&outcome, "short", window), Some(3.0));
    assert_eq!(Metric::Throughput.evaluate(&outcome, "short", None), Some(3.75));
    assert_eq!(Metric::Throughput.evaluate(&outcome, "short", Some((at(300), at(400)))), None);
    // (1, 2, 4, 8) has the mean 15/4 and the squares of its distances add up to 85 − 225/4
    assert_near(Metric::ThroughputDeviation.evaluate(&outcome, "short", None), ((85.0 - 56.25) / 3.0_f64).sqrt());
    assert_near(Metric::ThroughputDeviation.evaluate(&outcome, "short", window), 2.0_f64.sqrt());
    assert_eq!(Metric::ThroughputDeviation.evaluate(&outcome, "short", Some((at(200), at(250)))), None);
    assert_eq!(Metric::Flows.evaluate(&outcome, "short", window), Some(1.0));
    assert_near(Metric::Fct(Statistic::Max).evaluate(&outcome, "short", window), 0.010);
    assert_eq!(outcome.flows[0].entity(), "short/0");
}

/// 1,000 B in 100 ms and 3,000 B in 200 ms: 80 and 120 kb/s. Two ended in the 900 ms to the end of the run, as the third did
/// not; and two in 300 ms without it.
#[test]
fn flows_have_a_spread_and_a_rate() {
    let mut flows = vec![flow(0, Some(1000), 100, Some(200)), flow(1, Some(3000), 200, Some(400))];
    let ended = outcome(flows.clone());
    assert_near(value("goodput.mean", &ended), 100_000.0);
    assert_near(value("goodput.sd", &ended), 20_000.0 * 2.0_f64.sqrt());
    assert_near(value("rate", &ended), 2.0 / 0.3);
    assert_eq!(value("goodput.sd", &outcome(flows[..1].to_vec())), None);
    flows.push(flow(2, Some(5000), 300, None));
    assert_near(value("rate", &outcome(flows)), 2.0 / 0.9);
    assert_eq!(value("rate", &outcome(Vec::new())), None);
    assert_eq!(Metric::Rate.display(1234.5), "1234/s");
}

/// Rates of a flow that starts at 100 ms, every 50 ms from 150: 10, 40, 60, 60, 20, 30, 50, 10 kb/s.
fn rates() -> Outcome {
    let mut outcome = outcome(vec![flow(0, None, 100, None)]);
    let values = [10.0, 40.0, 60.0, 60.0, 20.0, 30.0, 50.0, 10.0];
    let sample = |entity: &str, metric: &str, n: usize, kbps: f64| Sample {
        time: at(150 + 50 * n as u64),
        entity: Arc::from(entity),
        metric: Arc::from(metric),
        value: kbps * 1e3,
    };
    for (n, value) in values.into_iter().enumerate() {
        outcome.samples.push(sample("short/0", "goodput_bps", n, value));
        outcome.samples.push(sample("a>b", "arrivals_bps", n, 2.0 * value));
        outcome.samples.push(sample("b>a", "arrivals_bps", n, 1.0));
    }
    outcome
}

#[test]
fn a_rate_is_reached_at_the_end_of_the_first_sample_that_has_it() {
    let of = |metric: &str, subject: Subject<'_>| {
        metric.parse::<Metric>().unwrap().evaluate_of(&rates(), &Subject { traffic: "short", ..subject })
    };
    let whole = Subject::default();
    // the sample that ends at 250 ms, 150 ms after the start
    assert_near(of("reach.50kbps", whole), 0.15);
    assert_near(of("reach.40kbps", whole), 0.1);
    assert_eq!(of("reach.61kbps", whole), None, "never");
    // means over 100 ms: 25 at 200 ms, 50 at 250
    let over = Subject { over: Some(Span::from_millis(100)), ..whole };
    assert_near(of("reach.25kbps", over), 0.1);
    assert_near(of("reach.26kbps", over), 0.15);
    assert_near(of("reach.50kbps", Subject { window: Some((at(300), at(1000))), ..whole }), 0.35);
    assert_near(of("reach.120kbps", Subject { port: Some("a>b"), ..whole }), 0.15);
    assert_eq!(of("reach.120kbps", Subject { port: Some("b>a"), ..whole }), None);
}

#[test]
fn a_recovery_is_the_longest_time_below_a_rate_that_was_reached() {
    let of = |metric: &str, window| {
        let subject = Subject { traffic: "short", window, ..Subject::default() };
        metric.parse::<Metric>().unwrap().evaluate_of(&rates(), &subject)
    };
    let until_back = Some((at(0), at(450)));
    // at 50 from 300 ms on it is 20 and 30, and back at 450 ms
    assert_near(of("recovery.50kbps", until_back), 0.15);
    assert_near(of("recovery.30kbps", until_back), 0.1);
    assert_eq!(of("recovery.10kbps", until_back), Some(0.0), "it never came down");
    assert_eq!(of("recovery.70kbps", until_back), None, "it was never reached");
    // the last one is open for 50 ms, less than the 150 before
    assert_near(of("recovery.50kbps", None), 0.15);
    assert_eq!(of("recovery.60kbps", None), None, "not back for 200 ms");
}

/// Three flows: of `rates`, of one that starts later and ends, and of one that never has the rate.
#[test]
fn times_of_several_flows_are_their_mean() {
    let mut outcome = rates();
    outcome.flows.push(flow(1, Some(1), 200, Some(500)));
    let sample = |entity: &str, ms, kbps: f64| Sample {
        time: at(ms),
        entity: Arc::from(entity),
        metric: Arc::from("goodput_bps"),
        value: kbps * 1e3,
    };
    for (ms, kbps) in [(250, 50.0), (300, 10.0), (350, 10.0), (400, 10.0), (450, 60.0), (500, 50.0)] {
        outcome.samples.push(sample("short/1", ms, kbps));
    }
    let of = |outcome: &Outcome, metric: &str| value(metric, outcome);
    // 150 ms, and 50 ms
    assert_near(of(&outcome, "reach.50kbps"), 0.1);
    // 150 ms, and from 250 to 450 ms
    assert_near(of(&outcome, "recovery.50kbps"), 0.175);
    outcome.flows.push(flow(2, None, 0, None));
    outcome.samples.push(sample("short/2", 50, 10.0));
    assert_eq!(of(&outcome, "reach.50kbps"), None, "one never reached it");
    assert_near(of(&outcome, "recovery.50kbps"), 0.175);
}

/// What passes a port when the flow is over is not the flow's: it neither reaches a rate nor leaves one open.
#[test]
fn rates_at_a_port_are_those_of_the_flows_life() {
    let of = |end, metric: &str, over: Option<u64>| {
        let mut outcome = rates();
        outcome.flows[0].end = end;
        let over = over.map(Span::from_millis);
        let subject = Subject { traffic: "short", port: Some("a>b"), over, ..Subject::default() };
        metric.parse::<Metric>().unwrap().evaluate_of(&outcome, &subject)
    };
    // at the port 20, 80, 120, 120, 40, 60, 100, 20 kb/s
    assert_near(of(None, "reach.120kbps", None), 0.15);
    assert_eq!(of(Some(at(240)), "reach.120kbps", None), None, "it ended before");
    assert_eq!(of(None, "recovery.120kbps", None), None, "not back for 200 ms");
    assert_eq!(of(Some(at(300)), "recovery.120kbps", None), Some(0.0), "it ended at the rate");
    // means over 100 ms: 50, 100, 120
    assert_near(of(None, "reach.100kbps", Some(100)), 0.15);
    assert_eq!(of(Some(at(240)), "reach.100kbps", Some(100)), None);
}

/// A million samples are no work; with pairs of samples compared it took hours, with windows summed minutes.
#[test]
fn long_series_take_a_time_in_proportion() {
    let mut outcome = outcome(vec![flow(0, None, 0, None)]);
    let (entity, metric): (Arc<str>, Arc<str>) = ("short/0".into(), "goodput_bps".into());
    let sample = |n: u64| {
        let (entity, metric) = (Arc::clone(&entity), Arc::clone(&metric));
        Sample {
            time: Time::ZERO + Span::from_micros(n),
            entity,
            metric,
            value: if n.is_multiple_of(2) { 2e3 } else { 0.0 },
        }
    };
    outcome.samples = (1..=1_000_000).map(sample).collect();
    let of = |metric: &str, over| {
        let subject = Subject { traffic: "short", over, ..Subject::default() };
        metric.parse::<Metric>().unwrap().evaluate_of(&outcome, &subject)
    };
    assert_near(of("recovery.2kbps", None), 2e-6);
    let half = Some(Span::from_millis(500));
    assert_near(of("reach.1kbps", half), 0.5);
    assert_eq!(of("recovery.1kbps", half), Some(0.0));
}

#[test]
fn drops_of_cards_are_counted_apart() {
    let mut outcome = outcome(Vec::new());
    outcome.counters = Counters { drops: 9, card_drops: 5, ..Counters::default() };
    assert_eq!(value("card-drops", &outcome), Some(5.0));
    assert_eq!(value("drops", &outcome), Some(0.0));
    assert_eq!(Metric::CardDrops.display(5.0), "5");
}

#[test]
fn drops_are_of_the_network_or_of_one_port() {
    let mut outcome = outcome(Vec::new());
    outcome.ports = Some(
        [("a>b", 3), ("b>a", 4)]
            .map(|(port, drops)| PortRecord { port: port.into(), drops, pauses: Pauses::default() })
            .into(),
    );
    let of = |outcome: &Outcome, port| Metric::Drops.evaluate_of(outcome, &Subject { port, ..Subject::default() });
    assert_eq!(of(&outcome, None), Some(7.0));
    assert_eq!([of(&outcome, Some("b>a")), of(&outcome, Some("c>a"))], [Some(4.0), Some(0.0)]);
    outcome.ports = None;
    assert_eq!([of(&outcome, None), of(&outcome, Some("b>a"))], [None, None], "nobody counted");
    assert_eq!("drops".parse(), Ok(Metric::Drops));
}

/// 30 of 100 ps are 0.3; counts add up over ports, and depths are the largest.
#[test]
fn pauses_are_of_the_network_or_of_one_port() {
    let mut outcome = outcome(Vec::new());
    outcome.end = Time::from_picos(100);
    outcome.counters = Counters { watchdog_drops: 2, deadlocks: 1, ..Counters::default() };
    let port = |name: &str, [sent, paused, deepest, headroom, drops]: [u64; 5]| PortRecord {
        port: name.into(),
        drops,
        pauses: Pauses { sent, paused: Span::from_picos(paused), deepest, headroom, drops },
    };
    outcome.ports = Some(vec![port("a>b", [3, 30, 500, 0, 0]), port("b>a", [4, 20, 400, 100, 6])]);
    let of = |name: &str, port: Option<&str>| {
        let metric: Metric = name.parse().unwrap();
        assert!(metric.is_of_network() && metric.to_string() == name);
        metric.evaluate_of(&outcome, &Subject { port, ..Subject::default() })
    };
    let all = ["pauses", "paused", "ingress.max", "headroom.max", "headroom-drops", "watchdog-drops", "deadlocks"];
    assert_eq!(all.map(|name| of(name, None)), [7.0, 0.3, 500.0, 100.0, 6.0, 2.0, 1.0].map(Some));
    let second = ["pauses", "paused", "ingress.max", "headroom.max", "headroom-drops"];
    assert_eq!(second.map(|name| of(name, Some("b>a"))), [4.0, 0.2, 400.0, 100.0, 6.0].map(Some));
    assert_eq!((Metric::Paused.display(0.3), Metric::Headroom.display(1234.0)), ("30.0 %".into(), "1.23 KB".into()));
    outcome.ports = None;
    assert_eq!(Metric::Pauses.evaluate(&outcome, "", None), None, "nobody counted");
}

#[test]
fn metrics_of_rates_are_read_as_they_are_printed() {
    for text in ["reach.450Mbps", "recovery.500Mbps", "reach.1Gbps"] {
        assert_eq!(text.parse::<Metric>().unwrap().to_string(), text);
    }
    for text in ["reach.", "reach.450", "recovery.0bps", "reach.1000Mbps", "reach.450ms"] {
        assert!(text.parse::<Metric>().is_err(), "{text}");
    }
}

/// 100 of 400 bytes are missing; flows without end have no share.
#[test]
fn what_is_not_delivered_is_a_share_of_all_bytes() {
    let mut flows: Vec<FlowRecord> = [Some(100), Some(300), None].map(|bytes| flow(0, bytes, 0, None)).into();
    flows[1].delivered = 200;
    assert_eq!(value("undelivered", &outcome(flows.clone())), Some(0.25));
    assert_eq!(value("undelivered", &outcome(flows[2..].to_vec())), None);
    assert_eq!(Metric::Undelivered.display(0.25), "25.0 %");
}

/// In time, late by 1 ms, unfinished, ended without all bytes, and without a deadline.
#[test]
fn deadlines_are_missed_by_what_is_late_cut_or_unfinished() {
    let mut flows: Vec<FlowRecord> =
        [Some(30), Some(31), None, Some(20), Some(90)].map(|end| flow(0, Some(100), 0, end)).into();
    for flow in &mut flows[..4] {
        flow.deadline = Some(Span::from_millis(30));
    }
    flows[3].delivered = 99;
    let missed: Vec<Option<bool>> = flows.iter().map(FlowRecord::missed).collect();
    assert_eq!(missed, [Some(false), Some(true), Some(true), Some(true), None]);
    assert_eq!(value("deadline-missed", &outcome(flows.clone())), Some(0.75));
    assert_eq!(value("deadline-missed", &outcome(flows[4..].to_vec())), None);
    assert_eq!(Metric::DeadlineMissed.display(0.75), "75.0 %");
}

#[test]
fn names_print_as_they_were_read() {
    for text in ["fct.mean", "fct.p1", "fct.p99", "fct.p99.9", "fct.p99.999", "fct.p0.5", "slowdown.max", "switched"]
        .into_iter()
        .chain(["fct.sd", "slowdown.sd", "stall.p99", "fct.over-200ms", "fct.over-1.5s"])
    {
        assert_eq!(text.parse::<Metric>().unwrap().to_string(), text);
    }
    for (name, metric) in super::name::NAMED {
        assert_eq!(metric.to_string(), name);
    }
    for metric in Metric::SUMMARY {
        assert_eq!(metric.to_string().parse(), Ok(metric));
    }
}

#[test]
fn other_names_are_refused_with_the_nearest() {
    for text in [
        "",
        "fct",
        "fct.",
        "fct.over-200",
        "fct.over-",
        "fct.over-1000ms",
        "fct.over-1 s",
        "fct.p",
        "fct.p0",
        "fct.p100",
        "fct.p05",
        "fct.p50.0",
        "fct.p+5",
        "fct.p9.9999",
        "p99",
    ] {
        assert!(text.parse::<Metric>().is_err(), "{text}");
    }
    assert!(Metric::WaitHosts.is_of_network() && Metric::WaitSwitches.unit() == "s");
    let error = "fct.men".parse::<Metric>().unwrap_err();
    assert_eq!(error.suggestion.as_deref(), Some("fct.mean"));
    assert_eq!(
        error.to_string(),
        "unknown metric `fct.men`, did you mean `fct.mean`?; known are fct.STATISTIC, slowdown.STATISTIC, \
         stall.STATISTIC, host-wait.STATISTIC, switch-wait.STATISTIC (STATISTIC: mean, sd, max, p50, p99, p99.9, …), fct.over-200ms (any time), reach.RATE, \
         recovery.RATE (any rate, such as 450Mbps), goodput.mean, goodput.sd, goodput.sum, fairness, \
         throughput, throughput.sd, drops, card-drops, pauses, paused, ingress.max, headroom.max, headroom-drops, \
         watchdog-drops, deadlocks, wait.hosts, wait.switches, flows, unfinished, retransmissions, timeouts, switch.mean, switched, deadline-missed, undelivered, resets, rate"
    );
    assert_eq!("temperature".parse::<Metric>().unwrap_err().suggestion, None);
    for (text, such) in [("reach.50", "reach"), ("reach.", "reach"), ("recovery.450mbps", "recovery")] {
        let error = text.parse::<Metric>().unwrap_err().to_string();
        let wanted = format!("unknown metric `{text}`, write a rate with its unit, such as {such}.50Mbps; known are ");
        assert!(error.starts_with(&wanted), "{error}");
    }
}

#[test]
fn values_are_printed_for_people() {
    let fct = Metric::Fct(Statistic::Mean);
    let times = [
        (0.0123, "12.3 ms"),
        (0.000_999_9, "1.00 ms"),
        (1.0, "1.00 s"),
        (123.456, "123 s"),
        (4567.0, "4567 s"),
        (2.5e-7, "250 ns"),
        (-0.0123, "-12.3 ms"),
        (0.0, "0 s"),
        (9.999e-3, "10.0 ms"),
    ];
    for (value, text) in times {
        assert_eq!(fct.display(value), text);
    }
    for (value, text) in [(94.9e6, "94.9 Mb/s"), (999_600.0, "1.00 Mb/s"), (12.0, "12.0 b/s"), (0.5, "0.500 b/s")] {
        assert_eq!(Metric::GoodputMean.display(value), text);
    }
    assert_eq!(Metric::Flows.display(123_456.0), "123456");
    assert_eq!(Metric::Flows.display(3.25), "3.25");
    assert_eq!(Metric::Switched.display(0.375), "37.5 %");
    assert_eq!(Metric::Slowdown(Statistic::Mean).display(2.314), "2.31");
}

proptest! {
    #[test]
    fn any_text_is_a_metric_or_an_error(text in "\\PC*") {
        if let Ok(metric) = text.parse::<Metric>() {
            prop_assert_eq!(metric.to_string(), text);
        }
    }

    #[test]
    fn any_value_can_be_printed(value in any::<f64>()) {
        prop_assert!(!Metric::Fct(Statistic::Mean).display(value).is_empty());
        prop_assert!(!Metric::Switched.display(value).is_empty());
    }
}

#[test]
fn waits_are_means_over_packets() {
    let mut outcome = outcome(Vec::new());
    assert_eq!(Metric::WaitHosts.evaluate(&outcome, "", None), None, "nobody looked");
    let waited = |frames, micros| Waited { frames, time: std::time::Duration::from_micros(micros) };
    outcome.waits = Some(Waits { hosts: waited(4, 10), switches: waited(8, 100), ports: Vec::new() });
    assert_eq!(Metric::WaitHosts.evaluate(&outcome, "", None), Some(2.5e-6));
    assert_eq!(Metric::WaitSwitches.evaluate(&outcome, "", None), Some(12.5e-6));
}

/// Two packets that waited 3 us at hosts are 1.5 us each; a flow of which nothing arrived, and one that was not looked at,
/// do not count.
#[test]
fn waits_of_flows_are_means_over_their_packets() {
    let wait = |packets, hosts, switches| {
        let (hosts, switches) = (Span::from_nanos(hosts), Span::from_nanos(switches));
        Some(FlowWaits { packets, hosts, switches })
    };
    let waits = [wait(2, 3_000, 8_000), wait(1, 500, 0), wait(0, 0, 0), None];
    let flows = (0..).zip(waits).map(|(id, waits)| FlowRecord { waits, ..flow(id, Some(1), 0, None) });
    let outcome = outcome(flows.collect());
    let value = |name: &str| name.parse::<Metric>().unwrap().evaluate(&outcome, "short", None);
    assert_eq!(value("host-wait.mean"), Some(1e-6));
    assert_eq!((value("host-wait.max"), value("switch-wait.max")), (Some(1.5e-6), Some(4e-6)));
    assert_eq!(value("switch-wait.p50"), Some(2e-6));
    assert_eq!(Metric::HostWait(Statistic::Max).unit(), "s");
    assert!(!Metric::HostWait(Statistic::Max).is_of_network());
}

/// They are the same bytes again.
#[test]
fn connections_are_no_part_of_the_messages_that_they_carry() {
    for (own, traffic, is) in [
        ("kept", "kept", true),
        ("kept/short", "kept", true),
        ("kept/connection", "kept", false),
        ("kept/connection", ALL_TRAFFIC, false),
        ("kept/connection", "kept/connection", true),
    ] {
        assert_eq!(is_of(own, traffic), is, "{own} of {traffic}");
    }
    assert_eq!(Metric::Undelivered.support(), Support::Share, "no interval beyond 100 %");
}
