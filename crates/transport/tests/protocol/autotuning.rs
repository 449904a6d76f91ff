//! The receive window that follows the data (`net/ipv4/tcp_input.c: tcp_rcv_space_adjust`): made so that it is no limit
//! to a sender, be it in slow start or on several paths, up to the largest.

use headway_fabric::Wire;
use headway_transport::Profile;
use headway_units::{Bytes, Rate, Span};

use super::path::{cables, plain};
use crate::common::{MSS, Setup, multipath};

/// The largest window, more than any path here holds.
const LARGEST: u64 = 16_000_000;

fn wire(delay_ms: u64) -> Wire {
    Wire { rate: Rate::from_mbps(500), delay: Span::from_millis(delay_ms), ..plain() }
}

fn linux(autotuned: bool) -> Profile {
    let linux = Profile { mss: MSS, receive_window: Bytes::new(LARGEST), send_buffer: None, ..Profile::linux() };
    if autotuned { linux } else { Profile { autotuning: None, ..linux } }
}

/// How long 50 MB take over one cable for each wire.
fn take(profile: Profile, wires: &[Wire]) -> f64 {
    let (net, pair, _) = cables(wires);
    let outcome = Setup::new(&net, profile).flow(pair, Some(50_000_000), Span::ZERO).run(Span::from_secs(100));
    assert_eq!(outcome.ends[0].delivered, 50_000_000);
    outcome.fct(0).as_secs_f64()
}

/// 40 ms at 500 Mbit/s are 2.5 MB. The window is a round trip ahead of slow start.
#[test]
fn the_window_is_no_limit_to_slow_start() {
    let (fixed, tuned) = (take(linux(false), &[wire(20)]), take(linux(true), &[wire(20)]));
    assert!((0.98..=1.02).contains(&(tuned / fixed)), "{tuned} s, with all of the window {fixed} s");
}

/// The window is the connection's: two paths, the data of one of which waits for the other's, are as fast as with all of
/// it from the start.
#[test]
fn the_window_is_no_limit_to_several_paths() {
    for delays in [[20, 20], [5, 40]] {
        let wires = delays.map(wire);
        let two = |tuned| take(Profile { control: lia().control, multipath: lia().multipath, ..linux(tuned) }, &wires);
        let (fixed, tuned) = (two(false), two(true));
        assert!(tuned / fixed < 1.1, "{delays:?}: {tuned} s, with all of the window {fixed} s");
    }
}

fn lia() -> Profile {
    multipath("lia", 2)
}
