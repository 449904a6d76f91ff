//! Fast retransmit, limited transmit and the two recoveries (RFC 5681 §3.2, RFC 3042, RFC 6582, RFC 6675).
//!
//! Losses are made by a burst that meets a queue too short for its tail; everything after it is clocked by
//! acknowledgements and finds the queue empty.

use headway_transport::{Profile, Recovery, SampleKind, SampleOf};
use headway_units::{Bytes, Span};

use super::path::{DELAY, FULL_TIME, RATE, empty_time, handshake, round_trip, segments, short_queue};
use crate::common::{EMPTY, Outcome, Setup, profile, transmission};

const BOTH: [Recovery; 2] = [Recovery::NEW_RENO, Recovery::Sack];

/// A flow of `size` segments over a queue of `queue`; its window is sampled every millisecond.
fn run(profile: &Profile, queue: u32, size: u64) -> Outcome {
    let line = short_queue(queue);
    Setup::new(&line.net, profile.clone())
        .flow((line.source, line.sink), Some(segments(size)), Span::ZERO)
        .sample(Span::from_millis(1), &[SampleKind::Cwnd])
        .run(Span::from_secs(100))
}

/// The initial window is `window` and slow start is over.
fn avoiding(window: u32, recovery: Recovery) -> Profile {
    Profile {
        initial_window: window,
        initial_ssthresh: Some(Bytes::new(segments(u64::from(window)))),
        recovery,
        ..profile()
    }
}

/// The windows seen, in segments, without repetitions.
fn windows(outcome: &Outcome) -> Vec<f64> {
    let series = outcome.series(SampleKind::Cwnd, SampleOf::Subflow(0, 0, 0), Span::ZERO);
    let mut values: Vec<f64> = series.iter().map(|&(_, bytes)| bytes / segments(1) as f64).collect();
    values.dedup();
    values
}

/// What one selective acknowledgement block adds to the time of its frame: 58 + 12 (RFC 2018 §3, two of padding) instead
/// of Ethernet's least, 64.
fn report(recovery: Recovery) -> Span {
    match recovery {
        Recovery::NewReno { .. } => Span::ZERO,
        Recovery::Sack | Recovery::Linux(_) => transmission(RATE, EMPTY + 6) - empty_time(),
    }
}

/// RFC 5681 §3.2: three duplicate acknowledgements, no fewer. Six leave at once, the sixth is dropped; the first two
/// acknowledgements let four more go, of which there are two or three. The last one carries FIN, which is reported
/// like any other octet (RFC 2018 §3: sequence numbers).
#[test]
fn three_duplicate_acknowledgements_are_a_loss_and_two_are_not() {
    for recovery in BOTH {
        let profile = Profile { initial_window: 6, recovery, ..profile() };
        let outcome = run(&profile, 5, 9);
        let end = &outcome.ends[0];
        assert_eq!((end.retransmissions, end.timeouts), (1, 0), "{recovery:?}");
        // The ninth leaves the queue 3 ms after the first acknowledgement; what it tells comes back 1 round trip less
        // its own sending later; then the sixth is retransmitted.
        let expected = handshake() + round_trip() + FULL_TIME * 2 + round_trip() + FULL_TIME + DELAY;
        assert_eq!(outcome.fct(0), expected + report(recovery), "{recovery:?}");

        let outcome = run(&profile, 5, 8);
        let end = &outcome.ends[0];
        assert_eq!((end.retransmissions, end.timeouts), (1, 1), "{recovery:?}");
        assert!(outcome.fct(0) > Span::from_millis(200), "{recovery:?}");
    }
}

/// RFC 3042: a window of three whose last segment is lost gives two duplicate acknowledgements. Each lets a segment go,
/// which makes the third.
#[test]
fn limited_transmit_saves_a_time_out_for_a_window_of_three() {
    for recovery in BOTH {
        let with = run(&avoiding(3, recovery), 2, 20);
        assert_eq!((with.ends[0].retransmissions, with.ends[0].timeouts), (1, 0), "{recovery:?}");
        let without = run(&Profile { limited_transmit: false, ..avoiding(3, recovery) }, 2, 20);
        assert_eq!((without.ends[0].retransmissions, without.ends[0].timeouts), (1, 1), "{recovery:?}");
        assert!(without.fct(0) > with.fct(0) + Span::from_millis(150), "{recovery:?}");
    }
}

/// Ten of a window of twenty are lost; ten more follow, one for each that arrived. NewReno sends the first again at the
/// third duplicate and one more per partial acknowledgement, that is per round trip (RFC 6582 §3.2 step 3); with SACK,
/// pipe is 20 - 3 - 10 = 7 of a window of 10 then, so that three go at once and one for each further duplicate
/// (RFC 6675 §5 step C). Once the first two are acknowledged and nothing else is left to send, `NextSeg` rule 4 sends
/// the highest octet not acknowledged once more.
#[test]
fn new_reno_repairs_one_segment_a_round_trip_and_sack_all_in_one() {
    // The third duplicate: 2 ms after the first acknowledgement the 23rd segment is sent.
    let third = handshake() + round_trip() + FULL_TIME * 2 + round_trip();
    let outcome = run(&avoiding(20, Recovery::NEW_RENO), 10, 30);
    assert_eq!((outcome.ends[0].retransmissions, outcome.ends[0].timeouts), (10, 0));
    assert_eq!(outcome.fct(0), third + round_trip() * 9 + FULL_TIME + DELAY);

    let outcome = run(&avoiding(20, Recovery::Sack), 10, 30);
    // three, and then one every millisecond behind them
    assert_eq!(outcome.fct(0), third + FULL_TIME * 10 + DELAY + report(Recovery::Sack));
    assert_eq!(outcome.ends[0].timeouts, 0);
}

/// RFC 5681 §3.2 step 2, RFC 6675 §5 step 4.2: ssthresh is half of FlightSize, of which what limited transmit sent is no
/// part: of ten outstanding (and two beyond), five. One window of data is one congestion event, whatever it lost.
#[test]
fn the_window_is_halved_once_and_without_what_limited_transmit_sent() {
    for recovery in BOTH {
        let outcome = run(&avoiding(10, recovery), 9, 60);
        assert_eq!(outcome.ends[0].timeouts, 0, "{recovery:?}");
        assert_eq!(windows(&outcome)[..3], [10.0, 5.0, 6.0], "{recovery:?}");
    }
    let outcome = run(&avoiding(20, Recovery::Sack), 10, 60);
    assert_eq!(windows(&outcome)[..3], [20.0, 10.0, 11.0]);
}

/// RFC 6675 §5 step 4.3 sets `RescueRxt` to the first retransmission, "to prevent […] a premature rescue retransmission"
/// while nothing says that it was in vain. One loss, then, is one retransmission, however many duplicates follow.
#[test]
fn a_single_loss_is_repaired_by_a_single_retransmission() {
    for recovery in BOTH {
        for after in 3..=9 {
            let outcome = run(&avoiding(10, recovery), 9, 10 + after);
            let end = &outcome.ends[0];
            assert_eq!((end.retransmissions, end.timeouts), (1, 0), "{recovery:?}, {after} segments follow");
        }
    }
}
