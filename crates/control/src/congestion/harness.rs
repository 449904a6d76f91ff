//! The harness that every congestion control passes: random operation sequences keep the window sane.

use headway_units::{Span, Time};
use proptest::prelude::*;

use super::{Ack, Congestion, Sibling, Window};

#[derive(Debug, Clone)]
enum Op {
    Ack { segments: u64, rtt_us: u64 },
    Loss,
    Timeout,
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        20 => (1u64..20, 1u64..500_000).prop_map(|(segments, rtt_us)| Op::Ack { segments, rtt_us }),
        1 => Just(Op::Loss),
        1 => Just(Op::Timeout),
    ]
}

proptest! {
    /// cwnd stays at least one segment, ssthresh at least two; an ACK never shrinks the window nor grows it by more
    /// than what it acknowledged; loss never grows it; a time-out leaves one segment.
    #[test]
    fn windows_stay_bounded(ops in prop::collection::vec(op(), 1..300), mss in 100u32..9000, iw in 1u32..100) {
        for name in Congestion::NAMES {
            let mut control = Congestion::by_name(name).unwrap();
            prop_assert_eq!(control.name(), *name);
            let mut window = Window::initial(iw, mss);
            let mut now = Time::ZERO;
            let mss = u64::from(mss);
            for op in &ops {
                let before = window;
                match *op {
                    Op::Ack { segments, rtt_us } => {
                        now += Span::from_micros(rtt_us);
                        let acked = segments.min(window.cwnd / mss).max(1) * mss;
                        let srtt = Span::from_micros(rtt_us);
                        let siblings = [
                            Sibling { cwnd: window.cwnd, srtt },
                            Sibling { cwnd: 3 * mss, srtt: Span::from_micros(700) },
                        ];
                        let siblings = if control.is_coupled() { &siblings[..] } else { &[] };
                        control.on_ack(&Ack { now, acked, srtt: Some(srtt), siblings }, &mut window);
                        prop_assert!(window.cwnd >= before.cwnd, "{}: an ACK shrank {:?}", name, before);
                        prop_assert!(window.cwnd <= before.cwnd + acked, "{}: {:?} grew by over {}", name, before, acked);
                        prop_assert_eq!(window.ssthresh, before.ssthresh);
                    }
                    Op::Loss => {
                        control.on_loss(now, window.cwnd, &mut window);
                        prop_assert!(window.cwnd <= before.cwnd.max(2 * mss));
                        prop_assert!(window.ssthresh >= 2 * mss);
                    }
                    Op::Timeout => {
                        control.on_timeout(now, window.cwnd, &mut window);
                        prop_assert_eq!(window.cwnd, mss);
                        prop_assert!(window.ssthresh >= 2 * mss);
                    }
                }
                prop_assert!(window.cwnd >= mss);
            }
        }
    }
}

#[test]
fn an_unknown_name_lists_the_known_ones() {
    let error = Congestion::by_name("renoo").unwrap_err().to_string();
    assert!(error.contains("renoo") && error.contains("new-reno") && error.contains("lia"), "{error}");
}
