//! A sender against a scripted peer: acknowledgements are made up, and what it sends is looked at.

use headway_control::congestion::AnyController;
use headway_engine::{EventClass, Streams};
use headway_fabric::{Endpoint, Fabric, Graph, QueueSpec, Step, Wire, ecn};
use headway_units::{Bytes, Rate};

use super::*;
use crate::segment::{NO_EXTRA, Segment};
use crate::tcp::profile::{DelayedAck, Offload, Pacing, Recovery};

mod worked;

const MSS: u64 = 1000;
/// Nothing but the sender's own clock matters here.
const ROUND_TRIP: Span = Span::from_millis(10);

fn profile(recovery: Recovery) -> Profile {
    Profile {
        control: AnyController::by_name("new-reno").unwrap(),
        recovery,
        limited_transmit: true,
        mss: MSS as u32,
        overhead: 58,
        sack_blocks: 4,
        initial_window: 10,
        initial_ssthresh: Some(Bytes::new(10 * MSS)), // congestion avoidance from the start
        min_rto: Span::from_millis(200),
        initial_rto: Span::from_secs(1),
        max_rto: Span::from_secs(120),
        delayed_ack: DelayedAck { packets: 1, timeout: Span::ZERO, quick: 0, adaptive: false, compression: false },
        receive_window: Bytes::new(1 << 30),
        ecn: true,
        multipath: None,
        replicate: None,
        ..Profile::default()
    }
}

struct Script {
    net: Network,
    profile: Profile,
    sender: Sender,
    now: Time,
    data: u64,
    /// Bytes there are to send.
    end: u64,
}

/// A frame seen: (segment number, ECT, CWR).
type Seen = (u64, bool, bool);

impl Script {
    /// A sender that has just received SYN-ACK, after `lost` SYNs in vain.
    fn after(profile: Profile, lost: u32) -> Script {
        Script::of(profile, lost, u64::MAX)
    }

    /// The same with `end` bytes to send.
    fn of(profile: Profile, lost: u32, end: u64) -> Script {
        let mut graph = Graph::new();
        let (a, b) = (graph.add_host("a", Span::ZERO).unwrap(), graph.add_host("b", Span::ZERO).unwrap());
        let wire = Wire {
            rate: Rate::from_gbps(100),
            delay: Span::ZERO,
            gap: Bytes::ZERO,
            loss: 0.0,
            queue: QueueSpec::DropTail { limit: None, mark: None },
        };
        let (link, _) = graph.connect(a, b, wire, wire).unwrap();
        let mut net = Network::new(Fabric::new(&graph, Streams::new(1)), 1);
        net.inbound = vec![0, 0];
        let route = net.fabric.routes.insert(&[link], Endpoint(1));
        let mut sender = Sender::new(0, 0, route, false, &profile, (Timer::OFF, Timer::OFF));
        let mut now = Time::ZERO;
        sender.open(now, &profile, &mut net);
        for _ in 0..lost {
            now = sender.timer.deadline();
            sender.timer.cancel();
            sender.on_timeout(now, &Context::default(), &profile, &mut net);
        }
        let mut script = Script { net, profile, sender, now: now + ROUND_TRIP, data: 0, end };
        script.frames();
        script.sender.on_syn_ack(script.now, &script.profile, &mut script.net);
        script.pump();
        script
    }

    fn new(recovery: Recovery) -> Script {
        Script::after(profile(recovery), 0)
    }

    /// What the connection does with the data it has.
    fn pump(&mut self) {
        self.sender.repair(self.now, self.data < self.end, &self.profile, &mut self.net);
        while self.data < self.end && (self.sender.has_room(MSS as u32, &self.profile) || self.sender.is_probing()) {
            self.sender.send_new(self.now, self.data, MSS as u32, false, &self.profile, &mut self.net);
            self.data += MSS;
        }
        self.sender.end_turn(self.now, self.end - self.data, &self.profile, &mut self.net);
    }

    /// An acknowledgement of everything below segment `next`, with blocks of segments `first..last`.
    fn ack(&mut self, next: u64, blocks: &[(u64, u64)], tag: u8) {
        self.now += Span::from_micros(10);
        let number = |segment: u64| (1 + segment * MSS) as u32;
        let mut sack = SackBlocks { count: blocks.len() as u8, ..SackBlocks::default() };
        for (to, &(first, last)) in sack.blocks.iter_mut().zip(blocks) {
            *to = (number(first), number(last));
        }
        let body = Segment { number: number(next), data_number: 0, amount: u32::MAX, extra: NO_EXTRA };
        let frame = Frame { hop: 0, size: 64, tos: 0, tag: flag::ACK | tag, body };
        let blocks = (!blocks.is_empty()).then_some(sack);
        self.sender.on_ack(self.now, &frame, blocks, &Context::default(), &self.profile, &mut self.net);
        self.pump();
    }

