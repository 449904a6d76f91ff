//! The model by itself, against queueing theory and the rules of its sources: frames arrive from outside whatever
//! becomes of them, so that loads and loss are what theory speaks of.

use headway_engine::Streams;
use headway_fabric::{QueueSpec, Wire};
use headway_units::{Bytes, Rate};
use proptest::prelude::*;

use super::*;
use crate::endpoint::endpoint;
use crate::segment::{NO_EXTRA, Segment, flag};

const MSS: u32 = 1460;
/// Ethernet frame of a full segment: 1460 + 20 + 20 + 14 + 4.
const FULL: u16 = 1518;

fn ns(ns: u64) -> Span {
    Span::from_nanos(ns)
}

/// The `n`-th full segment of `flow`.
fn segment(flow: u32, n: u32) -> (Endpoint, Frame) {
    let number = 1 + n * MSS;
    let body = Segment { number, data_number: n * MSS, amount: MSS, extra: NO_EXTRA };
    (endpoint(flow, Side::Receiver), Frame { hop: 0, size: FULL, tos: 0, tag: flag::ACK, body })
}

/// A host on one cable, and what it was given and did.
struct Bench {
    hosts: Hosts,
    events: EventQueue,
    node: NodeId,
    now: Time,
    offered: u64,
    /// When, to whom, and how many frames at once.
    delivered: Vec<(Time, u32, u32)>,
    sent: Vec<Time>,
    /// Work of programs: when it was done, and its tag.
    worked: Vec<(Time, u64)>,
    /// Numbers of the segments, per flow as they came out.
    numbers: Vec<(u32, u32)>,
    dropped: u64,
}

impl Bench {
    /// `flows` flows, hashed by their number.
    fn new(model: HostModel, flows: u32) -> Bench {
        let mut graph = Graph::default();
        let node = graph.add_host("host", Span::ZERO).expect("a fresh name");
        let peer = graph.add_host("peer", Span::ZERO).expect("a fresh name");
        let queue = QueueSpec::DropTail { limit: None, mark: None };
        let wire =
            Wire { rate: Rate::from_bps(10_000_000_000), delay: Span::ZERO, gap: Bytes::new(20), loss: 0.0, queue };
        graph.connect(node, peer, wire, wire).expect("two nodes");
        let mut hosts = Hosts::default();
        hosts.add(&graph, node, model);
        for flow in 0..flows {
            for half in [Side::Sender, Side::Receiver] {
                hosts.set_hash(endpoint(flow, half), u64::from(flow));
            }
        }
        Bench {
            hosts,
            events: EventQueue::new(),
            node,
            now: Time::ZERO,
            offered: 0,
            delivered: Vec::new(),
            sent: Vec::new(),
            worked: Vec::new(),
            numbers: Vec::new(),
            dropped: 0,
        }
    }

    fn counters(&self) -> &HostCounters {
        self.hosts.counters(self.node).expect("it has a model")
    }

    /// Runs until `end`, before it.
    fn run(&mut self, end: Time) {
        while let Some((now, source, sequence)) = self.events.peek().filter(|&(now, _, _)| now < end) {
            self.now = now;
            let Some((core, done)) = self.hosts.fire(now, source.entity(), sequence, &mut self.events) else {
                continue;
            };
            match done {
                Done::Inside => {}
                Done::Segment(mut chain) => {
                    self.delivered.push((now, chain.end, chain.frames));
                    while let Some((end, frame)) = self.hosts.take(&mut chain) {
                        self.numbers.push((end.0, frame.body.number));
                    }
                }
                Done::Sent(frames) => (0..frames).for_each(|_| {
                    self.hosts.leave(core);
                    self.sent.push(now);
                }),
                Done::Task(task) => self.worked.push((now, task.tag)),
            }
            self.hosts.proceed(now, core, &mut self.events);
            while let Some(mut lost) = self.hosts.lost() {
                while self.hosts.take(&mut lost).is_some() {
                    self.dropped += 1;
                }
            }
        }
        self.now = end;
    }

