//! Speed and memory of reading a capture: `cargo bench -p headway-capture -- FILE [MAX_FLOWS]`.
//!
//! Reads FILE once so that it is in the page cache, then again, with the clock running, through the whole analysis (as
//! `headway trace` does without `--out`), and prints one line of JSON. FILE is made by the example `generate`. Not a test:
//! nothing depends on the figures.

#![allow(clippy::disallowed_types, reason = "a benchmark looks at the clock")]

use std::io::Read;
use std::time::Instant;

use headway_capture::{Analysis, Captures, End, Options};

/// Peak resident memory of this process in bytes (`VmHWM`), or 0 where there is no /proc.
fn peak_memory() -> u64 {
    std::fs::read_to_string("/proc/self/status")
        .ok()
        .and_then(|s| s.lines().find_map(|l| l.strip_prefix("VmHWM:").map(str::to_owned)))
        .and_then(|l| l.trim().trim_end_matches(" kB").trim().parse::<u64>().ok())
        .map_or(0, |kb| kb * 1024)
}

fn warm(path: &str) {
    let mut file = std::fs::File::open(path).expect("the file can be opened");
    let mut buffer = vec![0; 1 << 20];
    while file.read(&mut buffer).expect("the file can be read") > 0 {}
}

fn main() {
    // Cargo adds `--bench`.
    let mut args = std::env::args().skip(1).filter(|arg| !arg.starts_with("--"));
    let Some(path) = args.next() else {
        println!("usage: trace FILE [MAX_FLOWS], with a file of the example `generate`");
        return;
    };
    let max_flows = args.next().and_then(|text| text.parse().ok()).unwrap_or(Options::default().max_flows);
    warm(&path);
    let before = peak_memory();
    let began = Instant::now();
    let mut captures = Captures::open(&[path]).expect("a capture");
    let mut analysis = Analysis::new(Options { max_flows, ..Options::default() }, |_| {});
    while let Some(packet) = captures.next_packet() {
        analysis.packet(&packet);
    }
    let report = analysis.finish();
    let seconds = began.elapsed().as_secs_f64();
    assert!(captures.errors().is_empty(), "{:?}", captures.errors());
    let (bytes, packets) = (captures.bytes() as f64, report.packets.all);
    println!(
        "{{\"max_flows\": {max_flows}, \"bytes\": {bytes}, \"packets\": {packets}, \"connections\": {}, \"most_at_a_time\": {}, \"evicted\": {}, \
         \"seconds\": {seconds:.3}, \"mb_per_s\": {:.0}, \"mpackets_per_s\": {:.2}, \"peak_mb\": {:.1}, \"before_mb\": {:.1}}}",
        report.totals.connections,
        report.peak_connections(),
        report.totals.ended(End::Evicted),
        bytes / seconds / 1e6,
        packets as f64 / seconds / 1e6,
        peak_memory() as f64 / 1e6,
        before as f64 / 1e6,
    );
}
