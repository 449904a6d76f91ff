//! Digests of a few runs: when they change, the epoch of results does (CONTRIBUTING, "Compare results").

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use headway_experiment::{Experiment, Options, RESULTS_EPOCH};
use headway_results::{Job, Outcome};
use headway_scenario::{Document, Overrides};

/// Small ones that go through much: queues, lanes, pacing, failures, pauses, limits, relays.
const SCENARIOS: &[&str] = &[
    "example-incast",
    "example-queues",
    "example-path-failure",
    "lanes-l7-queue-buildup",
    "pacing-p1",
    "lossless-d1",
    "metering-m1",
    "relay-r1-download",
];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios")
}

/// All of an outcome that readers of results see, in a form that does not change with the layout of files.
/// FNV-1a, 64 bits (Fowler, Noll and Vo).
fn digest(outcome: &Outcome) -> String {
    let mut text = format!("{:016x} {:?}\n", outcome.digest, outcome.end);
    for flow in &outcome.flows {
        let _ = writeln!(
            text,
            "{} {} {} {} {:?} {} {:?} {:?} {:?} {} {} {}",
            flow.id,
            flow.traffic,
            flow.source,
            flow.destination,
            flow.bytes,
            flow.delivered,
            flow.start,
            flow.end,
            flow.ideal,
            flow.retransmissions,
            flow.timeouts,
            flow.marks
        );
    }
    for sample in &outcome.samples {
        let _ = writeln!(text, "{:?} {} {} {:x}", sample.time, sample.entity, sample.metric, sample.value.to_bits());
    }
    let counters = &outcome.counters;
    let _ = writeln!(text, "{} {} {} {}", counters.events, counters.packet_hops, counters.drops, counters.marks);
    let fnv = |h: u64, byte: u8| (h ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    format!("{:016x}", text.bytes().fold(0xcbf2_9ce4_8422_2325, fnv))
}

/// A line for the first and the last policy of each scenario, in quick size.
fn digests() -> String {
    let mut lines = String::new();
    for name in SCENARIOS {
        let text = std::fs::read_to_string(folder().join(format!("{name}.toml"))).unwrap();
        let overrides = Overrides { quick: true, ..Overrides::default() };
        let document = Document::parse_with(&text, name, &overrides).unwrap_or_else(|problems| panic!("{problems}"));
        let experiment = Experiment::new(&document, &folder()).unwrap_or_else(|problems| panic!("{problems}"));
        let options = Options { seed: 1, threads: 1, verify: false, kernel: None, abort: Arc::default() };
        for cell in [0, experiment.scenario.policy.len() - 1] {
            let outcome =
                experiment.outcome(Job { cell: cell as u32, repeat: 1 }, Path::new("."), &options, 0).unwrap();
            let policy = &experiment.cells()[cell].policy;
            let _ = writeln!(lines, "{name} {policy} {}", digest(&outcome));
        }
    }
    lines
}

#[test]
fn results_do_not_change_within_an_epoch() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/epoch.txt");
    let here = format!("epoch {RESULTS_EPOCH}\n{}", digests());
    let known = std::fs::read_to_string(&file).unwrap_or_default();
    if here == known {
        return;
    }
    let epoch = |text: &str| text.lines().next().map(str::to_owned);
    assert!(
        epoch(&known) != epoch(&here),
        "results changed: raise RESULTS_EPOCH in src/fingerprint.rs, and accept the new digests by UPDATE=1\n{here}"
    );
    assert!(std::env::var_os("UPDATE").is_some(), "accept the digests of this epoch by UPDATE=1\n{here}");
    std::fs::write(&file, here).unwrap();
}
