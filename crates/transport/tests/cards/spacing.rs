//! When frames arrive.

use headway_control::pacing::Burst;
use headway_fabric::Limit;
use headway_transport::{CardModel, FlowRate, Profile, Release, RoundTrip};
use headway_units::{Bytes, Rate, Span};

use crate::common::{FULL, Line, MSS, Outcome, Setup, assert_near, limited, line, profile, transmission, wire};

const HALF: Rate = Rate::from_mbps(500);

fn gigabit() -> Rate {
    Rate::from_gbps(1)
}

pub fn card(release: Release, rate: FlowRate) -> CardModel {
    CardModel { release, rate, burst: Burst::Packets(1), limit: None, classes: Vec::new(), queue: 10_000, mtu: 1500 }
}

/// A window of so many segments, from the first on and for ever.
fn window(segments: u32) -> Profile {
    Profile {
        initial_window: segments,
        initial_ssthresh: Some(Bytes::new(1)),
        receive_window: Bytes::new(u64::from(segments * MSS)),
        ..profile()
    }
}

fn two_links(second: Rate) -> Line {
    line(&[wire(gigabit(), Span::from_micros(5)), wire(second, Span::from_micros(500))])
}

/// Times between acknowledgements at the sender: each answers one segment at once over a clean way back, so they are the
/// times between arrivals.
fn arrivals(outcome: &Outcome) -> Vec<Span> {
    let times: Vec<_> = outcome.trace.iter().filter(|row| !row.out).map(|row| row.time).collect();
    // the first one is the handshake's
    times[1..].windows(2).map(|pair| pair[1] - pair[0]).collect()
}

fn run(net: &Line, profile: Profile, model: CardModel, span: Span) -> Outcome {
    Setup::new(&net.net, profile)
        .card(net.source, model)
        .traced()
        .flow((net.source, net.sink), None, Span::ZERO)
        .run(span)
}

/// The paper, figure 1: at half of the line's rate a gap is as long as a frame.
#[test]
fn half_the_rate_leaves_gaps_of_exactly_a_frame() {
    for release in [Release::Gap, Release::GapFrames] {
        let outcome =
            run(&two_links(gigabit()), window(200), card(release, FlowRate::Static(HALF)), Span::from_millis(50));
        let between = arrivals(&outcome);
        assert!(between.len() > 1900, "{}", between.len());
        let frame = transmission(gigabit(), FULL);
        assert!(between.iter().all(|&gap| gap == frame * 2), "{between:?}");
        let counters = outcome.cards[0];
        assert_eq!(counters.gap_bytes, counters.gap_frames * (FULL - 20), "each gap is one full frame");
        let sent = outcome.trace.iter().filter(|row| row.out && row.amount > 0).count() as u64;
        assert!(counters.gap_frames + 1 >= between.len() as u64 && counters.gap_frames <= sent, "{counters:?}");
    }
}

/// At the rate of the bottleneck a frame arrives there when the one before has just left: a queue of one frame, which is
/// the one on its way, drops nothing. Without pacing it does.
#[test]
fn the_bottlenecks_rate_needs_no_queue() {
    let second = limited(wire(HALF, Span::from_millis(5)), Limit::Packets(1));
    let net = line(&[wire(gigabit(), Span::from_micros(5)), second]);
    let with = |rate| run(&net, window(500), card(Release::Gap, rate), Span::from_millis(200));
    let paced = with(FlowRate::Static(HALF));
    assert_eq!(paced.totals.drops, 0);
    // 500 Mb/s in frames of 1,538 B, but for the handshake's 10 ms and the first ones' way of 5 ms
    let delivered = paced.port(net.links[1]).delivered.frames as f64;
    assert_near("frames", delivered, 0.185 * 500e6 / (8.0 * 1538.0), 0.001);
    assert!(with(FlowRate::Unpaced).totals.drops > 100);
}

/// A timer of 1 ms at 500 Mb/s: 62,500 B a tick, which are 40 or 41 frames of 1,538 B, back to back.
#[test]
fn a_timer_makes_bursts() {
    let model = card(Release::Timer(Span::from_millis(1)), FlowRate::Static(HALF));
    let outcome = run(&two_links(gigabit()), window(500), model, Span::from_millis(100));
    let between = arrivals(&outcome);
    let back_to_back = transmission(gigabit(), FULL);
    let mut bursts = vec![1];
    for &gap in &between {
        if gap == back_to_back {
            *bursts.last_mut().unwrap() += 1;
        } else {
            let rest = Span::from_millis(1) - back_to_back * (bursts.last().unwrap() - 1);
            assert_eq!(gap, rest, "a burst begins with a tick");
            bursts.push(1);
        }
    }
    let whole = &bursts[1..bursts.len() - 1];
    assert!(whole.len() > 90 && whole.iter().all(|burst| (40..=41).contains(burst)), "{bursts:?}");
    assert_near("frames a tick", whole.iter().sum::<u64>() as f64 / whole.len() as f64, 62_500.0 / 1538.0, 0.002);
    assert_eq!(outcome.cards[0].gap_frames, 0);
}

