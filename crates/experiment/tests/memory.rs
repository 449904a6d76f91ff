//! The memory that networks and runs take, counted by the allocator. All threads of a process count, so only one looks at a time.

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use headway_experiment::machine::{Limit, Room};
use headway_experiment::{Destination, Estimate, Experiment, Options, Planned, Request, Source};
use headway_results::Job;
use headway_scenario::Document;
use headway_units::Bytes;
use peak_alloc::PeakAlloc;

#[global_allocator]
static ALLOCATOR: PeakAlloc = PeakAlloc;

static ONE: Mutex<()> = Mutex::new(());

/// Nobody else looks, or is looked at.
fn alone() -> MutexGuard<'static, ()> {
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The most bytes that `act` has at a time beyond those that were there before it.
fn peak<T>(act: impl FnOnce() -> T) -> usize {
    let before = ALLOCATOR.current_usage();
    ALLOCATOR.reset_peak_usage();
    drop(act());
    ALLOCATOR.peak_usage() - before
}

/// Ten hosts that send to one in the topology `shape`.
fn scenario(shape: &str, (topology, policy): (&str, &str)) -> String {
    format!(
        r#"
name = "ports"
about = "x"
duration = "10ms"
repeats = 1
[topology]
{shape}
link = {{ rate = "10Gbps", delay = "1us" }}
queue = {{ kind = "drop-tail", limit = "100pkt" }}
{topology}
[hosts]
a = {{ count = 10 }}
b = {{ count = 1 }}
[[traffic]]
name = "t"
from = "a"
to = "b"
size = "10KB"
arrival = "once"
[[policy]]
name = "p"
transport = "tcp"
{policy}
"#
    )
}

/// A run, and what was expected of it.
struct Measured {
    peak: f64,
    estimate: Estimate,
    flows: f64,
    hops: f64,
}

fn measured(text: &str) -> Measured {
    let (mut estimate, mut flows, mut hops) = (Estimate::default(), 0.0, 0.0);
    let most = peak(|| {
        let document = Document::parse(text, "run.toml", &[]).unwrap_or_else(|problems| panic!("{problems}"));
        let experiment = Experiment::new(&document, Path::new(".")).unwrap_or_else(|problems| panic!("{problems}"));
        estimate = experiment.estimate(1);
        let options = Options { seed: 1, threads: 1, verify: false, kernel: None, abort: Arc::default() };
        let outcome = experiment.outcome(Job { cell: 0, repeat: 0 }, Path::new("."), &options, 0).expect("it runs");
        (flows, hops) = (outcome.flows.len() as f64, outcome.counters.packet_hops as f64);
        // as a folder keeps it
        let encoded = outcome.encode();
        (experiment, outcome, encoded)
    });
    Measured { peak: most as f64, estimate, flows, hops }
}

#[test]
fn memory_is_linear_in_the_ports_of_a_switch() {
    type Shape = fn(usize) -> String;
    let _alone = alone();
    let dumbbell: Shape = |n| format!("kind = \"dumbbell\"\nleft = {n}\nright = 1\nbottleneck = {{}}");
    let leaves: Shape = |n| format!("kind = \"leaf-spine\"\nleaves = 2\nspines = 2\nhosts-per-leaf = {}", n / 2);
    for (name, shape, more) in [
        ("a dumbbell", dumbbell, ("", "")),
        ("leaves and spines", leaves, ("", "")),
        ("a shared buffer", dumbbell, ("shared-buffer = { size = \"100MB\", alpha = 1.0 }", "")),
        ("lossless ports", dumbbell, ("", "lossless = {}")),
    ] {
        let [few, many] = [2_000, 8_000].map(|ports| measured(&scenario(&shape(ports), more)));
        let [few, many, expected] = [few.peak, many.peak, many.estimate.memory(1) - few.estimate.memory(1)];
        eprintln!("{name}: {} B a host", (many - few) / 6e3);
        // what does not depend on ports makes it less than four
        assert!((2.0 * few..5.0 * few).contains(&many), "{name}: {few} B with 2,000 ports, {many} B with 8,000");
        assert!((0.7..1.4).contains(&(expected / (many - few))), "{name}: {expected} B were expected");
    }
}

