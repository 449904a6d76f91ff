//! Senders that space what they send.

use headway_transport::{Pacing, Profile, SampleKind, SampleOf};
use headway_units::{Bytes, Rate, Span, Time};

use crate::common::{MSS, OVERHEAD, Setup, assert_near, line, profile, wire};

/// A largest rate counts data without headers, as Linux does: on the wire it is more by headers, preamble and gap. It
/// holds in every millisecond, give or take a segment, once the first ten segments have left as they like.
#[test]
fn a_largest_rate_is_held_without_headers() {
    let most = Rate::from_mbps(50);
    let line = line(&[wire(Rate::from_mbps(100), Span::from_millis(1)); 2]);
    for linux in [false, true] {
        let own = if linux { Profile { mss: MSS, overhead: OVERHEAD, ..Profile::linux() } } else { profile() };
        let own = Profile { pacing: Pacing::Always, max_pacing_rate: Some(most), offload: None, ..own };
        let mut setup = Setup::new(&line.net, Profile { receive_window: Bytes::new(1 << 30), ..own })
            .flow((line.source, line.sink), None, Span::ZERO)
            .sample(Span::from_millis(1), &[SampleKind::Goodput, SampleKind::Arrivals]);
        setup.measure.links = vec![line.links[0]];
        let outcome = setup.run(Span::from_secs(1));
        let name = format!("linux: {linux}");
        assert_near(&name, outcome.goodput(0, Span::from_millis(200)), most.bps() as f64, 0.01);
        let arrivals = |sample: &&headway_transport::Sample| {
            sample.of == SampleOf::Link(line.links[0]) && sample.time > Time::ZERO + Span::from_millis(200)
        };
        let segment = f64::from(MSS + OVERHEAD + 20);
        let expected = most.bps() as f64 / 1e3 / 8.0 / f64::from(MSS) * segment;
        for sample in outcome.samples.iter().filter(arrivals) {
            let bytes = sample.value / 1e3 / 8.0;
            assert!((bytes - expected).abs() <= segment + 1.0, "{name}: {bytes} B in a millisecond, not {expected}");
        }
        assert!(outcome.samples.iter().filter(arrivals).count() == 800, "{name}");
    }
}
