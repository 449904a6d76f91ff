//! Connections that carry data both ways, between programs that read and write as they like.

use std::collections::BTreeMap;

use headway_engine::Streams;
use headway_fabric::{Limit, NodeId, Wire};
use headway_transport::{
    Application, DelayedAck, End, Failure, FlowEnd, FlowStart, HostModel, Measure, Profile, Simulation, Socket,
    SocketEvent, Sockets, Stack, Totals,
};
use headway_units::{Bytes, Rate, Span, Time};
use proptest::prelude::*;

use super::samples::sampled;
use crate::common::{EMPTY, FULL, GAP, MSS, Net, OVERHEAD, any_card, assert_near, limited, lossy, profile, wire};

/// What the two ends of a connection do. Each end writes its bytes, and closes when they are all taken and, if it
/// `answers`, only after all of the other end's have been read.
#[derive(Debug, Clone, Copy)]
struct Plan {
    /// Bytes that opener and acceptor write.
    writes: [u64; 2],
    /// The acceptor writes when it has read all that the opener writes (request and response).
    answers: bool,
    /// At most so many bytes are read at a time, at most so often; `None`: at once, everything.
    reads: [Option<(u64, Span)>; 2],
}

/// One end under way.
#[derive(Debug, Default, Clone)]
struct Progress {
    written: u64,
    read: u64,
    closed: bool,
    events: Vec<(Time, SocketEvent)>,
    reading_at: Option<Time>,
}

#[derive(Debug)]
struct Talk {
    plans: Vec<(FlowStart, Plan)>,
    next: usize,
    open: BTreeMap<Socket, usize>,
    ends: BTreeMap<(usize, End), Progress>,
}

impl Talk {
    fn new(plans: Vec<(FlowStart, Plan)>) -> Talk {
        Talk { plans, next: 0, open: BTreeMap::new(), ends: BTreeMap::new() }
    }

    fn end(&self, which: usize, end: End) -> &Progress {
        &self.ends[&(which, end)]
    }

    /// When an end heard of something first.
    fn heard(&self, which: usize, end: End, event: SocketEvent) -> Option<Time> {
        self.end(which, end).events.iter().find(|&&(_, own)| own == event).map(|&(at, _)| at)
    }

    fn serve(&mut self, socket: Socket, sockets: &mut Sockets<'_>) {
        let which = self.open[&socket];
        let plan = self.plans[which].1;
        let (own, other) = if socket.end == End::Opener { (0, 1) } else { (1, 0) };
        let progress = self.ends.entry((which, socket.end)).or_default();
        match plan.reads[own] {
            None => progress.read += sockets.read(socket, Bytes::new(u64::MAX)).get(),
            Some((most, every)) => {
                if progress.reading_at.is_none_or(|at| at <= sockets.now()) && sockets.unread(socket) > Bytes::ZERO {
                    progress.read += sockets.read(socket, Bytes::new(most)).get();
                    progress.reading_at = Some(sockets.now() + every);
                }
            }
        }
        if own == 1 && plan.answers && progress.read < plan.writes[other] {
            return;
        }
        if progress.written < plan.writes[own] {
            progress.written += sockets.write(socket, Bytes::new(plan.writes[own] - progress.written)).get();
        }
        if progress.written == plan.writes[own] && !std::mem::replace(&mut progress.closed, true) {
            sockets.close(socket);
        }
    }
}

impl Application for Talk {
    fn next(&mut self) -> Time {
        let start = self.plans.get(self.next).map_or(Time::NEVER, |(start, _)| start.time);
        let reads = self.ends.iter().filter(|((which, end), progress)| {
            let other = usize::from(*end == End::Opener);
            progress.read < self.plans[*which].1.writes[other]
        });
        reads.filter_map(|(_, progress)| progress.reading_at).fold(start, Time::min)
    }

    fn act(&mut self, _now: Time) -> Option<FlowStart> {
        None
    }

