//! Drop-tail: which frames of a burst find room, counted by hand.
//!
//! The frame being transmitted counts until its last bit has left, as in the model's description.

use headway_fabric::{Limit, QueueSpec, Wire};
use headway_units::{Bytes, Rate, Span, Time};

use super::open_loop::{Chain, Fate, Offer, plain, run};

fn limited(limit: Limit) -> Vec<(Wire, Span)> {
    let queue = QueueSpec::DropTail { limit: Some(limit), mark: None };
    vec![(Wire { queue, delay: Span::from_micros(3), ..plain(Rate::from_gbps(10)) }, Span::ZERO)]
}

fn survivors(chain: &Chain) -> Vec<usize> {
    (0..chain.fates.len()).filter(|&i| chain.fates[i] != Fate::Discarded).collect()
}

/// Of n frames at once those that fit are the first ⌊limit / size⌋; the wire behind the port holds nothing back.
#[test]
fn a_burst_fills_the_queue_and_the_rest_is_dropped() {
    for (limit, size, fit) in [
        (Limit::Bytes(Bytes::new(15_000)), 1500u16, 10),
        (Limit::Bytes(Bytes::new(14_999)), 1500, 9),
        (Limit::Bytes(Bytes::new(1_499)), 1500, 0),
        (Limit::Bytes(Bytes::new(128_000)), 64, 2000),
        (Limit::Packets(100), 1500, 100),
        (Limit::Packets(100), 64, 100),
        (Limit::Packets(1), 9000, 1),
    ] {
        let n = 2500;
        let chain = run(&limited(limit), 1, (0..n).map(|_| Offer::at(Time::ZERO, size)), |_, _| {});
        assert_eq!(survivors(&chain), (0..fit).collect::<Vec<_>>(), "{limit:?} and {size} B");
        let dropped = (n - fit) as u64;
        assert_eq!(
            (chain.totals.dropped.frames, chain.totals.dropped.bytes),
            (dropped, dropped * u64::from(size)),
            "{limit:?} and {size} B"
        );
    }
}

/// A limit in bytes lets a small frame in where a large one found no room: 3,000 + 1,400 are queued, 200 more are
/// too many, 100 fill it to the byte, then nothing fits.
#[test]
fn a_limit_in_bytes_counts_bytes() {
    let sizes = [1500, 1500, 1400, 200, 100, 1];
    let limit = Limit::Bytes(Bytes::new(4500));
    let chain = run(&limited(limit), 1, sizes.map(|size| Offer::at(Time::ZERO, size)), |_, _| {});
    assert_eq!(survivors(&chain), [0, 1, 2, 4]);
}

/// Arrivals at twice the service rate, every T/2, meet a full queue of L from the 2L-th on. A departure frees a place
/// at every multiple of T, just in time for the even arrivals, so of n > 2L arrivals L + ⌊(n − 1)/2⌋ get in.
#[test]
fn at_twice_the_rate_every_other_frame_is_dropped() {
    let (n, room) = (10_001u64, 20);
    let half = Span::from_nanos(600); // 1500 B at 10 Gb/s take 1.2 µs
    let offers = (0..n).map(|i| Offer::at(Time::ZERO + half * i, 1500));
    for limit in [Limit::Packets(room), Limit::Bytes(Bytes::new(1500 * u64::from(room)))] {
        let chain = run(&limited(limit), 1, offers.clone(), |_, _| {});
        assert_eq!(chain.totals.accepted.frames, u64::from(room) + (n - 1) / 2, "{limit:?}");
        assert_eq!(chain.totals.dropped.frames, n - u64::from(room) - (n - 1) / 2, "{limit:?}");
        // Odd arrivals from the first that finds the queue full: 2L − 1 is the first with L in the system.
        let first = chain.fates.iter().position(|&fate| fate == Fate::Discarded);
        assert_eq!(first, Some(2 * room as usize - 1), "{limit:?}");
    }
}

/// Without a limit nothing is dropped, and the last of n frames leaves after n transmissions.
#[test]
fn without_a_limit_nothing_is_dropped() {
    let n = 100_000;
    let links = [(plain(Rate::from_gbps(10)), Span::ZERO)];
    let chain = run(&links, 1, (0..n).map(|_| Offer::at(Time::ZERO, 1250)), |_, _| {});
    assert_eq!(chain.totals.dropped.frames, 0);
    assert_eq!(chain.fates[n - 1].time(), Time::ZERO + Span::from_micros(1) * n as u64);
}
