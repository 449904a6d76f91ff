//! Store and forward, exact to the picosecond.

use headway_fabric::Wire;
use headway_units::{Bytes, Rate, Span, Time};

use super::open_loop::{Offer, plain, run};

const GAP: u64 = 20;

/// 8·(size + gap)/rate in picoseconds, rounded up: a frame is not there before its last bit is.
fn transmission(size: u16, rate: Rate) -> u64 {
    let bits = 8 * (u128::from(size) + u128::from(GAP));
    (bits * 1_000_000_000_000).div_ceil(u128::from(rate.bps())) as u64
}

fn wire(rate: Rate, delay: Span) -> Wire {
    Wire { delay, gap: Bytes::new(GAP), ..plain(rate) }
}

/// 8·10¹² picobits are divided evenly by the first five of these rates and by none of the last three
/// (1 B takes 2,666.67, 1,142.86 and 320.00000001 ps).
fn rates() -> [Rate; 8] {
    [
        Rate::from_mbps(100),
        Rate::from_gbps(1),
        Rate::from_gbps(10),
        Rate::from_gbps(100),
        Rate::from_gbps(400),
        Rate::from_gbps(3),
        Rate::from_gbps(7),
        Rate::from_bps(24_999_999_999),
    ]
}

/// One frame over h equal links: h · (transmission + propagation + latency of the node behind).
#[test]
fn a_frame_is_stored_and_forwarded_at_every_hop() {
    let (delay, latency) = (Span::from_picos(1_234_567), Span::from_picos(765_432));
    for rate in rates() {
        for hops in 1..=5u64 {
            for size in [64, 1518, 9018] {
                let links = vec![(wire(rate, delay), latency); hops as usize];
                let start = Time::from_picos(99);
                let chain = run(&links, 1, [Offer::at(start, size)], |_, _| {});
                let expected = hops * (transmission(size, rate) + delay.picos() + latency.picos());
                assert_eq!((chain.fates[0].time() - start).picos(), expected, "{size} B, {hops} hops, {rate}");
            }
        }
    }
}

/// Different rates on the way: the sum of what each link takes.
#[test]
fn every_link_adds_its_own_time() {
    let links: Vec<_> = rates()
        .into_iter()
        .zip(1..)
        .map(|(rate, i)| (wire(rate, Span::from_nanos(100 * i)), Span::from_nanos(7 * i)))
        .collect();
    let chain = run(&links, 1, [Offer::at(Time::ZERO, 1518)], |_, _| {});
    // 100 + 7 ns times 1 + 2 + … + 8
    let expected = rates().map(|rate| transmission(1518, rate)).iter().sum::<u64>() + 107_000 * 36;
    assert_eq!(chain.fates[0].time().picos(), expected);
}

/// A train of n frames sent at once over equal links is pipelined: the last arrives n − 1 transmissions after the
/// first. Where a byte does not take whole picoseconds every frame is rounded up, so the train is late by less than
/// n ps and never early.
#[test]
fn a_train_is_pipelined() {
    let (n, hops, size) = (1000u64, 3, 1518);
    for rate in rates() {
        let links = vec![(wire(rate, Span::from_micros(2)), Span::from_micros(1)); hops as usize];
        let chain = run(&links, 1, (0..n).map(|_| Offer::at(Time::ZERO, size)), |_, _| {});
        let each = transmission(size, rate);
        for (i, fate) in (0..).zip(&chain.fates) {
            assert_eq!(fate.time().picos(), hops * (each + 3_000_000) + i * each, "frame {i} at {rate}");
        }
        let exact = f64::from(8 * (u32::from(size) + 20)) * 1e12 / rate.bps() as f64 * n as f64;
        let late = (each * n) as f64 - exact;
        assert!((-0.01..n as f64).contains(&late), "{late} ps late at {rate}");
    }
}

/// Behind a slow link a train keeps that link's pace, also on faster links after it; before it, the frames queue.
#[test]
fn the_slowest_link_sets_the_pace() {
    let (fast, slow) = (Rate::from_gbps(40), Rate::from_gbps(3));
    let links = [fast, slow, fast].map(|rate| (wire(rate, Span::from_micros(1)), Span::ZERO));
    let chain = run(&links, 1, (0..50).map(|_| Offer::at(Time::ZERO, 1518)), |_, _| {});
    let first = 2 * transmission(1518, fast) + transmission(1518, slow) + 3_000_000;
    for (i, fate) in (0..).zip(&chain.fates) {
        assert_eq!(fate.time().picos(), first + i * transmission(1518, slow), "frame {i}");
    }
}
