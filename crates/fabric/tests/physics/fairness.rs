//! Fair queueing and controlled delay at a port, against their papers' bounds.

use headway_fabric::{CodelLaw, CodelSpec, DrrSpec, Limit, QueueSpec, Wire};
use headway_units::{Bytes, Rate, Span, Time};

use super::disciplines::fq_codel;
use super::open_loop::{Chain, Fate, Offer, plain, run};

fn port(rate: Rate, queue: QueueSpec) -> Vec<(Wire, Span)> {
    vec![(Wire { queue, ..plain(rate) }, Span::ZERO)]
}

/// Frames of `flow`, one every `gap` from `start` on until `end`.
fn steady(flow: u32, size: u16, start: Span, gap: Span, end: Span) -> impl Iterator<Item = Offer> {
    let count = (end - start).picos() / gap.picos();
    (0..count).map(move |i| Offer::at(Time::ZERO + start + gap * i, size).of(flow))
}

fn in_order(mut offers: Vec<Offer>) -> Vec<Offer> {
    offers.sort_by_key(|offer| (offer.at, offer.flow));
    offers
}

/// Offers that arrived with when, in order of arrival.
fn arrivals(offers: &[Offer], chain: &Chain) -> Vec<(Offer, Time)> {
    let arrived = |(offer, fate): (&Offer, &Fate)| match fate {
        Fate::Arrived(time, _) => Some((*offer, *time)),
        Fate::Discarded => None,
    };
    let mut arrivals: Vec<_> = offers.iter().zip(&chain.fates).filter_map(arrived).collect();
    arrivals.sort_by_key(|&(_, time)| time);
    arrivals
}

/// RFC 8289's defaults (§5.3).
const LAW: CodelLaw =
    CodelLaw { target: Span::from_millis(5), interval: Span::from_millis(100), ecn: false, mark: None };

/// Shreedhar & Varghese 1996, fairness: between any two times at which both flows have frames, what they send differs
/// by at most Q + 2 Max, as turns differ by one and each leaves a deficit of less than Max. Four flows with frames of 64 to 1,518 B, each of which alone overloads the
/// port; whatever the quantum. Their queues are apart with these salts: else two of them shared a turn.
#[test]
fn deficit_round_robin_is_fair_to_a_quantum_and_two_frames() {
    let sizes = [64u16, 400, 1000, 1518];
    for quantum in [500, 1518, 9000] {
        let queue = QueueSpec::Drr(DrrSpec { limit: None, queues: 1024, quantum });
        let rate = Rate::from_gbps(1);
        let end = Span::from_millis(2);
        let offers = in_order(
            (0..4u32)
                .flat_map(|flow| {
                    let size = sizes[flow as usize];
                    steady(flow, size, Span::ZERO, rate.transmission(Bytes::new(u64::from(size))), end)
                })
                .collect(),
        );
        let chain = run(&port(rate, queue), 1, offers.iter().copied(), |_, _| {});
        // Flows have frames from the start until new ones cease to come.
        let sent: Vec<_> =
            arrivals(&offers, &chain).into_iter().take_while(|&(_, time)| time < Time::ZERO + end).collect();
        let (mut bytes, mut gaps) = ([0i64; 4], [[(0i64, 0i64); 4]; 4]);
        for (offer, _) in sent {
            bytes[offer.flow as usize] += i64::from(offer.size);
            for i in 0..4 {
                for j in 0..4 {
                    let (low, high) = &mut gaps[i][j];
                    (*low, *high) = ((*low).min(bytes[i] - bytes[j]), (*high).max(bytes[i] - bytes[j]));
                }
            }
        }
        assert!(bytes.iter().all(|&sent| sent > 50_000), "{bytes:?}");
        let widest = gaps.iter().flatten().map(|(low, high)| high - low).max().unwrap();
        assert!(widest <= i64::from(quantum) + 2 * 1518, "quantum {quantum}: {widest} B");
    }
}

/// Longest queue drop: flows that stay below their share lose nothing however much another sends; the buffer is full
/// all the time.
#[test]
fn the_longest_queue_pays() {
    let queue = QueueSpec::Drr(DrrSpec { limit: Some(Limit::Packets(50)), queues: 1024, quantum: 1518 });
    let end = Span::from_millis(50);
    // 1,000 B at 100 Mb/s take 80 µs: 4 × 20 % and 200 %
    let modest = (0..4u32)
        .flat_map(|flow| steady(flow, 1000, Span::from_micros(7 * u64::from(flow)), Span::from_micros(420), end));
    let offers = in_order(modest.chain(steady(9, 1000, Span::ZERO, Span::from_micros(40), end)).collect());
    let chain = run(&port(Rate::from_mbps(100), queue), 1, offers.iter().copied(), |_, _| {});
    for (offer, fate) in offers.iter().zip(&chain.fates) {
        assert!(offer.flow == 9 || *fate != Fate::Discarded, "{offer:?}");
    }
    assert!(chain.totals.evicted.frames > 100, "{:?}", chain.totals);
}

