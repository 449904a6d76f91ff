//! A receiver against a scripted sender: segments are made up, and what it answers is looked at.

use headway_engine::{EventClass, Streams};
use headway_fabric::{Endpoint, Fabric, Graph, QueueSpec, Step, Wire};
use headway_units::{Bytes, Rate};

use super::*;
use crate::tcp::connection::{Connection, UNLIMITED};
use crate::tcp::profile::{DelayedAck, Multipath, Recovery};
use crate::timer::Fired;

const MSS: u64 = 1460;
const ROUND_TRIP: Span = Span::from_millis(10);

/// Linux with a fixed window, so that nothing but the rules for acknowledgements is seen.
fn linux() -> Profile {
    Profile { autotuning: None, ..Profile::linux() }
}

/// The same without quick acknowledgements.
fn slow() -> Profile {
    quick(linux(), 0)
}

fn quick(profile: Profile, quick: u32) -> Profile {
    Profile { delayed_ack: DelayedAck { quick, ..profile.delayed_ack }, ..profile }
}

/// An acknowledgement seen: when, how many bytes, the window, flags, and blocks.
#[derive(Debug, Clone, PartialEq)]
struct Seen {
    at: Time,
    ack: u64,
    window: u64,
    tag: u8,
    duplicate: bool,
    blocks: Vec<(u64, u64)>,
}

impl Seen {
    /// The acknowledgement in full segments.
    fn segments(&self) -> u64 {
        assert_eq!(self.ack % MSS, 0);
        self.ack / MSS
    }

    fn echoes(&self) -> bool {
        self.tag & flag::ECE != 0
    }

    fn epoch(&self) -> u8 {
        (self.tag & flag::EPOCH) >> flag::EPOCH_SHIFT
    }

    fn micros(&self) -> u64 {
        self.at.picos() / 1_000_000
    }
}

struct Script {
    net: Network,
    profile: Profile,
    receiver: Receiver,
    connection: Connection,
    now: Time,
    /// What the sender echoes, and what it would if it had heard everything.
    spin: u8,
    heard: u8,
    tos: u8,
    seen: Vec<Seen>,
}

impl Script {
    /// A receiver whose SYN-ACK left at time zero and whose data begin to come after `round_trip`.
    fn after(profile: Profile, round_trip: Span) -> Script {
        let mut graph = Graph::new();
        let (a, b) = (graph.add_host("a", Span::ZERO).unwrap(), graph.add_host("b", Span::ZERO).unwrap());
        let queue = QueueSpec::DropTail { limit: None, mark: None };
        let wire = Wire { rate: Rate::from_gbps(400), delay: Span::ZERO, gap: Bytes::ZERO, loss: 0.0, queue };
        let (_, back) = graph.connect(a, b, wire, wire).unwrap();
        let mut net = Network::new(Fabric::new(&graph, Streams::new(1)), 1);
        net.inbound = vec![0, 0];
        let route = net.fabric.routes.insert(&[back], Endpoint(0));
        let receiver = Receiver::new(0, 0, route, false, &profile, Timer::OFF);
        let connection = Connection::new(0, (0, &profile), 0, UNLIMITED, None);
        let tos = if profile.ecn { ecn::CAPABLE } else { 0 };
        let mut script =
            Script { net, profile, receiver, connection, now: Time::ZERO, spin: 0, heard: 0, tos, seen: Vec::new() };
        script.frame(0, 0, flag::SYN, 0);
        script.wait(round_trip);
        script.seen.clear();
        script.spin = script.heard;
        script
    }

    fn new(profile: Profile) -> Script {
        Script::after(profile, ROUND_TRIP)
    }

    /// As `Simulation::on_segment`.
    fn frame(&mut self, number: u64, len: u32, tag: u8, data: u64) {
        let body = Segment { number: number as u32, data_number: data as u32, amount: len, extra: NO_EXTRA };
        let frame = Frame { hop: 0, size: frame_size(len, 66), tos: self.tos, tag: tag | self.spin, body };
        let inflow = self.connection.inflow();
        let (arrival, answer) = self.receiver.take(self.now, &frame, inflow, &self.profile, &mut self.net);
        if let Arrival::Data { contiguous, new } = arrival {
            if self.profile.multipath.is_some() {
                self.connection.receive(data, len);
            } else {
                self.connection.received = self.connection.received.max(contiguous);
                self.connection.arrived += new;
            }
        }
        self.receiver.answer(self.now, answer, self.connection.inflow(), &self.profile, &mut self.net);
    }