    fn arrive(&mut self, at: Time, (end, frame): (Endpoint, Frame)) {
        self.run(at);
        self.offered += 1;
        if self.hosts.receive(at, 0, end, frame, &mut self.events).is_err() {
            self.dropped += 1;
        }
    }

    /// `frames` full segments in turn of each flow in `flows`, one every `gap`.
    fn stream(&mut self, flows: &[u32], frames: u32, gap: Span) {
        for n in 0..frames {
            let nth = n as usize % flows.len();
            self.arrive(self.now + gap, segment(flows[nth], n / flows.len() as u32));
        }
    }

    /// Gives process `process` work.
    fn work(&mut self, process: u32, cost: Span, tag: u64) {
        let task = Task { cost, whose: Whose::Program, tag };
        assert!(self.hosts.add_task(self.now, (self.node, process), task, &mut self.events));
    }

    fn finish(&mut self) {
        self.run(Time::NEVER);
        assert_eq!(self.offered, self.frames() + self.dropped);
        assert_eq!(self.hosts.waiting(), 0);
    }

    fn frames(&self) -> u64 {
        self.delivered.iter().map(|&(_, _, frames)| u64::from(frames)).sum()
    }

    /// Flows that go to different queues, one for each.
    fn spread(&self, queues: u32, among: u32) -> Vec<u32> {
        let queue = |flow: u32| self.hosts.queue_of(endpoint(flow, Side::Receiver).0, 0);
        (0..queues).map(|q| (0..among).find(|&flow| queue(flow) == q).expect("one of so many")).collect()
    }
}

fn near(what: &str, value: f64, expected: f64, tolerance: f64) {
    assert!((value / expected - 1.0).abs() <= tolerance, "{what}: {value} is not {expected} ± {tolerance}");
}

/// 700 ns a frame, 0.2 ns a byte and 300 ns a segment: 1303.6 ns for a full one by itself.
fn costs() -> Costs {
    Costs { packet: ns(700), byte: Span::from_picos(200), segment: ns(300), ..Costs::default() }
}

const ALONE: f64 = 700.0 + 0.2 * 1518.0 + 300.0;

/// A core's ceiling is one over what a frame costs, and stays there however much is offered: the core polls, is not
/// interrupted any more, and the surplus ends in the ring (Mogul and Ramakrishnan, "Eliminating receive livelock in an
/// interrupt-driven kernel", 1997, fig. 6-3 with polling).
#[test]
fn overload_leaves_the_throughput_at_the_ceiling() {
    for load in [2, 5, 20] {
        let interrupt = ns(5_000);
        let model = HostModel { gro: false, costs: Costs { interrupt, ..costs() }, ..HostModel::default() };
        let mut bench = Bench::new(model, 1);
        bench.stream(&[0], 20_000 * load, Span::from_picos((ALONE * 1000.0) as u64 / u64::from(load)));
        let seconds = bench.now.as_secs_f64();
        near("frames a second", bench.frames() as f64 / seconds, 1e9 / ALONE, 1e-3);
        assert_eq!(bench.counters().interrupts, 1);
        let lost = bench.offered - bench.frames() - bench.hosts.waiting();
        assert_eq!((bench.counters().ring_drops, bench.dropped), (lost, lost));
        near("busy", bench.counters().busy[0].as_secs_f64(), seconds, 1e-3);
        bench.finish();
    }
}

/// With a queue for each core the ceiling is the cores' sum, if each has a flow; flows of one queue share one core.
#[test]
fn receive_side_scaling_adds_cores() {
    let model = HostModel { cores: 4, queues: 4, gro: false, costs: costs(), ..HostModel::default() };
    for (used, spread) in [(4, true), (2, true), (1, false)] {
        let mut bench = Bench::new(model, 100);
        let flows = bench.spread(4, 100);
        let flows = if spread { &flows[..used] } else { &[flows[2]; 4][..] };
        bench.stream(flows, 200_000, Span::from_picos((ALONE * 1000.0) as u64 / 8));
        let rate = bench.frames() as f64 / bench.now.as_secs_f64();
        near("frames a second", rate, used as f64 * 1e9 / ALONE, 5e-3);
        assert_eq!(bench.counters().busy.iter().filter(|busy| !busy.is_zero()).count(), used);
        bench.finish();
    }
}

