//! What every discipline must keep whatever comes: frames, their order within a flow, a line that is never idle while
//! frames wait, and the promise to external hosts.

use headway_fabric::{
    CodelLaw, CodelSpec, DrrSpec, FqCodelSpec, Limit, LinkId, QueueSpec, RedSpec, SharedBufferSpec, Wire,
};
use headway_units::{Bytes, Rate, Span, Time};
use proptest::prelude::*;

use super::open_loop::{Chain, Fate, Offer, plain, run, run_with};

/// A control quick enough to act within a test: RFC 8289's shape at a thousandth of its times.
pub fn quick(ecn: bool) -> CodelLaw {
    CodelLaw { target: Span::from_micros(5), interval: Span::from_micros(100), ecn, mark: None }
}

pub fn fq_codel(packets: u32, queues: u32, law: CodelLaw) -> FqCodelSpec {
    let limit = Some(Limit::Packets(packets));
    FqCodelSpec { limit, memory: Bytes::new(32 << 20), queues, quantum: 1514, batch: 64, law }
}

fn red(ecn: bool, gentle: bool) -> RedSpec {
    RedSpec {
        limit: Some(Limit::Packets(40)),
        min: Limit::Packets(5),
        max: Limit::Packets(15),
        probability: 0.1,
        weight: 0.02,
        packet: Bytes::new(1000),
        gentle,
        ecn,
        hard_drop: !gentle,
    }
}

/// Every discipline, with limits that random traffic meets.
fn all() -> impl Strategy<Value = QueueSpec> {
    let limit = prop_oneof![
        Just(None),
        (1u32..40).prop_map(|n| Some(Limit::Packets(n))),
        (100u64..40_000).prop_map(|n| Some(Limit::Bytes(Bytes::new(n)))),
    ];
    prop_oneof![
        (limit.clone(), 1u32..20)
            .prop_map(|(limit, mark)| QueueSpec::DropTail { limit, mark: Some(Limit::Packets(mark)) }),
        (any::<bool>(), any::<bool>()).prop_map(|(ecn, gentle)| QueueSpec::Red(red(ecn, gentle))),
        (limit.clone(), any::<bool>()).prop_map(|(limit, ecn)| QueueSpec::Codel(CodelSpec { limit, law: quick(ecn) })),
        (limit.clone(), 100u64..60_000, 1u32..6, 64u32..3000, 1u32..64, any::<bool>()).prop_map(
            |(limit, memory, queues, quantum, batch, ecn)| {
                let memory = Bytes::new(memory);
                let law = CodelLaw { mark: ecn.then_some(Span::from_micros(3)), ..quick(ecn) };
                QueueSpec::FqCodel(FqCodelSpec { limit, memory, queues, quantum, batch, law })
            }
        ),
        (limit, 1u32..6, 64u32..3000).prop_map(|(limit, queues, quantum)| QueueSpec::Drr(DrrSpec {
            limit,
            queues,
            quantum
        })),
    ]
}

/// Bursts of a few flows, about twice what 1 Gb/s carries: frames of 64 to 1,518 B up to 8 µs apart, with pauses.
fn traffic() -> impl Strategy<Value = Vec<Offer>> {
    let pause = prop_oneof![6 => 0u64..8_000, 1 => 0u64..100_000];
    prop::collection::vec((pause, 64u16..1519, 0u32..5, 0u8..4), 1..400).prop_map(|steps| {
        let mut now = Time::ZERO;
        let offer = |(gap, size, flow, tos)| {
            now += Span::from_nanos(gap);
            Offer { at: now, size, tos, flow }
        };
        steps.into_iter().map(offer).collect()
    })
}

/// Frames that arrived, by when: their index and that time.
fn arrivals(chain: &Chain) -> Vec<(usize, Time)> {
    let time = |(i, fate): (usize, &Fate)| match fate {
        Fate::Arrived(time, _) => Some((i, *time)),
        Fate::Discarded => None,
    };
    let mut arrivals: Vec<(usize, Time)> = chain.fates.iter().enumerate().filter_map(time).collect();
    arrivals.sort_by_key(|&(i, time)| (time, i));
    arrivals
}

