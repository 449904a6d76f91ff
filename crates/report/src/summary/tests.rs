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
    add("fct.p50", estimate(fct * 0.8, fct / 20.0));
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
    let text = summary(&swept(), &Choice::default(), Layout::PLAIN);
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
    let text = summary(&Summary { sweep: Vec::new(), rows }, &Choice::default(), Layout::PLAIN);
    let expected = include_str!("golden/policies.txt");
    assert!(text.lines().all(|line| line.chars().count() <= 120), "\n{text}");
    assert_eq!(text, expected, "\n{text}");
}

#[test]
fn titles_speak_of_intervals_only_where_there_are_some() {
    let alike = |n| Estimate { value: Some(1.0), low: None, high: None, n };
    assert_eq!(repeats(&[alike(10), alike(10)]), "means over 10 repeats");
    assert_eq!(repeats(&[alike(10), estimate(1.0, 0.1)]), "95 % intervals over 10 repeats");
    assert_eq!(repeats(&[alike(1)]), "one repeat");
    assert_eq!(repeats(&[alike(3), alike(10)]), "means over 3 to 10 repeats");
    assert_eq!(repeats(&[Estimate { n: 10, ..Estimate::default() }]), "no values");
}

#[test]
fn where_no_flow_finished_goodput_stands_for_completion_times() {
    for sweep in [SweepPoint::new(), SweepPoint::new().with("buffer", "10KB")] {
        let mut rows = Vec::new();
        for policy in ["tcp", "paced"] {
            for metric in ["fct.mean", "fct.p50", "fct.p99"] {
                rows.push(row(policy, &sweep, "bulk", metric, Estimate { n: 10, ..Estimate::default() }));
            }
            rows.push(row(policy, &sweep, "bulk", "goodput.sum", estimate(461e6, 2e6)));
            rows.push(row(policy, &sweep, "bulk", "goodput.mean", estimate(115.25e6, 1e6)));
            rows.push(row(policy, &sweep, "bulk", "flows", estimate(4.0, 0.0)));
            rows.push(row(policy, &sweep, "bulk", "unfinished", estimate(4.0, 0.0)));
        }
        let names = sweep.names().map(str::to_owned).collect();
        let text = summary(&Summary { sweep: names, rows }, &Choice::default(), Layout::PLAIN);
        assert!(!text.contains("FCT") && text.contains("461 ± 2") && text.contains("4 of 4"), "\n{text}");
    }
}

/// Only where something failed.
#[test]
fn how_long_flows_stood_still_is_a_column_or_a_table() {
    for sweep in [SweepPoint::new(), SweepPoint::new().with("reroute", "false")] {
        let mut rows = Vec::new();
        sized(&mut rows, "tcp", &sweep, 0.0123, 0.0);
        rows.push(row("tcp", &sweep, "short", "stall.max", estimate(1.25, 0.1)));
        let names = sweep.names().map(str::to_owned).collect();
        let text = summary(&Summary { sweep: names, rows }, &Choice::default(), Layout::PLAIN);
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
            let text = summary(&Summary { sweep: names, rows }, &Choice::default(), Layout::PLAIN);
            assert_eq!(text.contains("resets") && text.contains(" 13\n"), shown, "\n{text}");
            assert_eq!(text.contains("resets"), shown, "\n{text}");
        }
    }
}

#[test]
fn switches_get_a_table_of_their_own_if_there_are_any() {
    let mut all = swept();
    assert!(!summary(&all, &Choice::default(), Layout::PLAIN).contains("switch"));
    let point = SweepPoint::new().with("senders", 8);
    all.rows.push(row("lanes-deadline", &point, "long", "switch.mean", estimate(0.3, 0.002)));
    let text = summary(&all, &Choice::default(), Layout::PLAIN);
    let table =
        text.split("long: mean time until the switch of lanes in ms").nth(1).unwrap_or_else(|| panic!("{text}"));
    assert!(table.contains("300 ± 2"), "{text}");
    assert_eq!(table.matches('–').count(), 14 + 2, "one value in 3 · 5 cells, and two notes:\n{text}");
    assert!(text.ends_with("no flow switched.\n\nlong: no time-outs\n"), "{text}");
}

#[test]
fn one_repeat_has_no_half_width() {
    let none = SweepPoint::new();
    let rows = vec![row("tcp", &none, "short", "fct.mean", Estimate::of(&[0.5]))];
    let text = summary(&Summary { sweep: Vec::new(), rows }, &Choice::default(), Layout::PLAIN);
    assert!(text.starts_with("short, one repeat\n"), "\n{text}");
    assert!(!text.contains('±'), "\n{text}");
    assert!(text.contains("500"), "\n{text}");
}