/// Hashes are uneven: m flows meet n·(1 − (1 − 1/n)^m) of n queues on average (the occupancy problem: Feller, vol. 1,
/// §IV.2), which times one core's ceiling is what m greedy flows get.
#[test]
fn few_flows_do_not_meet_all_queues() {
    let model = HostModel { cores: 8, queues: 8, ..HostModel::default() };
    let (flows, trials) = (8u32, 4000u32);
    let bench = Bench::new(model, flows * trials);
    let mut met = 0;
    for trial in 0..trials {
        let queue = |flow| bench.hosts.queue_of(endpoint(trial * flows + flow, Side::Receiver).0, 0);
        met += (0..flows).map(|flow| 1u32 << queue(flow)).fold(0, |all, one| all | one).count_ones();
    }
    let expected = 8.0 * (1.0 - (7.0f64 / 8.0).powi(8));
    // the standard deviation of one trial is under 1, of the mean under 1/√4000
    near("queues met", f64::from(met) / f64::from(trials), expected, 3.0 / 63.0 / expected);
}

/// `include/uapi/linux/ethtool.h`: an interrupt when (usecs > 0 and the first frame waits so long) or (frames > 0 and
/// so many wait).
#[test]
fn coalescing_delays_within_its_bounds() {
    let time = Span::from_micros(50);
    let model =
        HostModel { coalesce_time: time, coalesce_frames: 8, gro: false, costs: costs(), ..HostModel::default() };
    // Few frames: each waits for the time, and has its own interrupt.
    let mut bench = Bench::new(model, 1);
    bench.stream(&[0], 100, Span::from_micros(200));
    bench.finish();
    assert_eq!(bench.counters().interrupts, 100);
    let work = Span::from_picos((ALONE * 1000.0) as u64 + 1); // the interrupt costs nothing, so a picosecond
    for (n, &(at, _, _)) in bench.delivered.iter().enumerate() {
        assert_eq!(at, Time::ZERO + Span::from_micros(200) * (n as u64 + 1) + time + work);
    }
    // Many: the eighth interrupts, and the first has waited for seven more. (Work for eight is done before the next.)
    let quick = Costs { packet: ns(100), ..Costs::default() };
    let mut bench = Bench::new(HostModel { costs: quick, ..model }, 1);
    bench.stream(&[0], 800, Span::from_micros(5));
    bench.finish();
    assert_eq!(bench.counters().interrupts, 100);
    let work_of_one = ns(100) + Span::from_picos(2);
    assert_eq!(bench.delivered[0].0, Time::ZERO + Span::from_micros(5) * 8 + work_of_one);
    // In between, 20 µs apart: frames 1, 2 and 3 come within 50 µs of the first.
    let mut bench = Bench::new(model, 1);
    bench.stream(&[0], 300, Span::from_micros(20));
    bench.finish();
    assert_eq!(bench.counters().interrupts, 100);
    assert_eq!(bench.delivered[0].0, Time::ZERO + Span::from_micros(20) + time + work);
}

/// While the core is at work there are no interrupts; what has come meanwhile is timed from its own arrival.
#[test]
fn a_poll_masks_interrupts() {
    let model = HostModel {
        gro: false,
        costs: Costs { interrupt: ns(1_000), packet: ns(1_000), ..costs() },
        ..HostModel::default()
    };
    let mut bench = Bench::new(model, 1);
    // a frame costs 1603.6 ns: the second comes during the first one's work, and needs no interrupt
    for n in 0..50 {
        bench.arrive(Time::ZERO + Span::from_micros(10 * u64::from(n) + 1), segment(0, 2 * n));
        bench.arrive(Time::ZERO + Span::from_micros(10 * u64::from(n) + 2), segment(0, 2 * n + 1));
    }
    bench.finish();
    assert_eq!(bench.counters().interrupts, 50);
    assert_eq!(bench.delivered.len(), 100);
}

