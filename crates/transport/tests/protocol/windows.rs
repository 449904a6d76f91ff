//! Slow start, congestion avoidance and the receiver's window and delays (RFC 5681 §3.1, §4.2; RFC 9293 §3.8.6).

use headway_fabric::Wire;
use headway_transport::{DelayedAck, Profile};
use headway_units::{Bytes, Rate, Span};

use super::path::{DELAY, FULL_TIME, handshake, plain, round_trip, segments};
use crate::common::{EMPTY, FULL, Outcome, Setup, assert_near, delayed, line, profile, transmission};

fn run(profile: Profile, size: u64) -> Outcome {
    let line = line(&[plain()]);
    Setup::new(&line.net, profile).flow((line.source, line.sink), Some(size), Span::ZERO).run(Span::from_secs(600))
}

/// RFC 5681 eq. 2 and 3. Windows of 2 and 4 in slow start; then 8 below the threshold, or 5 with a threshold of 4. The
/// second and third are clocked by acknowledgements: what an acknowledgement lets go is sent at once.
/// 14 segments: the third window's 8 leave two at a time for 4 ms from its start on, done after 8 ms of sending. With
/// the threshold, 2 + 4 + 5 leaves three for the fourth window.
#[test]
fn the_initial_threshold_ends_slow_start() {
    let slow_start = Profile { initial_window: 2, ..profile() };
    let expected = handshake() + round_trip() * 2 + FULL_TIME * 8 + DELAY;
    assert_eq!(run(slow_start.clone(), segments(14)).fct(0), expected);
    let threshold = Profile { initial_ssthresh: Some(Bytes::new(segments(4))), ..slow_start };
    let expected = handshake() + round_trip() * 3 + FULL_TIME * 3 + DELAY;
    assert_eq!(run(threshold, segments(14)).fct(0), expected);
}

/// W bytes per round trip: 20 segments every 20 ms and more on a link that could carry a segment every microsecond.
#[test]
fn the_receive_window_bounds_the_rate_to_a_window_a_round_trip() {
    let rate = Rate::from_bps(FULL * 8 * 1_000_000);
    let line = line(&[Wire { rate, delay: Span::from_millis(10), ..plain() }]);
    let window = 20;
    let profile = Profile { initial_window: 100, receive_window: Bytes::new(segments(window)), ..profile() };
    let outcome =
        Setup::new(&line.net, profile).flow((line.source, line.sink), None, Span::ZERO).run(Span::from_secs(10));
    let round_trip = Span::from_millis(20) + transmission(rate, FULL + EMPTY);
    let expected = segments(window) as f64 / round_trip.as_secs_f64();
    // of 500 round trips one is the handshake and one is cut off
    assert_near("bytes per second", outcome.ends[0].delivered as f64 / 10.0, expected, 2.0 / 500.0);
}

/// RFC 9293 §3.8.6.2.1: a segment goes if it is full or all that is left, so a window of 2.5 segments is used in twos;
/// and if nothing is outstanding (rule 3), so that a window of less than a segment is used, too.
#[test]
fn windows_of_no_whole_number_of_segments_are_used() {
    let mss = segments(1);
    let take = |window: u64, size: u64| run(Profile { receive_window: Bytes::new(window), ..profile() }, size).fct(0);
    assert_eq!(take(mss * 5 / 2, segments(6)), take(mss * 2, segments(6)));
    // three of half a segment, two round trips between them
    let half = transmission(super::path::RATE, FULL - mss / 2);
    let round_trip = round_trip() - FULL_TIME + half;
    assert_eq!(take(mss / 2, mss / 2 * 3), handshake() + round_trip * 2 + half + DELAY);
}

/// RFC 5681 §4.2: an acknowledgement for every second segment, and within the time-out (40 ms here). A window of one
/// makes the first segment wait for it; the two that follow are acknowledged together.
#[test]
fn a_lone_segment_is_acknowledged_after_the_delay() {
    let one = Profile { initial_window: 1, delayed_ack: delayed(), ..profile() };
    let undelayed = handshake() + round_trip() + FULL_TIME * 2 + DELAY;
    assert_eq!(run(one.clone(), segments(3)).fct(0), undelayed + Span::from_millis(40));
    // at once for the first few, as Linux does
    let quick = Profile { delayed_ack: DelayedAck { quick: 1, ..delayed() }, ..one };
    assert_eq!(run(quick.clone(), segments(3)).fct(0), undelayed);
    // FIN is not delayed, so one segment takes one and a half round trips; and it closes at once
    assert_eq!(run(quick, segments(1)).fct(0), handshake() + FULL_TIME + DELAY);
}

/// With an acknowledgement for every second segment half as many come back: SYN-ACK and 50 of 100 segments.
#[test]
fn delayed_acknowledgements_halve_their_number() {
    let line = line(&[plain()]);
    let back = line.links[0].reverse();
    for (delayed_ack, expected) in [(delayed(), 51), (DelayedAck { packets: 1, ..delayed() }, 101)] {
        let outcome = Setup::new(&line.net, Profile { delayed_ack, ..profile() })
            .flow((line.source, line.sink), Some(segments(100)), Span::ZERO)
            .run(Span::from_secs(10));
        assert_eq!(outcome.port(back).accepted.frames, expected);
    }
}

/// RFC 5681 §4.1: after more than a time-out of silence there is no window to trust. Nothing can fall silent here but
/// between flows, which have windows of their own: a second flow starts as the first did.
#[test]
fn a_second_flow_starts_from_its_own_initial_window() {
    let line = line(&[plain()]);
    let pair = (line.source, line.sink);
    let outcome = Setup::new(&line.net, Profile { initial_window: 2, ..profile() })
        .flow(pair, Some(segments(14)), Span::ZERO)
        .flow(pair, Some(segments(14)), Span::from_secs(1))
        .run(Span::from_secs(10));
    assert_eq!(outcome.fct(0), outcome.fct(1));
}