#[test]
fn nothing_is_said_to_be_nothing() {
    assert_eq!(summary(&Summary::default(), &Choice::default(), Layout::PLAIN), "no flows\n");
}

#[test]
fn many_policies_are_split_into_blocks() {
    let mut rows = Vec::new();
    for i in 0..12 {
        sized(&mut rows, &format!("policy-number-{i}"), &SweepPoint::new().with("n", 1), 0.01, 0.0);
    }
    let text =
        summary(&Summary { sweep: vec!["n".into()], rows }, &Choice::default(), Layout { width: 80, colour: false });
    assert!(text.lines().all(|line| line.chars().count() <= 80), "\n{text}");
    assert_eq!(text.matches("policy-number-11").count(), 2, "\n{text}");
    assert!(text.starts_with("short (n=1), flows in a run: 240, "), "one point is no sweep:\n{text}");
}

const NARROW: Layout = Layout { width: 80, colour: false };

fn fits(text: &str) {
    assert!(text.lines().all(|line| line.chars().count() <= 80), "\n{text}");
}

/// As many as scenarios may have in a name.
fn long(name: &str) -> String {
    format!("{name}-{}", "with-a-long-name-".repeat(4)).trim_end_matches('-').chars().take(64).collect()
}

#[test]
fn long_names_stay_within_the_width_and_cut_no_number() {
    let policies: Vec<String> = (0..3).map(|i| long(&format!("policy{i}"))).collect();
    for names in [0, 1, 2, 6] {
        let mut rows = Vec::new();
        let mut sweep = Vec::new();
        for at in 0..3 {
            let of = |point: SweepPoint, name: usize| {
                point.with(long(&format!("name{name}")), format!("{at}-{}", "value".repeat(6)).as_str())
            };
            let point = (0..names).fold(SweepPoint::new(), of);
            sweep = point.names().map(str::to_owned).collect();
            for policy in &policies {
                sized(&mut rows, policy, &point, 123.456, 1.0);
            }
        }
        let all = Summary { sweep, rows };
        for width in [40, 80] {
            let layout = Layout { width, colour: false };
            let text = summary(&all, &Choice::default(), layout);
            assert!(text.lines().all(|line| line.chars().count() <= width), "\n{text}");
            assert!(text.contains("123 ± 6*") && text.contains("1 of 240"), "\n{text}");
        }
        let one = Choice { policies: policies[..1].to_vec(), ..Choice::default() };
        fits(&summary(&all, &one, NARROW));
    }
}

#[test]
fn rows_whose_names_are_too_long_are_numbered() {
    let point = SweepPoint::new().with("a", "x".repeat(50).as_str()).with("b", 1);
    let other = SweepPoint::new().with("a", "y".repeat(50).as_str()).with("b", 1);
    let mut rows = Vec::new();
    for point in [&point, &other] {
        sized(&mut rows, "tcp", point, 0.1, 0.0);
        sized(&mut rows, "mptcp", point, 0.1, 0.0);
    }
    let text = summary(&Summary { sweep: vec!["a".into(), "b".into()], rows }, &Choice::default(), NARROW);
    let legend =
        format!("point 1: a={}\npoint 2: a={}\n\nshort (b=1): mean FCT in ms, ", "x".repeat(50), "y".repeat(50));
    assert!(text.starts_with(&legend), "\n{text}");
}

#[test]
fn what_is_asked_for_is_shown_and_nothing_else() {
    let asked = Choice {
        metrics: vec!["fct.p99".parse().unwrap(), Metric::Timeouts],
        traffics: vec!["short".into()],
        policies: vec!["tcp".into(), "mptcp".into()],
    };
    let text = summary(&swept(), &asked, NARROW);
    let titles: Vec<&str> = text.lines().filter(|line| line.contains(": ")).collect();
    assert_eq!(titles.len(), 2, "\n{text}");
    assert!(
        titles[0].starts_with("short: p99 FCT in ms") && titles[1].starts_with("short: time-outs in a run"),
        "{text}"
    );
    assert!(!text.contains("lanes") && !text.contains("long"), "\n{text}");
    // one policy: its points by metrics
    let one = Choice { policies: vec!["tcp".into()], ..asked };
    let text = summary(&swept(), &one, NARROW);
    assert!(text.starts_with("short (policy tcp), flows in a run: 240, 95 % intervals"), "\n{text}");
    assert!(text.contains("senders") && text.contains("p99 FCT"), "\n{text}");
    let nobody = Choice { metrics: vec![Metric::Reach(headway_units::Rate::from_bps(1))], ..Choice::default() };
    assert_eq!(summary(&swept(), &nobody, NARROW), "no numbers\n");
    assert_eq!(one.of(&swept()).rows.len(), 2 * 3);
}