/// Chance is the port's own: one seed drops the same frames again, another seed others. Uneven arrivals at twice
/// what the port sends.
#[test]
fn the_seed_decides_what_red_drops() {
    let links = [(Wire { queue: QueueSpec::Red(red(false, true)), ..plain(Rate::from_gbps(1)) }, Span::ZERO)];
    let fates = |seed| {
        let offers = (0..2000u64).map(|i| Offer::at(Time::ZERO + Span::from_nanos(4000 * i + i * i % 997), 1000));
        run(&links, seed, offers, |_, _| {}).fates
    };
    assert!(fates(1).contains(&Fate::Discarded));
    assert!(fates(1) == fates(1));
    assert!(fates(1) != fates(2));
}

proptest! {
    /// A fast link into a switch, a port of it under test, then a drop-tail one; with and without a shared buffer.
    #[test]
    fn frames_order_and_work_are_conserved(
        queue in all(),
        offers in traffic(),
        delay in 0u64..20_000,
        shared in prop::option::of((2_000u64..30_000, 0.25f64..4.0, 0u64..900)),
    ) {
        let buffer = shared.map(|(size, alpha, reserve)| SharedBufferSpec {
            size: Bytes::new(size), alpha, reserve: Bytes::new(reserve),
        });
        let rate = Rate::from_gbps(1);
        // the first wire takes nothing, so that the port is offered what the test offers
        let first = plain(Rate::from_bps(8_000_000_000_000_000));
        let tested = Wire { queue, delay: Span::from_nanos(delay), ..plain(rate) };
        let mut bounds = Vec::new();
        let chain = run_with(&[(first, Span::ZERO), (tested, Span::ZERO)], buffer, 1, offers.clone(), |now, fabric| {
            fabric.assert_conserved();
            bounds.push((now, fabric.earliest_arrival(now, LinkId(2))));
        });
        // Every frame has one fate, and counters know which.
        let arrivals = arrivals(&chain);
        let port = chain.ports[1];
        prop_assert_eq!(port.delivered.frames, arrivals.len() as u64);
        prop_assert_eq!(port.delivered.frames + port.dropped.frames, offers.len() as u64);
        prop_assert_eq!(port.accepted.frames - port.evicted.frames, port.delivered.frames);
        // Frames of a flow arrive in order.
        for flow in 0..5 {
            let own: Vec<usize> = arrivals.iter().map(|&(i, _)| i).filter(|&i| offers[i].flow == flow).collect();
            prop_assert!(own.is_sorted(), "flow {flow}: {own:?}");
        }
        // Only what is capable is marked, and what was marked stays so.
        for (offer, fate) in offers.iter().zip(&chain.fates) {
            if let Fate::Arrived(_, tos) = fate {
                prop_assert!(*tos == offer.tos || (offer.tos != 0 && *tos == 3), "{} became {tos}", offer.tos);
            }
        }
        // The line is idle before a frame only if nothing that is sent later waits.
        // One after the other over the first wire, too: offers of one instant differ by its picoseconds.
        let mut busy = Time::ZERO;
        let at_port = |offer: &Offer| {
            busy = busy.max(offer.at) + first.rate.transmission(Bytes::new(u64::from(offer.size)));
            busy
        };
        let at_port: Vec<Time> = offers.iter().map(at_port).collect();
        let mut free = Time::ZERO;
        let mut first_offer = vec![Time::NEVER; arrivals.len() + 1];
        for (k, &(i, _)) in arrivals.iter().enumerate().rev() {
            first_offer[k] = first_offer[k + 1].min(at_port[i]);
        }
        for (k, &(i, time)) in arrivals.iter().enumerate() {
            let end = time - tested.delay;
            let start = end - rate.transmission(Bytes::new(u64::from(offers[i].size)));
            prop_assert!(start >= free, "one frame at a time");
            prop_assert!(start == free || start <= first_offer[k], "frame {i} starts at {start:?}, free at {free:?}");
            free = end;
        }
        // Nothing arrives before the time that external hosts were told.
        let mut next = arrivals.iter().map(|&(_, time)| time).peekable();
        for (now, bound) in bounds {
            while next.peek().is_some_and(|&time| time <= now) {
                next.next();
            }
            prop_assert!(next.peek().is_none_or(|&time| time >= bound), "{:?} at {now:?}: {bound:?}", next.peek());
        }
    }
}