/// 64 KB are 44 segments of 1460 bytes: 40 bytes of headers and 44·1460 are 64,280, one more would be 65,740.
#[test]
fn offload_merges_up_to_64_kilobytes_of_a_poll() {
    let model =
        HostModel { coalesce_time: Span::from_millis(1), coalesce_frames: 0, costs: costs(), ..HostModel::default() };
    let mut bench = Bench::new(model, 4);
    bench.stream(&[0], 100, ns(10));
    bench.finish();
    // polls of 64 and 36 frames
    let merged: Vec<u32> = bench.delivered.iter().map(|&(_, _, frames)| frames).collect();
    assert_eq!(merged, [44, 20, 36]);
    // Four flows in turn: sixteen of each in a poll.
    let mut bench = Bench::new(model, 4);
    bench.stream(&[0, 1, 2, 3], 64, ns(10));
    bench.finish();
    let merged: Vec<u32> = bench.delivered.iter().map(|&(_, _, frames)| frames).collect();
    assert_eq!(merged, [16; 4]);
}

/// Merging saves all but one of the segments' traversals: 64 frames of one flow cost 64 packets and two segments.
#[test]
fn offload_raises_the_ceiling() {
    // a ring without end: what it dropped would leave holes
    let mut bench = Bench::new(HostModel { ring: u32::MAX, costs: costs(), ..HostModel::default() }, 1);
    bench.stream(&[0], 100_000, ns(500));
    let poll = 64.0 * (700.0 + 0.2 * 1518.0) + 2.0 * 300.0;
    near("frames a second", bench.frames() as f64 / bench.now.as_secs_f64(), 64.0 * 1e9 / poll, 0.02);
}

/// What `tcp_gro_receive` and `inet_gro_receive` keep apart.
#[test]
fn offload_merges_only_what_continues() {
    let model = HostModel { coalesce_time: Span::from_millis(1), coalesce_frames: 0, ..HostModel::default() };
    let merged = |change: &dyn Fn(usize, &mut Frame)| {
        let mut bench = Bench::new(model, 1);
        for n in 0..6 {
            let (end, mut frame) = segment(0, n);
            change(n as usize, &mut frame);
            bench.arrive(bench.now + ns(10), (end, frame));
        }
        bench.finish();
        bench.delivered.iter().map(|&(_, _, frames)| frames).collect::<Vec<_>>()
    };
    assert_eq!(merged(&|_, _| {}), [6]);
    // a hole: 0 1 2, then 4 5 6
    assert_eq!(merged(&|n, f| f.body.number += if n > 2 { MSS } else { 0 }), [3, 3]);
    // marked by a switch, then not
    assert_eq!(merged(&|n, f| f.tos = if n == 2 { 3 } else { 2 }), [2, 1, 3]);
    // the window was reduced: joins nothing, but what follows may join it
    assert_eq!(merged(&|n, f| f.tag |= if n == 2 { flag::CWR } else { 0 }), [2, 4]);
    // the end of the stream joins, and nothing after it
    assert_eq!(merged(&|n, f| f.tag |= if n == 3 { flag::FIN } else { 0 }), [4, 2]);
    // a short segment joins, and is the last
    let short = |n: usize, f: &mut Frame| {
        f.body.amount = if n == 2 { 100 } else { MSS };
        f.body.number -= if n > 2 { MSS - 100 } else { 0 };
        f.body.data_number -= if n > 2 { MSS - 100 } else { 0 };
    };
    assert_eq!(merged(&short), [3, 3]);
    // acknowledgements are not merged
    assert_eq!(merged(&|_, f| f.body.amount = 0), [1; 6]);
    // another mapping of MPTCP
    assert_eq!(merged(&|n, f| f.body.data_number += if n > 4 { MSS } else { 0 }), [5, 1]);
}

/// A Poisson process with the given mean gap.
fn poisson(bench: &mut Bench, frames: u32, mean: Span, seed: u64) {
    let mut random = Streams::new(seed).stream("arrivals");
    for n in 0..frames {
        let gap = Span::from_picos(random.exponential(mean.picos() as f64) as u64 + 1);
        bench.arrive(bench.now + gap, segment(0, n));
    }
}

