//! Scenarios that run: what claims say of them, what overrides leave of them, and legal values at their extremes.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use headway_experiment::{Experiment, Options, Results};
use headway_results::{Folder, Manifest, Verdict, Warning};
use headway_scenario::Document;
use proptest::prelude::*;

const SMALL: &str = include_str!("../../scenario/tests/small.toml");

fn run(text: &str, sets: &[&str]) -> Results {
    run_on(1, text, sets)
}

fn run_on(threads: usize, text: &str, sets: &[&str]) -> Results {
    let sets: Vec<String> = sets.iter().map(|&set| set.to_owned()).collect();
    let document = Document::parse(text, "small.toml", &sets).unwrap_or_else(|problems| panic!("{problems}"));
    run_document_on(threads, &document, Path::new("."))
}

fn run_document(document: &Document, folder: &Path) -> Results {
    run_document_on(1, document, folder)
}

fn run_document_on(threads: usize, document: &Document, folder: &Path) -> Results {
    let experiment = Experiment::new(document, folder).unwrap_or_else(|problems| panic!("{problems}"));
    let text = &document.show().unwrap();
    let scenario = &experiment.scenario;
    let name = scenario.name.as_str();
    let manifest = Manifest::new(name, text, scenario.seed, scenario.repeats, "test", experiment.cells().to_vec());
    let place = tempfile::tempdir().unwrap();
    let folder = Folder::create(place.path().join("results"), &manifest, text).unwrap();
    let options = Options { seed: scenario.seed, threads, verify: true, kernel: None, abort: Arc::default() };
    let stop = AtomicBool::new(false);
    experiment
        .simulate(&folder, &manifest, &BTreeSet::new(), &options, &stop, &mut |_, _| {})
        .unwrap_or_else(|error| panic!("{error}"))
}

/// What the thesis' data mining has for its back-end: a total shared out among those who talk (§6.4, table 6.1).
#[test]
fn a_total_is_shared_out_among_the_share_that_talks() {
    let sum = |sets: &[&str], metric: &str| mean(&run(SMALL, sets), "flows", metric);
    let sets = |share: &'static str| {
        [
            "traffic.flows.pairs=all-to-all",
            "traffic.flows.arrival=once",
            "traffic.flows.size={kind=\"shared\",total=\"60KB\"}",
            share,
        ]
    };
    let (all, half) = (sets("traffic.flows.from-share=100%"), sets("traffic.flows.from-share=50%"));
    let flows = [&all, &half].map(|sets| sum(sets, "flows").unwrap());
    assert_eq!(flows[0], 2.0 * flows[1]);
    assert_eq!(sum(&sets("traffic.flows.from-share=0%"), "flows"), Some(0.0));
    assert_eq!([&all, &half].map(|sets| sum(sets, "unfinished")), [Some(0.0); 2]);
}

/// A variant is a sweep point by its name, at which what it sets holds: ten times the rate makes flows several times as
/// fast.
#[test]
fn variants_are_points_with_the_values_that_they_set() {
    let text = include_str!("../../scenario/tests/valid/variants.toml");
    let results = run(text, &["repeats=5", "topology.bottleneck={}", "sweep.size=50KB", "drain=1s"]);
    let points: BTreeSet<String> = results.summary.rows.iter().map(|row| row.sweep.to_string()).collect();
    let expected = ["fast", "fast-shallow", "slow"].map(|link| format!("size=50KB, link={link}"));
    assert_eq!(points.into_iter().collect::<Vec<_>>(), expected);
    let mean = |link: &str| {
        let is_it = |row: &&headway_results::Row| {
            row.policy == "plain"
                && row.metric.to_string() == "fct.mean"
                && row.sweep.get("link").is_some_and(|value| value.text == link)
        };
        results.summary.rows.iter().find(is_it).and_then(|row| row.estimate.value).expect("flows finished")
    };
    assert!(mean("slow") > 2.0 * mean("fast"), "{} {}", mean("slow"), mean("fast"));
    assert!(results.verdicts.iter().all(|verdict| verdict.held), "{:?}", results.verdicts);
}

/// One packet in a hundred is lost in one direction. Queues are endless and no timer fires, so nothing else is sent again;
/// acknowledgements add up, so that one of a hundred is not missed.
#[test]
fn losses_of_one_link_are_seen_by_those_who_send_over_it() {
    let sets = [
        "topology.queue.limit=none",
        "topology.host-queue={kind=\"drop-tail\",limit=\"none\"}",
        "policy.plain.transport={kind=\"tcp\",min-rto=\"10s\",initial-rto=\"10s\"}",
    ];
    let sum = |more: &[&str]| mean(&run(SMALL, &[&sets, more].concat()), "flows", "retransmissions").unwrap();
    assert_eq!(sum(&[]), 0.0);
    assert_eq!(sum(&["topology.losses=[{links=[\"right>left\"],every=100}]"]), 0.0);
    assert!(sum(&["topology.losses=[{links=[\"left>right\"],every=100}]"]) >= 1.0);
}

#[test]
fn traffic_for_other_kinds_of_hosts_is_left_out() {
    let flows = |sets: &[&str]| mean(&run(SMALL, sets), "flows", "flows");
    let all = flows(&[]);
    assert!(all > Some(0.0));
    assert_eq!(flows(&["traffic.flows.only=[\"modelled\", \"linux\"]"]), all);
    assert_eq!(flows(&["traffic.flows.only=[\"namespaces\"]"]), Some(0.0));
}