    fn time_out(&mut self) {
        self.now = self.sender.timer.deadline();
        self.sender.timer.cancel();
        self.sender.on_timeout(self.now, &Context::default(), &self.profile, &mut self.net);
        self.pump();
    }

    /// What data was sent since the last call.
    fn frames(&mut self) -> Vec<Seen> {
        let mut seen = Vec::new();
        while let Some((time, source, _)) = self.net.queue.peek() {
            if source.class() != EventClass::Arrival {
                if time > self.now + Span::from_micros(9) {
                    break;
                }
                self.net.queue.pop();
                continue;
            }
            if let Step::Delivered(_, frame) = self.net.fabric.arrival(&mut self.net.queue, time, source.entity()) {
                if frame.body.amount == 0 {
                    continue; // SYN, or the handshake's acknowledgement
                }
                let segment = u64::from(frame.body.number).saturating_sub(1) / MSS;
                seen.push((segment, frame.tos & ecn::MASK != 0, frame.tag & flag::CWR != 0));
            }
        }
        seen
    }

    fn segments(&mut self) -> Vec<u64> {
        self.frames().into_iter().map(|(segment, ..)| segment).collect()
    }

    fn cwnd(&self) -> u64 {
        self.sender.window.cwnd / MSS
    }
}

const BOTH: [Recovery; 2] = [Recovery::NEW_RENO, Recovery::Sack];

/// RFC 6298 §5.7: "If the timer expires awaiting the ACK of a SYN segment and the TCP implementation is using an RTO
/// less than 3 seconds, the RTO MUST be re-initialized to 3 seconds when data transmission begins".
#[test]
fn after_a_lost_syn_data_waits_three_seconds() {
    for (lost, expected) in [(0, Span::from_millis(200)), (1, Span::from_secs(3)), (2, Span::from_secs(3))] {
        let mut script = Script::after(profile(Recovery::Sack), lost);
        assert_eq!(script.sender.timer.deadline(), script.now + expected, "{lost} lost");
        assert_eq!(script.segments().len(), if lost > 0 { 1 } else { 10 });
    }
}

/// `tcp_update_pacing_rate` at every acknowledgement, whichever engine repairs: 1.2 windows a round trip in congestion
/// avoidance, which the handshake measured as 10 ms; a window that doubles makes it 2 windows of twice the size.
#[test]
fn the_pacing_rate_follows_the_window() {
    for recovery in BOTH {
        let mut s = Script::after(Profile { pacing: Pacing::Always, ..profile(recovery) }, 0);
        assert_eq!(s.sender.pacing_rate(), 1_200_000, "ten segments of 1,000 B");
        s = Script::after(Profile { pacing: Pacing::Always, initial_ssthresh: None, ..profile(recovery) }, 0);
        assert_eq!(s.sender.pacing_rate(), 2_000_000);
        s.now += ROUND_TRIP;
        (1..=10).for_each(|next| s.ack(next, &[], 0));
        assert_eq!(s.cwnd(), 20);
        let srtt = s.sender.rtt.srtt().unwrap().as_secs_f64();
        let expected = 2.0 * 20_000.0 / srtt;
        assert!((s.sender.pacing_rate() as f64 - expected).abs() <= 1.0, "{} {expected}", s.sender.pacing_rate());
    }
}