    fn act_on_sockets(&mut self, now: Time, sockets: &mut Sockets<'_>) {
        while let Some(&(start, _)) = self.plans.get(self.next).filter(|(start, _)| start.time <= now) {
            let socket = sockets.open(start).expect("hosts are connected");
            assert_eq!(sockets.flow(socket.peer()), start);
            self.open.insert(socket, self.next);
            self.open.insert(socket.peer(), self.next);
            self.ends.entry((self.next, End::Opener)).or_default();
            self.next += 1;
            self.serve(socket, sockets);
        }
        let due: Vec<Socket> = self.open.keys().copied().collect();
        for socket in due {
            let progress = self.ends.get(&(self.open[&socket], socket.end));
            if let Some(at) = progress.and_then(|progress| progress.reading_at).filter(|&at| at <= now) {
                if sockets.unread(socket) > Bytes::ZERO {
                    self.serve(socket, sockets);
                } else {
                    // nothing there: at the next arrival
                    let progress = self.ends.get_mut(&(self.open[&socket], socket.end)).unwrap();
                    assert!(at <= now);
                    progress.reading_at = None;
                }
            }
        }
    }

    fn on_socket(&mut self, now: Time, socket: Socket, event: SocketEvent, sockets: &mut Sockets<'_>) {
        let which = self.open[&socket];
        self.ends.entry((which, socket.end)).or_default().events.push((now, event));
        if event == SocketEvent::Closed {
            self.open.remove(&socket);
        } else {
            self.serve(socket, sockets);
        }
    }
}

fn start(id: u64, at: Span, (source, destination): (NodeId, NodeId), profile: u16) -> FlowStart {
    let time = Time::ZERO + at;
    FlowStart { time, id, traffic: 0, source, destination, size: None, deadline: None, profile }
}

/// Two hosts on one cable.
fn pair(forth: Wire, back: Wire) -> (Net, (NodeId, NodeId)) {
    let mut net = Net::default();
    let ends = (net.host(), net.host());
    net.lay(ends.0, ends.1, forth, back);
    (net, ends)
}

fn run(net: &Net, profile: Profile, plans: Vec<(FlowStart, Plan)>, seconds: u64) -> (Talk, Vec<FlowEnd>, Totals) {
    let mut talk = Talk::new(plans);
    let mut simulation = Simulation::new(net.graph.clone(), vec![profile], Measure::default(), Streams::new(1));
    simulation.run_application(Time::ZERO + Span::from_secs(seconds), &mut talk).unwrap();
    let (ends, _, totals) = simulation.finish();
    (talk, ends, totals)
}

const AT_ONCE: [Option<(u64, Span)>; 2] = [None, None];

/// 1 Gb/s: 8 ns a byte, 5 µs of delay each way.
fn gigabit() -> Wire {
    wire(Rate::from_gbps(1), Span::from_micros(5))
}

fn bytes(n: u64) -> Span {
    Span::from_nanos(8 * n)
}

/// SYN, SYN-ACK, the request (300 bytes and FIN) with the handshake's third part, the response of two segments: four
/// segments on the way one after the other, each with its delay; before the response leaves the acknowledgement that FIN
/// asks for, behind it its second segment and the FIN of a program that closes after it has written.
#[test]
fn a_response_follows_its_request() {
    let (net, ends) = pair(gigabit(), gigabit());
    let plan = Plan { writes: [300, 2 * u64::from(MSS)], answers: true, reads: AT_ONCE };
    let (talk, flows, totals) = run(&net, profile(), vec![(start(1, Span::ZERO, ends, 0), plan)], 1);
    let request = 300 + u64::from(OVERHEAD) + GAP;
    let expected = Span::from_micros(20) + bytes(2 * EMPTY + request + EMPTY + 2 * FULL + EMPTY);
    let (opener, acceptor) = (talk.end(0, End::Opener), talk.end(0, End::Acceptor));
    assert_eq!((opener.read, acceptor.read), (2 * u64::from(MSS), 300));
    let ended = talk.heard(0, End::Opener, SocketEvent::PeerClosed).unwrap();
    assert_eq!(ended, Time::ZERO + expected);
    assert_eq!(
        talk.heard(0, End::Acceptor, SocketEvent::PeerClosed),
        talk.heard(0, End::Acceptor, SocketEvent::Readable)
    );
    // SYN, SYN-ACK, request and its acknowledgement, two of response and FIN with an acknowledgement each
    assert_eq!((flows[0].delivered, totals.hops, totals.in_flight), (300 + 2 * u64::from(MSS), 10, 0));
    let closed = [End::Opener, End::Acceptor].map(|end| talk.heard(0, end, SocketEvent::Closed).unwrap());
    assert_eq!(Some(closed[0]), flows[0].end);
    assert_eq!(closed[0], closed[1]);
}