/// Sizes from 10 to 90 KB, told apart at 30 KB: a quarter of the flows is short, and takes less than the others.
#[test]
fn flows_are_reported_by_their_size() {
    let sizes = ["traffic.flows.size={kind=\"uniform\",min=\"10KB\",max=\"90KB\"}", "drain=5s"];
    let all = run(SMALL, &sizes);
    let apart = run(SMALL, &[sizes[0], sizes[1], "traffic.flows.short=30KB"]);
    let of = |name: &str, metric: &str| mean(&apart, name, metric);
    let [short, long] = ["flows/short", "flows/long"].map(|name| of(name, "flows").unwrap());
    assert_eq!(mean(&all, "flows", "flows"), Some(short + long));
    assert_eq!(of("flows", "flows"), None, "by these names alone");
    assert!((0.05..0.5).contains(&(short / (short + long))), "{short} {long}");
    let [quick, slow] = ["flows/short", "flows/long"].map(|name| of(name, "fct.mean").unwrap());
    assert!(quick < slow, "{quick} {slow}");
    // exactly at the bound is short
    let all_short = run(SMALL, &["traffic.flows.size=30KB", "traffic.flows.short=30KB"]);
    assert_eq!(mean(&all_short, "flows/long", "flows").unwrap_or(0.0), 0.0);
}

/// A window of 64 KB over 28.2 ms: 2 MB take 31 round trips or more directly, and a few over relays. The flow that begins
/// at 1 s, while the process is down, is refused; the one before is over by then. Without relays nothing crashes.
#[test]
fn relays_forward_crash_and_come_back() {
    let claim = |policy: &str, value: &str, low: &str, high: &str| {
        format!(
            "[[claim]]\ntext = \"{policy} {value}\"\nbetween = {{ policy = \"{policy}\", traffic = \"objects\", value = \"{value}\", \
             low = {low}, high = {high} }}\n"
        )
    };
    let mut text = include_str!("runs/relay.toml").to_owned();
    for (policy, value, low, high) in [
        ("direct", "fct.p50", "\"874ms\"", "\"1.2s\""),
        ("direct", "resets", "0", "0"),
        ("direct", "unfinished", "0", "0"),
        ("warm", "fct.p50", "\"14ms\"", "\"100ms\""),
        ("warm", "resets", "1", "9"),
        ("warm", "unfinished", "1", "1"),
        ("cold", "fct.p50", "\"100ms\"", "\"400ms\""),
        ("cold", "resets", "1", "9"),
        ("bypassing", "fct.p50", "\"874ms\"", "\"1.2s\""),
        ("bypassing", "resets", "0", "0"),
    ] {
        text += &claim(policy, value, low, high);
    }
    let results = run_on(2, &text, &[]);
    for verdict in &results.verdicts {
        assert!(verdict.held, "{verdict:?}");
    }
    let is_reset = |warning: &Warning| matches!(warning, Warning::Reset { flows, .. } if *flows > 0);
    assert!(!results.unfinished.is_empty() && results.unfinished.iter().all(is_reset), "{:?}", results.unfinished);
}

/// One after another on an idle path, where 50 KB take 20 ms and a handshake: at most ten in 200 ms. A pause
/// of 20 ms on average leaves fewer, and no policy or thread changes what is sent.
#[test]
fn a_closed_loop_sends_one_flow_after_another() {
    let flows = |think: &str| {
        let arrival = format!("traffic.flows.arrival={{kind=\"closed-loop\",think=\"{think}\"}}");
        let results = run(SMALL, &[&arrival, "traffic.flows.senders=1", "topology.queue.limit=100KB", "drain=1s"]);
        assert_eq!(mean(&results, "flows", "unfinished"), Some(0.0));
        (mean(&results, "flows", "flows").unwrap(), mean(&results, "flows", "goodput.sum"))
    };
    let (back_to_back, goodput) = flows("0s");
    assert!((8.0..=10.0).contains(&back_to_back), "{back_to_back}");
    assert!(goodput.unwrap() > 12e6, "{goodput:?}");
    assert!(flows("20ms").0 < back_to_back);
    assert!(flows("10s").0 <= 1.0);
}

/// The mean of what the flows of a traffic have over all repeats.
fn mean(results: &Results, traffic: &str, metric: &str) -> Option<f64> {
    let row = |row: &&headway_results::Row| row.traffic == traffic && row.metric.to_string() == metric;
    results.summary.rows.iter().find(row).and_then(|row| row.estimate.value)
}

/// The value of `metric` for the flows of `traffic` under `policy`.
fn of_policy(results: &Results, policy: &str, metric: &str) -> f64 {
    let row = |row: &&headway_results::Row| row.policy == policy && row.metric.to_string() == metric;
    results.summary.rows.iter().find(row).and_then(|row| row.estimate.value).expect("it is measured")
}

/// Two hosts of 1 Gb/s and a bottleneck of 500 Mb/s with room for ten packets: a flow that is paced at its rate on the line
/// loses nothing and fills it, a limited estimate does the same, and gap frames that are sent make the same numbers. A timer
/// of 1 ms sends 41 packets at once and loses what does not fit.
#[test]
fn cards_pace_what_hosts_send() {
    let results = run(include_str!("runs/pacing.toml"), &[]);
    let lost = |policy| of_policy(&results, policy, "retransmissions");
    let goodput = |policy| of_policy(&results, policy, "goodput.mean");
    // 1,460 of 1,538 bytes of the line, but for the handshake and slow start
    let full = 500e6 * 1460.0 / 1538.0;
    for policy in ["static", "limited"] {
        assert_eq!(lost(policy), 0.0, "{policy}");
        assert!((0.9 * full..=full).contains(&goodput(policy)), "{policy} {}", goodput(policy));
    }
    assert!(lost("none") > 0.0 && lost("timer") > 0.0);
    assert!(goodput("none") < 0.9 * full);
    for metric in ["retransmissions", "goodput.mean"] {
        assert_eq!(of_policy(&results, "static", metric), of_policy(&results, "sent", metric), "{metric}");
    }
}

