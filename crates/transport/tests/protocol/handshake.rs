//! Opening and closing (RFC 9293 §3.5, §3.6) and SYN's retransmission (RFC 6298 §2.1, §5).

use headway_fabric::Wire;
use headway_transport::Profile;
use headway_units::Span;

use super::path::{DELAY, FULL_TIME, empty_time, handshake, plain, round_trip, segments, short_queue};
use crate::common::{Line, Net, Setup, line, lossy, profile};

/// SYN, SYN-ACK and the byte: three of Ethernet's smallest frames, one after the other. The byte's segment is the
/// third packet of the handshake and the FIN.
#[test]
fn one_byte_takes_one_and_a_half_round_trips_and_four_frames() {
    let line = line(&[plain()]);
    let outcome =
        Setup::new(&line.net, profile()).flow((line.source, line.sink), Some(1), Span::ZERO).run(Span::from_secs(1));
    assert_eq!(outcome.fct(0), (DELAY + empty_time()) * 3);
    assert_eq!(outcome.port(line.links[0]).accepted.frames, 2, "SYN, data with FIN");
    assert_eq!(outcome.port(line.links[0].reverse()).accepted.frames, 2, "SYN-ACK, ACK");
}

/// RFC 6298 §2.1 (one second), §5.5 (doubled): SYN at 0, 1, 3, 7, 15, 31 s.
#[test]
fn a_syn_that_is_never_answered_is_sent_again_with_doubled_time_outs() {
    for lost_is_syn in [true, false] {
        for (until_ms, retries) in
            [(999, 0), (1000, 1), (2999, 1), (3000, 2), (6999, 2), (7000, 3), (14_999, 3), (15_000, 4), (31_000, 5)]
        {
            let mut net = Net::default();
            let (a, b) = (net.host(), net.host());
            let (forth, back): (Wire, Wire) =
                if lost_is_syn { (lossy(plain(), 1.0), plain()) } else { (plain(), lossy(plain(), 1.0)) };
            let link = net.lay(a, b, forth, back);
            let outcome =
                Setup::new(&net, profile()).flow((a, b), Some(1), Span::ZERO).run(Span::from_millis(until_ms));
            assert_eq!((outcome.ends[0].timeouts, outcome.ends[0].end), (retries, None), "{until_ms} ms");
            assert_eq!(outcome.port(link).accepted.frames, u64::from(retries) + 1);
        }
    }
}

/// RFC 6298 §2.5: "a maximum value MAY be placed on RTO" (it wants 60 s at least; short here): 4 s, so SYN at 0, 1, 3, 7,
/// 11, 15 s.
#[test]
fn the_ceiling_ends_the_doubling() {
    let line = line(&[lossy(plain(), 1.0)]);
    let profile = Profile { max_rto: Span::from_secs(4), ..profile() };
    for (until_ms, retries) in [(10_999, 3), (11_000, 4), (14_999, 4), (15_000, 5)] {
        let outcome = Setup::new(&line.net, profile.clone())
            .flow((line.source, line.sink), Some(1), Span::ZERO)
            .run(Span::from_millis(until_ms));
        assert_eq!(outcome.ends[0].timeouts, retries, "{until_ms} ms");
    }
}

/// A first flow's 30 segments overflow the queue of 20; the second flow's SYN comes while it is full.
fn syn_meets_a_full_queue() -> (Line, Setup) {
    let line = short_queue(20);
    let burst = Profile { initial_window: 30, ..profile() };
    let setup = Setup::new(&line.net, burst).profile(profile());
    (line, setup)
}

/// RFC 5681 §3.1: "if the SYN or SYN/ACK is lost, the initial window used by a sender after a correctly transmitted
/// SYN MUST be one segment". Seven segments then take windows of 1, 2 and 4.
#[test]
fn a_lost_syn_costs_a_second_and_the_initial_window() {
    let (line, setup) = syn_meets_a_full_queue();
    let pair = (line.source, line.sink);
    let start = handshake() + FULL_TIME / 2;
    let outcome = setup
        .flow_of(0, pair, Some(segments(30)), Span::ZERO)
        .flow_of(1, pair, Some(segments(7)), start)
        .run(Span::from_secs(3));
    assert_eq!(outcome.ends[1].timeouts, 1);
    let expected = Span::from_secs(1) + handshake() + round_trip() * 2 + FULL_TIME * 4 + DELAY;
    assert_eq!(outcome.fct(1), expected);
}