/// The acknowledgement of the request waits for the response and rides on it: with requests and responses of one
/// segment each, a connection that stays open costs two frames an exchange.
#[test]
fn acknowledgements_ride_on_data() {
    /// Writes a segment whenever it has read one, so often.
    #[derive(Debug)]
    struct PingPong {
        start: Option<FlowStart>,
        rounds: u64,
    }
    impl Application for PingPong {
        fn next(&mut self) -> Time {
            self.start.map_or(Time::NEVER, |start| start.time)
        }
        fn act(&mut self, _now: Time) -> Option<FlowStart> {
            None
        }
        fn act_on_sockets(&mut self, _now: Time, sockets: &mut Sockets<'_>) {
            let socket = sockets.open(self.start.take().unwrap()).unwrap();
            sockets.write(socket, Bytes::new(100));
        }
        fn on_socket(&mut self, _now: Time, socket: Socket, event: SocketEvent, sockets: &mut Sockets<'_>) {
            if event == SocketEvent::Readable && self.rounds > 0 {
                assert_eq!(sockets.read(socket, Bytes::new(1000)), Bytes::new(100));
                self.rounds -= 1;
                sockets.write(socket, Bytes::new(100));
            }
        }
    }
    let (net, ends) = pair(gigabit(), gigabit());
    let mut talk = PingPong { start: Some(start(1, Span::ZERO, ends, 0)), rounds: 1000 };
    let delayed_ack =
        DelayedAck { packets: 2, timeout: Span::from_millis(40), quick: 0, adaptive: false, compression: false };
    let profiles = vec![Profile { delayed_ack, ..profile() }];
    let mut simulation = Simulation::new(net.graph.clone(), profiles, Measure::default(), Streams::new(1));
    simulation.run_application(Time::ZERO + Span::from_millis(100), &mut talk).unwrap();
    let (flows, _, totals) = simulation.finish();
    assert_eq!((talk.rounds, flows[0].delivered, flows[0].retransmissions), (0, 1001 * 100, 0));
    // SYN, SYN-ACK, 1,001 segments, and the acknowledgement of the last
    assert_eq!(totals.hops, 2 + 1001 + 1, "{totals:?}");
}

/// Both directions use a full-duplex cable at once. Linux' small queues keep acknowledgements from waiting behind much
/// data, and both fill it. Where a host's queue has no bound, acknowledgements wait behind a window of data and arrive in
/// bunches (Zhang, Shenker & Clark 1991, doi:10.1145/115992.116006): then each direction has half of it at least.
#[test]
fn both_directions_fill_a_cable() {
    for (profile, share) in [(Profile::linux(), 0.95), (profile(), 0.5)] {
        let (net, ends) = pair(gigabit(), gigabit());
        let plan = Plan { writes: [100_000_000; 2], answers: false, reads: AT_ONCE };
        let frame = u64::from(profile.mss + profile.overhead) + GAP;
        let frames = 100_000_000_u64.div_ceil(u64::from(profile.mss));
        let (talk, flows, _) = run(&net, profile, vec![(start(1, Span::ZERO, ends, 0), plan)], 3);
        let took = flows[0].end.expect("both are closed").since(Time::ZERO).as_secs_f64();
        let least = bytes(frames * frame).as_secs_f64();
        assert!(took >= least && took <= least / share, "{took} s, {least} at least");
        assert_eq!(talk.end(0, End::Opener).read + talk.end(0, End::Acceptor).read, 200_000_000);
    }
}