    /// `len` bytes at `from` arrive, with these flags.
    fn bytes(&mut self, from: u64, len: u64, tag: u8) {
        self.frame(1 + from, len as u32, flag::ACK | tag, from);
        self.wait(Span::from_micros(1));
    }

    /// A full segment arrives.
    fn segment(&mut self, index: u64) {
        self.bytes(index * MSS, MSS, 0);
    }

    fn segments(&mut self, range: std::ops::Range<u64>) {
        range.for_each(|index| self.segment(index));
    }

    /// With that codepoint.
    fn marked(&mut self, index: u64, codepoint: u8) {
        let tos = std::mem::replace(&mut self.tos, codepoint);
        self.segment(index);
        self.tos = tos;
    }

    /// Lets time pass.
    fn wait(&mut self, span: Span) {
        let end = self.now + span;
        while let Some((time, source, sequence)) = self.net.queue.peek().filter(|&(time, ..)| time < end) {
            self.now = time;
            if source.class() == EventClass::Arrival {
                if let Step::Delivered(_, frame) = self.net.fabric.arrival(&mut self.net.queue, time, source.entity()) {
                    self.see(time, &frame);
                }
            } else if self.receiver.timer_mut().fire(time, sequence, &mut self.net.queue) == Fired::Due {
                self.receiver.on_timeout(time, self.connection.inflow(), &self.profile, &mut self.net);
            }
        }
        self.now = end;
    }

    /// Lets time pass until `ms` milliseconds after the start.
    fn wait_until(&mut self, ms: u64) {
        self.wait((Time::ZERO + Span::from_millis(ms)).since(self.now));
    }

    fn see(&mut self, at: Time, frame: &Frame) {
        self.heard = frame.tag & flag::SPIN;
        let sack = self.net.extras.take(frame.body.extra).unwrap_or_default();
        let bytes = |number: u32| u64::from(number) - 1;
        let blocks = sack.blocks[..usize::from(sack.count)].iter().map(|&(s, e)| (bytes(s), bytes(e))).collect();
        self.seen.push(Seen {
            at,
            ack: bytes(frame.body.number),
            window: u64::from(frame.body.amount),
            tag: frame.tag,
            duplicate: sack.duplicate,
            blocks,
        });
    }

    /// What was answered since the last call.
    fn answers(&mut self) -> Vec<Seen> {
        std::mem::take(&mut self.seen)
    }

    fn acked(&mut self) -> Vec<u64> {
        self.answers().iter().map(Seen::segments).collect()
    }
}

/// `tcp_incr_quickack`: the first min(16, window/(2·MSS)) acknowledgements leave at once, then every second segment has
/// one (`__tcp_ack_snd_check`: "more than one full frame").
#[test]
fn a_young_sender_is_acknowledged_at_once_and_then_every_second_segment() {
    let mut s = Script::new(linux());
    s.segments(0..20);
    assert_eq!(s.acked(), (1..=16).chain([18, 20]).collect::<Vec<_>>());
    let window = Bytes::new(2 * 5 * MSS);
    let mut s = Script::new(Profile { receive_window: window, ..linux() });
    s.segments(0..9);
    assert_eq!(s.acked(), [1, 2, 3, 4, 5, 7, 9]);
}

/// `tcp_event_data_recv`: after a gap of more than the time-out (10 + 200 ms here) the sender may have begun anew.
#[test]
fn quick_acknowledgements_return_after_a_pause() {
    for (gap, expected) in [(209, vec![18, 20]), (211, vec![17, 18, 19, 20])] {
        let mut s = Script::new(linux());
        s.segments(0..16);
        s.answers();
        s.wait_until(10 + gap);
        s.segments(16..20);
        assert_eq!(s.acked(), expected, "{gap} ms");
    }
}