/// One core is an M/D/1 queue to a Poisson stream: the mean wait is ρ·D / 2(1 − ρ) (Pollaczek and Khinchine; Gross and
/// Harris, *Fundamentals of Queueing Theory*, §5.1.1).
#[test]
fn a_ring_is_a_queue_with_fixed_service() {
    let model = HostModel { ring: 100_000, gro: false, costs: costs(), ..HostModel::default() };
    for load in [0.3, 0.7] {
        let mut bench = Bench::new(model, 1);
        let mut random = Streams::new(7).stream("arrivals");
        let mut arrivals = Vec::new();
        for n in 0..200_000 {
            let gap = Span::from_picos(random.exponential(ALONE * 1000.0 / load) as u64 + 1);
            bench.arrive(bench.now + gap, segment(0, n));
            arrivals.push(bench.now);
        }
        bench.finish();
        let each = bench.delivered.iter().zip(&arrivals).map(|(&(at, _, _), &came)| at.since(came).as_secs_f64());
        let wait = each.sum::<f64>() / 200_000.0 * 1e9 - ALONE;
        near("mean wait in ns", wait, load * ALONE / (2.0 * (1.0 - load)), 0.03);
    }
}

/// With K places, the one in service included, it loses 1 − 1/(π₀ + ρ) of the frames, where π are the probabilities
/// that departures leave so many behind (M/G/1/K: Gross and Harris, §5.1.8).
#[test]
fn a_full_ring_loses_what_theory_says() {
    let (places, load) = (8usize, 0.95f64);
    let none = 0.386_741_023_454_501_2; // e^−0.95
    let arrivals = |k: usize| (1..=k).fold(none, |p, i| p * load / i as f64);
    let mut p = vec![1.0f64];
    for j in 0..places - 1 {
        let came: f64 = (1..=j).map(|i| p[i] * arrivals(j - i + 1)).sum();
        p.push((p[j] - came - p[0] * arrivals(j)) / arrivals(0));
    }
    let expected = 1.0 - 1.0 / (p[0] / p.iter().sum::<f64>() + load);
    let costs = Costs { packet: ns(1_000), ..Costs::default() };
    let mut bench = Bench::new(HostModel { ring: places as u32, gro: false, costs, ..HostModel::default() }, 1);
    poisson(&mut bench, 400_000, Span::from_picos((1e6 / load) as u64), 3);
    bench.finish();
    near("loss", bench.dropped as f64 / bench.offered as f64, expected, 0.03);
}

/// What others send waits for the softirq's budget or time, whichever is used up first (`net_rx_action`).
#[test]
fn the_softirq_yields() {
    let costs = Costs { packet: ns(1_000), burst: ns(2_000), ..Costs::default() };
    // Polls are of 64 frames: 300 are used up after five.
    let cases = [(300, Span::from_millis(2), 320), (64, Span::from_millis(2), 64), (300, Span::from_micros(100), 128)];
    for (softirq_budget, softirq_time, frames) in cases {
        let model = HostModel { softirq_budget, softirq_time, gro: false, costs, ..HostModel::default() };
        let mut bench = Bench::new(model, 1);
        bench.stream(&[0], 20_000, ns(500));
        let (mut longest, mut rounds) = (Span::ZERO, 0);
        for _ in 0..200 {
            let (_, frame) = segment(0, 0);
            let (asked, before) = (bench.now, bench.sent.len());
            bench.hosts.send(asked, 0, endpoint(0, Side::Sender), frame, &mut bench.events);
            while bench.sent.len() == before {
                let gap = bench.now + ns(500);
                bench.arrive(gap, segment(0, 0));
            }
            longest = longest.max(bench.sent[before].since(asked));
            rounds += 1;
            // not in step with the softirq
            bench.stream(&[0], 37 * rounds, ns(500));
        }
        // a segment costs a picosecond beside the frame, and the burst itself 2 µs
        let round = ns(1_000) * frames + Span::from_picos(frames) + ns(2_000);
        assert!(longest <= round + ns(1), "{longest} is more than {round}");
        near("the longest wait", longest.as_secs_f64(), round.as_secs_f64(), 0.05);
        assert!(bench.counters().squeezes > 50);
        bench.finish();
    }
}

