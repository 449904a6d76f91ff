//! Scenarios that run: what claims say of them, what overrides leave of them, and legal values at their extremes.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use headway_results::{Folder, Manifest};
use headway_scenario::{Document, Experiment, Options, Results};
use proptest::prelude::*;

const SMALL: &str = include_str!("runs/small.toml");

fn run(text: &str, sets: &[&str]) -> Results {
    run_on(1, text, sets)
}

fn run_on(threads: usize, text: &str, sets: &[&str]) -> Results {
    let sets: Vec<String> = sets.iter().map(|&set| set.to_owned()).collect();
    let document = Document::parse(text, "small.toml", &sets).unwrap_or_else(|problems| panic!("{problems}"));
    let experiment = Experiment::new(&document, Path::new(".")).unwrap_or_else(|problems| panic!("{problems}"));
    let scenario = &experiment.scenario;
    let name = scenario.name.as_str();
    let manifest = Manifest::new(name, text, scenario.seed, scenario.repeats, "test", experiment.cells().to_vec());
    let place = tempfile::tempdir().unwrap();
    let folder = Folder::create(place.path().join("results"), &manifest, text).unwrap();
    let options = Options { seed: scenario.seed, threads, verify: true, kernel: None };
    let stop = AtomicBool::new(false);
    experiment
        .simulate(&folder, &manifest, &BTreeSet::new(), &options, &stop, &mut |_, _| {})
        .unwrap_or_else(|error| panic!("{error}"))
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
    assert_eq!(document.left_out_claims(), 1);
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

/// A ring that is too small says so; a host whose group has no model is another's.
#[test]
fn what_rings_drop_is_warned_of() {
    let warnings = |sets: &[&str]| run(SMALL, sets).warnings;
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
        vec!["topology.link.delay=3600s", "topology.switch-latency=3600s"],
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
            "policy.plain.transport.max-rto=10us",
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