/// `tcp_data_queue`: what comes again makes all quick, and is reported (RFC 2883 §4: the first block).
#[test]
fn an_old_segment_is_answered_at_once_reported_and_makes_all_quick() {
    let mut s = Script::new(linux());
    s.segments(0..20);
    s.answers();
    s.segment(3);
    let seen = s.answers();
    assert_eq!((seen.len(), seen[0].segments(), seen[0].duplicate), (1, 20, true));
    assert_eq!(seen[0].blocks, [(3 * MSS, 4 * MSS)]);
    s.segments(20..22);
    let seen = s.answers();
    assert_eq!(seen.iter().map(Seen::segments).collect::<Vec<_>>(), [21, 22]);
    assert!(seen.iter().all(|ack| !ack.duplicate && ack.blocks.is_empty()));
}

/// RFC 2883 §4.2: a segment beyond a hole that comes twice is the first block, and the second is what holds it
/// (`tcp_data_queue_ofo`).
#[test]
fn a_duplicate_beyond_a_hole_is_reported_with_its_range() {
    let mut s = Script::new(linux());
    s.segments(0..1);
    s.segments(2..4);
    s.answers();
    s.segment(3);
    let seen = s.answers();
    assert_eq!((seen.len(), seen[0].duplicate), (1, true));
    assert_eq!(seen[0].blocks, [(3 * MSS, 4 * MSS), (2 * MSS, 4 * MSS)]);
    // a segment half of which is new: RFC 2883 §4.1.3, the part below
    s.bytes(MSS / 2, MSS, 0);
    let seen = s.answers();
    assert_eq!(seen[0].blocks, [(MSS / 2, MSS), (2 * MSS, 4 * MSS)]);
    assert_eq!(seen[0].ack, 3 * MSS / 2);
}

#[test]
fn by_the_letter_duplicates_are_not_reported() {
    let mut s = Script::new(Profile::default());
    s.segments(0..3);
    s.answers();
    s.segment(1);
    s.segment(5);
    s.segment(5);
    let seen = s.answers();
    assert!(seen.iter().all(|ack| !ack.duplicate));
    assert_eq!(seen.iter().map(|ack| ack.blocks.len()).collect::<Vec<_>>(), [0, 1, 1]);
}

/// `__tcp_cleanup_rbuf` with `ICSK_ACK_PUSHED`: the end of a write, once read, is acknowledged; a lone full segment waits
/// 40 ms, which in the timer wheel are 41.
#[test]
fn the_end_of_a_write_is_acknowledged_at_once() {
    let mut s = Script::new(slow());
    s.bytes(0, 1000, 0);
    let seen = s.answers();
    assert_eq!((seen.len(), seen[0].ack, seen[0].micros()), (1, 1000, 10_000));
    s.wait_until(20);
    s.bytes(1000, MSS, 0);
    assert_eq!(s.answers(), []);
    s.wait_until(100);
    let seen = s.answers();
    assert_eq!((seen.len(), seen[0].ack, seen[0].micros()), (1, 1000 + MSS, 61_000));
    s.bytes(1000 + MSS, MSS, flag::FIN);
    assert_eq!(s.answers().len(), 1);
}

/// The connection's last segment ends a write though the subflow goes on; another of the same size does not.
#[test]
fn the_end_of_a_multipath_connections_data_is_the_end_of_a_write() {
    let multipath = Multipath::default();
    let mut s = Script::new(Profile { multipath: Some(multipath), ..slow() });
    s.connection.total = 4 * MSS;
    s.segments(0..3);
    assert_eq!(s.acked(), [2]);
    s.wait(Span::from_millis(50));
    assert_eq!(s.acked(), [3]);
    s.segment(3);
    assert_eq!(s.acked(), [4]);
}