/// Bursts are of 64 KB at most, and cost once if the card segments.
#[test]
fn bursts_cost_once() {
    let costs = Costs { burst: ns(5_000), byte: Span::from_picos(100), ..Costs::default() };
    for (segmentation, bursts) in [(true, 3u64), (false, 100)] {
        let mut bench = Bench::new(HostModel { segmentation, costs, ..HostModel::default() }, 1);
        for n in 0..100 {
            let (_, frame) = segment(0, n);
            bench.hosts.send(Time::ZERO, 0, endpoint(0, Side::Receiver), frame, &mut bench.events);
        }
        bench.finish();
        // 43 frames of 1518 bytes are 65,274
        assert_eq!(bench.counters().bursts, bursts);
        let expected = ns(5_000) * bursts + ns(100 * 1518 / 10) + Span::from_picos(1);
        assert_eq!(*bench.sent.last().expect("they left"), Time::ZERO + expected);
        assert_eq!(bench.sent.len(), 100);
    }
}

/// One queue whose core only takes frames and hands them on: four flows on four cores pass what one core could not.
/// The core of the queue does the protocol for its own flow too.
#[test]
fn packet_steering_spreads_the_protocol() {
    let costs = Costs { packet: ns(200), segment: ns(1_000), ipi: ns(100), ..Costs::default() };
    let model = |rps| HostModel { cores: 4, rps, gro: false, costs, ..HostModel::default() };
    let flows: Vec<u32> = {
        let bench = Bench::new(model(true), 200);
        let core = |flow| bench.hosts.steered(endpoint(flow, Side::Receiver).0, 0);
        (0..4).map(|c| (0..200).find(|&flow| core(flow) == c).expect("one of so many")).collect()
    };
    // 1/(200 + 1000/4) ns is the ceiling by the queue's core; 1/1200 ns without steering.
    let gap = ns(500);
    let mut steered = Bench::new(model(true), 200);
    steered.stream(&flows, 100_000, gap);
    let rate = steered.frames() as f64 / steered.now.as_secs_f64();
    near("steered frames a second", rate, 1e9 / 500.0, 1e-3);
    assert_eq!(steered.dropped, 0);
    assert!(steered.counters().ipis > 0 && steered.counters().busy.iter().all(|busy| !busy.is_zero()));
    steered.finish();
    let mut alone = Bench::new(model(false), 200);
    alone.stream(&flows, 100_000, gap);
    near("frames a second", alone.frames() as f64 / alone.now.as_secs_f64(), 1e9 / 1200.0, 1e-2);
    assert_eq!(alone.counters().ipis, 0);
}

/// One flow is one core's work, wherever: its backlog overflows, and that is counted.
#[test]
fn a_backlog_overflows() {
    let costs = Costs { packet: ns(100), segment: ns(1_000), ..Costs::default() };
    let model = HostModel { cores: 4, rps: true, backlog: 50, gro: false, costs, ..HostModel::default() };
    let mut bench = Bench::new(model, 200);
    let flow = (0..200).find(|&f| bench.hosts.steered(endpoint(f, Side::Receiver).0, 0) == 2).expect("one of many");
    bench.stream(&[flow], 50_000, ns(200));
    near("frames a second", bench.frames() as f64 / bench.now.as_secs_f64(), 1e6, 5e-3);
    assert_eq!((bench.counters().ring_drops, bench.counters().backlog_drops), (0, bench.dropped));
    assert!(bench.dropped > 30_000);
    bench.finish();
}

fn span(most: u64) -> impl Strategy<Value = Span> {
    (0..=most).prop_map(Span::from_nanos)
}