#[test]
fn counts_that_are_0_everywhere_are_words_unless_they_were_asked_for() {
    let none = SweepPoint::new();
    let mut rows = Vec::new();
    unlimited(&mut rows, "tcp", &none, 1.0);
    rows.push(row("tcp", &none, "long", "drops", estimate(0.0, 0.0)));
    let all = Summary { sweep: Vec::new(), rows };
    let text = summary(&all, &Choice::default(), NARROW);
    assert!(text.contains("\n\nlong: no time-outs\n\nnetwork: no frames dropped\n"), "\n{text}");
    let asked = Choice { metrics: vec![Metric::Timeouts, Metric::Drops], ..Choice::default() };
    let text = summary(&all, &asked, NARROW);
    assert!(text.contains("time-outs") && text.contains("network, ") && !text.contains("no "), "\n{text}");
}

#[test]
fn the_network_has_a_table_of_its_own() {
    let none = SweepPoint::new();
    let mut rows = Vec::new();
    for (policy, drops, pauses) in [("dropping", 12.0, 0.0), ("pfc", 0.0, 345.0)] {
        for traffic in ["short", "long"] {
            rows.push(row(policy, &none, traffic, "fct.mean", estimate(0.1, 0.0)));
            rows.push(row(policy, &none, traffic, "drops", estimate(drops, 1.0)));
            rows.push(row(policy, &none, traffic, "pauses", estimate(pauses, 10.0)));
            rows.push(row(policy, &none, traffic, "paused", estimate(pauses / 1000.0, 0.01)));
        }
    }
    let text = summary(&Summary { sweep: Vec::new(), rows }, &Choice::default(), NARROW);
    let expected = "\
network, 95 % intervals over 10 repeats
policy     dropped  pauses sent      paused
          in a run     in a run           %
dropping    12 ± 1       0 ± 10     0 ± 1
pfc          0 ± 1     345 ± 10  34.5 ± 1.0
";
    assert!(text.ends_with(expected), "\n{text}");
    assert_eq!(text.matches("pauses sent").count(), 1, "\n{text}");
}

#[test]
fn rare_percentiles_are_there_where_flows_are_enough() {
    let mut rows = Vec::new();
    for (n, tail) in [(1, None), (2, Some(0.5))] {
        let point = SweepPoint::new().with("n", n);
        sized(&mut rows, "tcp", &point, 0.1, 0.0);
        rows.extend(tail.map(|tail| row("tcp", &point, "short", "fct.p99.9", estimate(tail, 0.1))));
    }
    let text = summary(&Summary { sweep: vec!["n".into()], rows }, &Choice::default(), NARROW);
    assert!(text.contains("p99.9 FCT") && text.contains("500 ± 100"), "\n{text}");
    assert!(text.contains("–  in p99.9 FCT: runs with fewer than 1000 flows have none.\n"), "\n{text}");
}

#[test]
fn the_only_part_of_a_traffic_is_not_shown_twice() {
    let point = SweepPoint::new();
    let of = |traffic: &str| row("tcp", &point, traffic, "fct.mean", Estimate::of(&[0.5]));
    let rows = vec![of("a"), of("a/x"), of("b"), of("b/x"), of("b/y")];
    let all = Summary { sweep: Vec::new(), rows };
    let text = summary(&all, &Choice::default(), NARROW);
    let titles: Vec<&str> = text.lines().filter(|line| line.ends_with("one repeat")).collect();
    let expected = ["a (all of it a/x)", "b", "b/x", "b/y"].map(|name| format!("{name}, one repeat"));
    assert_eq!(titles, expected, "\n{text}");
    // connections are no part of the messages that they carry
    let all_kept = Summary { sweep: Vec::new(), rows: vec![of("a"), of("a/connection")] };
    let text = summary(&all_kept, &Choice::default(), NARROW);
    let titles: Vec<&str> = text.lines().filter(|line| line.ends_with("one repeat")).collect();
    assert_eq!(titles, ["a, one repeat", "a/connection, one repeat"], "\n{text}");
    let part = Choice { traffics: vec!["a/x".into()], ..Choice::default() };
    assert!(summary(&all, &part, NARROW).starts_with("a/x, one repeat\n"));
}
