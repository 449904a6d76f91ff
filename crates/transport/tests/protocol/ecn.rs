//! Explicit congestion notification (RFC 3168 §6.1).

use headway_fabric::Limit;
use headway_transport::{Profile, Recovery, SampleKind, SampleOf};
use headway_units::{Bytes, Span};

use super::path::{plain, round_trip, segments};
use crate::common::{Line, Outcome, Setup, limited, line, marking, profile};

/// Marks what finds more than five packets and drops what finds fifty.
fn marking_line() -> Line {
    line(&[limited(marking(plain(), Limit::Packets(5)), Limit::Packets(50))])
}

fn ecn(recovery: Recovery) -> Profile {
    // twenty segments and no slow start: nine more than the path of eleven holds
    Profile { ecn: true, recovery, initial_window: 20, initial_ssthresh: Some(Bytes::new(segments(20))), ..profile() }
}

fn run(profile: Profile, size: u64) -> Outcome {
    let line = marking_line();
    Setup::new(&line.net, profile)
        .flow((line.source, line.sink), Some(segments(size)), Span::ZERO)
        .sample(Span::from_micros(500), &[SampleKind::Cwnd])
        .run(Span::from_secs(100))
}

fn series(outcome: &Outcome) -> Vec<(f64, f64)> {
    let series = outcome.series(SampleKind::Cwnd, SampleOf::Subflow(0, 0, 0), Span::ZERO);
    series.iter().map(|&(time, bytes)| (time, bytes / segments(1) as f64)).collect()
}

/// With ECN the window follows the marks and nothing is dropped; without it the same path fills its queue, unmarked.
#[test]
fn marks_replace_drops() {
    let with = run(ecn(Recovery::Sack), 3000);
    assert_eq!((with.totals.drops, with.ends[0].retransmissions, with.ends[0].timeouts), (0, 0, 0));
    assert!(with.totals.marks > 0 && with.ends[0].marks > 0);
    let without = run(Profile { ecn: false, ..ecn(Recovery::Sack) }, 3000);
    assert_eq!((without.totals.marks, without.ends[0].marks), (0, 0));
    assert!(without.totals.drops > 0 && without.ends[0].retransmissions > 0);
}

/// RFC 3168 §6.1.2: "TCP should not react to congestion indications more than once every window of data", and "halves the
/// congestion window" then: all of it, also what the echoing acknowledgement acknowledges.
#[test]
fn a_window_of_marks_halves_the_window_once() {
    for recovery in [Recovery::NEW_RENO, Recovery::Sack] {
        let outcome = run(ecn(recovery), 3000);
        let series = series(&outcome);
        let mut last = f64::NEG_INFINITY;
        let mut falls = 0;
        for pair in series.windows(2) {
            let ((_, before), (time, after)) = (pair[0], pair[1]);
            if after < before {
                // whole bytes
                assert!(after >= before / 2.0 - 1.0 / 1460.0, "{before} to {after}");
                assert!(time - last >= round_trip().as_secs_f64(), "twice within a round trip");
                (last, falls) = (time, falls + 1);
            }
        }
        assert!(falls > 5, "{falls}");
        let first = series.iter().position(|&(_, window)| window != 20.0).expect("it moves");
        assert_eq!(series[first].1, 10.0);
    }
}

/// RFC 3168 §6.1.3: echoes end when CWR arrives. Of the first twenty six find five or fewer before them and are not
/// marked; their acknowledgements let six go that find nine: twenty marks. Then the first echo halves the window, so that
/// the next segment to go, with CWR, follows the last of those marked: its acknowledgement is the first without echo.
#[test]
fn echoes_end_with_the_reduction() {
    let outcome = run(ecn(Recovery::Sack), 70);
    assert_eq!((outcome.totals.marks, outcome.ends[0].marks), (20, 20));
}
