//! BBR against hand-worked numbers and on a path of one bottleneck.

use std::collections::VecDeque;

use super::super::{Cause, Delivery};
use super::*;

const MSS: u64 = 1448;

fn window(segments: u32) -> Window {
    Window::initial(segments, MSS as u32)
}

/// Window 10, RTT 40 ms: bw = ⌊10·2²⁴/40000⌋ = 4194; 4194·1448·739 ≫ 8 = 17 530 789; · 990 000 ≫ 24 = 1 034 467 B/s,
/// that is 2.887·0.99·10·1448 B/40 ms but for rounding.
#[test]
fn the_first_pace_is_high_gain_times_window_over_round_trip() {
    let mut bbr = Bbr::default();
    assert_eq!(bbr.pacing(), None);
    bbr.on_start(&Start { now: Time::ZERO, rtt: Some(Span::from_millis(40)), seed: 1 }, &mut window(10));
    assert_eq!(bbr.pacing(), Some(Rate::from_bps(8 * 1_034_467)));
    // Without a measurement of a nominal 1 ms: ⌊10·2²⁴/1000⌋ = 167772; ·1448·739 ≫ 8 = 701 281 717; 41 381 651.
    bbr.on_start(&Start { now: Time::ZERO, rtt: None, seed: 1 }, &mut window(10));
    assert_eq!(bbr.pacing(), Some(Rate::from_bps(8 * 41_381_651)));
}

/// 1 segment/ms and 10 ms: 10 segments; bw = ⌊2²⁴/1000⌋ = 16777 < 2²⁴/1000, so ⌈9.9998⌉ = 10, and with gain 2
/// ⌈19.9996⌉. The pace is 16777·1448·… = 1.43 MB/s: bursts of max(1433612 ≫ 10 = 1399 B → 0, 2) = 2, so 10 + 3·2 = 16,
/// even.
#[test]
fn the_target_is_rounded_up_and_leaves_room_for_bursts() {
    let mut bbr = Bbr { mss: MSS, min_rtt: Some(10_000), pacing: 1_433_000, ..Bbr::default() };
    let bw = BW_UNIT / 1000;
    assert_eq!((bbr.bdp(bw, UNIT), bbr.bdp(bw, 2 * UNIT)), (10, 20));
    assert_eq!(bbr.burst(), 2);
    assert_eq!(bbr.quantised(10), 16);
    assert_eq!(bbr.quantised(11), 18);
    // probing adds two
    (bbr.mode, bbr.phase) = (Mode::ProbeBw, 0);
    assert_eq!(bbr.quantised(10), 18);
    // 1.25 GB/s ≫ 10 = 1.2 MB: no more than 64 KiB less headers, 65215/1448 = 45 segments; small segments at most 127
    bbr.pacing = 1_250_000_000;
    assert_eq!(bbr.burst(), 45);
    bbr.mss = 100;
    assert_eq!(bbr.burst(), 127);
    // below 1.2 Mb/s = 150 kB/s one
    bbr.pacing = 149_999;
    assert_eq!(Bbr { mss: MSS, ..bbr }.burst(), 1);
}

/// An acknowledgement of `acked` segments, when `total` have been delivered in 10 ms.
fn ack(state: State, total: u64, acked: u64, lost: u64, flight: u64) -> Ack<'static> {
    Ack {
        total: total * MSS,
        lost: lost * MSS,
        lost_ever: lost * MSS,
        flight_before: (flight + acked + lost) * MSS,
        flight: flight * MSS,
        rtt: Some(Span::from_millis(10)),
        srtt: Some(Span::from_millis(10)),
        min_rtt: Some(Span::from_millis(10)),
        state,
        delivery: Some(Delivery {
            before: 0,
            bytes: total * MSS,
            interval: Some(Span::from_millis(10)),
            app_limited: false,
        }),
        ..Ack::of(Time::ZERO + Span::from_millis(total), acked * MSS)
    }
}

/// Recovery from 40 in flight: 1 acknowledged and 3 lost leave 36; the window is what is left and what was
/// acknowledged, 37, for a round (one out for one in); at its end the window of before is restored.
#[test]
fn the_first_round_of_recovery_conserves_packets() {
    let mut window = window(40);
    let mut bbr = Bbr::default();
    bbr.observe(&ack(State::Open, 40, 1, 0, 39), &mut window);
    assert_eq!(window.segments(), 41); // start-up, below target
    bbr.on_congestion(&Event::of(Time::ZERO, Cause::Loss, 41 * MSS), &mut window);
    bbr.observe(&Ack { delivery: None, ..ack(State::Recovery, 41, 1, 3, 36) }, &mut window);
    assert_eq!(window.segments(), 37);
    bbr.observe(&Ack { delivery: None, ..ack(State::Recovery, 43, 2, 0, 35) }, &mut window);
    assert_eq!(window.segments(), 37);
    bbr.observe(&Ack { delivery: None, ..ack(State::Open, 44, 1, 0, 36) }, &mut window);
    assert_eq!(window.segments(), 42); // the saved 41, and start-up again
}

