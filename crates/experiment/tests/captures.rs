//! Captures of modelled hosts and links, read back by the traffic analysis that reads those of tcpdump.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use headway_capture::{Analysis, Captures, ConnectionRecord, Options as TraceOptions, Report};
use headway_experiment::{Experiment, Options};
use headway_results::{Folder, Manifest, Outcome};
use headway_scenario::Document;

/// Two senders behind a bottleneck of 100 Mb/s with little room, 2 ms there and back.
const DUMBBELL: &str = r#"
name = "captured"
about = "x"
duration = "2s"
drain = "3s"
repeats = 1
[topology]
kind = "dumbbell"
left = 2
right = 1
link = { rate = "1Gbps", delay = "100us" }
bottleneck = { rate = "100Mbps", delay = "800us" }
queue = { kind = "drop-tail", limit = "12pkt" }
[hosts]
left = { count = 2 }
right = { count = 1 }
[[traffic]]
name = "t"
from = "left"
to = "right"
size = "400KB"
arrival = { kind = "once", count = 2 }
[[policy]]
name = "p"
transport = { kind = "tcp", stack = "linux", recovery = "rack", control = "cubic", ecn = true }
[measure]
capture = ["left-host0", "right-host0", "left>right"]
"#;

/// A run of the only cell: what it gave, and the folder of its captures.
fn run(text: &str, sets: &[&str]) -> (Outcome, PathBuf, tempfile::TempDir) {
    let sets: Vec<String> = sets.iter().map(|&set| set.to_owned()).collect();
    let document = Document::parse(text, "captured.toml", &sets).unwrap_or_else(|problems| panic!("{problems}"));
    let experiment = Experiment::new(&document, Path::new(".")).unwrap_or_else(|problems| panic!("{problems}"));
    let manifest = Manifest::new("captured", text, 1, 1, "test", experiment.cells().to_vec());
    let place = tempfile::tempdir().unwrap();
    let folder = Folder::create(place.path().join("results"), &manifest, text).unwrap();
    let abort = Arc::new(AtomicBool::new(false));
    let options = Options { seed: 1, threads: 1, verify: true, kernel: None, abort };
    let stop = AtomicBool::new(false);
    experiment.simulate(&folder, &manifest, &BTreeSet::new(), &options, &stop, &mut |_, _| {}).unwrap();
    let outcome = folder.load(manifest.jobs().next().unwrap()).unwrap();
    let captures = place.path().join("results/captures/0-0");
    (outcome, captures, place)
}

/// The report of a capture, and its connections.
fn read(path: &Path) -> (Report, Vec<ConnectionRecord>) {
    let mut captures = Captures::open(&[path.display().to_string()]).unwrap();
    let mut connections = Vec::new();
    let mut analysis = Analysis::new(TraceOptions::default(), |connection| connections.push(connection.clone()));
    while let Some(packet) = captures.next_packet() {
        analysis.packet(&packet);
    }
    assert!(captures.errors().is_empty(), "{:?}", captures.errors());
    let report = analysis.finish();
    (report, connections)
}

#[test]
fn a_capture_at_the_senders_side_has_the_flows_of_the_run() {
    let (outcome, folder, _place) = run(DUMBBELL, &[]);
    let (_, all) = read(&folder.join("left-to-right.pcap"));
    assert_eq!((all.len(), outcome.flows.len()), (4, 4), "two flows of two hosts");
    let (_, own) = read(&folder.join("left-host0.pcap"));
    let flows: Vec<_> = outcome.flows.iter().filter(|flow| &*flow.source == "left-host0").collect();
    assert_eq!((own.len(), flows.len()), (2, 2));
    for connection in &own {
        assert_eq!(connection.sides[0].bytes, 400_000, "each byte once");
        assert_eq!(connection.sides[1].bytes, 0);
        let least = connection.sides[0].rtt_least as f64 / 1e6;
        assert!((2.0..4.0).contains(&least), "{least} ms there and back");
        // 2 ms, and the frames of the handshake on the wire; a lost SYN leaves it out
        let handshake = connection.handshake.map(|ns| ns as f64 / 1e6);
        assert!(handshake.is_none_or(|ms| (2.0..4.0).contains(&ms)), "{handshake:?} ms");
    }
    assert!(own.iter().any(|connection| connection.handshake.is_some()));
    let again = |connection: &ConnectionRecord| {
        let side = &connection.sides[0];
        side.retransmissions + u32::from(side.syns_again) + u32::from(side.fins_again)
    };
    let sent_again: u32 = own.iter().map(again).sum();
    let counted: u32 = flows.iter().map(|flow| flow.retransmissions).sum();
    assert!(counted > 0, "the queue is short");
    assert_eq!(sent_again, counted, "what the sender's side shows is what the model counts");
}

#[test]
fn a_capture_says_when_flows_began_and_ended() {
    let (outcome, folder, _place) = run(DUMBBELL, &[]);
    let (_, at_receiver) = read(&folder.join("right-host0.pcap"));
    assert_eq!(at_receiver.len(), 4);
    let last = at_receiver.iter().map(|connection| connection.last).max().unwrap();
    let end = outcome.flows.iter().filter_map(|flow| flow.end).max().unwrap().picos() / 1000;
    // its acknowledgement leaves at that instant
    assert!(last >= end && last < end + 1_000_000_000, "{last} ns, {end} ns");
}

#[test]
fn subflows_of_mptcp_are_one_connection() {
    let text = DUMBBELL
        .replace(r#"kind = "dumbbell""#, r#"kind = "parallel-paths""#)
        .replace("left = 2\nright = 1\n", "paths = 2\nleft = 1\nright = 1\n")
        .replace("bottleneck", "middle")
        .replace("left = { count = 2 }", "left = { count = 1 }")
        .replace("arrival = { kind = \"once\", count = 2 }", "arrival = \"once\"")
        .replace(
            r#"kind = "tcp", stack = "linux", recovery = "rack", control = "cubic", ecn = true"#,
            r#"kind = "mptcp""#,
        )
        .replace(r#""left-host0", "right-host0", "left>right""#, r#""left-host0""#);
    let (outcome, folder, _place) = run(&text, &[]);
    assert_eq!(outcome.flows[0].subflows, 2);
    let (_, connections) = read(&folder.join("left-host0.pcap"));
    assert_eq!(connections.len(), 2, "a row for each subflow");
    assert!(connections[0].mptcp.is_some() && connections[0].mptcp == connections[1].mptcp, "{connections:?}");
    let bytes: u64 = connections.iter().map(|connection| connection.sides[0].bytes).sum();
    assert!(bytes >= 400_000, "what was sent on both is counted on both: {bytes}");
}

#[test]
fn captures_change_no_result() {
    let (with, ..) = run(DUMBBELL, &[]);
    let (without, ..) = run(DUMBBELL, &["measure.capture=[]"]);
    assert_eq!(with, without);
}

#[test]
fn places_that_are_not_there_are_errors_of_the_file() {
    for (place, expected) in [
        ("nobody", "there is no host `nobody` to capture"),
        ("left>nobody", "there is no link `left>nobody` to capture"),
        ("left", "`left` is a switch"),
    ] {
        let sets = [format!("measure.capture=[\"{place}\"]")];
        let document = Document::parse(DUMBBELL, "captured.toml", &sets).unwrap();
        let error = Experiment::new(&document, Path::new(".")).expect_err(place).to_string();
        assert!(error.contains(expected), "{error}");
    }
}