/// The series of goodput has both directions, to the byte, also if the connection ends within an interval.
#[test]
fn goodput_adds_up_over_both_directions() {
    let (net, ends) = pair(gigabit(), gigabit());
    let plan = Plan { writes: [3_000_001, 500_003], answers: true, reads: AT_ONCE };
    let interval = Span::from_millis(7);
    let kinds = vec![headway_transport::SampleKind::Goodput];
    let measure = Measure { interval, kinds, traffics: vec![0], ..Measure::default() };
    let mut simulation = Simulation::new(net.graph.clone(), vec![profile()], measure, Streams::new(1));
    let mut talk = Talk::new(vec![(start(1, Span::ZERO, ends, 0), plan)]);
    simulation.run_application(Time::ZERO + Span::from_secs(1), &mut talk).unwrap();
    let (flows, samples, _) = simulation.finish();
    assert_eq!((flows[0].end.is_some(), flows[0].delivered), (true, 3_500_004));
    assert_eq!(sampled(&samples, &flows[0], interval), 3_500_004);
}

/// RFC 9293 §3.6: an end that has closed goes on receiving.
#[test]
fn a_direction_that_is_closed_leaves_the_other_open() {
    let (net, ends) = pair(gigabit(), gigabit());
    let plan = Plan { writes: [0, 1_000_000], answers: false, reads: AT_ONCE };
    let (talk, flows, _) = run(&net, profile(), vec![(start(1, Span::ZERO, ends, 0), plan)], 1);
    assert_eq!(talk.end(0, End::Opener).read, 1_000_000);
    let heard = |end, event| talk.heard(0, end, event).unwrap();
    let (first, last) = (heard(End::Acceptor, SocketEvent::PeerClosed), heard(End::Opener, SocketEvent::PeerClosed));
    assert!(last.since(first) > Span::from_millis(8), "{first:?} {last:?}");
    assert!(flows[0].end.is_some());
}

/// Back-pressure: what is not read fills the receive buffer, then the send buffer, then the writer waits. The reader's
/// rate is the flow's.
#[test]
fn a_late_reader_slows_its_writer() {
    for linux in [false, true] {
        let base = if linux { Profile::linux() } else { profile() };
        let profile = Profile {
            receive_window: Bytes::new(100_000),
            send_buffer: Some(Bytes::new(50_000)),
            autotuning: base.autotuning.map(|_| Bytes::new(65_536)),
            ..base
        };
        let (net, ends) = pair(gigabit(), gigabit());
        // 10 KB every 10 ms: 8 Mb/s; 2 MB take 2 s
        let slow = Some((10_000, Span::from_millis(10)));
        let plan = Plan { writes: [2_000_000, 0], answers: false, reads: [None, slow] };
        let plans = vec![(start(1, Span::ZERO, ends, 0), plan)];
        let (talk, ..) = run(&net, profile.clone(), plans.clone(), 1);
        let (written, read) = (talk.end(0, End::Opener).written, talk.end(0, End::Acceptor).read);
        assert!((990_000..=1_010_000).contains(&read), "{read} (Linux: {linux})");
        // in the two buffers, and no more
        assert!(written - read <= 150_000 && written - read >= 90_000, "{written} {read} (Linux: {linux})");
        let (talk, flows, _) = run(&net, profile, plans, 4);
        assert_eq!(talk.end(0, End::Acceptor).read, 2_000_000);
        let took = talk.heard(0, End::Opener, SocketEvent::Closed).unwrap().since(Time::ZERO).as_secs_f64();
        assert!((1.8..2.1).contains(&took), "{took} (Linux: {linux})");
        assert_eq!(flows[0].retransmissions, 0, "a closed window is no loss (Linux: {linux})");
    }
}

