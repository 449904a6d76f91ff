//! Events that are built from the fragments of many hosts, over connections and by flows.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use headway_experiment::{Experiment, Options, Results};
use headway_results::{Folder, Manifest};
use headway_scenario::Document;

/// Eight readers with fragments of 1,000 B on one switch with two builders, 1 Gb/s; 90 events, one a millisecond.
const EVENTS: &str = include_str!("runs/events.toml");

fn run(text: &str, sets: &[&str]) -> Results {
    let sets: Vec<String> = sets.iter().map(|&set| set.to_owned()).collect();
    let document = Document::parse(text, "events.toml", &sets).unwrap_or_else(|problems| panic!("{problems}"));
    let experiment = Experiment::new(&document, Path::new(".")).unwrap_or_else(|problems| panic!("{problems}"));
    let text = &document.show().unwrap();
    let scenario = &experiment.scenario;
    let cells = experiment.cells().to_vec();
    let manifest = Manifest::new(scenario.name.as_str(), text, scenario.seed, scenario.repeats, "test", cells);
    let place = tempfile::tempdir().unwrap();
    let folder = Folder::create(place.path().join("results"), &manifest, text).unwrap();
    let options = Options { seed: scenario.seed, threads: 1, verify: true, kernel: None, abort: Arc::default() };
    experiment
        .simulate(&folder, &manifest, &BTreeSet::new(), &options, &AtomicBool::new(false), &mut |_, _| {})
        .unwrap_or_else(|error| panic!("{error}"))
}

fn value(results: &Results, traffic: &str, metric: &str) -> f64 {
    let row = |row: &&headway_results::Row| row.traffic == traffic && row.metric.to_string() == metric;
    let row = results.summary.rows.iter().find(row).unwrap_or_else(|| panic!("no {metric} of {traffic}"));
    row.estimate.value.unwrap_or_else(|| panic!("{metric} of {traffic} has no value"))
}

/// All claims of metrics that the summary does not have hold.
fn claimed(text: &str, sets: &[&str], claims: &[(&str, &str, &str, &str)]) {
    let claim = |(traffic, value, low, high): &(&str, &str, &str, &str)| {
        format!(
            "[[claim]]\ntext = \"{traffic} {value}\"\nbetween = {{ policy = \"plain\", traffic = \"{traffic}\", value = \
             \"{value}\", low = {low}, high = {high} }}\n"
        )
    };
    let results = run(&format!("{text}{}", claims.iter().map(claim).collect::<String>()), sets);
    for verdict in &results.verdicts {
        assert!(verdict.held, "{verdict:?}");
    }
}

/// On the wire a fragment takes 1,000 + 58 + 20 B. Eight of them arrive at once and leave one after another: nine times
/// 8.624 us and two cables of 1 us after the trigger the last one is there, exactly.
#[test]
fn pushed_events_take_the_time_of_their_fragments_on_the_wire() {
    let results = run(EVENTS, &[]);
    assert_eq!((value(&results, "daq/event", "flows"), value(&results, "daq/event", "unfinished")), (90.0, 0.0));
    let expected = 9.0 * 8.624e-6 + 2e-6;
    for metric in ["fct.mean", "fct.p99"] {
        let found = value(&results, "daq/event", metric);
        // what is read at an instant counts at that instant
        assert!((found - expected).abs() < 1e-11, "{metric}: {found}, not {expected}");
    }
    assert_eq!(value(&results, "daq/connection", "flows"), 16.0);
    // 90 events of 8,000 B over 89 ms and the last one
    let expected = 90.0 * 64_000.0 / (0.089 + expected);
    assert!((value(&results, "daq/event", "goodput.sum") / expected - 1.0).abs() < 1e-9);
    claimed(EVENTS, &[], &[("daq/event", "rate", "1010", "1011")]);
}

/// With a flow for each fragment a handshake comes first: SYN and SYN-ACK, each with its delay.
#[test]
fn a_flow_for_each_fragment_costs_a_handshake() {
    let kept = value(&run(EVENTS, &[]), "daq/event", "fct.mean");
    let results = run(EVENTS, &["traffic.daq.connections=per-fragment"]);
    let opened = value(&results, "daq/event", "fct.mean");
    assert!(opened > kept + 4e-6, "{opened} and {kept}");
    assert!(opened < kept + 40e-6, "{opened} and {kept}");
    assert_eq!(value(&results, "daq/fragment", "flows"), 720.0);
    assert_eq!(value(&results, "daq/event", "unfinished"), 0.0);
}

/// Triggers as fast as the readers have room: both builders' links are full, 1,000 of 1,078 B of them are fragments; but
/// for the acknowledgements, which go the other way, and the first and last events.
#[test]
fn throttled_triggers_fill_the_builders_links() {
    let sets = [
        "traffic.daq.arrival={kind=\"once\",count=2000}",
        "traffic.daq.buffer=20KB",
        "traffic.daq.overflow=throttle",
        "traffic.daq.transfer={kind=\"pull\",slots=4}",
    ];
    for connections in ["persistent", "per-fragment"] {
        let results = run(EVENTS, &[&sets[..], &[&format!("traffic.daq.connections={connections}")]].concat());
        assert_eq!(value(&results, "daq/event", "flows"), 2000.0);
        assert_eq!(value(&results, "daq/event", "unfinished"), 0.0);
        let goodput = value(&results, "daq/event", "goodput.sum");
        let full = 2e9 * 1000.0 / 1078.0;
        let least = if connections == "persistent" { 0.9 } else { 0.3 };
        assert!(goodput > least * full && goodput < full, "{connections}: {goodput} of {full}");
    }
}

/// A buffer of four packets in front of the builder loses fragments of eight that come at once; with a credit of two
/// nothing is lost, whatever carries the fragments.
#[test]
fn credits_keep_fragments_out_of_a_small_buffer() {
    for connections in ["traffic.daq.connections=persistent", "traffic.daq.connections=per-fragment"] {
        let small = "topology.queue={kind=\"drop-tail\",limit=\"4pkt\"}";
        // a lost fragment is there after a second or more (RFC 6298)
        let lossy = run(EVENTS, &[small, connections, "traffic.daq.start=20ms", "drain=300s"]);
        assert!(value(&lossy, "daq/event", "drops") > 0.0);
        assert_eq!(value(&lossy, "daq/event", "unfinished"), 0.0, "lost fragments are sent again");
        let credits = "traffic.daq.transfer={kind=\"pull\",slots=1,fragments=2}";
        let shaped = run(EVENTS, &[small, connections, credits, "traffic.daq.start=20ms"]);
        assert_eq!(value(&shaped, "daq/event", "drops"), 0.0);
        assert!(value(&shaped, "daq/event", "fct.mean") < value(&lossy, "daq/event", "fct.mean"));
    }
}

/// Readers with room for one event, which a bottleneck to the builders makes too little: triggers are lost, and told apart
/// from events that are incomplete.
#[test]
fn lost_triggers_are_reported_apart() {
    let sets = ["traffic.daq.buffer=1500B", "topology.link.rate=50Mbps", "traffic.daq.builders=builders"];
    let results = run(EVENTS, &sets);
    let [events, lost] = ["daq/event", "daq/lost"].map(|name| value(&results, name, "flows"));
    assert_eq!((events + lost, value(&results, "daq/event", "unfinished")), (90.0, 0.0));
    // 8 fragments take 1.38 ms at 50 Mb/s: every second trigger finds the buffers full
    assert_eq!(events, 45.0);
}