/// RFC 6582 §3.2: 3 duplicates make ssthresh + 3; each further one adds a segment; a partial acknowledgement takes away
/// what it acknowledged and adds one; the last one deflates.
#[test]
fn new_reno_inflates_and_deflates_as_the_rfc_says() {
    let mut s = Script::new(Recovery::NEW_RENO);
    assert_eq!(s.segments(), (0..10).collect::<Vec<_>>());
    // segments 0 and 4 are lost: eight duplicates in all; two let one go each by limited transmit
    s.ack(0, &[], 0);
    s.ack(0, &[], 0);
    assert_eq!(s.segments(), [10, 11]);
    s.ack(0, &[], 0);
    assert_eq!((s.segments(), s.cwnd()), (vec![0], 5));
    // inflated to 5 + 8 at the eighth; 12 are outstanding: one goes
    for _ in 0..5 {
        s.ack(0, &[], 0);
    }
    assert_eq!(s.segments(), [12]);
    // two more for 10 and 11
    s.ack(0, &[], 0);
    s.ack(0, &[], 0);
    assert_eq!(s.segments(), [13, 14]);
    // partial: 4 are acknowledged, 11 outstanding; 5 + 10 - 4 + 1 = 12: the next hole and one more
    s.ack(4, &[], 0);
    assert_eq!(s.segments(), [4, 15]);
    // full: cwnd = min(ssthresh, FlightSize + 1)
    s.ack(12, &[], 0);
    assert_eq!(s.cwnd(), 5);
    assert_eq!(s.segments(), [16]); // 12 to 15 are outstanding
}

/// RFC 6937 §3 without selective acknowledgements (`tcp_cwnd_reduction`, `tcp_remove_reno_sacks`): of a window of ten
/// that becomes five, every second acknowledgement sends. A partial one counts like any other, so the hole that it tells
/// of waits, where RFC 6582 §3.2 step 5 sends at once.
#[test]
fn a_partial_acknowledgement_waits_for_its_share() {
    let script = |prr| Script::after(profile(Recovery::NewReno { prr }), 0);
    for (prr, answer) in [(false, &[1][..]), (true, &[])] {
        let mut s = script(prr);
        for _ in 0..3 {
            s.ack(0, &[], 0);
        }
        assert_eq!(s.segments(), (0..12).chain([0]).collect::<Vec<_>>());
        s.ack(1, &[], 0);
        assert_eq!(s.segments(), answer, "{prr}");
    }
    let mut s = script(true);
    s.ack(0, &[], 0);
    s.ack(0, &[], 0);
    s.segments();
    let mut sent = Vec::new();
    for _ in 3..=6 {
        s.ack(0, &[], 0);
        sent.push(s.segments());
    }
    assert_eq!(sent, [vec![0], vec![], vec![12], vec![]]);
    // five are on their way, as many as may be
    s.ack(1, &[], 0);
    assert_eq!(s.segments(), []);
    s.ack(2, &[], 0);
    assert_eq!(s.segments(), [2]);
    s.ack(13, &[], 0);
    assert_eq!((s.segments(), s.cwnd()), (vec![13, 14, 15, 16, 17], 5));
}

/// The letter of RFC 6675 without bursts and with them: what hosts hand to their card has no part in SetPipe.
fn reports() -> [Profile; 2] {
    [None, Some(Offload { most: 65_160, small_queues: false })]
        .map(|offload| Profile { offload, ..profile(Recovery::Sack) })
}

/// RFC 6675 §4 SetPipe with NextSeg rule 4: the rescue leaves HighRxt where it is, so its segment is not below it (b) and
/// counts once, as one that is not lost (a).
#[test]
fn a_rescue_counts_once_in_the_pipe() {
    for profile in reports() {
        let mut s = Script::of(profile, 0, 10 * MSS);
        assert_eq!(s.segments().len(), 10);
        // the first and the last two are lost
        s.ack(0, &[(1, 8)], 0);
        assert_eq!((s.segments(), s.sender.repair), (vec![0], Repair::Fast));
        s.ack(8, &[], 0);
        assert_eq!(s.segments(), [9]);
        assert_eq!(s.sender.pipe(), 2 * MSS, "{:?}", s.profile.offload);
    }
}

/// RFC 6675 §4 SetPipe with NextSeg rule 3: a retransmission of what is not known lost counts as not lost (a) and as
/// retransmitted (b), "twice by the above mechanism"; once its first copy is known lost, once.
#[test]
fn a_retransmission_of_what_may_not_be_lost_counts_twice_in_the_pipe() {
    for profile in reports() {
        let mut s = Script::of(profile, 0, 10 * MSS);
        assert_eq!(s.segments().len(), 10);
        // 0 is lost; above 5 only 6 and 7 have arrived, which is not more than two segments' worth
        s.ack(0, &[(1, 5), (6, 7)], 0);
        assert_eq!((s.segments(), s.sender.pipe()), (vec![0], 5 * MSS));
        s.ack(0, &[(1, 5), (6, 8)], 0);
        assert_eq!((s.segments(), s.sender.pipe()), (vec![5], 5 * MSS), "0, 5 twice, 8, 9");
        s.ack(0, &[(1, 5), (6, 9)], 0);
        assert_eq!((s.segments(), s.sender.pipe()), (vec![], 3 * MSS), "0, 5, 9");
    }
}

