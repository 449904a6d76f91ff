//! ECN threshold marking: exactly the frames that find more than K (RFC 8257 §3.1).

use std::collections::VecDeque;

use headway_engine::Streams;
use headway_fabric::{Limit, QueueSpec, Wire, ecn};
use headway_units::{Bytes, Rate, Span, Time};

use super::open_loop::{Chain, Fate, Offer, plain, run};

fn marking(mark: Limit) -> Vec<(Wire, Span)> {
    let queue = QueueSpec::DropTail { limit: None, mark: Some(mark) };
    vec![(Wire { queue, delay: Span::from_micros(5), ..plain(Rate::from_gbps(10)) }, Span::ZERO)]
}

fn capable(at: Time, size: u16) -> Offer {
    Offer::at(at, size).capable()
}

fn marked(chain: &Chain) -> Vec<usize> {
    let is_marked = |&i: &usize| matches!(chain.fates[i], Fate::Arrived(_, tos) if tos & ecn::MASK == ecn::CE);
    (0..chain.fates.len()).filter(is_marked).collect()
}

/// Frame i of a burst finds i frames, that is 1500·i bytes, and is marked if those are more than K.
#[test]
fn a_burst_is_marked_from_the_frame_that_finds_more_than_k() {
    for (mark, first) in [
        (Limit::Packets(0), 1), // the first frame finds none
        (Limit::Packets(20), 21),
        (Limit::Bytes(Bytes::new(30_000)), 21),
        (Limit::Bytes(Bytes::new(29_999)), 20),
        (Limit::Packets(100), 100), // nobody finds more
    ] {
        let chain = run(&marking(mark), 1, (0..100).map(|_| capable(Time::ZERO, 1500)), |_, _| {});
        assert_eq!(marked(&chain), (first..100).collect::<Vec<_>>(), "{mark:?}");
        assert_eq!(chain.totals.marked, 100 - first as u64, "{mark:?}");
        assert_eq!(chain.totals.dropped.frames, 0);
    }
}

/// RFC 3168 §5: a router does not mark what is not ECN-capable, and a frame marked before stays marked.
#[test]
fn only_capable_frames_are_marked_and_marks_stay() {
    let tos = |i: usize| [0, ecn::CAPABLE, 0b01, ecn::CE][i % 4];
    let offers = (0..40).map(|i| Offer { tos: tos(i), ..Offer::at(Time::ZERO, 1500) });
    let chain = run(&marking(Limit::Packets(10)), 1, offers, |_, _| {});
    for (i, &fate) in chain.fates.iter().enumerate() {
        let Fate::Arrived(_, got) = fate else { panic!("frame {i} was dropped") };
        let expected = if tos(i) != 0 && i > 10 { ecn::CE } else { tos(i) };
        assert_eq!(got & ecn::MASK, expected, "frame {i}");
    }
}

/// Random arrivals: a second account of the queue (departure = max(arrival, last departure) + transmission, Lindley
/// 1952) knows how many frames each arrival finds. Loads from light to beyond saturation.
#[test]
fn random_arrivals_are_marked_by_what_they_find() {
    let service = Span::from_nanos(1200); // 1500 B at 10 Gb/s
    for (rho, k) in [(0.5, 1), (0.9, 5), (1.1, 40)] {
        let mut stream = Streams::new(3).stream("arrivals");
        let mut now = Time::ZERO;
        let offers: Vec<Offer> = (0..50_000)
            .map(|_| {
                now += Span::from_secs_f64(stream.exponential(service.as_secs_f64() / rho));
                capable(now, 1500)
            })
            .collect();
        let chain = run(&marking(Limit::Packets(k)), 1, offers.iter().copied(), |_, _| {});
        let mut departures: VecDeque<Time> = VecDeque::new();
        let mut expected = Vec::new();
        for (i, offer) in offers.iter().enumerate() {
            while departures.front().is_some_and(|&departure| departure <= offer.at) {
                departures.pop_front();
            }
            if departures.len() > k as usize {
                expected.push(i);
            }
            let start = departures.back().map_or(offer.at, |&last| last.max(offer.at));
            departures.push_back(start + service);
        }
        assert!(expected.len() > 1000, "load {rho} marks too few to tell");
        assert_eq!(marked(&chain), expected, "load {rho}");
    }
}