/// A sparse flow is new each time: it waits for the frame on the line, no more (RFC 8290 §1, §4.2), while bulk flows
/// keep hundreds of frames waiting. Its frames never take a quantum, and between two of them all others have had
/// their turn.
#[test]
fn a_sparse_flow_does_not_wait_behind_bulk() {
    let rate = Rate::from_mbps(100);
    let end = Span::from_millis(400);
    let bulk = (1..5u32).flat_map(|flow| {
        steady(flow, 1518, Span::from_micros(u64::from(flow)), rate.transmission(Bytes::new(1518)), end)
    });
    let offers = in_order(bulk.chain(steady(0, 100, Span::from_millis(1), Span::from_micros(9973), end)).collect());
    let longest = |queue| {
        let chain = run(&port(rate, queue), 1, offers.iter().copied(), |_, _| {});
        let own = offers.iter().zip(&chain.fates).filter(|(offer, _)| offer.flow == 0);
        own.map(|(offer, fate)| match fate {
            Fate::Arrived(time, _) => *time - offer.at,
            Fate::Discarded => Span::MAX,
        })
        .max()
        .unwrap()
    };
    let bound = rate.transmission(Bytes::new(1518)) + rate.transmission(Bytes::new(100));
    let fair = longest(QueueSpec::FqCodel(fq_codel(10_240, 1024, LAW)));
    assert!(fair <= bound, "{fair} of {bound}");
    // and it is the discipline that does it
    let fifo = longest(QueueSpec::DropTail { limit: Some(Limit::Packets(1000)), mark: None });
    assert!(fifo > bound * 100, "{fifo}");
}

/// Isolation: a flow below its fair share gets what it sends, whatever five others of twice the link's rate do.
#[test]
fn a_flow_below_its_share_is_left_alone() {
    let rate = Rate::from_mbps(100);
    let end = Span::from_secs(1);
    let greedy =
        (1..6u32).flat_map(|flow| steady(flow, 1518, Span::from_micros(u64::from(flow)), Span::from_micros(60), end));
    // 10 % of the link, in frames of 500 B; a sixth would be its share
    let offers = in_order(greedy.chain(steady(0, 500, Span::ZERO, Span::from_micros(400), end)).collect());
    let chain = run(&port(rate, QueueSpec::FqCodel(fq_codel(1000, 1024, LAW))), 1, offers.iter().copied(), |_, _| {});
    for (offer, fate) in offers.iter().zip(&chain.fates).filter(|(offer, _)| offer.flow == 0) {
        assert!(
            matches!(fate, Fate::Arrived(time, _) if *time - offer.at < Span::from_millis(2)),
            "{offer:?}: {fate:?}"
        );
    }
    // The others share the rest alike: within a percent over a second.
    let mut bytes = [0u64; 6];
    for (offer, time) in arrivals(&offers, &chain) {
        if time < Time::ZERO + end {
            bytes[offer.flow as usize] += u64::from(offer.size);
        }
    }
    let share = (12_500_000 - bytes[0]) / 5;
    for &sent in &bytes[1..] {
        assert!(sent.abs_diff(share) < share / 100, "{bytes:?}, share {share}");
    }
}

/// What a full FQ-CoDel drops is the fattest queue's, in batches from its head (`sch_fq_codel.c: fq_codel_drop`).
#[test]
fn the_fattest_queue_pays() {
    let spec = fq_codel(100, 1024, LAW);
    let fat = (0..101).map(|_| Offer::at(Time::ZERO, 1500).of(1));
    let thin = [Offer::at(Time::ZERO, 1500).of(2); 3];
    // One of the fat flow is on the line, 97 wait, then 3 of the thin one: with the next fat one there are 101, and
    // half of the fat one's 98 are dropped: the second to the fiftieth.
    let offers: Vec<Offer> = fat.clone().take(98).chain(thin).chain(fat.take(1)).collect();
    let chain = run(&port(Rate::from_gbps(1), QueueSpec::FqCodel(spec)), 1, offers.iter().copied(), |_, _| {});
    let dropped: Vec<usize> = (0..offers.len()).filter(|&i| chain.fates[i] == Fate::Discarded).collect();
    assert_eq!(dropped, (1..50).collect::<Vec<_>>());
    assert_eq!((chain.totals.evicted.frames, chain.totals.dropped.frames), (49, 49));
}

/// Unresponsive overload of 2 %, frames of 1 ms: the control has to drop 20 frames/s in the long run. The wait grows by
/// 2 ms in the interval before the first drop, so to 7 ms; between drops n and n + 1 it grows by 2/√n ms, and each
/// takes 1 ms off: it rises by 1 + 0.41 + 0.15 ms to less than 9 ms before a drop, and falls from the fifth drop on.
/// Later cycles start with more drops (RFC 8289 §5.5). So every wait stays below twice the target, and the line busy.
#[test]
fn a_fixed_overload_is_held_near_the_target() {
    let end = Span::from_secs(60);
    let offers: Vec<Offer> = steady(0, 1500, Span::ZERO, Span::from_nanos(980_392), end).collect();
    let queue = QueueSpec::Codel(CodelSpec { limit: None, law: LAW });
    let chain = run(&port(Rate::from_bps(12_000_000), queue), 1, offers.iter().copied(), |_, _| {});
    let sent = arrivals(&offers, &chain);
    assert!(sent.len() >= 59_999, "a frame per millisecond: {}", sent.len());
    let longest = sent.iter().map(|(offer, time)| (*time - offer.at).as_millis_f64() - 1.0).fold(0.0, f64::max);
    assert!((5.0..10.0).contains(&longest), "{longest} ms");
    let standing = sent.windows(1000).step_by(1000).map(|second| {
        second.iter().map(|(offer, time)| (*time - offer.at).as_millis_f64() - 1.0).fold(f64::INFINITY, f64::min)
    });
    for least in standing {
        assert!(least < 7.0, "the least wait in a second is {least} ms");
    }
    // What exceeds the rate is dropped, but for what waits at the end.
    assert!(chain.totals.dropped.frames.abs_diff(offers.len() as u64 - 60_000) < 10, "{:?}", chain.totals);
}