/// On an idle network every request asks all and gets all. A flow without end into the only way to a parent makes its
/// leaves late, and a deadline that nobody can meet leaves every request without answers.
#[test]
fn requests_go_through_a_tree_and_miss_deadlines() {
    let tree = include_str!("runs/tree.toml");
    let claim = |traffic: &str, value: &str, low: &str, high: &str| {
        format!(
            "[[claim]]\ntext = \"{traffic}\"\nbetween = {{ policy = \"plain\", traffic = \"{traffic}\", value = \
             \"{value}\", low = {low}, high = {high} }}\n"
        )
    };
    let idle = [
        claim("search/request", "deadline-missed", "0", "0"),
        claim("search/leaf", "deadline-missed", "0", "0"),
        claim("search/parent", "deadline-missed", "0", "0"),
        claim("search/request", "fct.p99", "\"1ms\"", "\"10ms\""),
    ];
    let results = run(&format!("{tree}{}", idle.concat()), &[]);
    for verdict in &results.verdicts {
        assert!(verdict.held, "{verdict:?}");
    }
    let requests = mean(&results, "search/request", "flows").unwrap();
    // 1 s of one request every 20 ms, twice: 50 with a standard deviation of √50 / √2 = 5, four of them
    assert!((requests - 50.0).abs() < 20.0, "{requests}");
    for (level, hosts) in [("parent", 3.0), ("leaf", 12.0)] {
        for way in ["", "/query"] {
            assert_eq!(mean(&results, &format!("search/{level}{way}"), "flows"), Some(hosts * requests));
            assert_eq!(mean(&results, &format!("search/{level}{way}"), "unfinished"), Some(0.0));
        }
    }
    assert_eq!(mean(&results, "search", "flows"), None);

    let missed =
        [claim("search/leaf", "deadline-missed", "0.01", "1"), claim("search/request", "deadline-missed", "0.01", "1")];
    let results = run(&format!("{tree}{}", missed.concat()), &["traffic.back.senders=4"]);
    for verdict in &results.verdicts {
        assert!(verdict.held, "{verdict:?}");
    }

    let never = claim("search/request", "deadline-missed", "1", "1");
    let sets = [
        "traffic.search.levels.0.deadline=1us",
        "traffic.search.levels.1.deadline=1us",
        "traffic.search.deadline=100us",
    ];
    let results = run(&format!("{tree}{never}"), &sets);
    assert!(results.verdicts[0].held, "{:?}", results.verdicts[0]);
}

#[test]
fn a_claim_can_compare_sweep_points() {
    let claims = r#"
[sweep]
bytes = ["20KB", "40KB", "80KB"]

[[claim]]
text = "More takes longer"
at = { bytes = ["40KB", "80KB"] }
greater = [{ policy = "plain", value = "fct.mean" }, { policy = "plain", value = "fct.mean", at = { bytes = "20KB" } }]

[[claim]]
text = "Nor is less"
at = { bytes = "20KB" }
greater = [{ policy = "plain", value = "fct.mean" }, { policy = "plain", value = "fct.mean", at = { bytes = "80KB" } }]
"#;
    let text = format!("{}{claims}", SMALL.replace("size = \"50KB\"", "size = \"$bytes\""));
    let results = run(&text, &["topology.queue.limit=1MB"]);
    let mean = |bytes: &str| {
        let row = results.summary.rows.iter().find(|row| {
            row.policy == "plain" && row.metric.to_string() == "fct.mean" && row.sweep.to_string().contains(bytes)
        });
        row.unwrap().estimate.value
    };
    let [more, less] = &results.verdicts[..] else { panic!("two claims") };
    assert!(more.held && !less.held, "{more:?} {less:?}");
    for (case, own) in more.cases.iter().zip(["40KB", "80KB"]) {
        assert_eq!((case.first.value, case.second.unwrap().value), (mean(own), mean("20KB")));
        assert!(case.point.contains(own), "{}", case.point);
        assert!(case.numbers.contains("fct.mean at bytes = 20KB = "), "{}", case.numbers);
    }
    // Without the point that it compares with, there is no claim.
    let results = run(&text, &["sweep.bytes=[\"20KB\", \"40KB\"]"]);
    assert_eq!(results.verdicts.iter().map(|verdict| &*verdict.text).collect::<Vec<_>>(), ["More takes longer"]);
}

/// Two hosts with a slow and a quick cable to a switch: by its interface a connection has the one or the other, and with
/// one receiver the second destination gets nothing.
#[test]
fn interfaces_and_receivers_are_taken_as_told() {
    let text = r#"
name = "told"
about = "A slow and a quick interface"
duration = "100ms"
repeats = 1
[topology]
kind = "graph"
switches = ["slow", "quick"]
hosts = ["a", "b", "c"]
cables = [
  { between = ["a", "slow"], rate = "10Mbps" }, { between = ["a", "quick"] },
  { between = ["b", "slow"], rate = "10Mbps" }, { between = ["b", "quick"] },
  { between = ["c", "slow"], rate = "10Mbps" }, { between = ["c", "quick"] },
]
link = { rate = "100Mbps" }
queue = { kind = "drop-tail", limit = "1MB" }
[hosts]
from = { members = ["a"] }
to = { members = ["b", "c"] }
[[traffic]]
name = "flows"
from = "from"
to = "to"
receivers = 1
pairs = "each-destination"
size = "100KB"
arrival = "once"
[[policy]]
name = "first"
transport = { kind = "tcp", interface = 0 }
[[policy]]
name = "second"
transport = { kind = "tcp", interface = 1 }
"#;
    let results = run(text, &[]);
    let value = |policy: &str, metric: &str| {
        let row = results.summary.rows.iter().find(|row| row.policy == policy && row.metric.to_string() == metric);
        row.and_then(|row| row.estimate.value).unwrap()
    };
    assert_eq!((value("first", "flows"), value("second", "flows")), (1.0, 1.0));
    // 100 KB and headers are 83 ms at 10 Mbit/s, 8.3 ms at 100 Mbit/s, and a handshake more.
    assert!((0.083..0.09).contains(&value("first", "fct.mean")), "{}", value("first", "fct.mean"));
    assert!((0.0083..0.01).contains(&value("second", "fct.mean")), "{}", value("second", "fct.mean"));
}