#[test]
fn recovery_from_a_time_out_restores_the_window() {
    let mut window = window(40);
    let mut bbr = Bbr::default();
    bbr.observe(&ack(State::Open, 40, 1, 0, 39), &mut window);
    bbr.on_congestion(&Event::of(Time::ZERO, Cause::Timeout, 41 * MSS), &mut window);
    bbr.on_timeout(41 * MSS);
    window.cwnd = MSS; // `tcp_enter_loss`: nothing is in flight, and one more
    bbr.observe(&Ack { delivery: None, ..ack(State::Loss, 41, 1, 0, 0) }, &mut window);
    assert_eq!(window.segments(), 4); // the least
    bbr.observe(&Ack { delivery: None, ..ack(State::Open, 42, 1, 0, 3) }, &mut window);
    assert_eq!(window.segments(), 42);
}

/// A paced sender, a bottleneck with an endless buffer and a fixed delay; every segment is acknowledged.
struct Path {
    bbr: Bbr,
    window: Window,
    now: u64,
    /// Of each segment in flight: sent, acknowledgement arrives, delivered when sent, delivered at, first sent.
    flying: VecDeque<[u64; 5]>,
    /// When the bottleneck has sent all it has.
    free: u64,
    next_send: u64,
    delivered: u64,
    delivered_at: u64,
    first_sent: u64,
    srtt: u64,
    min_rtt: u64,
    trace: Vec<Point>,
}

struct Point {
    at: u64,
    mode: Mode,
    cwnd: u64,
    flight: u64,
    rtt: u64,
    delivered: u64,
    pacing_gain: u64,
}

/// Nanoseconds.
const MS: u64 = 1_000_000;

impl Path {
    fn new(seed: u64) -> Path {
        let (mut bbr, mut window) = (Bbr::default(), window(10));
        let start = Start { now: Time::ZERO, rtt: Some(Span::from_millis(20)), seed };
        bbr.on_start(&start, &mut window);
        Path {
            bbr,
            window,
            now: 0,
            flying: VecDeque::new(),
            free: 0,
            next_send: 0,
            delivered: 0,
            delivered_at: 0,
            first_sent: 0,
            srtt: 20 * MS,
            min_rtt: 20 * MS,
            trace: Vec::new(),
        }
    }

    /// Runs until `end` with a bottleneck that needs `per` ns for a segment, and a round trip of 20 ms without it.
    fn run(&mut self, end: u64, per: u64) {
        while self.now < end {
            let may_send = (self.flying.len() as u64) < self.window.segments();
            let send = if may_send { self.next_send.max(self.now) } else { u64::MAX };
            let arrival = self.flying.front().map_or(u64::MAX, |f| f[1]);
            self.now = send.min(arrival);
            if send < arrival { self.send(per) } else { self.acknowledge() }
        }
    }

    /// Waits for what is in flight, then does nothing for `idle`.
    fn rest(&mut self, idle: u64) {
        while let Some(front) = self.flying.front() {
            self.now = front[1];
            self.acknowledge();
        }
        self.now += idle;
        let now = Time::ZERO + Span::from_nanos(self.now);
        self.bbr.on_restart(now, Span::from_nanos(idle), &mut self.window);
    }

    fn send(&mut self, per: u64) {
        if self.flying.is_empty() {
            (self.first_sent, self.delivered_at) = (self.now, self.now);
        }
        self.free = self.free.max(self.now) + per;
        self.flying.push_back([self.now, self.free + 20 * MS, self.delivered, self.delivered_at, self.first_sent]);
        let rate = self.bbr.pacing().unwrap().bps();
        self.next_send = self.now + MSS * 8 * 1_000_000_000 / rate;
    }