/// `tcp_delack_timer_handler` doubles the time-out, `tcp_event_data_recv` brings it down with short gaps, and
/// `tcp_send_delayed_ack` bounds it by the round trip (150 ms; 10 ms mean 40). From 63 ms on, the wheel has steps of 8 ms.
#[test]
fn the_time_out_follows_the_gaps_between_segments() {
    for (round_trip, expected) in [(150, [441, 784, 1152, 1305, 1392]), (10, [441, 741, 1041, 1305, 1351])] {
        let mut s = Script::after(slow(), Span::from_millis(round_trip));
        s.segments(0..2);
        s.answers();
        // 40; 80: due at 780, so 784; 160, but 150 at most: 1150, so 1152; then the end of a pair at once, and after two
        // short gaps from 200 by way of 120 to 80
        for (index, at) in [(2, 400), (3, 700), (4, 1000), (5, 1300), (6, 1305), (7, 1310)] {
            s.wait_until(at);
            s.segment(index);
        }
        s.wait_until(2000);
        let fired: Vec<_> = s.answers().iter().map(|ack| ack.micros() / 1000).collect();
        assert_eq!(fired, expected, "{round_trip} ms");
    }
}

/// `__tcp_ack_snd_check`: at a hole three duplicates leave at once, then one in min(1 ms, 5 % of the round trip) and the
/// timer's slack, `sysctl_tcp_comp_sack_slack_ns` = 100 µs.
#[test]
fn duplicates_are_compressed() {
    for (round_trip, delay_us) in [(10u64, 600u64), (100, 1100)] {
        let mut s = Script::after(slow(), Span::from_millis(round_trip));
        s.segments(0..2);
        s.answers();
        s.segments(3..6);
        assert_eq!(s.acked(), [2, 2, 2]);
        let start = s.now.picos() / 1_000_000;
        s.segments(6..20);
        assert_eq!(s.acked(), [] as [u64; 0]);
        s.wait(Span::from_millis(5));
        let seen = s.answers();
        assert_eq!(seen.iter().map(Seen::micros).collect::<Vec<_>>(), [start + delay_us], "{round_trip} ms");
        assert_eq!(seen[0].blocks, [(3 * MSS, 20 * MSS)]);
        // what fills the hole is acknowledged at once, and the next hole starts with three again
        s.segment(2);
        s.segments(21..25);
        assert_eq!(s.acked(), [20, 20, 20, 20]);
    }
}

/// `sysctl_tcp_comp_sack_nr` = 44: the 45th that would be held back leaves.
#[test]
fn at_most_44_duplicates_are_compressed() {
    let mut s = Script::new(slow());
    s.segments(0..2);
    s.answers();
    s.segments(3..103); // a microsecond each, so well within 500
    let ends: Vec<u64> = s.answers().iter().map(|ack| ack.blocks[0].1 / MSS - 3).collect();
    assert_eq!(ends, [1, 2, 3, 48, 93]);
}

/// `tcp_sack_new_ofo_skb`: what is held back leaves before a further range pushes its news out of the first two blocks. In
/// Linux the segment with that range needs no acknowledgement after it (`tcp_ack_snd_check`).
#[test]
fn a_new_range_ends_a_compression() {
    let mut s = Script::new(slow());
    s.segments(0..2);
    for index in [3, 5, 7] {
        s.segment(index);
    }
    s.answers();
    s.segment(8); // held back
    assert_eq!(s.answers(), []);
    s.segment(10);
    let seen = s.answers();
    assert_eq!(seen.len(), 1);
    assert_eq!(seen[0].blocks, [(7 * MSS, 9 * MSS), (5 * MSS, 6 * MSS), (3 * MSS, 4 * MSS)]);
    s.wait(Span::from_millis(5));
    assert_eq!(s.answers(), []);
    s.segment(11);
    s.wait(Span::from_millis(5));
    let seen = s.answers();
    assert_eq!(seen.len(), 1);
    assert_eq!(seen[0].blocks[0], (10 * MSS, 12 * MSS));
}