/// A dumbbell in which 50 hosts send to 50, with this traffic and `measure`.
fn traffic(duration: &str, traffic: &str, measure: &str) -> String {
    format!(
        r#"
name = "run"
about = "x"
duration = "{duration}"
repeats = 1
[topology]
kind = "dumbbell"
left = 50
right = 50
bottleneck = {{ rate = "40Gbps" }}
link = {{ rate = "10Gbps", delay = "1us" }}
queue = {{ kind = "drop-tail", limit = "100pkt" }}
[hosts]
a = {{ count = 50 }}
b = {{ count = 50 }}
[[traffic]]
name = "t"
from = "a"
to = "b"
{traffic}
{measure}
[[policy]]
name = "p"
transport = "tcp"
"#
    )
}

/// Not for its digits: an estimate is right if it is within a small factor, so that what is refused would not have ended
/// well, and what is begun has room.
#[test]
fn estimates_are_near() {
    let _alone = alone();
    let once = |count: u32| format!("size = \"1MB\"\narrival = {{ kind = \"once\", count = {count} }}");
    let short = "size = \"2KB\"\narrival = { kind = \"poisson\", mean = \"100us\" }";
    let endless = "size = \"unlimited\"\narrival = \"once\"";
    let load = "size = { kind = \"cdf\", name = \"websearch\" }\narrival = { kind = \"load\", fraction = 0.5 }";
    let looped = "size = \"20KB\"\narrival = \"closed-loop\"";
    let series = "[measure]\ninterval = \"100us\"\nseries = [\"queue\", \"cwnd\", \"goodput\"]";
    for (name, text) in [
        ("flows that are open", traffic("10ms", &once(400), "")),
        ("flows that are over", traffic("100ms", short, "")),
        ("samples", traffic("100ms", endless, series)),
        ("a load", traffic("50ms", load, "")),
        ("a closed loop", traffic("50ms", looped, "")),
    ] {
        let Measured { peak, estimate, flows, hops } = measured(&text);
        let told = format!("{name}: {peak} B, {flows} flows, {hops} hops, {estimate:?}");
        eprintln!("{told}");
        let near = |expected: f64, found: f64| (0.6..1.8).contains(&(expected / found));
        assert!(near(estimate.memory(1), peak), "memory of {told}");
        assert!(near(estimate.flows, flows), "flows of {told}");
        assert!(near(estimate.hops, hops), "hops of {told}");
    }
}

/// What they would need is terabytes; nothing is written for them.
#[test]
fn runs_beyond_any_machine_are_not_begun() {
    let _alone = alone();
    let arrival = |arrival: &str| traffic("10s", &format!("size = \"10KB\"\narrival = {{ {arrival} }}"), "");
    let series = "[measure]\ninterval = \"10us\"\nseries = [\"queue\", \"cwnd\"]\nintervals = { queue = \"1us\" }";
    let many = traffic("10s", "size = \"unlimited\"\narrival = \"once\"", series).replace("= 50", "= 100000");
    for text in [
        arrival("kind = \"poisson\", mean = \"1ns\""),
        arrival("kind = \"periodic\", period = \"1ps\""),
        arrival("kind = \"once\", count = 1000000").replace("= 50", "= 50000"),
        many,
    ] {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("results");
        let source = Source { name: "run.toml".into(), text, folder: folder.path().to_path_buf() };
        let planned = Planned::new(&source, Destination::New(place.clone()), &Request::default());
        let error = planned.err().map(|error| error.to_string()).unwrap_or_default();
        assert!(error.starts_with("a run takes about ") && error.contains("of memory, and"), "{error}");
        assert!(!place.exists());
    }
}

/// Where memory is scarce there are fewer runs at a time; where there is none for one, none.
#[test]
fn as_many_runs_at_a_time_as_find_room() {
    let _alone = alone();
    let estimate = Estimate { runs: 100, largest: 2e9, certain: 1e9, ..Estimate::default() };
    let room = |gigabytes: f64| Room { left: Bytes::new((gigabytes * 1e9) as u64), of: Limit::Machine };
    let warning = |gigabytes| estimate.warning(8, &room(gigabytes)).unwrap_or_default();
    assert_eq!(warning(17.0), "");
    assert!(warning(7.0).ends_with("has 7.0 GB left: 3 runs at a time, not 8"), "{}", warning(7.0));
    assert!(warning(1.5).ends_with("it may end early"), "{}", warning(1.5));
    assert!(warning(0.9).ends_with("it will not be begun"), "{}", warning(0.9));
}
