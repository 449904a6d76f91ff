//! Every size arrives to the byte; what has no end does not end.

use headway_transport::{Profile, Recovery};
use headway_units::{Bytes, Span};

use super::path::{DELAY, empty_time, plain, segments};
use crate::common::{Setup, line, multipath, profile};

/// RFC 9293 §3.6: FIN takes a sequence number of its own, so that it arrives and is acknowledged without data, too.
#[test]
fn a_flow_of_no_bytes_is_syn_and_fin() {
    for profile in [profile(), multipath("lia", 2)] {
        let line = line(&[plain()]);
        let outcome =
            Setup::new(&line.net, profile).flow((line.source, line.sink), Some(0), Span::ZERO).run(Span::from_secs(10));
        assert_eq!(outcome.fct(0), (DELAY + empty_time()) * 3);
        assert_eq!(outcome.ends[0].delivered, 0);
        assert_eq!(outcome.port(line.links[0]).accepted.frames, 2, "SYN, FIN");
        assert_eq!(outcome.port(line.links[0].reverse()).accepted.frames, 2, "SYN-ACK, ACK");
    }
}

#[test]
fn sizes_around_a_segment_arrive_to_the_byte_without_a_retransmission() {
    for profile in [profile(), Profile { recovery: Recovery::NEW_RENO, ..profile() }, multipath("lia", 2)] {
        let line = line(&[plain()]);
        let mut setup = Setup::new(&line.net, profile);
        let sizes = [0, 1, 2, segments(1) - 1, segments(1), segments(1) + 1, segments(10), segments(10) + 1, 123_456];
        for size in sizes {
            setup = setup.flow((line.source, line.sink), Some(size), Span::ZERO);
        }
        let outcome = setup.run(Span::from_secs(10));
        for (end, size) in outcome.ends.iter().zip(sizes) {
            assert!(end.end.is_some(), "{end:?}");
            assert_eq!((end.delivered, end.retransmissions, end.timeouts), (size, 0, 0));
        }
    }
}

#[test]
fn a_flow_without_end_never_ends_and_keeps_the_link_busy() {
    for profile in [profile(), multipath("lia", 2)] {
        let line = line(&[plain()]);
        let window = Bytes::new(segments(100));
        let outcome = Setup::new(&line.net, Profile { receive_window: window, ..profile })
            .flow((line.source, line.sink), None, Span::ZERO)
            .run(Span::from_secs(10));
        assert_eq!(outcome.ends[0].end, None);
        // a segment per millisecond but for the first few round trips of 11 ms
        assert!(outcome.ends[0].delivered > segments(9_900), "{}", outcome.ends[0].delivered);
    }
}