/// The bottleneck is dead for 300 ms, by whatever name; all flows get through it, and have stood still about as long.
/// The results are the same on any number of threads (and each run's events the same twice: `verify`).
#[test]
fn failures_by_any_name_have_one_effect() {
    let stalls = |threads: usize, what: &str, reroute: &str| {
        let failure = format!("[[failure]]\n{what}\nat = \"50ms\"\nuntil = \"$until\"\n{reroute}\n");
        let sweep = "[sweep]\nuntil = [\"350ms\"]\n";
        let text = SMALL.replace("[[traffic]]", &format!("{failure}\n{sweep}\n[[traffic]]"));
        let text = text.replace("\"patient\"", "\"hasty\"").replace("\"10s\"", "\"50ms\"");
        let results = run_on(threads, &text, &["drain=20s"]);
        let rows = results.summary.rows.iter();
        let rows = rows.filter(|row| ["stall.max", "unfinished"].contains(&&*row.metric.to_string()));
        rows.map(|row| (row.policy.clone(), row.metric, row.estimate.value.expect("a value"))).collect::<Vec<_>>()
    };
    let cable = stalls(1, "link = [\"left\", \"right\"]", "reroute = \"1ms\"");
    assert_eq!(cable.len(), 4);
    for (policy, metric, value) in &cable {
        match metric.to_string().as_str() {
            "unfinished" => assert_eq!(*value, 0.0, "{policy}"),
            // a flow that begins meanwhile loses its SYN, and waits 3 s for what it loses then (RFC 6298 §5.7)
            _ => assert!((0.3..4.5).contains(value), "{policy}: {value}"),
        }
    }
    assert_eq!(stalls(2, "link = [\"right\", \"left\"]", ""), cable, "there is no other way to route");
    // the receiver's only cable
    let host = stalls(2, "host = \"right-host0\"\ninterface = 0", "");
    assert!(host.iter().all(|(_, metric, value)| metric.to_string() == "unfinished" || (0.3..4.5).contains(value)));
}

/// Time-outs of ten seconds leave flows unfinished; the few that finish are quick, which must not count for them.
#[test]
fn a_claim_about_a_mean_is_not_held_while_flows_are_unfinished() {
    let claim = r#"
[[claim]]
text = "Patience pays"
less = [{ policy = "patient", value = "fct.mean" }, { policy = "plain", value = "fct.mean" }]
by = 1000.0
"#;
    let results = run(&format!("{SMALL}{claim}"), &["topology.queue.limit=5KB", "drain=9s"]);
    let mean = |policy: &str, metric: &str| {
        let row = results.summary.rows.iter().find(|row| row.policy == policy && row.metric.to_string() == metric);
        row.and_then(|row| row.estimate.value).unwrap_or(0.0)
    };
    assert!(
        mean("patient", "unfinished") > 0.0 && mean("plain", "unfinished") == 0.0,
        "the test's premise: {} and {}",
        mean("patient", "unfinished"),
        mean("plain", "unfinished")
    );
    assert!(!results.verdicts[0].held);
    assert!(results.verdicts[0].cases[0].numbers.contains("no value"), "{}", results.verdicts[0].cases[0].numbers);
}

#[test]
fn an_override_of_the_sweep_narrows_the_claims_and_can_be_shown_and_run_again() {
    let claims = r#"
[sweep]
limit = ["10KB", "20KB", "40KB"]

[[claim]]
text = "all"
between = { policy = "plain", value = "unfinished", low = 0, high = 0 }

[[claim]]
text = "some"
at = { limit = ["10KB", "20KB"] }
between = { policy = "plain", value = "unfinished", low = 0, high = 0 }

[[claim]]
text = "none"
at = { limit = "40KB" }
between = { policy = "plain", value = "unfinished", low = 0, high = 0 }
"#;
    let text = format!("{}{claims}", SMALL.replace("\"30KB\"", "\"$limit\""));
    let verdicts = |results: Results| -> Vec<(String, usize)> {
        results.verdicts.into_iter().map(|verdict| (verdict.text, verdict.cases.len())).collect()
    };
    let expected = [("all".to_owned(), 1), ("some".to_owned(), 1)];
    let set = "sweep.limit=[\"20KB\"]";
    assert_eq!(verdicts(run(&text, &[set])), expected);
    let document = Document::parse(&text, "x.toml", &[set.to_owned()]).unwrap();
    assert_eq!(document.left_out_claims().len(), 1);
    assert_eq!(verdicts(run(&document.show().unwrap(), &[])), expected);
}

#[test]
fn a_traffic_can_have_a_transport_of_its_own() {
    let more = r#"
[[traffic]]
name = "other"
from = "left"
to = "right"
size = "20KB"
arrival = "once"
"#;
    let text = SMALL.replace("[[policy]]\nname = \"plain\"", &format!("{more}\n[[policy]]\nname = \"plain\""));
    let fct = |sets: &[&str], traffic: &str| {
        let results = run(&text, sets);
        let rows = &results.summary.rows;
        let row =
            rows.iter().find(|r| r.policy == "plain" && r.traffic == traffic && r.metric.to_string() == "fct.mean");
        row.unwrap().estimate.value.unwrap()
    };
    let own = ["policy.plain.traffic={other={kind=\"tcp\",initial-window=1}}"];
    assert!(fct(&own, "other") > fct(&[], "other"), "a window of one segment is slower");
}