prop_compose! {
    fn models()(
        (cores, queues, ring, coalesce_frames) in (1u32..=5, 1u32..=5, 1u32..=40, 1u32..=12),
        (budget, softirq_budget, backlog) in (1u32..=64, 1u32..=300, 1u32..=40),
        (coalesce_time, softirq_time) in (1u64..=20_000, 0u64..=20_000),
        (gro, rps, segmentation) in any::<(bool, bool, bool)>(),
        (interrupt, packet, segment, ipi, burst) in (span(3_000), span(1_000), span(1_000), span(1_000), span(2_000)),
        byte in 0u64..=500,
    ) -> HostModel {
        let (coalesce_time, softirq_time) = (ns(coalesce_time), ns(softirq_time));
        let costs = Costs { interrupt, packet, byte: Span::from_picos(byte), segment, ipi, burst };
        HostModel {
            cores, queues, ring, coalesce_time, coalesce_frames, budget, softirq_budget, softirq_time, gro, rps,
            backlog, segmentation, costs,
        }
    }
}

proptest! {
    /// Whatever the model: every frame comes out once or is counted as dropped, flows keep their order, no core works
    /// more than the time there was, and the same again gives the same.
    #[test]
    fn nothing_is_lost_unseen(
        model in models(),
        arrivals in prop::collection::vec((0u64..2_000, 0u32..12), 1..600),
    ) {
        let run = || {
            let mut bench = Bench::new(model, 12);
            let mut next = [0u32; 12];
            for &(gap, flow) in &arrivals {
                let n = next[flow as usize];
                next[flow as usize] += 1;
                bench.arrive(bench.now + ns(gap), segment(flow, n));
                if n % 7 == 3 {
                    let (_, frame) = segment(flow, n);
                    bench.hosts.send(bench.now, 0, endpoint(flow, Side::Sender), frame, &mut bench.events);
                }
            }
            bench.finish();
            bench
        };
        let bench = run();
        prop_assert_eq!(bench.dropped, bench.counters().ring_drops + bench.counters().backlog_drops);
        prop_assert_eq!(bench.counters().packets + bench.counters().ring_drops, bench.offered);
        for flow in 0..12 {
            let end = endpoint(flow, Side::Receiver).0;
            let numbers: Vec<u32> = bench.numbers.iter().filter(|&&(e, _)| e == end).map(|&(_, n)| n).collect();
            prop_assert!(numbers.is_sorted_by(|a, b| a < b), "flow {}: {:?}", flow, numbers);
        }
        let last = bench.delivered.iter().map(|d| d.0).chain(bench.sent.iter().copied()).max().unwrap_or(Time::ZERO);
        // what comes after the last frame or burst is at most the interrupt between cores that finds nothing
        let most = last.since(Time::ZERO) + model.costs.ipi + ns(1);
        prop_assert!(bench.counters().busy.iter().all(|&busy| busy <= most));
        let again = run();
        prop_assert_eq!(bench.events.digest(), again.events.digest());
        prop_assert_eq!(bench.delivered, again.delivered);
    }
}

/// Process, cost and tag.
type Work = (u32, u64, u64);

/// A frame that comes while a program works puts that off by its own cost, and by nothing else.
#[test]
fn an_interrupt_puts_a_programs_work_off() {
    let costs = Costs { interrupt: ns(500), packet: ns(1_000), segment: ns(2_000), ..Costs::default() };
    let mut bench = Bench::new(HostModel { gro: false, costs, ..HostModel::default() }, 1);
    bench.work(0, ns(100_000), 7);
    bench.work(0, ns(50_000), 8);
    for n in 0..3 {
        bench.arrive(Time::ZERO + ns(10_000) * u64::from(n + 1), segment(0, n));
    }
    bench.finish();
    // three frames of 3.5 µs each, and whole steps: to the nanosecond that their picoseconds do not fill
    let at = |micros: u64, tag: u64| (Time::ZERO + ns(micros * 1_000 + 500), tag);
    assert_eq!([at(110, 7), at(160, 8)], [bench.worked[0], bench.worked[1]]);
    assert_eq!(bench.counters().busy, [ns(160_500)]);
    assert_eq!(bench.counters().tasks, 2);
}

/// Processes go round the cores, and those of one core take turns.
#[test]
fn processes_have_cores() {
    let mut bench = Bench::new(HostModel { cores: 2, ..HostModel::default() }, 1);
    for process in 0..4 {
        bench.work(process, ns(1_000), u64::from(process));
    }
    bench.finish();
    let at = |micros: u64, tag: u64| (Time::ZERO + ns(1_000 * micros), tag);
    assert_eq!(bench.worked, [at(1, 0), at(1, 1), at(2, 2), at(2, 3)]);
}

