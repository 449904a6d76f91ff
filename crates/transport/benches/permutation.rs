//! Packet-hops per second and memory: bulk TCP flows in a random permutation on k-ary FatTrees at 10 Gb/s.
//!
//! `cargo bench -p headway-transport` runs k = 8 (128 hosts) and k = 16 (1,024 hosts) and prints one line of JSON
//! each. One process per size (`-- 8`) gives peak memory of that size alone. A hop is one frame crossing one link,
//! data and acknowledgements alike. Not a test: nothing depends on the figures.

#![expect(clippy::disallowed_types, reason = "a benchmark looks at the clock")]

use std::time::Instant;

use headway_control::congestion::AnyController;
use headway_engine::Streams;
use headway_fabric::topology::FatTree;
use headway_fabric::{Limit, QueueSpec, Wire};
use headway_transport::{DelayedAck, FlowStart, Measure, Profile, Recovery, Simulation};
use headway_units::{Bytes, Rate, Span, Time};

fn wire(limit: Option<Limit>) -> Wire {
    Wire {
        rate: Rate::from_gbps(10),
        delay: Span::from_nanos(500),
        gap: Bytes::new(20),
        loss: 0.0,
        queue: QueueSpec::DropTail { limit, mark: None },
    }
}

fn profile() -> Profile {
    Profile {
        control: AnyController::by_name("new-reno").expect("a known control"),
        recovery: Recovery::Sack,
        limited_transmit: true,
        mss: 1460,
        overhead: 58,
        sack_blocks: 4,
        initial_window: 10,
        initial_ssthresh: None,
        min_rto: Span::from_millis(200),
        initial_rto: Span::from_secs(1),
        max_rto: Span::from_secs(120),
        delayed_ack: DelayedAck {
            packets: 2,
            timeout: Span::from_millis(40),
            quick: 16,
            adaptive: false,
            compression: false,
        },
        receive_window: Bytes::new(128 << 10), // Linux's default receive buffer (tcp_rmem)
        ecn: false,
        multipath: None,
        replicate: None,
        ..Profile::default()
    }
}

/// Peak resident memory of this process in bytes (`VmHWM`), or 0 where there is no /proc.
fn peak_memory() -> u64 {
    std::fs::read_to_string("/proc/self/status")
        .ok()
        .and_then(|s| s.lines().find_map(|l| l.strip_prefix("VmHWM:").map(str::to_owned)))
        .and_then(|l| l.trim().trim_end_matches(" kB").trim().parse::<u64>().ok())
        .map_or(0, |kb| kb * 1024)
}

fn run(k: u32, span: Span) {
    let queue = Some(Limit::Packets(100));
    let built = FatTree {
        k,
        hosts_per_edge: None,
        host_wire: wire(Some(Limit::Packets(1000))),
        wire: wire(queue),
        aggregation_wire: wire(queue),
        core_wire: wire(queue),
        host_latency: Span::ZERO,
        switch_latency: Span::from_nanos(500),
    }
    .build()
    .expect("an even k");
    let streams = Streams::new(1);
    // Sattolo's algorithm: a cyclic permutation, so no host sends to itself.
    let mut order: Vec<usize> = (0..built.hosts.len()).collect();
    let mut stream = streams.stream("permutation");
    for i in (1..order.len()).rev() {
        order.swap(i, stream.below(i as u64) as usize);
    }
    let starts: Vec<FlowStart> = order
        .iter()
        .enumerate()
        .map(|(i, &to)| FlowStart {
            time: Time::from_picos(i as u64 * 100_000),
            id: i as u64,
            traffic: 0,
            source: built.hosts[i],
            destination: built.hosts[to],
            size: None,
            deadline: None,
            profile: 0,
        })
        .collect();
    let before = peak_memory();
    let flows = starts.len();
    let mut simulation = Simulation::new(built.graph, vec![profile()], Measure::default(), streams);
    let mut starts = starts.into_iter();
    let clock = Instant::now();
    simulation.run(Time::ZERO + span, &mut starts).expect("a FatTree is connected");
    let seconds = clock.elapsed().as_secs_f64();
    let peak = peak_memory();
    let (ends, _, totals) = simulation.finish();
    let goodput: u64 = ends.iter().map(|end| end.delivered).sum();
    let goodput_gbps = goodput as f64 * 8.0 / span.as_secs_f64() / 1e9 / flows as f64;
    let retransmissions: u64 = ends.iter().map(|end| u64::from(end.retransmissions)).sum();
    println!(
        "{{\"k\": {k}, \"hosts\": {flows}, \"virtual_ms\": {:.0}, \"hops\": {}, \"events\": {}, \"seconds\": {seconds:.3}, \
         \"mhops_per_s\": {:.2}, \"goodput_gbps_per_flow\": {goodput_gbps:.2}, \"retransmissions\": {retransmissions}, \
         \"drops\": {}, \"in_flight\": {}, \"peak_mb\": {:.1}, \"before_mb\": {:.1}}}",
        span.as_millis_f64(),
        totals.hops,
        totals.events,
        totals.hops as f64 / seconds / 1e6,
        totals.drops,
        totals.in_flight,
        peak as f64 / 1e6,
        before as f64 / 1e6,
    );
}

fn main() {
    let sizes: Vec<u32> = std::env::args().skip(1).filter_map(|a| a.parse().ok()).collect();
    for k in if sizes.is_empty() { vec![8, 16] } else { sizes } {
        run(k, if k <= 8 { Span::from_millis(100) } else { Span::from_millis(20) });
    }
}