/// Whether D2TCP does with them what its paper says is tested where it is; DCTCP is the same control without deadlines.
#[test]
fn deadlines_reach_controls_that_know_them() {
    let fct = |control: &str, deadline: &str| {
        let results = run(
            SMALL,
            &[
                "topology.queue={kind=\"drop-tail\",limit=\"1000pkt\",mark=\"20pkt\"}",
                "traffic.flows.arrival=once",
                "traffic.flows.size=500KB",
                &format!("traffic.flows.deadline={deadline}"),
                &format!("policy.plain.transport={{kind=\"tcp\",control=\"{control}\",ecn=true}}"),
            ],
        );
        let found = |r: &&headway_results::Row| r.policy == "plain" && r.metric.to_string() == "fct.mean";
        results.summary.rows.iter().find(found).unwrap().estimate.value.unwrap().to_bits()
    };
    assert_ne!(fct("d2tcp", "900ms"), fct("d2tcp", "1000s"));
    assert_eq!(fct("dctcp", "900ms"), fct("dctcp", "1000s"));
}

/// Conservation is asserted and every run made twice, through servers that forward, too.
#[test]
fn every_topology_runs_to_its_end() {
    for (name, text) in [
        ("multi-homed-fat-tree", include_str!("../../scenario/tests/valid/multi-homed-fat-tree.toml")),
        ("bcube", include_str!("../../scenario/tests/valid/bcube.toml")),
        ("tree", include_str!("../../scenario/tests/valid/tree.toml")),
        ("vl2", include_str!("../../scenario/tests/valid/vl2.toml")),
    ] {
        let results = run(text, &["repeats=1"]);
        let unfinished = results.summary.rows.iter().filter(|row| row.metric.to_string() == "unfinished");
        let unfinished: Vec<_> = unfinished.map(|row| row.estimate.value).collect();
        assert!(!unfinished.is_empty() && unfinished.iter().all(|&value| value == Some(0.0)), "{name}: {unfinished:?}");
    }
}

/// The paths of a connection with a subflow for each interface add up where they share nothing: 20 MB take 1.6 s at the
/// 100 Mb/s of one interface, and half or a third with two or three.
#[test]
fn subflows_over_disjoint_paths_add_up() {
    for (paths, shape) in [
        (2.0, "{kind=\"bcube\",n=3,levels=2"),
        (3.0, "{kind=\"bcube\",n=3,levels=3"),
        (2.0, "{kind=\"multi-homed-fat-tree\",k=4"),
        (3.0, "{kind=\"multi-homed-fat-tree\",k=6"),
    ] {
        let topology = format!(
            "topology={shape},link={{rate=\"100Mbps\",delay=\"10us\"}},queue={{kind=\"drop-tail\",limit=\"60KB\"}}}}"
        );
        let fct = |transport: &str| {
            let sets = [
                &topology,
                "hosts={left={count=1},right={count=8}}",
                "traffic.flows.size=20MB",
                "traffic.flows.arrival=once",
                "traffic.flows.pairs=random",
                "repeats=3",
                &format!("policy.plain.transport={{kind=\"{transport}\"}}"),
            ];
            let results = run(SMALL, &sets);
            let found = |r: &&headway_results::Row| r.policy == "plain" && r.metric.to_string() == "fct.mean";
            results.summary.rows.iter().find(found).unwrap().estimate.value.unwrap()
        };
        let (one, all) = (fct("tcp"), fct("mptcp"));
        // Headers and gap: 1,538 B carry 1,460 B, or 1,440 B with MPTCP; beyond that a tenth for slow start and losses.
        assert!((1.68..1.86).contains(&one), "{shape}: {one} s over one path");
        let least = 1.6 * 1538.0 / 1440.0 / paths;
        assert!((least..1.15 * least).contains(&all), "{shape}: {all} s over {paths} paths, at least {least}");
    }
}

/// A ring that is too small says so; a host whose group has no model is another's.
#[test]
fn what_rings_drop_is_warned_of() {
    let warnings =
        |sets: &[&str]| -> Vec<String> { run(SMALL, sets).warnings.iter().map(headway_report::warning).collect() };
    assert_eq!(warnings(&[]), [""; 0]);
    assert_eq!(warnings(&["hosts.right.model={}"]), [""; 0]);
    let found = warnings(&["hosts.right.model={ring=2,cpu-per-packet=\"5ms\"}"]);
    assert_eq!(found.len(), 1);
    assert!(found[0].ends_with(" found the receive ring of a modelled host full and were dropped"), "{found:?}");
    let steered = "hosts.right.model={cores=4,rps=true,netdev-max-backlog=1,cpu-per-segment=\"5ms\"}";
    let found = warnings(&[steered]);
    assert_eq!(found.len(), 1);
    assert!(found[0].ends_with(" found the backlog of a core of a modelled host full and were dropped"), "{found:?}");
}