/// Linux' window follows what the program reads in a round trip, in both directions, and lets its sender go as fast as
/// that. 20 MB are read at 80 Mb/s, every millisecond or all of a round trip at once: 2 s, and up to ten round trips
/// of 20 ms until the window has grown. A window that stays at 5,840 bytes gives 2.3 Mb/s.
#[test]
fn a_growing_window_follows_a_late_reader() {
    let slow = wire(Rate::from_mbps(100), Span::from_millis(10));
    let (net, ends) = pair(slow, slow);
    for stack in [Stack::Linux26, Stack::Linux] {
        for every in [1, 20] {
            // 80 Mb/s
            let late = Some((10_000 * every, Span::from_millis(every)));
            let plan = Plan { writes: [20_000_000; 2], answers: false, reads: [late; 2] };
            let own = Profile { control: profile().control, mss: MSS, ..stack.profile() };
            let (talk, flows, _) = run(&net, own, vec![(start(1, Span::ZERO, ends, 0), plan)], 60);
            let took = flows[0].end.expect("both are closed").since(Time::ZERO).as_secs_f64();
            assert!((2.0..2.3).contains(&took), "{took} s ({stack:?}, every {every} ms)");
            assert_eq!(talk.end(0, End::Acceptor).read, 20_000_000);
        }
    }
}

/// A send buffer that is less than the path holds, of 91 segments over 40 ms. By the letter a writer hears of room for a
/// segment and the buffer is always full: 91 segments a round trip. Linux' hears of it when a third is free, and three
/// writes of a bit more than a third do not fit: each round trip has two of them, 62 segments, and the rest of the buffer waits
/// for the first acknowledgements of the next one.
#[test]
fn a_send_buffer_is_a_window_or_two_thirds_of_it() {
    const SEGMENTS: u64 = 91;
    let (wire, round) = (wire(Rate::from_gbps(1), Span::from_millis(20)), 0.04);
    let (net, ends) = pair(wire, wire);
    let linux = Profile { offload: None, mss: MSS, ..Profile::linux() };
    for (base, share, tolerance) in [(profile(), 1.0, 0.03), (linux, 62.0 / 91.0, 0.03)] {
        let own = Profile { send_buffer: Some(Bytes::new(SEGMENTS * u64::from(MSS))), ..base };
        let plan = Plan { writes: [u64::MAX / 2, 0], answers: false, reads: AT_ONCE };
        let (talk, ..) = run(&net, own, vec![(start(1, Span::ZERO, ends, 0), plan)], 20);
        let rate = talk.end(0, End::Acceptor).read as f64 / 20.0;
        // a buffer's worth of segments is sent in 1.1 ms, and slow start takes a few round trips
        assert_near("share", rate, share * SEGMENTS as f64 * f64::from(MSS) / round, tolerance);
    }
}

/// RFC 9293 §3.8.6.1: a window that stays closed is asked after, less and less often, and no byte is lost or sent in
/// vain. The reader takes nothing for 10 s.
#[test]
fn a_closed_window_is_probed() {
    let own = Profile { receive_window: Bytes::new(20_000), ..profile() };
    let (net, ends) = pair(gigabit(), gigabit());
    let plan = Plan { writes: [60_000, 0], answers: false, reads: [None, Some((10_000, Span::from_secs(10)))] };
    let (talk, flows, totals) = run(&net, own, vec![(start(1, Span::ZERO, ends, 0), plan)], 100);
    assert_eq!(talk.end(0, End::Acceptor).read, 60_000);
    assert_eq!((flows[0].retransmissions, flows[0].timeouts), (0, 0));
    // handshake and FIN with their answers 4, data and acknowledgements 2·42 or so, an update for each of 6 reads; and in
    // each of 4 or 5 times of 10 s with a closed window probes at 0.2, 0.6, 1.4, 3.0 and 6.2 s, of two frames each
    assert!((4 + 84 + 40..=4 + 90 + 8 + 50).contains(&totals.hops), "{}", totals.hops);
}