    fn acknowledge(&mut self) {
        let [sent, _, before, before_at, first] = self.flying.pop_front().unwrap();
        self.delivered += MSS;
        self.first_sent = sent;
        self.delivered_at = self.now;
        let interval = (sent - first).max(self.now - before_at);
        let rtt = self.now - sent;
        self.srtt = (7 * self.srtt + rtt) / 8;
        self.min_rtt = self.min_rtt.min(rtt);
        let flight = self.flying.len() as u64;
        let at = |ns: u64| Time::ZERO + Span::from_nanos(ns);
        let ack = Ack {
            total: self.delivered,
            flight_before: (flight + 1) * MSS,
            flight: flight * MSS,
            rtt: Some(Span::from_nanos(rtt)),
            srtt: Some(Span::from_nanos(self.srtt)),
            min_rtt: Some(Span::from_nanos(self.min_rtt)),
            departure: (self.next_send > self.now).then(|| at(self.next_send)),
            delivery: Some(Delivery {
                before,
                bytes: self.delivered - before,
                interval: (interval >= self.min_rtt).then(|| Span::from_nanos(interval)),
                app_limited: false,
            }),
            ..Ack::of(at(self.now), MSS)
        };
        self.bbr.observe(&ack, &mut self.window);
        self.trace.push(Point {
            at: self.now,
            mode: self.bbr.mode,
            cwnd: self.window.segments(),
            flight,
            rtt,
            delivered: self.delivered / MSS,
            pacing_gain: self.bbr.pacing_gain,
        });
    }

    fn between(&self, from: u64, to: u64) -> impl Iterator<Item = &Point> {
        self.trace.iter().filter(move |p| (from..to).contains(&p.at))
    }
}

/// 1 segment in 0.1 ms (116 Mb/s), 20 ms: a bandwidth-delay product of 200 segments (201 with the one being sent).
const PER: u64 = MS / 10;

/// Start-up doubles the rate in each round: from 10 segments to 200 in ⌈log₂ 20⌉ = 5 rounds; it sees that the rate has
/// stopped growing after 3 more, and drains in about one and a half. The flight is
/// limited to 2.887 products (Cardwell et al., figure 4) and three bursts: at 41.3 MB/s, 40 kB or 27 segments, so 658.
#[test]
fn start_up_fills_the_pipe_and_drains_its_queue() {
    let mut path = Path::new(1);
    path.run(2_000 * MS, PER);
    let of = |mode: Mode| path.trace.iter().filter(move |p| p.mode == mode);
    let end = of(Mode::Startup).next_back().unwrap();
    // Rounds lengthen as the queue grows: 8 of 20 to 58 ms.
    assert!((160 * MS..460 * MS).contains(&end.at), "{}", end.at);
    let most = path.trace.iter().map(|p| p.flight).max().unwrap();
    assert!((400..=662).contains(&most), "{most}");
    let drained = of(Mode::Drain).next_back().unwrap();
    assert!(drained.at > end.at && drained.at - end.at < 120 * MS, "{}", drained.at - end.at);
    // The window that is left: 2 products and room for bursts. The pace is 14.3 MB/s, so bursts are of
    // 13999 B/1448 = 9 segments: 402 + 27, rounded up.
    assert!((426..=434).contains(&path.window.segments()), "{}", path.window.segments());
}

/// PROBE_BW: full rate; the queue is a quarter of a product for a round trip in eight, and otherwise next to nothing.
#[test]
fn steady_state_is_full_rate_with_a_short_queue() {
    let mut path = Path::new(1);
    path.run(6_000 * MS, PER);
    let steady: Vec<_> = path.between(2_000 * MS, 6_000 * MS).collect();
    let delivered = steady.last().unwrap().delivered - steady[0].delivered;
    // 10 000 segments/s for 4 s; the margin of 1 % is made good by the probing
    assert!((39_500..=40_000).contains(&delivered), "{delivered}");
    assert!(steady.iter().all(|p| p.mode == Mode::ProbeBw && p.cwnd >= 200));
    // a quarter of the product of 20 ms, and a little for the acknowledgement that ends the phase
    let longest = steady.iter().map(|p| p.rtt).max().unwrap();
    assert!((24 * MS..28 * MS).contains(&longest), "{longest}");
    // each cycle has one phase of 5/4, then 3/4
    let gains: Vec<u64> = steady.iter().map(|p| p.pacing_gain).collect();
    let changes = |from: u64, to: u64| gains.windows(2).filter(|w| w == &[from, to]).count();
    let cycles = changes(UNIT, CYCLE[0]);
    // eight phases of somewhat more than 20 ms each: 4 s / 160 ms = 25, less what the probing takes longer
    assert!((20..=25).contains(&cycles), "{cycles}");
    assert!(changes(CYCLE[0], CYCLE[1]).abs_diff(cycles) <= 1);
    assert_eq!(changes(CYCLE[0], UNIT), 0);
}

