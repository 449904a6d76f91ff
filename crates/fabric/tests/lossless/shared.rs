//! Shared buffers with ingress accounting.

use headway_fabric::{Graph, IngressBuffer, LosslessSpec};
use headway_units::{Bytes, Rate, Span, Time};

use super::bench::{Bench, Fate, at, line, spec, wire};

/// Gives every switch what its links have for themselves and `shared` bytes more.
pub fn share(graph: &Graph, own: &mut LosslessSpec, (shared, alpha, reserve): (u64, f64, u64)) {
    own.thresholds.iter_mut().for_each(|own| (own.xoff, own.xon) = (0, 0));
    let reserve = Bytes::new(reserve);
    own.buffer = Some(IngressBuffer { size: Bytes::ZERO, alpha, reserve, offset: Bytes::new(500) });
    let most = graph.switches().map(|switch| own.own_parts(graph, switch)).max().unwrap();
    let size = Bytes::new(most + shared);
    own.buffer = Some(IngressBuffer { size, alpha, reserve, offset: Bytes::new(500) });
}

fn bench(alpha: f64) -> (Bench, u32) {
    let (fast, slow) = (Rate::from_gbps(10), Rate::from_mbps(10));
    let (graph, [a, b], _) = line(wire(fast, Span::ZERO), wire(fast, Span::ZERO), wire(slow, Span::ZERO));
    let mut own = spec(&graph, 1 << 3, 1000, (0, 0));
    share(&graph, &mut own, (100_000, alpha, 4000));
    let mut bench = Bench::new(graph, own);
    let hop = bench.route(a, b);
    (bench, hop)
}

/// A link and priority alone: 4,000 B of reserve and α times what its own use leaves free, Q = α (100,000 − Q): 50,000 B at
/// α = 1, 100,000 / 9 at α = 1/8. Frames are whole, and what comes after it asks is in the headroom.
#[test]
fn a_sender_is_paused_at_its_share_of_what_is_free() {
    for (alpha, threshold) in [(1.0, 54_000), (0.125, 15_111)] {
        let (mut bench, hop) = bench(alpha);
        for _ in 0..100 {
            bench.offer(at(0), hop, 3, 1000);
        }
        bench.until(at(1_000_000));
        let ingress = bench.fabric.ingress(headway_fabric::LinkId(0));
        let below = ingress.deepest - ingress.headroom;
        assert!(below <= threshold && threshold - below < 1000, "{below} of {threshold}");
        assert_eq!(bench.dropped(), 0);
    }
}

/// Frames that may be lost take α times what is free at a port, and never a headroom: what is lossless comes after them
/// and finds room.
#[test]
fn what_may_be_lost_leaves_the_headroom_alone() {
    let (mut bench, hop) = bench(8.0);
    for _ in 0..200 {
        bench.offer(at(0), hop, 0, 1000);
    }
    // Q ≤ 8 (100,000 − Q): 88,888 B wait, and one frame more, the one that is being transmitted
    bench.until(at(300_000));
    let held = 200 - bench.dropped();
    assert!((89..=90).contains(&held), "{held}");
    for _ in 0..50 {
        bench.offer(at(300_000), hop, 3, 1000);
    }
    bench.until(Time::NEVER);
    assert!(bench.fates[200..].iter().all(|fate| matches!(fate, Fate::Arrived(_))));
    assert_eq!(bench.overflows(), 0);
    bench.fabric.assert_conserved();
}
