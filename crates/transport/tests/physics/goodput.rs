//! What a flow alone gets from a link, and what its acknowledgements cost.

use headway_transport::{Profile, SampleKind};
use headway_units::{Bytes, Rate, Span};

use crate::common::{FULL, GAP, MSS, OVERHEAD, Setup, assert_near, delayed, line, profile, transmission, wire};

/// On a saturated link goodput is payload / (frame + gap) of the rate: 1460/1538 = 94.9 %, and 8960/9038 = 99.1 % with
/// jumbo frames. The window is two bandwidth–delay products, so slow start ends with the pipe full; what is left
/// is counting whole segments per sample (1 ms: 8 or more at the slowest, of 80 samples) – within 0.1 %.
#[test]
fn a_saturated_link_carries_payload_over_frame_and_gap() {
    for rate in [Rate::from_gbps(1), Rate::from_gbps(10), Rate::from_gbps(3)] {
        for mss in [1460u32, 8960] {
            let delay = Span::from_micros(100);
            let line = line(&[wire(rate, delay); 2]);
            let window = rate.bytes_in(delay * 4).get() * 2 + 20 * u64::from(mss);
            let profile = Profile { mss, receive_window: Bytes::new(window), delayed_ack: delayed(), ..profile() };
            let outcome = Setup::new(&line.net, profile)
                .flow((line.source, line.sink), None, Span::ZERO)
                .sample(Span::from_millis(1), &[SampleKind::Goodput])
                .run(Span::from_millis(100));
            let share = f64::from(mss) / (f64::from(mss + OVERHEAD) + GAP as f64);
            let expected = rate.bps() as f64 * share;
            assert_near(
                &format!("goodput at {rate}, {mss} B"),
                outcome.goodput(0, Span::from_millis(20)),
                expected,
                0.001,
            );
            assert_eq!(outcome.ends[0].retransmissions, 0);
        }
    }
}

/// A window W below the bandwidth–delay product gives W per round trip (RFC 9293 §3.8.6; the round trip is that of the
/// segment that opens the window again). Whole segments: ⌊W/MSS⌋ of them. Tolerance: one window of the 800 in the run.
#[test]
fn a_small_window_gives_a_window_per_round_trip() {
    let (rate, delay) = (Rate::from_gbps(10), Span::from_micros(250));
    let line = line(&[wire(rate, delay); 2]);
    let round_trip = (transmission(rate, FULL) + transmission(rate, 84) + delay * 2) * 2;
    for window in [4_096u64, 65_536, 262_144] {
        let profile = Profile { receive_window: Bytes::new(window), ..profile() };
        let outcome = Setup::new(&line.net, profile)
            .flow((line.source, line.sink), None, Span::ZERO)
            .sample(Span::from_millis(100), &[SampleKind::Goodput])
            .run(Span::from_millis(900));
        let segments = window / u64::from(MSS);
        let expected = (segments * u64::from(MSS) * 8) as f64 / round_trip.as_secs_f64();
        let got = outcome.goodput(0, Span::from_millis(100));
        assert_near(&format!("goodput with {window} B"), got, expected, 1.0 / 800.0);
    }
}

/// RFC 5681 §4.2: an acknowledgement for every second segment. A flow of n segments in order is acknowledged by exactly
/// ⌈n/2⌉ frames, since its FIN is acknowledged at once; the time-out of 40 ms never fires, because the next
/// segment is less than a round trip (0.4 ms) away. With the SYN-ACK that is ⌈n/2⌉ + 1 frames back. Without delay
/// there is one for each: n + 1. Forth go SYN and n segments.
#[test]
fn delayed_acknowledgements_halve_the_frames_back() {
    let wires = [wire(Rate::from_gbps(10), Span::from_micros(100)); 2];
    let line = line(&wires);
    for segments in [2u64, 10, 1_001, 20_000] {
        for (delayed_ack, back) in [(delayed(), segments.div_ceil(2) + 1), (profile().delayed_ack, segments + 1)] {
            let profile = Profile { delayed_ack, receive_window: Bytes::new(1 << 20), ..profile() };
            let outcome = Setup::new(&line.net, profile)
                .flow((line.source, line.sink), Some(segments * u64::from(MSS)), Span::ZERO)
                .run(Span::from_secs(1));
            assert!(outcome.ends[0].end.is_some());
            for &link in &line.links {
                let counts = (outcome.port(link).delivered.frames, outcome.port(link.reverse()).delivered.frames);
                assert_eq!(counts, (segments + 1, back), "{segments} segments, {delayed_ack:?}");
            }
        }
    }
}