/// Eq. 1: a window of 50 segments over a round trip of 20 ms, measured by the handshake, is a segment every fiftieth of it.
#[test]
fn the_dynamic_rate_spreads_a_window_over_the_round_trip() {
    let net = line(&[wire(gigabit(), Span::from_micros(5)), wire(gigabit(), Span::from_millis(10))]);
    let run = |rate| run(&net, window(50), card(Release::Gap, rate), Span::from_millis(61));
    let dynamic = run(FlowRate::Dynamic { limit: None, round_trip: RoundTrip::Smoothed });
    // handshake: 84 B over two links and back, of 1 Gb/s, and the delays
    let rtt = Span::from_micros(2 * 10_005) + transmission(gigabit(), 84) * 4;
    let first: Vec<Span> = arrivals(&dynamic)[..49].to_vec();
    let byte = Span::from_nanos(8);
    let exact = rtt / 50;
    assert!(first.iter().all(|gap| gap.abs_diff(exact) <= byte), "{first:?} {exact}");
    let sum: Span = first.iter().copied().sum();
    assert!(sum.abs_diff(exact * 49) <= byte, "{sum}");
    // with a limit of 20 Mb/s, which is slower than 50 · 1,538 B in 20 ms
    let limited = run(FlowRate::Dynamic { limit: Some(Rate::from_mbps(20)), round_trip: RoundTrip::Smoothed });
    let gap = transmission(Rate::from_mbps(20), FULL);
    assert!(arrivals(&limited).iter().all(|&between| between == gap));
}

/// A window that has grown in slow start faster than its own pace waits in the card. The smoothed round trip has that wait
/// in it, so the rate that it gives never works it off; the shortest round trip's does, and the window goes out in each.
#[test]
fn the_shortest_round_trip_works_off_what_waits_in_the_card() {
    let net = line(&[wire(gigabit(), Span::from_micros(5)), wire(gigabit(), Span::from_millis(10))]);
    let delivered = |round_trip| {
        let rate = FlowRate::Dynamic { limit: None, round_trip };
        let grows = Profile { initial_window: 2, initial_ssthresh: None, ..window(200) };
        arrivals(&run(&net, grows, card(Release::Gap, rate), Span::from_secs(2))).len() as f64
    };
    let most = 200.0 * 2.0 / 0.02001;
    let (smoothed, least) = (delivered(RoundTrip::Smoothed), delivered(RoundTrip::Least));
    assert!(least > 0.9 * most && smoothed < 0.75 * most, "{smoothed} {least} of {most}");
}

/// Bursts of k, and k gaps: at a quarter of the rate, eight frames back to back and the time of 24.
#[test]
fn bursts_are_followed_by_their_gaps() {
    let model = CardModel { burst: Burst::Packets(8), ..card(Release::Gap, FlowRate::Static(Rate::from_mbps(250))) };
    let outcome = run(&two_links(gigabit()), window(200), model, Span::from_millis(20));
    let frame = transmission(gigabit(), FULL);
    for (nth, &gap) in arrivals(&outcome).iter().enumerate() {
        assert_eq!(gap, if nth % 8 == 7 { frame * 25 } else { frame }, "{nth}");
    }
}

/// What finds the queue full is dropped, counted, and repaired by TCP.
#[test]
fn a_full_queue_drops() {
    let net = two_links(gigabit());
    let model = CardModel { queue: 10, ..card(Release::Gap, FlowRate::Static(HALF)) };
    let outcome = Setup::new(&net.net, Profile { initial_window: 50, ..profile() })
        .card(net.source, model)
        .flow((net.source, net.sink), Some(3_000_000), Span::ZERO)
        .run(Span::from_secs(5));
    assert!(outcome.totals.card_drops >= 40, "{:?}", outcome.totals);
    assert_eq!((outcome.totals.drops, outcome.cards[0].drops), (0, outcome.totals.card_drops));
    assert!(u64::from(outcome.ends[0].retransmissions) >= 40);
    assert!(outcome.ends[0].end.is_some());
}