/// Each of these is accepted, so it must run, to whatever end.
#[test]
fn values_at_the_ends_of_their_ranges_run() {
    for sets in [
        vec!["traffic.flows.size=18446744TB"],
        // the check wants a time-out above the round trip, so delays end where it does
        vec![
            "topology.link.delay=500s",
            "topology.switch-latency=500s",
            "policy.plain.transport.max-rto=3600s",
            "policy.patient.transport.max-rto=3600s",
        ],
        vec!["topology.link.rate=10kbps", "topology.bottleneck.rate=10kbps", "topology.link.gap=65535B"],
        vec!["topology.link.rate=18446744Tbps", "topology.bottleneck.rate=18446744Tbps", "topology.link.delay=0s"],
        vec!["topology.mtu=65500B", "topology.queue.limit=none"],
        vec!["policy.plain.transport.delayed-ack={timeout=\"3600s\",packets=1000,quick=0}"],
        vec![
            "policy.plain.transport.min-rto=3600s",
            "policy.plain.transport.initial-rto=3600s",
            "policy.plain.transport.max-rto=3600s",
            "topology.link.loss=0.5",
        ],
        vec![
            "policy.plain.transport.min-rto=1ps",
            "policy.plain.transport.initial-rto=1us",
            "policy.plain.transport.max-rto=30us",
            "topology.link.loss=0.3",
            "duration=10ms",
            "drain=0s",
        ],
        vec!["policy.plain.transport.receive-window=1B"],
        vec!["policy.plain.transport.receive-window=1GiB", "policy.plain.transport.initial-window=1000"],
        vec!["policy.plain.transport={kind=\"mptcp\",subflows=8,backup=[0,1,2,3,4,5,6,7]}"],
        vec!["policy.plain.replicate={below=\"1GB\",copies=64}"],
        vec!["policy.plain.transport.stack=linux", "policy.plain.transport.segmentation-offload=1B"],
        vec!["policy.plain.transport.stack=linux", "policy.plain.transport.segmentation-offload=1MiB"],
        vec!["policy.plain.transport.stack=linux", "policy.plain.transport.send-buffer=4KiB"],
        vec!["policy.plain.transport.stack=linux", "policy.plain.transport.receive-window={initial=\"1B\"}"],
        vec!["policy.plain.transport.stack=linux", "policy.plain.transport.duplicate-threshold=300"],
        vec!["policy.plain.transport.stack=windows-xp", "policy.plain.transport.duplicate-threshold=1"],
        vec!["policy.plain.transport.stack=linux-2.6", "policy.plain.transport.slow-start-growth=1000"],
        vec!["policy.plain.transport.pacing=always", "traffic.flows.deadline=1ps"],
        vec![
            "hosts.right.model={cores=64,queues=128,ring=1,rx-usecs=\"1s\",rx-frames=0,budget=1,netdev-budget=1,netdev-budget-usecs=\"0s\",rps=true,netdev-max-backlog=1}",
        ],
        vec![
            "hosts.right.model={cpu-per-interrupt=\"1s\",cpu-per-packet=\"1s\",cpu-per-byte=\"1ms\",cpu-per-segment=\"1s\",cpu-per-burst=\"1s\"}",
        ],
        vec![
            "hosts.left.model={ring=1000000,rx-frames=1000000,rx-usecs=\"1ps\",cpu-per-burst=\"1s\",segmentation=false,gro=false}",
        ],
        vec!["duration=720h", "drain=720h", "traffic.flows.arrival={kind=\"periodic\",period=\"500h\"}"],
    ] {
        let results = run(SMALL, &sets);
        assert!(!results.summary.rows.is_empty(), "{sets:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// Random legal settings together: they run, twice alike (`verify`).
    #[test]
    fn any_legal_settings_run(
        rate in 10_000u64..1_000_000_000, delay_us in 0u64..100_000, loss in 0.0f64..0.4, limit in 1u32..60,
        mtu in 200u64..9001, window in 1u64..200_000, iw in 1u32..60, packets in 1u32..6, quick in 0u32..30,
        kind in prop::sample::select(vec!["tcp", "mptcp"]), recovery in prop::sample::select(vec!["new-reno", "sack"]),
        ecn in any::<bool>(), limited in any::<bool>(), size in 0u64..200_000, copies in 2u32..5,
    ) {
        let size = size + 1;
        let sets = [
            format!("topology.bottleneck.rate={rate}bps"),
            format!("topology.link.delay={delay_us}us"),
            format!("topology.link.loss={loss}"),
            format!("topology.queue={{kind=\"drop-tail\",limit=\"{limit}pkt\"}}"),
            format!("topology.mtu={mtu}B"),
            format!("traffic.flows.size={size}B"),
            format!(
                "policy.plain.transport={{kind=\"{kind}\",recovery=\"{recovery}\",initial-window={iw},ecn={ecn},\
                 limited-transmit={limited},receive-window=\"{window}B\",\
                 delayed-ack={{packets={packets},quick={quick}}}}}"
            ),
            format!("policy.plain.replicate={{below=\"100KB\",copies={copies}}}"),
        ];
        let sets: Vec<&str> = sets.iter().map(String::as_str).collect();
        run(SMALL, &sets);
    }

    /// Stacks with random parts, as far as they go together: they run, twice alike.
    #[test]
    fn any_legal_stack_runs(
        stack in prop::sample::select(vec!["rfc", "linux", "linux-2.6", "windows-xp"]),
        kind in prop::sample::select(vec!["tcp", "mptcp"]),
        recovery in prop::sample::select(vec!["sack", "rack"]),
        reduction in prop::sample::select(vec!["at-once", "proportional", "halving"]),
        switches in any::<[bool; 8]>(), threshold in 1u32..10, growth in 1u32..50,
        reduces in prop::sample::select(vec!["flight", "cwnd"]),
        idle in prop::sample::select(vec!["keep", "restart", "decay"]),
        rto in prop::sample::select(vec!["rfc6298", "linux"]),
        initial in 1u64..100_000, most in 100_000u64..1_000_000, offload in 1u32..1_000_000,
        loss in 0.0f64..0.2,
    ) {
        let [probe, f_rto, undo, adaptive, scaling, queues, paced, ecn] = switches;
        let pacing = if paced { "always" } else { "control" };
        let sets = [
            format!("topology.link.loss={loss}"),
            format!(
                "policy.plain.transport={{kind=\"{kind}\",stack=\"{stack}\",control=\"new-reno\",\
                 recovery=\"{recovery}\",reduction=\"{reduction}\",tail-loss-probe={probe},f-rto={f_rto},undo={undo},\
                 duplicate-threshold={threshold},slow-start-growth={growth},reduces=\"{reduces}\",\
                 idle-restart=\"{idle}\",rto-rule=\"{rto}\",delayed-ack={{adaptive={adaptive}}},\
                 receive-window={{initial=\"{initial}B\",most=\"{most}B\"}},window-scaling={scaling},\
                 segmentation-offload=\"{offload}B\",small-queues={queues},pacing=\"{pacing}\",ecn={ecn}}}"
            ),
        ];
        let sets: Vec<&str> = sets.iter().map(String::as_str).collect();
        run(SMALL, &sets);
    }
}

#[test]
fn published_numbers_stand_beside_ours() {
    let claims = r#"
[[claim]]
text = "near"
near = { policy = "plain", value = "unfinished", within = "10%" }
published = { value = 0 }

[[claim]]
text = "far"
near = { policy = "plain", value = "fct.mean", within = "50%" }
published = { file = "mine.csv", row = { size_kb = 30 }, column = "mean_ms" }
known = "it is another network"

[[claim]]
text = "two"
less = [{ policy = "plain", value = "fct.mean" }, { policy = "plain", value = "fct.mean" }]
by = 2.0
published = [{ value = "1s" }, "twice that"]
"#;
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("mine.csv"), "# a table\nsize_kb,mean_ms\n30.0,1000000\n").unwrap();
    let document = Document::parse(&format!("{SMALL}{claims}"), "x.toml", &[]).unwrap();
    let results = run_document(&document, folder.path());
    let [near, far, two] = &results.verdicts[results.verdicts.len() - 3..] else { panic!("three claims") };
    assert_eq!(
        (near.held, near.failed(), near.ratios(&near.cases[0])),
        (true, false, vec![None]),
        "nothing by nothing"
    );
    assert_eq!((far.held, far.failed()), (false, false));
    assert_eq!((far.printed[0].text.as_str(), far.printed[0].value), ("1000 s (mine.csv)", Some(1000.0)));
    let ours = far.cases[0].first.value.unwrap();
    assert_eq!(far.ratios(&far.cases[0]), [Some(ours / 1000.0)]);
    assert!(far.cases[0].numbers.ends_with("wanted within 50 % of 1000 s"), "{}", far.cases[0].numbers);
    assert_eq!((two.held, two.ratios(&two.cases[0])), (true, vec![Some(ours), None]));
    for verdict in &results.verdicts {
        assert_eq!(Verdict::from_json(&verdict.to_json()).as_ref(), Some(verdict), "as it is kept");
    }
}

/// A number of the table at each point, found by its units; the cell that the table marks is not judged by.
#[test]
fn each_point_has_its_cell_of_a_published_table() {
    let claims = r#"
[sweep]
delay = ["10us", "1ms"]

[[claim]]
text = "cells"
near = { policy = "plain", value = "fct.mean", within = "60%" }
published = { file = "mine.csv", row = { delay_ms = "$delay" }, column = "mean_ms", suspect = "suspect" }
"#;
    let folder = tempfile::tempdir().unwrap();
    let table =
        |rows: &str| std::fs::write(folder.path().join("mine.csv"), format!("delay_ms,mean_ms,suspect\n{rows}"));
    let text = format!("{}{claims}", SMALL.replace("delay = \"10us\"", "delay = \"$delay\""));
    let verdict = |rows: &str, sets: &[&str]| {
        table(rows).unwrap();
        let sets: Vec<String> = sets.iter().map(|&set| set.to_owned()).collect();
        let document = Document::parse(&text, "x.toml", &sets).unwrap_or_else(|problems| panic!("{problems}"));
        let shown = document.show().unwrap();
        assert!(shown.contains("delay_ms = \"$delay\""), "{shown}");
        run_document(&document, folder.path()).verdicts.pop().unwrap()
    };
    let first = verdict("0.01,1,0\n1,1,0\n", &[]);
    let ours: Vec<f64> = first.cases.iter().map(|case| case.first.value.unwrap() * 1e3).collect();
    assert!(!first.held && ours[0] > 2.0, "{ours:?}");
    let near = verdict(&format!("0.01,{},0\n1,{},0\n", ours[0], ours[1]), &[]);
    assert!(near.held);
    let ratio = near.ratios(&near.cases[1])[0].unwrap();
    assert!((ratio - 1.0).abs() < 1e-9, "{ratio}");
    let suspect = verdict(&format!("0.01,{},0\n1,1,1\n", ours[0]), &[]);
    assert!(suspect.held && !suspect.cases[1].held && !suspect.cases[1].is_judged());
    assert_eq!(Verdict::from_json(&suspect.to_json()).as_ref(), Some(&suspect), "as it is kept");
    let doubtful = verdict(&format!("0.01,{},1\n1,1,1\n", ours[0]), &[]);
    assert!(!doubtful.held && !doubtful.failed() && !doubtful.is_judged(), "nothing judges it");
    let one = verdict(&format!("0.01,{},0\n", ours[0]), &["sweep.delay=[\"10us\"]"]);
    assert!(one.held && one.cases.len() == 1 && one.skipped == 1);
    // a row that is missing is said at its point
    let document = Document::parse(&text, "x.toml", &[]).unwrap();
    let problems = Experiment::new(&document, folder.path()).unwrap_err().to_string();
    assert!(problems.contains("mine.csv has no such row") && problems.contains("1ms"), "{problems}");
}

/// What two policies differ by, repeat by repeat; and the difference of a policy that is not run is none.
#[test]
fn a_policy_is_taken_off_another() {
    let claims = r#"
[[claim]]
text = "difference"
between = { policy = "patient", value = "timeouts", minus = "plain", low = 0, high = 0 }

[[claim]]
text = "itself"
less = [{ policy = "plain", value = "timeouts" }, { policy = "patient", value = "timeouts" }]
"#;
    let results = run(&format!("{SMALL}{claims}"), &[]);
    let [difference, itself] = &results.verdicts[results.verdicts.len() - 2..] else { panic!("two claims") };
    let value = |estimate: headway_results::Estimate| estimate.value.unwrap();
    let (plain, patient) = (value(itself.cases[0].first), value(itself.cases[0].second.unwrap()));
    assert!((value(difference.cases[0].first) - (patient - plain)).abs() < 1e-9);
    assert!(plain > patient, "{plain} {patient}: timeouts of 10 ms are many");
    assert!(
        difference.cases[0].numbers.starts_with("patient − plain flows timeouts = -"),
        "{}",
        difference.cases[0].numbers
    );
    let alone = headway_scenario::Overrides { policies: vec!["patient".to_owned()], ..Default::default() };
    let document = Document::parse_with(&format!("{SMALL}{claims}"), "x.toml", &alone).unwrap();
    assert_eq!(document.left_out_claims(), ["difference", "itself"]);
}

/// The one-sided bound decides, and not the mean: a level just above the mean is within the noise.
#[test]
fn results_are_compared_with_values() {
    let claim = |key: &str, metric: &str, value: &str| {
        format!("\n[[claim]]\ntext = \"x\"\n{key} = [{{ policy = \"plain\", value = \"{metric}\" }}, {value}]\n")
    };
    let verdicts = |claims: &str| {
        let all = run(&format!("{SMALL}{claims}"), &[]).verdicts;
        all.into_iter().filter(|verdict| verdict.text == "x").collect::<Vec<_>>()
    };
    let claims = [
        claim("less", "fct.mean", "\"1000s\""),
        claim("less", "fct.mean", "\"1ns\""),
        claim("greater", "fct.mean", "\"1ns\""),
        claim("greater", "fairness", "\"1%\""),
    ];
    let found = verdicts(&claims.concat());
    assert_eq!(found.iter().map(|verdict| verdict.held).collect::<Vec<_>>(), [true, false, true, true], "{found:?}");
    let first = &found[0].cases[0];
    let (value, high) = (first.first.value.unwrap(), first.first.high.expect("repeats differ"));
    assert!(first.second.is_none() && first.numbers.contains(", with 95 % confidence at most "), "{}", first.numbers);
    assert!(first.numbers.ends_with("; wanted < 1000 s"), "{}", first.numbers);
    assert!(found[2].cases[0].numbers.contains(", with 95 % confidence at least "), "{found:?}");
    // The bound lies between the mean and the upper end of the two-sided interval.
    let near = |value: f64| format!("\"{}ns\"", (value * 1e9).round());
    let claims = [claim("less", "fct.mean", &near(value * 1.000_001)), claim("less", "fct.mean", &near(high))];
    let found = verdicts(&claims.concat());
    assert_eq!([found[0].held, found[1].held], [false, true], "{found:?}");
    assert!(found[0].cases[0].numbers.ends_with("(so on average, but within the noise of the repeats)"), "{found:?}");
}

#[test]
fn points_that_are_not_run_are_counted() {
    let claims = r#"
[sweep]
limit = ["10KB", "20KB", "30KB"]

[[claim]]
text = "all"
between = { policy = "plain", value = "unfinished", low = 0, high = 0 }

[[claim]]
text = "two"
at = { limit = ["20KB", "30KB"] }
between = { policy = "plain", value = "unfinished", low = 0, high = 0 }
"#;
    let text = format!("{}{claims}", SMALL.replace("\"30KB\"", "\"$limit\""));
    let skipped = |sets: &[&str]| -> Vec<usize> { run(&text, sets).verdicts.iter().map(|v| v.skipped).collect() };
    assert_eq!(skipped(&[]), [0, 0]);
    assert_eq!(skipped(&["sweep.limit=[\"20KB\"]"]), [2, 1]);
    assert_eq!(skipped(&["sweep.limit=[\"20KB\", \"40KB\"]", "repeats=1"]), [2, 1], "others are others");
}

/// Two kinds of traffic of the same clients are two programs: on one core they share it, two cores do twice as much. A server
/// with no place for what waits for its worker drops SYNs, and the run says so.
#[test]
fn web_clients_have_cores_and_servers_tell_of_full_queues() {
    let traffic = |name: &str| {
        format!(
            "[[traffic]]\nname = \"{name}\"\nkind = \"http\"\nto = \"server\"\npage = \"1KB\"\n\
             clients = [{{ on = \"client\", concurrency = 4, cpu-per-request = \"1ms\" }}]\n"
        )
    };
    let text = "name = \"web\"\nabout = \"two programs\"\nduration = \"500ms\"\nrepeats = 1\n\
         [topology]\nkind = \"two-tier\"\nleaves = 1\nspines = 1\nhosts-per-leaf = 2\nlink = { rate = \"1Gbps\" }\n\
         queue = { kind = \"drop-tail\", limit = \"100KB\" }\n\
         [hosts]\nserver = { count = 1, model = {}, server = {} }\nclient = { count = 1, model = { cores = 1 } }\n\
         [[policy]]\nname = \"tcp\"\ntransport = \"tcp\"\n"
        .to_owned()
        + &traffic("one")
        + &traffic("two");
    let requests = |sets: &[&str]| {
        let results = run(&text, sets);
        let flows = ["one/client", "two/client"].map(|name| mean(&results, name, "flows").unwrap());
        (flows[0] + flows[1], results.warnings)
    };
    let ((shared, quiet), (apart, _)) = (requests(&[]), requests(&["hosts.client.model.cores=2"]));
    assert!((450.0..=510.0).contains(&shared) && (950.0..=1010.0).contains(&apart), "{shared} {apart}");
    let full = |warning: &Warning| matches!(warning, Warning::SynsDropped(1..) | Warning::AcceptQueueFull(1..));
    assert!(!quiet.iter().any(full));
    let slow = requests(&["hosts.server.server={backlog=0,cpu-per-connection=\"50ms\"}"]).1;
    assert!(slow.iter().any(full), "{slow:?}");
}