/// A window update that arrives between two probes ends the probing: with a round trip of 100 ms and readers of many
/// periods nothing is taken for lost, and the time-out is that of the path again.
#[test]
fn a_window_update_ends_the_probing() {
    for period in [230, 310, 420, 555, 700, 940] {
        for linux in [false, true] {
            let base = if linux { Profile::linux() } else { profile() };
            let own = Profile {
                receive_window: Bytes::new(30_000),
                autotuning: base.autotuning.map(|_| Bytes::new(30_000)),
                ..base
            };
            let slow = wire(Rate::from_gbps(1), Span::from_millis(50));
            let (net, ends) = pair(slow, slow);
            let reads = [None, Some((15_000, Span::from_millis(period)))];
            let plan = Plan { writes: [200_000, 0], answers: false, reads };
            let (talk, flows, _) = run(&net, own, vec![(start(1, Span::ZERO, ends, 0), plan)], 60);
            assert_eq!(talk.end(0, End::Acceptor).read, 200_000, "{period} ms (Linux: {linux})");
            assert_eq!((flows[0].timeouts, flows[0].retransmissions), (0, 0), "{period} ms (Linux: {linux})");
        }
    }
}

/// The update of a window is lost: the next probe finds it open.
#[test]
fn a_lost_window_update_is_found_by_a_probe() {
    let own = Profile { receive_window: Bytes::new(20_000), ..profile() };
    let (net, ends) = pair(gigabit(), gigabit());
    let plan = Plan { writes: [30_000, 0], answers: false, reads: [None, Some((30_000, Span::from_secs(10)))] };
    let mut talk = Talk::new(vec![(start(1, Span::ZERO, ends, 0), plan)]);
    let mut simulation = Simulation::new(net.graph.clone(), vec![own], Measure::default(), Streams::new(1));
    // the reader takes the first segment at once, the others 10 s later: that is when nothing comes back
    let back = net.graph.interfaces(ends.1)[0];
    let at = Time::ZERO + Span::from_millis(9_990);
    let until = Some(at + Span::from_millis(20));
    simulation.set_failures(&[Failure { links: vec![back], at, until, reroute: None, carrier: false }]);
    simulation.run_application(Time::ZERO + Span::from_secs(60), &mut talk).unwrap();
    let (flows, _, totals) = simulation.finish();
    assert_eq!((totals.down, flows[0].retransmissions), (1, 0), "{totals:?}");
    assert_eq!(talk.end(0, End::Acceptor).read, 30_000);
    // probes at 0.2, 0.6, 1.4, 3.0, 6.2 and 12.6 s; the last is answered with an open window
    let ended = talk.heard(0, End::Acceptor, SocketEvent::PeerClosed).unwrap();
    assert!((12.6..12.7).contains(&ended.since(Time::ZERO).as_secs_f64()), "{ended:?}");
}

/// The acceptor speaks first: the opener, which has nothing to say, completes the handshake by itself. And what is
/// written at either end before the handshake waits for it.
#[test]
fn either_end_may_speak_first() {
    /// Writes at once at the end that `early` names, or at the acceptor when it is connected.
    #[derive(Debug)]
    struct Greeting {
        start: Option<FlowStart>,
        early: Option<End>,
        heard: Vec<(End, Time)>,
    }
    impl Application for Greeting {
        fn next(&mut self) -> Time {
            self.start.map_or(Time::NEVER, |start| start.time)
        }
        fn act(&mut self, _now: Time) -> Option<FlowStart> {
            None
        }
        fn act_on_sockets(&mut self, _now: Time, sockets: &mut Sockets<'_>) {
            let opener = sockets.open(self.start.take().unwrap()).unwrap();
            if let Some(end) = self.early {
                sockets.write(if end == End::Opener { opener } else { opener.peer() }, Bytes::new(1000));
            }
        }
        fn on_socket(&mut self, now: Time, socket: Socket, event: SocketEvent, sockets: &mut Sockets<'_>) {
            match event {
                SocketEvent::Connected if self.early.is_none() && socket.end == End::Acceptor => {
                    sockets.write(socket, Bytes::new(1000));
                }
                SocketEvent::Readable => self.heard.push((socket.end, now)),
                _ => {}
            }
        }
    }
    let payload = 1000 + u64::from(OVERHEAD) + GAP;
    for (early, segments, reader) in [(None, 3, End::Opener), (Some(End::Acceptor), 3, End::Opener)] {
        let (net, ends) = pair(gigabit(), gigabit());
        let mut talk = Greeting { start: Some(start(1, Span::ZERO, ends, 0)), early, heard: Vec::new() };
        let mut simulation = Simulation::new(net.graph.clone(), vec![profile()], Measure::default(), Streams::new(1));
        simulation.run_application(Time::ZERO + Span::from_secs(5), &mut talk).unwrap();
        let expected = Span::from_micros(5 * (segments + 1)) + bytes(segments * EMPTY + payload);
        assert_eq!(talk.heard, [(reader, Time::ZERO + expected)], "{early:?}");
        let (flows, ..) = simulation.finish();
        assert_eq!((flows[0].timeouts, flows[0].delivered, flows[0].end), (0, 1000, None));
    }
}

