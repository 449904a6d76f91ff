use headway_results::Row;

use super::*;

/// Mean and half width.
fn estimate(value: f64, half: f64) -> Estimate {
    Estimate { value: Some(value), low: Some(value - half), high: Some(value + half), n: 10 }
}

fn row(policy: &str, sweep: &SweepPoint, traffic: &str, metric: &str, estimate: Estimate) -> Row {
    let metric = metric.parse().unwrap();
    Row { policy: policy.into(), sweep: sweep.clone(), traffic: traffic.into(), metric, estimate }
}

fn sized(rows: &mut Vec<Row>, policy: &str, sweep: &SweepPoint, fct: f64, unfinished: f64) {
    let mut add = |metric: &str, estimate| rows.push(row(policy, sweep, "short", metric, estimate));
    add("fct.mean", estimate(fct, fct / 20.0));
    let tail = Estimate { n: 10, ..Estimate::default() };
    add("fct.p95", if unfinished > 0.0 { tail } else { estimate(fct * 2.0, fct / 10.0) });
    add("fct.p99", if unfinished > 0.0 { tail } else { estimate(fct * 3.0, fct / 5.0) });
    add("goodput.mean", estimate(5e6 / fct / 100.0, 1e5));
    add("flows", estimate(240.0, 0.0));
    add("unfinished", estimate(unfinished, unfinished));
    add("retransmissions", estimate(12.5, 3.0));
    add("timeouts", estimate(2.0, 0.5));
}

fn unlimited(rows: &mut Vec<Row>, policy: &str, sweep: &SweepPoint, flows: f64) {
    let mut add = |metric: &str, estimate| rows.push(row(policy, sweep, "long", metric, estimate));
    if flows > 0.0 {
        add("goodput.mean", estimate(94.3e6 / flows, 1.2e6));
        add("goodput.sum", estimate(94.3e6, 0.4e6));
    }
    add("flows", estimate(flows, 0.0));
    add("unfinished", estimate(0.0, 0.0));
    add("retransmissions", estimate(1234.0, 56.7));
    add("timeouts", estimate(0.0, 0.0));
}

const POLICIES: [&str; 5] = ["tcp", "mptcp", "repflow", "lanes-deadline", "lanes-link-cost"];

fn swept() -> Summary {
    let mut rows = Vec::new();
    for senders in [0, 8, 10] {
        let sweep = SweepPoint::new().with("senders", senders);
        for (i, policy) in POLICIES.into_iter().enumerate() {
            let fct = 0.007 * (senders * senders + 1) as f64 / (i + 1) as f64;
            sized(&mut rows, policy, &sweep, fct, if senders == 10 && i < 2 { 3.4 } else { 0.0 });
            unlimited(&mut rows, policy, &sweep, senders as f64);
        }
    }
    Summary { sweep: vec!["senders".into()], rows }
}

#[test]
fn a_sweep_gives_tables_by_point_and_policy() {
    let expected = include_str!("golden/sweep.txt");
    let text = summary(&swept(), Layout::PLAIN);
    assert!(text.lines().all(|line| line.chars().count() <= 120), "\n{text}");
    assert_eq!(text, expected, "\n{text}");
}

#[test]
fn without_a_sweep_policies_are_rows() {
    let mut rows = Vec::new();
    let none = SweepPoint::new();
    sized(&mut rows, "tcp", &none, 0.0123, 0.0);
    unlimited(&mut rows, "tcp", &none, 4.0);
    sized(&mut rows, "lanes-link-cost", &none, 0.0089, 1.0);
    unlimited(&mut rows, "lanes-link-cost", &none, 4.0);
    let text = summary(&Summary { sweep: Vec::new(), rows }, Layout::PLAIN);
    let expected = include_str!("golden/policies.txt");
    assert!(text.lines().all(|line| line.chars().count() <= 120), "\n{text}");
    assert_eq!(text, expected, "\n{text}");
}

/// Only where something failed.
#[test]
fn how_long_flows_stood_still_is_a_column_or_a_table() {
    for sweep in [SweepPoint::new(), SweepPoint::new().with("reroute", "false")] {
        let mut rows = Vec::new();
        sized(&mut rows, "tcp", &sweep, 0.0123, 0.0);
        rows.push(row("tcp", &sweep, "short", "stall.max", estimate(1.25, 0.1)));
        let names = sweep.names().map(str::to_owned).collect();
        let text = summary(&Summary { sweep: names, rows }, Layout::PLAIN);
        assert!(text.contains("longest stall") && text.contains("1.25 ± 0.10"), "\n{text}");
    }
}

/// Only where a relay crashed.
#[test]
fn resets_are_a_column_or_a_table() {
    for sweep in [SweepPoint::new(), SweepPoint::new().with("crash", "host")] {
        for (resets, shown) in [(0.0, false), (13.0, true)] {
            let mut rows = Vec::new();
            sized(&mut rows, "relay", &sweep, 0.0123, 1.0);
            rows.push(row("relay", &sweep, "short", "resets", estimate(resets, 0.0)));
            let names = sweep.names().map(str::to_owned).collect();
            let text = summary(&Summary { sweep: names, rows }, Layout::PLAIN);
            assert_eq!(text.contains("resets") && text.contains("13 ± 0"), shown, "\n{text}");
            assert_eq!(text.contains("resets"), shown, "\n{text}");
        }
    }
}

#[test]
fn switches_get_a_table_of_their_own_if_there_are_any() {
    let mut all = swept();
    assert!(!summary(&all, Layout::PLAIN).contains("switch"));
    let point = SweepPoint::new().with("senders", 8);
    all.rows.push(row("lanes-deadline", &point, "long", "switch.mean", estimate(0.3, 0.002)));
    let text = summary(&all, Layout::PLAIN);
    let table = text.split("long: mean time of the switch in ms").nth(1).unwrap_or_else(|| panic!("{text}"));
    assert!(table.contains("300 ± 2"), "{text}");
    assert_eq!(table.matches('–').count(), 14 + 2, "one value in 3 · 5 cells, and two notes:\n{text}");
    assert!(text.ends_with("no flow switched.\n"), "{text}");
}

#[test]
fn one_repeat_has_no_half_width() {
    let none = SweepPoint::new();
    let rows = vec![row("tcp", &none, "short", "fct.mean", Estimate::of(&[0.5]))];
    let text = summary(&Summary { sweep: Vec::new(), rows }, Layout::PLAIN);
    assert!(text.starts_with("short, one repeat\n"), "\n{text}");
    assert!(!text.contains('±'), "\n{text}");
    assert!(text.contains("500"), "\n{text}");
}

#[test]
fn nothing_is_said_to_be_nothing() {
    assert_eq!(summary(&Summary::default(), Layout::PLAIN), "no flows\n");
}

#[test]
fn many_policies_are_split_into_blocks() {
    let mut rows = Vec::new();
    for i in 0..12 {
        sized(&mut rows, &format!("policy-number-{i}"), &SweepPoint::new().with("n", 1), 0.01, 0.0);
    }
    let text = summary(&Summary { sweep: vec!["n".into()], rows }, Layout { width: 80, colour: false });
    assert!(text.lines().all(|line| line.chars().count() <= 80), "\n{text}");
    assert_eq!(text.matches("policy-number-11").count(), 2, "\n{text}");
}