/// RFC 8257 §3.2: the acknowledgement of what waited has the old state, that of the marked segment the new one. Without a
/// change every second segment has one.
#[test]
fn every_acknowledgement_says_whether_what_it_acknowledges_was_marked() {
    let letter = Profile { overhead: 66, ..quick(Profile::default(), 0) };
    for base in [letter, slow()] {
        let mut s = Script::new(Profile { ecn: true, ..base });
        s.receiver.counts_marks = true; // as with a control that does
        let expect = |s: &mut Script, index, codepoint, expected: &[(u64, bool)]| {
            s.marked(index, codepoint);
            let seen: Vec<_> = s.answers().iter().map(|ack| (ack.segments(), ack.echoes())).collect();
            assert_eq!(seen, expected, "segment {index}");
        };
        expect(&mut s, 0, ecn::CAPABLE, &[]);
        expect(&mut s, 1, ecn::CE, &[(1, false), (2, true)]);
        expect(&mut s, 2, ecn::CE, &[]);
        expect(&mut s, 3, ecn::CE, &[(4, true)]);
        expect(&mut s, 4, ecn::CAPABLE, &[(5, false)]);
        expect(&mut s, 5, ecn::CAPABLE, &[]);
        expect(&mut s, 6, ecn::CAPABLE, &[(7, false)]);
    }
}

/// RFC 3168 §6.1.3: every acknowledgement echoes until CWR. Linux is quick at the beginning, and after what must be a
/// retransmission since it cannot be marked (`__tcp_ecn_check_ce`), and at CWR (`tcp_ecn_accept_cwr`).
#[test]
fn a_mark_is_echoed_at_once_and_until_the_window_was_reduced() {
    let mut s = Script::new(quick(Profile { ecn: true, ..linux() }, 4));
    s.segments(0..6);
    assert_eq!(s.acked(), [1, 2, 3, 4, 6]);
    s.marked(6, ecn::CE);
    s.segments(7..10);
    let seen = s.answers();
    assert_eq!(seen.iter().map(Seen::segments).collect::<Vec<_>>(), [7, 8, 10]);
    assert!(seen.iter().all(Seen::echoes));
    s.bytes(10 * MSS, MSS, flag::CWR);
    let seen = s.answers();
    assert_eq!((seen.len(), seen[0].segments(), seen[0].echoes()), (1, 11, false));
    s.marked(11, 0);
    s.segment(12);
    assert_eq!(s.acked(), [12, 13]);
}

/// RFC 7323 §4.3: what is echoed is the timestamp of the first segment since the last acknowledgement, that of the last in
/// order while there is a hole, and that of the one that fills it.
#[test]
fn timestamps_are_echoed_as_the_rfc_says() {
    let mut s = Script::new(slow());
    let at = |s: &mut Script, index: u64, epoch: u8| {
        s.bytes(index * MSS, MSS, epoch << flag::EPOCH_SHIFT);
        s.answers().iter().map(Seen::epoch).collect::<Vec<_>>()
    };
    assert_eq!(at(&mut s, 0, 1), []);
    assert_eq!(at(&mut s, 1, 2), [1]);
    assert_eq!(at(&mut s, 3, 3), [1]); // the segment before it has the last one in sequence that was at the left edge
    assert_eq!(at(&mut s, 2, 0), [0]);
    let mut s = Script::new(Profile { timestamps: false, ..slow() });
    assert_eq!((at(&mut s, 0, 1), at(&mut s, 1, 2)), (vec![], vec![0]));
}

/// What arrives in a round trip, and the window that it makes: `segments` leave one after the other.
fn round(s: &mut Script, next: &mut u64, segments: u64, round_trip: Span) -> u64 {
    let end = s.now + round_trip;
    s.segments(*next..*next + segments);
    *next += segments;
    s.wait(end.since(s.now));
    s.spin = s.heard;
    let seen = s.answers();
    let mut edge = 0;
    for ack in &seen {
        assert!(ack.ack + ack.window >= edge, "the right edge goes back");
        edge = ack.ack + ack.window;
    }
    seen.last().expect("a round trip of data is acknowledged").window
}

