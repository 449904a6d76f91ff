//! Time-outs leave a window that still has to do with the path.

use headway_fabric::{Limit, Wire};
use headway_transport::{Profile, Recovery, SampleKind};
use headway_units::{Rate, Span};

use crate::common::{FULL, MSS, Setup, assert_near, limited, line, lossy, profile, wire};

/// A link of 100 Mb/s and 8.4 ms (P = 68 segments) with B = 100 segments of buffer and one frame in 10,000 damaged
/// before it. That is 0.8 losses per second; a window that is halved at P + B = 168 or below it, down to P, leaves the link
/// busy, and one halved further grows back at a segment per round trip of 8.4 ms: at most 34 segments, 0.3 s, idle by a
/// quarter on average. Even if every loss cost that much, 0.8 · 0.3 s · 1/4 = 6 % would be lost: at least 94 % remain.
#[test]
fn rare_losses_leave_a_buffered_link_busy() {
    for recovery in [Recovery::Sack, Recovery::NEW_RENO] {
        let access = wire(Rate::from_gbps(1), Span::from_micros(100));
        let link = limited(wire(Rate::from_mbps(100), Span::from_millis(4)), Limit::Packets(100));
        for seed in 1..=4 {
            let line = line(&[lossy(access, 1e-4), link, Wire { delay: Span::ZERO, ..access }]);
            let outcome = Setup::new(&line.net, Profile { recovery, ..profile() })
                .flow((line.source, line.sink), None, Span::ZERO)
                .seed(seed)
                .sample(Span::from_millis(100), &[SampleKind::Goodput])
                .run(Span::from_secs(65));
            let share = outcome.goodput(0, Span::from_secs(5)) / (1e8 * f64::from(MSS) / FULL as f64);
            assert_near(&format!("{recovery:?}, seed {seed}"), share, 0.97, 0.03);
        }
    }
}
