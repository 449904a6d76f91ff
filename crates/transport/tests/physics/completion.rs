//! Flow completion times on an idle path: slow start round by round, and the ideal.

use headway_fabric::Wire;
use headway_transport::Profile;
use headway_units::{Rate, Span};

use crate::common::{EMPTY, FULL, GAP, Line, MSS, OVERHEAD, Setup, line, profile, transmission, wire};

/// What a frame with `payload` bytes takes on the wire.
fn on_wire(payload: u64) -> u64 {
    (payload + u64::from(OVERHEAD)).max(64) + GAP
}

/// SYN there and SYN-ACK back over the wires.
fn handshake(wires: &[Wire]) -> Span {
    wires.iter().map(|w| transmission(w.rate, EMPTY) + w.delay).sum::<Span>() * 2
}

fn fct(line: &Line, profile: Profile, size: u64) -> (Span, Span) {
    let outcome =
        Setup::new(&line.net, profile).flow((line.source, line.sink), Some(size), Span::ZERO).run(Span::from_secs(10));
    (outcome.fct(0), outcome.ends[0].ideal.expect("a finite flow has an ideal"))
}

/// Slow start with an acknowledgement per segment doubles the window every round trip (RFC 5681 §3.1), so round i
/// (from 0) carries w·2^i segments and rounds 0 … k − 1 together w·(2^k − 1). The first acknowledgement of a round
/// arrives one round trip R after the round's first segment was sent, and each lets two segments go into the sender's own
/// port, which sends them back to back. While a round takes less than R to send, flow of n segments ends at
///
/// H + k·R + (m − 1)·T + L, with H the handshake, m = n − w·(2^k − 1) segments in the last round, T a segment's
/// transmission and L the way of one segment through h links; the last segment may be shorter (T′), and gains
/// T − T′ once, on the last link, or on all if it is alone in its round.
///
/// Exact: there are no tolerances. The round trip is 10 ms and 1 MB take 84 µs.
#[test]
fn slow_start_takes_as_many_rounds_as_doubling_says() {
    let (rate, delay) = (Rate::from_gbps(100), Span::from_micros(2_500));
    let wires = [wire(rate, delay); 2];
    let line = line(&wires);
    let (hops, full, empty) = (2, transmission(rate, FULL), transmission(rate, EMPTY));
    let round_trip = (full + empty + delay * 2) * hops;
    for window in [1, 2, 3, 4, 10, 12, 16] {
        for size in [1, 100, 1460, 1461, 2920, 4380, 10_000, 14_600, 14_601, 65_536, 100_000, 262_144, 1_000_000] {
            let segments = u64::div_ceil(size, u64::from(MSS));
            let rounds = (0..20).find(|k| u64::from(window) * ((2 << k) - 1) >= segments).expect("a finite flow");
            let in_last = segments - u64::from(window) * ((1 << rounds) - 1);
            let rest = size - (segments - 1) * u64::from(MSS);
            let last = transmission(rate, on_wire(rest));
            let tail = if in_last == 1 { last * hops } else { full * (in_last - 1) + full * (hops - 1) + last };
            let expected = handshake(&wires) + round_trip * rounds + tail + delay * hops;
            let (got, _) = fct(&line, Profile { initial_window: window, ..profile() }, size);
            assert_eq!(got, expected, "{size} B, initial window {window}: {rounds} rounds, then {in_last} segments");
        }
    }
}

/// A path whose slowest link is in the middle, with rates that do not divide a picosecond evenly among them.
fn uneven() -> Vec<Wire> {
    [(25, 3), (3, 40), (7, 11), (10, 1)]
        .map(|(gbps, micros)| wire(Rate::from_gbps(gbps), Span::from_micros(micros)))
        .to_vec()
}

/// A flow of one segment: the handshake, then one frame over h links, all without queueing. Exact.
#[test]
fn one_segment_takes_the_handshake_and_one_way() {
    let wires = uneven();
    for size in [1, 5, 6, 7, 100, 1459, 1460] {
        let one_way: Span = wires.iter().map(|w| transmission(w.rate, on_wire(size)) + w.delay).sum();
        assert_eq!(fct(&line(&wires), profile(), size), (handshake(&wires) + one_way, one_way), "{size} B");
    }
}

/// With a window larger than the flow nothing but the links limits it: the completion time is the handshake plus the
/// ideal. And the ideal is what pipelining says: the first full frame through all links, the rest behind it at the
/// pace of the slowest; a shorter last frame follows the full one in front of it on every link after the slowest. Exact.
#[test]
fn a_flow_that_no_window_limits_takes_the_handshake_and_the_ideal() {
    let wires = uneven();
    let slowest = wires[1].rate;
    for segments in [1u64, 2, 3, 10, 100, 700] {
        let size = segments * u64::from(MSS);
        let (got, ideal) = fct(&line(&wires), Profile { initial_window: 1000, ..profile() }, size);
        let first: Span = wires.iter().map(|w| transmission(w.rate, FULL) + w.delay).sum();
        let expected = first + transmission(slowest, FULL) * (segments - 1);
        assert_eq!((got, ideal), (handshake(&wires) + expected, expected), "{segments} segments");
    }
    for size in [1461, 1466, 2919, 10_000, 99_999, 1_000_000] {
        let (got, ideal) = fct(&line(&wires), Profile { initial_window: 1000, ..profile() }, size);
        assert_eq!(got, handshake(&wires) + ideal, "{size} B");
    }
}

/// As flows grow, slow start matters less: with the window at 10 segments and the link filled once the window is the
/// bandwidth–delay product of d segments, the time beyond the ideal is at most the handshake and one round trip for each
/// doubling from 10 to d, ⌈log₂(d/10)⌉, so FCT/ideal → 1 as 1/size.
#[test]
fn a_large_flow_approaches_the_ideal() {
    let (rate, delay) = (Rate::from_gbps(10), Span::from_micros(100));
    let line = line(&[wire(rate, delay); 2]);
    let (full, empty) = (transmission(rate, FULL), transmission(rate, EMPTY));
    let round_trip = (full + empty + delay * 2) * 2;
    let product = round_trip.as_secs_f64() / full.as_secs_f64();
    let most = round_trip * ((product / 10.0).log2().ceil() as u64 + 1);
    let mut before = f64::INFINITY;
    for size in [100_000, 1_000_000, 10_000_000, 100_000_000] {
        let (got, ideal) = fct(&line, profile(), size);
        assert!(got >= ideal && got - ideal <= most, "{size} B: {got}, ideal {ideal}, at most {most} more");
        let slowdown = got.as_secs_f64() / ideal.as_secs_f64();
        assert!(slowdown < before);
        before = slowdown;
    }
    // 100 MB take 84 ms at 10 Gb/s, `most` is under 3 ms
    assert!(before < 1.04, "slowdown {before}");
}
