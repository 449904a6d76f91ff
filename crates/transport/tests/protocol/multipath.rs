//! Several subflows of one connection (RFC 8684 §3.2, §3.3).

use headway_fabric::Wire;
use headway_transport::{Multipath, Profile, Scheduler};
use headway_units::{Bytes, Span};

use super::path::{black_hole, cables, handshake, plain, round_trip, segments};
use crate::common::{Outcome, Setup, lossy, multipath, profile};

/// The smallest frame: what a segment without data takes in a queue.
const EMPTY_FRAME: u64 = 64;

/// Runs one flow of `size` segments over `wires`; returns the frames and bytes each accepted, too.
fn run(profile: Profile, wires: &[Wire], size: u64) -> (Outcome, Vec<(u64, u64)>) {
    let (net, pair, links) = cables(wires);
    let outcome = Setup::new(&net, profile).flow(pair, Some(segments(size)), Span::ZERO).run(Span::from_secs(100));
    let used = links.iter().map(|&link| (outcome.port(link).accepted.frames, outcome.port(link).accepted.bytes));
    let used = used.collect();
    (outcome, used)
}

fn with(change: impl FnOnce(&mut Multipath)) -> Profile {
    let mut profile = multipath("lia", 2);
    change(profile.multipath.as_mut().expect("just set"));
    profile
}

/// Reordering between paths is no loss: each byte is sent once and delivered once, over both paths. All frames without
/// data are two SYNs, the join's ACK and two FINs.
#[test]
fn paths_of_different_delay_deliver_every_byte_once() {
    for delay_ms in [1, 5, 50, 100] {
        let slow = Wire { delay: Span::from_millis(delay_ms), ..plain() };
        for control in ["new-reno", "lia"] {
            let (outcome, used) = run(multipath(control, 2), &[plain(), slow], 1000);
            let end = &outcome.ends[0];
            assert!(end.end.is_some());
            assert_eq!((end.delivered, end.retransmissions, end.timeouts), (segments(1000), 0, 0));
            assert_eq!((end.subflows, end.interfaces), (2, 0b11));
            assert_eq!(used[0].0 + used[1].0, 1000 + 5, "{delay_ms} ms: {used:?}");
            assert!(used[1].0 > 10, "{delay_ms} ms: {used:?}");
        }
    }
}

/// Two equal paths, each with its own window, are twice as fast once slow start is over.
#[test]
fn two_paths_carry_twice_as_much_as_one() {
    let (two, _) = run(multipath("lia", 2), &[plain(), plain()], 2000);
    let (one, _) = run(multipath("lia", 1), &[plain(), plain()], 2000);
    let ratio = one.fct(0).as_secs_f64() / two.fct(0).as_secs_f64();
    assert!((1.9..=2.0).contains(&ratio), "{ratio}");
}

#[test]
fn the_second_subflow_opens_when_enough_is_acknowledged() {
    let after = with(|m| m.join_after = Bytes::new(segments(10)));
    let (outcome, used) = run(after.clone(), &[plain(), plain()], 10);
    assert_eq!((outcome.ends[0].subflows, used[1].0), (1, 0));
    let (outcome, used) = run(after, &[plain(), plain()], 100);
    assert_eq!(outcome.ends[0].subflows, 2);
    assert!(used[1].0 > 10);
}

/// RFC 8684 §2.5: "a backup path only being used if there are no regular paths available": it takes SYN, the join's ACK,
/// and FIN.
#[test]
fn a_backup_carries_nothing_while_a_regular_subflow_works() {
    let (outcome, used) = run(with(|m| m.backup = vec![1]), &[plain(), plain()], 1000);
    assert_eq!(outcome.ends[0].subflows, 2);
    assert_eq!(used[1], (3, 3 * EMPTY_FRAME));
    // and a first subflow that is one hands over as soon as the second is open: SYN, the first window and what it grew
    // by in the round trip and a half that the join takes, FIN
    let (_, used) = run(with(|m| m.backup = vec![0]), &[plain(), plain()], 1000);
    assert!(used[0].0 <= 1 + 10 + 20 + 20 + 1, "{used:?}");
}

/// RFC 8684 §3.2: the first subflow does not wait for a join that is never answered.
#[test]
fn a_join_that_is_never_answered_costs_nothing() {
    let (alone, _) = run(multipath("lia", 1), &[plain()], 2000);
    let (outcome, used) = run(multipath("lia", 2), &[plain(), lossy(plain(), 1.0)], 2000);
    assert_eq!(outcome.fct(0), alone.fct(0));
    // doubled each time (RFC 6298 §5.5), until the run ends
    assert_eq!(outcome.ends[0].timeouts, 6, "SYN after 1, 3, 7, 15, 31 and 63 seconds");
    assert!(used[1].0 > 1);
}

/// RFC 8684 §3.3.6: "when a subflow fails: the sender will typically resend the data on other working subflows after a
/// timeout and will keep trying to retransmit the data on the failed subflow too".
/// The second path loses all data: its first window of ten waits for the time-out of at least 200 ms; from then on
/// it carries nothing new.
#[test]
fn what_a_dead_path_swallowed_goes_over_the_other_after_one_time_out() {
    for size in [100, 300, 1000] {
        let (alone, _) = run(multipath("lia", 1), &[plain()], size);
        let (outcome, used) = run(multipath("lia", 2), &[plain(), black_hole()], size);
        let latest = alone.fct(0).max(handshake() * 2 + round_trip() + Span::from_millis(200)) + round_trip() * 4;
        assert!(outcome.fct(0) <= latest, "{size}: {} after {}", outcome.fct(0), latest);
        assert_eq!(outcome.ends[0].delivered, segments(size));
        assert_eq!(used[1].1 % EMPTY_FRAME, 0, "no data passed");
    }
}

/// A window of a few segments is shared by both subflows (RFC 8684 §2.4) and must not lock them up.
#[test]
fn a_tiny_shared_window_keeps_moving() {
    for window in [1, 2, 3, 5] {
        let profile = Profile { receive_window: Bytes::new(segments(window)), ..multipath("lia", 2) };
        let slow = Wire { delay: Span::from_millis(50), ..plain() };
        let (outcome, _) = run(profile, &[plain(), slow], 50);
        let end = &outcome.ends[0];
        assert_eq!((end.delivered, end.timeouts), (segments(50), 0), "window of {window}");
        // at worst every window goes over the slow path
        assert!(outcome.fct(0) < Span::from_millis(105) * (50 / window + 3), "window of {window}");
    }
}

/// Linux' program closes when it has written everything, and a connection that is closing opens no subflow: what fits the
/// first send buffer goes over one path, and what is still being written when the join is due over both.
#[test]
fn a_connection_of_linux_that_is_closing_joins_no_more() {
    let linux = |profile: Profile| Profile {
        multipath: Some(Multipath { scheduler: Scheduler::Linux, subflows: Some(2), ..Multipath::default() }),
        mss: profile.mss,
        overhead: profile.overhead,
        ..Profile::linux()
    };
    for (size, subflows) in [(20, 1), (1000, 2)] {
        let (outcome, _) = run(linux(profile()), &[plain(), plain()], size);
        let end = &outcome.ends[0];
        assert_eq!((end.delivered, end.subflows), (segments(size), subflows), "{size} segments");
    }
}
