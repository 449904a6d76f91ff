//! The memory that networks and runs take, counted by the allocator. One test, since all threads of a process count.

use std::path::Path;
use std::sync::Arc;

use headway_experiment::{Experiment, Options};
use headway_results::Job;
use headway_scenario::Document;
use peak_alloc::PeakAlloc;

#[global_allocator]
static ALLOCATOR: PeakAlloc = PeakAlloc;

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

fn run(text: &str) -> usize {
    peak(|| {
        let document = Document::parse(text, "ports.toml", &[]).unwrap_or_else(|problems| panic!("{problems}"));
        let experiment = Experiment::new(&document, Path::new(".")).unwrap_or_else(|problems| panic!("{problems}"));
        let options = Options { seed: 1, threads: 1, verify: false, kernel: None, abort: Arc::default() };
        let outcome = experiment.outcome(Job { cell: 0, repeat: 0 }, Path::new("."), &options, 0);
        assert_eq!(outcome.expect("it runs").flows.len(), 10);
        experiment
    })
}

#[test]
fn memory_is_linear_in_the_ports_of_a_switch() {
    type Shape = fn(usize) -> String;
    let dumbbell: Shape = |n| format!("kind = \"dumbbell\"\nleft = {n}\nright = 1\nbottleneck = {{}}");
    let leaves: Shape = |n| format!("kind = \"leaf-spine\"\nleaves = 2\nspines = 2\nhosts-per-leaf = {}", n / 2);
    for (name, shape, more) in [
        ("a dumbbell", dumbbell, ("", "")),
        ("leaves and spines", leaves, ("", "")),
        ("a shared buffer", dumbbell, ("shared-buffer = { size = \"100MB\", alpha = 1.0 }", "")),
        ("lossless ports", dumbbell, ("", "lossless = {}")),
    ] {
        let [few, many] = [2_000, 8_000].map(|ports| run(&scenario(&shape(ports), more)));
        eprintln!("{name}: {} B a host", (many - few) / 6_000);
        // what does not depend on ports makes it less than four
        assert!((2 * few..5 * few).contains(&many), "{name}: {few} B with 2,000 ports, {many} B with 8,000");
    }
}