/// RFC 5681 §3.1: after a time-out the window is one segment and grows by acknowledgements of new data alone. Duplicates
/// then stand for segments retransmitted in vain, which are no part of what is outstanding.
#[test]
fn duplicates_after_a_time_out_send_nothing() {
    let mut s = Script::new(Recovery::NEW_RENO);
    s.frames();
    s.time_out();
    assert_eq!(s.segments(), [0]);
    for _ in 0..5 {
        s.ack(0, &[], 0);
    }
    assert_eq!(s.segments(), []);
    s.ack(1, &[], 0);
    assert_eq!((s.segments(), s.cwnd()), (vec![1, 2], 2));
}

/// RFC 3042 §2: "the amount of outstanding data would remain less than or equal to the congestion window plus 2
/// segments", also where RFC 6582 §3.2 step 2 forbids a fast retransmit: after a time-out that was spurious.
#[test]
fn duplicates_never_let_more_than_two_segments_go_beyond_the_window() {
    for recovery in BOTH {
        let mut s = Script::new(recovery);
        s.time_out();
        // the acknowledgements were only late
        for next in 1..=10 {
            s.ack(next, &[], 0);
        }
        s.frames();
        for _ in 0..8 {
            s.ack(10, &[], 0); // for the retransmissions
        }
        let new = s.segments().len();
        assert!(new <= 2, "{recovery:?}: {new} beyond the window");
    }
}

/// RFC 3168 §6.1.5: retransmissions MUST NOT be ECT, §6.1.2: nor SHOULD they carry CWR; that is for "the first new data
/// packet sent after the window reduction", whatever the reason for the reduction.
#[test]
fn a_loss_is_confirmed_by_the_first_new_segment_and_retransmissions_are_not_ect() {
    for recovery in BOTH {
        let mut s = Script::new(recovery);
        assert!(s.frames().iter().all(|&(_, ect, cwr)| ect && !cwr));
        for duplicate in 1..=9 {
            s.ack(0, &[(1, 1 + duplicate)], 0);
        }
        let seen = s.frames();
        let (again, new): (Vec<Seen>, Vec<Seen>) = seen.into_iter().partition(|&(segment, ..)| segment == 0);
        assert_eq!(again, [(0, false, false)], "{recovery:?}");
        // 10 and 11 are limited transmit's, before the reduction
        let cwr: Vec<u64> = new.iter().filter(|&&(.., cwr)| cwr).map(|&(segment, ..)| segment).collect();
        assert_eq!(cwr, [12], "{recovery:?}: {new:?}");
        assert!(new.iter().all(|&(_, ect, _)| ect));
        // and after a time-out
        let mut s = Script::new(recovery);
        s.frames();
        s.time_out();
        assert_eq!(s.frames(), [(0, false, false)], "{recovery:?}");
        s.ack(10, &[], 0);
        assert_eq!(s.frames()[0], (10, true, true), "{recovery:?}");
    }
}

/// RFC 3168 §6.1.2: one reaction for a window of data, be its signs a loss, marks or both.
#[test]
fn echoes_of_the_window_that_a_loss_has_halved_do_not_halve_it_again() {
    for recovery in BOTH {
        let mut s = Script::new(recovery);
        for duplicate in 1..=9 {
            s.ack(0, &[(1, 1 + duplicate)], if duplicate > 4 { flag::ECE } else { 0 });
        }
        assert_eq!(s.sender.window.ssthresh, 5 * MSS, "{recovery:?}");
        // ten segments, two by limited transmit; the one after them carries CWR, so that these echo still
        s.ack(11, &[], flag::ECE);
        s.ack(12, &[], flag::ECE);
        assert_eq!(s.sender.window.ssthresh, 5 * MSS, "{recovery:?}");
    }
}

/// RFC 8257 §3.3: "cwnd = cwnd * (1 - DCTCP.Alpha / 2)", of the whole window and not of the eight segments that are left
/// outstanding. α begins at 1.
#[test]
fn dctcp_reduces_the_window_and_not_what_is_in_flight() {
    let control = AnyController::by_name("dctcp").unwrap();
    let mut s = Script::after(Profile { control, ..profile(Recovery::Sack) }, 0);
    s.ack(2, &[], flag::ECE);
    assert_eq!(s.sender.window.cwnd, 5 * MSS);
}

