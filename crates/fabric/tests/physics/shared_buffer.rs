//! Dynamic thresholds in a switch: Choudhury & Hahne 1998, doi:10.1109/90.664262.

use headway_engine::{EventQueue, Streams};
use headway_fabric::{
    CodelLaw, CodelSpec, DrrSpec, Endpoint, Fabric, Graph, Limit, LinkId, Packet, QueueSpec, SharedBufferSpec, Wire,
};
use headway_units::{Bytes, Rate, Span, Time};

use super::open_loop::{advance, plain};

const FRAME: u16 = 1000;

/// A switch with `ports` ports of 1 Gb/s, `congested` of which are offered twice that for `time`; returns what each
/// holds then.
fn queues(buffer: SharedBufferSpec, queue: QueueSpec, ports: usize, congested: usize, time: Span) -> Vec<u64> {
    let mut graph = Graph::new();
    let switch = graph.add_switch("switch", Span::ZERO).unwrap();
    let fast = plain(Rate::from_gbps(100));
    let slow = Wire { queue, ..plain(Rate::from_gbps(1)) };
    let cables: Vec<(LinkId, LinkId)> = (0..ports)
        .map(|i| {
            let host = graph.add_host(format!("host{i}"), Span::ZERO).unwrap();
            graph.connect(host, switch, fast, slow).unwrap()
        })
        .collect();
    graph.share_buffer(switch, buffer);
    let mut fabric: Fabric<u32> = Fabric::new(&graph, Streams::new(1));
    let mut events = EventQueue::new();
    // Each host sends to the next one.
    let starts: Vec<u32> = (0..congested)
        .map(|i| fabric.routes.insert(&[cables[(i + 1) % ports].0, cables[i].1], Endpoint(i as u32)))
        .collect();
    let mut fates = Vec::new();
    let gap = Span::from_micros(4);
    for round in 0..time.picos() / gap.picos() {
        let now = Time::ZERO + gap * round;
        advance(&mut fabric, &mut events, now, &mut fates, &mut |_, _| {});
        for &hop in &starts {
            let body = fates.len() as u32;
            fates.push(None);
            fabric.send(&mut events, now, Packet { hop, size: FRAME, tos: 0, tag: 0, body }).unwrap();
        }
    }
    let now = Time::ZERO + time;
    advance(&mut fabric, &mut events, now, &mut fates, &mut |_, _| {});
    fabric.assert_conserved();
    let held = cables.iter().map(|&(_, port)| fabric.occupancy(now, port).0.get()).collect();
    advance(&mut fabric, &mut events, Time::NEVER, &mut fates, &mut |_, _| {});
    fabric.assert_conserved();
    assert_eq!(fabric.in_flight(), 0);
    held
}

fn buffer(alpha: f64, reserve: u64) -> SharedBufferSpec {
    SharedBufferSpec { size: Bytes::new(1_000_000), alpha, reserve: Bytes::new(reserve) }
}

const UNLIMITED: QueueSpec = QueueSpec::DropTail { limit: None, mark: None };

/// Choudhury & Hahne, steady state: N congested ports hold α B / (1 + α N) each, whatever the discipline. A port
/// may be over by the frame that filled it and below by the one that has left since.
#[test]
fn congested_ports_hold_equal_shares() {
    let law = CodelLaw { target: Span::from_millis(100), interval: Span::from_secs(1), ecn: false, mark: None };
    let queues_of = [
        UNLIMITED,
        QueueSpec::Drr(DrrSpec { limit: None, queues: 16, quantum: 1518 }),
        QueueSpec::Codel(CodelSpec { limit: None, law }),
    ];
    for queue in queues_of {
        for (alpha, congested) in [(0.5, 1), (1.0, 1), (1.0, 3), (2.0, 4), (8.0, 2)] {
            // 1 Gb/s fills 1 MB in 8 ms
            let held = queues(buffer(alpha, 0), queue, 6, congested, Span::from_millis(30));
            let share = alpha * 1e6 / (1.0 + alpha * congested as f64);
            for (port, &held) in held.iter().enumerate() {
                let expected = if port < congested { share } else { 0.0 };
                let off = (held as f64 - expected).abs();
                assert!(off <= 2.0 * f64::from(FRAME), "α {alpha}, {congested} ports, {queue:?}: {held}, {expected}");
            }
        }
    }
}

/// With a reserve R for each of M ports, what is shared is B − M R, and a congested port has its reserve besides.
#[test]
fn reserves_are_taken_from_what_is_shared() {
    let held = queues(buffer(1.0, 50_000), UNLIMITED, 4, 3, Span::from_millis(30));
    for &held in &held[..3] {
        let expected = 50_000 + 800_000 / 4;
        assert!(held.abs_diff(expected) <= 2 * u64::from(FRAME), "{held}, {expected}");
    }
}

/// A port's own limit and the buffer both hold.
#[test]
fn a_ports_own_limit_stays() {
    let queue = QueueSpec::DropTail { limit: Some(Limit::Bytes(Bytes::new(100_000))), mark: None };
    let held = queues(buffer(1.0, 0), queue, 4, 2, Span::from_millis(30));
    assert!(held[..2].iter().all(|held| held.abs_diff(100_000) <= u64::from(FRAME)), "{held:?}");
}