/// A link that fails for a second in the middle of a talk, with routing that goes round it: nothing is lost for good.
#[test]
fn a_talk_outlives_a_failure() {
    let mut net = Net::default();
    let (a, b) = (net.host(), net.host());
    let switches = [net.switch(), net.switch(), net.switch(), net.switch()];
    net.cable(a, switches[0], gigabit());
    net.cable(switches[3], b, gigabit());
    let links: Vec<_> = [1, 2].map(|middle| net.cable(switches[0], switches[middle], gigabit())).to_vec();
    for middle in [1, 2] {
        net.cable(switches[middle], switches[3], gigabit());
    }
    for link in links {
        let plan = Plan { writes: [2_000_000; 2], answers: false, reads: AT_ONCE };
        let mut talk = Talk::new(vec![(start(1, Span::ZERO, (a, b), 0), plan)]);
        let mut simulation =
            Simulation::new(net.graph.clone(), vec![Profile::linux()], Measure::default(), Streams::new(1));
        let at = Time::ZERO + Span::from_millis(5);
        let (links, reroute) = (vec![link, link.reverse()], Some(Span::from_millis(10)));
        simulation.set_failures(&[Failure {
            links,
            at,
            until: Some(at + Span::from_secs(1)),
            reroute,
            carrier: false,
        }]);
        simulation.run_application(Time::ZERO + Span::from_secs(20), &mut talk).unwrap();
        assert_eq!([End::Opener, End::Acceptor].map(|end| talk.end(0, end).read), [2_000_000; 2]);
        let (flows, _, totals) = simulation.finish();
        assert!(flows[0].end.is_some() && totals.in_flight == 0, "{flows:?}");
    }
}

/// Hosts with a model: segments are merged, what rides on them is not lost.
#[test]
fn hosts_with_a_model_talk_both_ways() {
    let (net, ends) = pair(gigabit(), gigabit());
    let plan = Plan { writes: [3_000_000, 2_000_000], answers: false, reads: AT_ONCE };
    let mut talk = Talk::new(vec![(start(1, Span::ZERO, ends, 0), plan)]);
    let mut simulation =
        Simulation::new(net.graph.clone(), vec![Profile::linux()], Measure::default(), Streams::new(1));
    let model = HostModel {
        coalesce_time: Span::from_micros(20),
        costs: headway_transport::Costs { packet: Span::from_nanos(500), ..headway_transport::Costs::default() },
        ..HostModel::default()
    };
    simulation.model_host(ends.0, model);
    simulation.model_host(ends.1, model);
    simulation.run_application(Time::ZERO + Span::from_secs(1), &mut talk).unwrap();
    assert_eq!((talk.end(0, End::Opener).read, talk.end(0, End::Acceptor).read), (2_000_000, 3_000_000));
    let (flows, _, totals) = simulation.finish();
    assert!(flows[0].end.is_some() && totals.in_flight == 0, "{flows:?} {totals:?}");
}

