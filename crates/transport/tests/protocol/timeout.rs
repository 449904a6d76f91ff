//! The retransmission timer (RFC 6298), on a path that lets everything but data through.

use headway_transport::{Profile, Recovery};
use headway_units::Span;

use super::path::{DELAY, black_hole, handshake, segments};
use crate::common::{Setup, line, profile};

const BOTH: [Recovery; 2] = [Recovery::NEW_RENO, Recovery::Sack];

/// Runs ten segments until `until` after the handshake; returns time-outs and frames dropped.
fn dropped(profile: &Profile, wire: headway_fabric::Wire, until: Span) -> (u32, u64) {
    let line = line(&[wire]);
    let outcome = Setup::new(&line.net, profile.clone())
        .flow((line.source, line.sink), Some(segments(10)), Span::ZERO)
        .run(until);
    assert_eq!(outcome.ends[0].end, None);
    (outcome.ends[0].timeouts, outcome.port(line.links[0]).dropped.frames)
}

/// The round trip of 10 ms gives less than the floor of 200 ms; then it doubles (RFC 6298 §5.5): at 0.2, 0.6, 1.4, 3.0,
/// 6.2 s. Each time-out sends one segment (RFC 5681 §3.1, loss window), after the initial window of four.
#[test]
fn time_outs_back_off_and_send_one_segment_each() {
    for recovery in BOTH {
        let profile = Profile { initial_window: 4, recovery, ..profile() };
        for (n, at_ms) in [(1u32, 200), (2, 600), (3, 1400), (4, 3000), (5, 6200)] {
            let at = handshake() + Span::from_millis(at_ms);
            let before = dropped(&profile, black_hole(), at - Span::from_picos(1));
            assert_eq!(before, (n - 1, u64::from(n) + 3), "before {at_ms} ms");
            assert_eq!(dropped(&profile, black_hole(), at), (n, u64::from(n) + 4), "at {at_ms} ms");
        }
    }
}

/// RFC 6298 §2.2: after the first measurement R, RTO = R + 4·R/2; here R is the handshake's 100 ms and more.
#[test]
fn the_first_time_out_is_three_times_the_handshake() {
    let wire = headway_fabric::Wire { delay: DELAY * 10, ..black_hole() };
    let handshake = handshake() - DELAY * 2 + DELAY * 20;
    let at = handshake + handshake * 3;
    assert_eq!(dropped(&profile(), wire, at - Span::from_picos(1)), (0, 10));
    assert_eq!(dropped(&profile(), wire, at), (1, 11));
}