/// Linux counts segments (`tcp_reno_ssthresh`: `cwnd >> 1`), the RFC bytes.
#[test]
fn a_stack_that_reduces_the_window_does_so_by_whole_segments() {
    for (reduces_cwnd, expected) in [(true, 3 * MSS), (false, 7 * MSS / 2)] {
        let mut s = Script::after(Profile { reduces_cwnd, initial_window: 7, ..profile(Recovery::Sack) }, 0);
        for duplicate in 1..=3 {
            s.ack(0, &[(1, 1 + duplicate)], 0);
        }
        assert_eq!(s.sender.window.ssthresh, expected, "{reduces_cwnd}");
    }
}

/// RFC 3168 §6.1.2: "The sending TCP SHOULD NOT increase the congestion window in response to the receipt of an ECN-Echo
/// ACK packet."
#[test]
fn an_echo_does_not_grow_the_window() {
    let mut s = Script::after(Profile { initial_ssthresh: None, ..profile(Recovery::Sack) }, 0);
    s.ack(1, &[], flag::ECE);
    let reduced = s.sender.window.cwnd;
    // "the TCP source halves the congestion window": of ten segments, one of which is no longer outstanding
    assert_eq!(reduced, 5 * MSS);
    for next in 2..=10 {
        s.ack(next, &[], flag::ECE);
        assert_eq!(s.sender.window.cwnd, reduced);
    }
}

/// Linux' sender, with segments of 1000 bytes and plain Reno.
fn linux() -> Profile {
    Profile {
        control: AnyController::by_name("new-reno").unwrap(),
        mss: MSS as u32,
        overhead: 70,
        initial_ssthresh: Some(Bytes::new(10 * MSS)),
        ..Profile::linux()
    }
}

/// `tcp_ack` keeps the highest reported position of before (`prior_fack`): what is acknowledged together with the first
/// block beyond it was not late, so three segments reported beyond a hole still mean loss (`tcp_rack_reo_wnd`).
#[test]
fn the_first_block_makes_nothing_late() {
    let mut s = Script::after(linux(), 0);
    s.ack(2, &[], 0);
    s.ack(3, &[(5, 6)], 0);
    s.ack(3, &[(5, 7)], 0);
    assert_eq!(s.sender.repair, Repair::None);
    s.ack(3, &[(5, 8)], 0);
    assert_eq!(s.sender.repair, Repair::Fast);
    // but what is acknowledged below a block that was reported earlier was late: there may be more of that
    let mut s = Script::after(linux(), 0);
    s.ack(2, &[(5, 6)], 0);
    s.ack(3, &[(5, 6)], 0);
    s.ack(3, &[(5, 7)], 0);
    s.ack(3, &[(5, 8)], 0);
    assert_eq!(s.sender.repair, Repair::None);
}

/// `tcp_time_to_recover` asks for all that is lost, retransmitted or not (`lost_out`): what was lost after a recovery began
/// keeps the sender in recovery when the end of that one is acknowledged, in a new one that ends later.
#[test]
fn a_loss_within_a_recovery_begins_the_next() {
    let mut s = Script::after(linux(), 0);
    for last in 2..=4 {
        s.ack(0, &[(1, last)], 0);
    }
    assert_eq!((s.sender.repair, s.sender.recovery_point), (Repair::Fast, s.sender.nxt));
    let end = (s.sender.recovery_point - 1) / MSS;
    for last in 5..=end {
        s.ack(0, &[(1, last)], 0);
    }
    // the reduction lets new segments go, and of these the first is lost, too, and retransmitted
    s.ack(0, &[(1, end), (end + 1, end + 2)], 0);
    assert!(s.sender.nxt >= s.sender.recovery_point + 2 * MSS && s.sender.board.lost_out() > 0);
    while s.sender.board.lost_pending() > 0 {
        s.now += ROUND_TRIP;
        s.sender.retransmit_now = true;
        s.pump();
    }
    let nxt = s.sender.nxt;
    s.ack(end, &[(end + 1, end + 2)], 0);
    assert_eq!((s.sender.repair, s.sender.recovery_point), (Repair::Fast, nxt));
    s.ack((s.sender.nxt - 1) / MSS, &[], 0);
    assert_eq!(s.sender.repair, Repair::None);
}