/// A path whose round trip never comes down again: after 10 s PROBE_RTT with four segments, 200 ms and a round long.
#[test]
fn after_ten_seconds_without_a_shorter_round_trip_the_window_is_cut_for_200_ms() {
    let mut path = Path::new(1);
    path.run(10_600 * MS, PER);
    let probing: Vec<_> = path.trace.iter().filter(|p| p.mode == Mode::ProbeRtt).collect();
    let (first, last) = (probing[0].at, probing.last().unwrap().at);
    assert!((10_000 * MS..10_300 * MS).contains(&first), "{first}");
    assert!((200 * MS..300 * MS).contains(&(last - first)), "{}", last - first);
    assert!(probing.iter().all(|p| p.cwnd == MIN_CWND));
    // The rate is not forgotten for the little that was sent meanwhile.
    let after: Vec<_> = path.between(last + 200 * MS, 10_600 * MS).collect();
    let rate = (after.last().unwrap().delivered - after[0].delivered) * MS / (after.last().unwrap().at - after[0].at);
    assert!(rate >= 9, "{rate} segments/ms");
}

/// When the bottleneck halves its rate, the old one counts for ten rounds more and is then forgotten.
#[test]
fn a_rate_that_is_gone_is_forgotten_after_ten_rounds() {
    let mut path = Path::new(1);
    path.run(2_000 * MS, PER);
    path.run(2_010 * MS, 2 * PER);
    assert!(path.bbr.bw.get() > BW_UNIT / 101);
    path.run(4_000 * MS, 2 * PER);
    // 1 segment in 200 µs
    assert!((BW_UNIT / 202..=BW_UNIT / 199).contains(&path.bbr.bw.get()), "{}", path.bbr.bw.get());
}

/// Silence drains queues as PROBE_RTT would: after 15 s of it there is none, and sending begins at the known rate.
#[test]
fn after_a_pause_it_goes_on_at_the_known_rate() {
    let mut path = Path::new(1);
    path.run(2_000 * MS, PER);
    path.rest(15_000 * MS);
    assert_eq!(path.bbr.pacing, bytes_per_second(path.bbr.rate(), UNIT, MSS));
    // 99 % of 10 000 segments/s
    assert!((14_100_000..=14_480_000).contains(&path.bbr.pacing), "{}", path.bbr.pacing);
    path.run(18_000 * MS, PER);
    assert!(path.trace.iter().all(|p| p.mode != Mode::ProbeRtt));
}

/// 1 segment/ms. 10 acknowledged at 10 ms begin an epoch: all ten are more than was expected. 10 more at 12 ms: 1.99996,
/// so 1 was expected since, and 19 are beyond that. At 40 ms 29 were expected and 20 came: a new epoch. No more counts
/// than the window, nor than the rate brings in 100 ms; after five to ten rounds it is forgotten.
#[test]
fn bunched_acknowledgements_widen_the_window() {
    let mut bbr = Bbr { mss: MSS, full: true, ..Bbr::default() };
    bbr.bw.update(10, 0, BW_UNIT / 1000);
    let at = |bbr: &mut Bbr, ms: u64, acked: u64, cwnd: u64| {
        bbr.totals.at_us = 1000 * ms;
        let ack = ack(State::Open, acked, acked, 0, 0);
        let sample = bbr.sample(&ack);
        bbr.update_extra(&sample, cwnd);
        bbr.aggregation()
    };
    assert_eq!(at(&mut bbr, 10, 10, 40), 10);
    assert_eq!(at(&mut bbr, 12, 10, 15), 15);
    assert_eq!(at(&mut bbr, 12, 0, 40), 15); // nothing new
    bbr.extra.epoch_acked = 10;
    assert_eq!(at(&mut bbr, 12, 10, 40), 19);
    assert_eq!(at(&mut bbr, 40, 5, 40), 19);
    assert_eq!(bbr.extra.epoch_us, 40_000);
    bbr.round_start = true;
    for round in 1..=9 {
        assert_eq!(at(&mut bbr, 40 + 5 * round, 5, 40), 19, "round {round}");
    }
    // 5 in 5 ms, where ⌊4.9999⌋ = 4 were expected after the first: 10 − 4
    assert_eq!(at(&mut bbr, 90, 5, 40), 6);
    bbr.extra.most = [500, 0];
    assert_eq!(bbr.aggregation(), 99);
}

/// Seeds choose where the gain cycle begins: in any phase but that of 3/4, and each about equally often.
#[test]
fn the_cycle_begins_anywhere_but_in_the_draining_phase() {
    let mut counts = [0u32; 8];
    for seed in 0..7_000 {
        let mut bbr = Bbr::default();
        bbr.on_start(&Start { now: Time::ZERO, rtt: None, seed }, &mut window(10));
        bbr.random(); // a connection that has lived a little
        bbr.probe_bw();
        counts[bbr.phase] += 1;
    }
    assert_eq!(counts[1], 0);
    assert!(counts.iter().enumerate().all(|(i, &n)| i == 1 || (800..1200).contains(&n)), "{counts:?}");
}