/// Places of closed connections are reused, and nothing of the former is left for the next.
#[test]
fn connections_follow_each_other() {
    let (net, ends) = pair(gigabit(), gigabit());
    let plans: Vec<_> = (0..200)
        .map(|id| {
            let plan = Plan { writes: [id % 7 * 1000, id % 5 * 3000], answers: id % 2 == 0, reads: AT_ONCE };
            (start(id, Span::from_micros(500 * id), ends, 0), plan)
        })
        .collect();
    let (talk, flows, _) = run(&net, profile(), plans.clone(), 1);
    for (id, (end, (_, plan))) in flows.iter().zip(&plans).enumerate() {
        assert!(end.end.is_some(), "{id}: {end:?}");
        assert_eq!(end.delivered, plan.writes[0] + plan.writes[1]);
        assert_eq!(talk.end(id, End::Acceptor).events.last().unwrap().1, SocketEvent::Closed);
    }
    assert!(talk.open.is_empty());
}

fn any_plan() -> impl Strategy<Value = Plan> {
    let bytes = || prop_oneof![Just(0u64), Just(1), 1u64..5000, 5000u64..200_000];
    let reads = || {
        prop::option::weighted(0.4, (prop_oneof![1000u64..3000, 3000u64..50_000], 0u64..20))
            .prop_map(|slow| slow.map(|(most, ms)| (most, Span::from_millis(ms))))
    };
    (bytes(), bytes(), any::<bool>(), reads(), reads()).prop_map(|(forth, back, answers, ours, theirs)| Plan {
        writes: [forth, back],
        answers,
        reads: [ours, theirs],
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 120, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever is lost either way, read late or refused by buffers: every byte of both directions arrives once and in
    /// order, both ends hear of the end, and the books balance (`Simulation::finish`).
    #[test]
    fn every_byte_arrives_both_ways(
        plans in prop::collection::vec((any_plan(), 0u64..50), 1..4),
        losses in (0.0..0.15, 0.0..0.15),
        queue in prop_oneof![Just(2u32), Just(10), Just(100)],
        (linux, window, buffer) in (any::<bool>(), 3000u64..60_000, prop::option::of(3000u64..60_000)),
        seed in any::<u64>(),
        card in prop::option::of(any_card()),
    ) {
        let cable = limited(wire(Rate::from_mbps(100), Span::from_micros(100)), Limit::Packets(queue));
        let (net, ends) = pair(lossy(cable, losses.0), lossy(cable, losses.1));
        let base = if linux { Profile::linux() } else { profile() };
        let own = Profile {
            receive_window: Bytes::new(window),
            autotuning: base.autotuning.map(|_| Bytes::new(window)),
            send_buffer: buffer.map(Bytes::new),
            max_rto: Span::from_secs(5),
            ..base
        };
        let plans: Vec<_> = plans.into_iter().enumerate()
            .map(|(id, (plan, ms))| (start(id as u64, Span::from_millis(ms), ends, 0), plan))
            .collect();
        let mut sorted = plans.clone();
        sorted.sort_by_key(|(start, _)| start.time);
        let mut talk = Talk::new(sorted.clone());
        let mut simulation = Simulation::new(net.graph.clone(), vec![own], Measure::default(), Streams::new(seed));
        if let Some(card) = &card {
            simulation.pace_host(ends.0, card);
            simulation.pace_host(ends.1, card);
        }
        simulation.run_application(Time::ZERO + Span::from_secs(3600), &mut talk).unwrap();
        let (flows, _, totals) = simulation.finish();
        prop_assert_eq!(totals.in_flight, 0);
        for (at, (start, plan)) in sorted.iter().enumerate() {
            let read = [talk.end(at, End::Acceptor).read, talk.end(at, End::Opener).read];
            prop_assert_eq!(read, plan.writes, "{:?}", talk.ends);
            let flow = flows.iter().find(|flow| flow.start.id == start.id).unwrap();
            prop_assert!(flow.end.is_some(), "{:?} {:?}", flow, talk.ends);
            prop_assert_eq!(flow.delivered, plan.writes[0] + plan.writes[1]);
            for end in [End::Opener, End::Acceptor] {
                prop_assert!(talk.heard(at, end, SocketEvent::PeerClosed).is_some());
                prop_assert!(talk.heard(at, end, SocketEvent::Closed).is_some());
            }
        }
    }
}