/// `tcp_rcv_space_adjust`: a sender that doubles its window each round trip finds that of the receiver open, until the
/// largest is reached. The first steps by hand: a buffer that holds 44 segments where half of it is payload holds 57.75
/// where 168/256 are (`tcp_measure_rcv_mss`), and each of the ten segments raises what is offered by two, up to that
/// less the segment that has just come. At the first read after a round trip 11 segments have come, one more than the ten
/// of the start, so 2·11 + 16 = 38 segments, and for the growth twice 38·1/10 more: 45.6, which is less.
#[test]
fn the_window_follows_what_arrives() {
    let largest = 6_000_000;
    let autotuning = Some(Bytes::new(64_240));
    let mut s = Script::new(Profile { receive_window: Bytes::new(largest), autotuning, ..Profile::linux() });
    let mut next = 0;
    assert_eq!(round(&mut s, &mut next, 10, ROUND_TRIP), 5675 * MSS / 100);
    assert_eq!(round(&mut s, &mut next, 20, ROUND_TRIP), 5675 * MSS / 100);
    let mut sent = 20;
    let mut window = 5675 * MSS / 100;
    while window < largest - MSS {
        assert!(window >= 2 * sent * MSS, "{sent} segments arrived, {window} bytes are open");
        sent *= 2;
        window = round(&mut s, &mut next, sent, ROUND_TRIP);
    }
    assert!(sent < 4096);
    assert_eq!(window, largest - MSS);
}

/// `tcp_rcv_space_adjust`: the window is twice what comes in a round trip and 16 segments, more for growth, which here
/// seems to be from 10 to 41 segments: (2·41 + 16)·(1 + 2·31/10) = 705.6 segments. Without growth it stays.
#[test]
fn the_window_of_a_steady_sender_stops_growing() {
    let mut s = Script::new(Profile::linux());
    let mut next = 0;
    for _ in 0..12 {
        round(&mut s, &mut next, 40, ROUND_TRIP);
    }
    for _ in 0..20 {
        assert_eq!(round(&mut s, &mut next, 40, ROUND_TRIP), 7046 * MSS / 10);
    }
}

/// `__tcp_select_window`: what lies beyond a hole takes room, but what was offered stays offered.
#[test]
fn data_beyond_a_hole_takes_room_without_moving_the_edge() {
    // without Linux' second look at how much payload a buffer holds, so that all of it is offered from the start
    let first = Some(Bytes::new(40 * MSS));
    let mut s = Script::new(Profile { autotuning: first, recovery: Recovery::Sack, ..quick(Profile::linux(), 0) });
    s.segments(0..2);
    let offered = s.answers().last().map(|ack| ack.ack + ack.window).unwrap();
    assert_eq!(offered, 42 * MSS);
    s.segments(3..30);
    s.wait(Span::from_millis(5));
    assert!(s.answers().iter().all(|ack| ack.ack == 2 * MSS && ack.ack + ack.window == offered));
    // the window opens again with the room: all of it
    s.segment(2);
    let seen = s.answers();
    assert_eq!((seen[0].segments(), seen[0].window), (30, 40 * MSS));
}

/// RFC 7323 §2.2: "The window field in a segment where the SYN bit is set [...] MUST NOT be scaled."
#[test]
fn a_syn_offers_no_more_than_16_bits_say() {
    for (initial, offered) in [(65_160, 65_160), (1 << 20, 65_535)] {
        let profile = Profile { autotuning: Some(Bytes::new(initial)), ..Profile::linux() };
        assert_eq!(first_window(&profile), offered);
        let mut s = Script::new(profile);
        s.segment(0);
        // what can be scaled: all, and two segments more for the first that came (`tcp_grow_window`)
        assert_eq!(s.answers()[0].window, initial + 2 * MSS);
    }
    assert_eq!(first_window(&linux()), linux().receive_window.get());
}

/// `tcp_rcv_rtt_measure_ts`, `tcp_rcv_rtt_update`: the first sample is the handshake's; longer ones weigh an eighth.
#[test]
fn the_receiver_measures_the_round_trip() {
    let mut s = Script::new(Profile::linux());
    let estimate = |s: &Script| s.receiver.linux.as_ref().unwrap().rtt.estimate;
    s.segment(0);
    assert_eq!(estimate(&s), ROUND_TRIP);
    s.spin = s.heard;
    s.wait_until(100); // the acknowledgement left at 10
    s.segment(1);
    assert_eq!(estimate(&s), Span::from_micros(10_000 * 7 / 8 + 90_000 / 8));
}