/// Frames take their share of a core first, so work takes 1/(1 − ρ) times as long, and for ever if they take all of it: the
/// receive livelock of Mogul and Ramakrishnan (1997).
#[test]
fn frames_go_before_programs_until_these_stand_still() {
    let costs = Costs { packet: ns(1_000), segment: ns(1_000), ..Costs::default() };
    for (gap, times) in [(8_000, Some(4.0 / 3.0)), (4_000, Some(2.0)), (2_500, Some(5.0)), (2_000, None), (1_500, None)]
    {
        let mut bench = Bench::new(HostModel { gro: false, costs, ..HostModel::default() }, 1);
        bench.stream(&[0], 100, ns(gap));
        let began = bench.now;
        bench.work(0, ns(1_000_000), 1);
        bench.stream(&[0], 20_000, ns(gap));
        match times {
            Some(times) => near("work", bench.worked[0].0.since(began).as_secs_f64(), times * 1e-3, 0.01),
            None => assert_eq!(bench.worked, [], "{gap} ns"),
        }
        bench.finish();
        assert_eq!(bench.worked.len(), 1);
    }
}

proptest! {
    /// Whatever frames do: work is done once, in order of each core, and takes what it costs of the core's time.
    #[test]
    fn work_is_done_once_and_in_order(
        cores in 1u32..4,
        tasks in prop::collection::vec((0u64..50_000, 0u32..6, 0u64..30_000), 1..40),
        frames in prop::collection::vec(0u64..20_000, 0..100),
    ) {
        let costs = Costs { interrupt: ns(300), packet: ns(700), segment: ns(900), burst: ns(400), ..Costs::default() };
        let model = HostModel { cores, queues: cores, gro: false, costs, ..HostModel::default() };
        let run = || {
            let mut bench = Bench::new(model, 1);
            // work: process, cost, tag; or a frame
            let mut todo = Vec::<(Time, Option<Work>)>::new();
            let mut at = Time::ZERO;
            for (tag, &(gap, process, cost)) in (0..).zip(&tasks) {
                at += ns(gap);
                todo.push((at, Some((process, cost, tag))));
            }
            let mut at = Time::ZERO;
            for &gap in &frames {
                at += ns(gap) + Span::from_picos(7);
                todo.push((at, None));
            }
            todo.sort_by_key(|&(at, _)| at);
            let mut n = 0;
            for (at, what) in todo {
                if let Some((process, cost, tag)) = what {
                    bench.run(at);
                    bench.work(process, ns(cost), tag);
                } else {
                    bench.arrive(at, segment(0, n));
                    n += 1;
                }
            }
            bench.finish();
            bench
        };
        let bench = run();
        let mut tags: Vec<u64> = bench.worked.iter().map(|&(_, tag)| tag).collect();
        for core in 0..cores {
            let of_core = |tag: &&u64| tasks[**tag as usize].1 % cores == core;
            prop_assert!(tags.iter().filter(of_core).is_sorted());
        }
        tags.sort_unstable();
        prop_assert_eq!(tags, (0..tasks.len() as u64).collect::<Vec<_>>());
        let worked: Span = bench.counters().busy.iter().copied().fold(Span::ZERO, |sum, one| sum + one);
        let cost: u64 = tasks.iter().map(|&(.., cost)| cost).sum::<u64>() + 1_600 * frames.len() as u64
            + 300 * bench.counters().interrupts;
        // a picosecond for each step that costs nothing
        prop_assert!(worked >= ns(cost) && worked <= ns(cost + 1), "{} for {}", worked, ns(cost));
        let last = bench.worked.iter().map(|&(at, _)| at).chain(bench.delivered.iter().map(|d| d.0)).max();
        let last = last.unwrap_or(Time::ZERO).since(Time::ZERO);
        prop_assert!(bench.counters().busy.iter().all(|&busy| busy <= last + ns(1)));
        prop_assert_eq!(bench.events.digest(), run().events.digest());
    }
}
