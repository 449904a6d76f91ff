//! Linux' timers and its way out of a lost tail, on whole paths.
//!
//! The rules that need a made-up sequence of acknowledgements are held against a scripted peer in `sender/tests`.

use headway_transport::{LinuxRecovery, Profile, Recovery};
use headway_units::{Bytes, Span};

use super::path::{DELAY, FULL_TIME, black_hole, handshake, plain, round_trip, segments, short_queue};
use crate::common::{Setup, line, lossy, profile};

/// Linux' stack with this path's segments, each sent by itself.
fn linux(window: u32) -> Profile {
    let own = profile();
    Profile {
        control: own.control.clone(),
        mss: own.mss,
        overhead: own.overhead,
        initial_window: window,
        initial_ssthresh: Some(Bytes::new(segments(u64::from(window)))),
        receive_window: own.receive_window,
        autotuning: None,
        send_buffer: None,
        offload: None,
        ..Profile::linux()
    }
}

fn without_probes(window: u32) -> Profile {
    let own = linux(window).recovery.linux().expect("it is Linux'");
    Profile { recovery: Recovery::Linux(LinuxRecovery { tail_loss_probe: false, ..own }), ..linux(window) }
}

/// SYN at 0, 1, 3, 7, 15 s (RFC 6298 §2.1, §5.5) as in any stack, but at the grain of Linux' timer wheel: up to 64 ms
/// late for time-outs of 1 and 2 s, up to 512 ms for 4 and 8 s (`kernel/time/timer.c`), plus a tick each.
#[test]
fn a_syn_is_sent_again_at_the_grain_of_the_timers() {
    let retries = |at: Span| {
        let line = line(&[lossy(plain(), 1.0)]);
        let outcome = Setup::new(&line.net, linux(10)).flow((line.source, line.sink), Some(1), Span::ZERO).run(at);
        // each is a segment that was sent again
        assert_eq!(outcome.ends[0].retransmissions, outcome.ends[0].timeouts);
        outcome.ends[0].timeouts
    };
    let (mut earliest, mut latest) = (Span::ZERO, Span::ZERO);
    for (n, (seconds, grain)) in [(1u64, 64), (2, 64), (4, 512), (8, 512)].into_iter().enumerate() {
        earliest += Span::from_secs(seconds);
        latest += Span::from_millis(seconds * 1000 + grain + 1);
        assert_eq!(retries(earliest - Span::from_picos(1)), n as u32, "before {earliest}");
        assert_eq!(retries(latest), n as u32 + 1, "at {latest}");
    }
}

/// Data into a black hole: srtt + 200 ms after the handshake, then doubled (`tcp_rto_min`; `tcp_set_rto`), where RFC
/// 6298's 10 ms + 4·5 ms gives its floor, 200 ms. Late by the wheel's grain, 8 ms below 504 ms and 64 ms above. A
/// retransmission each.
#[test]
fn time_outs_are_the_round_trip_and_200_ms_doubled() {
    let timeouts = |profile: Profile, at: Span| {
        let line = line(&[black_hole()]);
        let outcome =
            Setup::new(&line.net, profile).flow((line.source, line.sink), Some(segments(4)), Span::ZERO).run(at);
        (outcome.ends[0].timeouts, outcome.ends[0].retransmissions)
    };
    let base = handshake() + Span::from_millis(200);
    let (mut earliest, mut latest) = (handshake(), handshake());
    for (n, grain) in [(0u32, 8), (1, 8), (2, 64), (3, 64)] {
        earliest += base * (1 << n);
        latest += base * (1 << n) + Span::from_millis(grain + 1);
        assert_eq!(timeouts(without_probes(4), earliest - Span::from_picos(1)), (n, n), "before {earliest}");
        assert_eq!(timeouts(without_probes(4), latest), (n + 1, n + 1), "at {latest}");
    }
    // A probe first (RFC 8985 §7.2): 2·srtt and two ticks after the segments were sent, and it is no time-out.
    let probe = handshake() * 3 + Span::from_millis(2);
    assert_eq!(timeouts(linux(4), probe - Span::from_picos(1)), (0, 0));
    assert_eq!(timeouts(linux(4), probe + Span::from_millis(2)), (0, 1));
}

/// Tail loss: of a flow of six segments that leave at once the last two are dropped. RFC 6675 waits for the time-out of
/// 200 ms (there are no duplicates). RFC 8985 §7 sends the last again two smoothed round trips and two ticks after the last
/// acknowledgement, which comes 3 segments' time after the first; a round trip later its report shows that the fifth was
/// sent long enough before it to be lost. Round trips are between 11 and 14 ms with what waited in the queue.
#[test]
fn a_lost_tail_costs_a_probe_in_place_of_a_time_out() {
    // Linux' handshake has an acknowledgement of its own, which is in front of the six.
    let run = |profile: Profile, queue| {
        let line = short_queue(queue);
        let outcome = Setup::new(&line.net, profile)
            .flow((line.source, line.sink), Some(segments(6)), Span::ZERO)
            .run(Span::from_secs(5));
        let end = &outcome.ends[0];
        assert_eq!(end.retransmissions, 2);
        (outcome.fct(0), end.timeouts)
    };
    let last = handshake() + FULL_TIME * 3 + round_trip();
    let (took, timeouts) = run(linux(6), 5);
    let low = last + round_trip() * 3 + Span::from_millis(2) + FULL_TIME + DELAY;
    let high = low + FULL_TIME * 3 * 2 + Span::from_millis(2);
    assert!(took >= low && took <= high, "{took}: {low} to {high}");
    assert_eq!(timeouts, 0);
    let (took, timeouts) = run(Profile { initial_window: 6, ..profile() }, 4);
    assert!(took > Span::from_millis(200), "{took}");
    assert_eq!(timeouts, 1);
}

/// `tcp_send_fin`: a program closes when its write has returned. If that has sent everything, FIN is a frame of its own;
/// if data still waits for the window, it goes with the last segment. SYN, the acknowledgements of SYN-ACK and of the other
/// FIN, and the segments; all of them arrive.
#[test]
fn fin_goes_by_itself_when_the_data_has_gone() {
    for (size, frames) in [(3, 3 + 3 + 1), (10, 3 + 10 + 1), (11, 3 + 11), (20, 3 + 20)] {
        let line = line(&[plain()]);
        let own = Profile { send_buffer: Some(Bytes::from_kb(1_000)), ..linux(10) };
        let outcome = Setup::new(&line.net, own)
            .flow((line.source, line.sink), Some(segments(size)), Span::ZERO)
            .run(Span::from_secs(5));
        let end = &outcome.ends[0];
        assert_eq!((end.delivered, end.retransmissions), (segments(size), 0));
        assert_eq!(outcome.port(line.links[0]).accepted.frames, frames, "{size} segments");
    }
}
