//! What queues other than drop-tail do to TCP.

use headway_fabric::{CodelLaw, CodelSpec, DrrSpec, Limit, QueueSpec, Wire};
use headway_transport::{SampleKind, SampleOf};
use headway_units::{Rate, Span};

use crate::common::{FULL, MSS, Setup, assert_near, dumbbell, profile, wire};

const WARMUP: Span = Span::from_secs(10);
const SPAN: Span = Span::from_secs(70);

/// Fair queueing takes the round trip out of the shares (Shreedhar & Varghese 1996): a flow that keeps its queue
/// filled gets its turns. It does if its queue holds a window's worth at half of the rate, 50 Mb/s · 40 ms = 164
/// frames for the longer one, and each of two has up to half of 400. Under drop-tail the shorter would get the ratio
/// of round trips, 8.4 to 40 ms, or more.
#[test]
fn under_fair_queueing_round_trips_do_not_matter() {
    let rate = Rate::from_mbps(100);
    let access = [200, 16_000].map(|micros| wire(Rate::from_gbps(1), Span::from_micros(micros)));
    let queue = QueueSpec::Drr(DrrSpec { limit: Some(Limit::Packets(400)), queues: 1024, quantum: 1518 });
    let net = dumbbell(&access, Wire { queue, ..wire(rate, Span::from_millis(4)) });
    let outcome = Setup::new(&net.net, profile())
        .flow(net.pairs[0], None, Span::ZERO)
        .flow(net.pairs[1], None, Span::ZERO)
        .sample(Span::from_millis(100), &[SampleKind::Goodput])
        .run(SPAN);
    let half = rate.bps() as f64 / 2.0 * f64::from(MSS) / FULL as f64;
    for id in [0, 1] {
        assert_near(&format!("flow {id}"), outcome.goodput(id, WARMUP), half, 0.03);
    }
    assert!(outcome.port(net.bottleneck).evicted.frames > 0, "the buffer has been full");
}

/// CoDel with one flow, 20 Mb/s and 40 ms (RFC 8289's usual case): the window grows by a frame, 0.6 ms, per round
/// trip. The wait passes the target of 5 ms, is above it for 100 ms, about two and a half round trips, then a frame is
/// dropped and a round trip later the window halves: it waits for 8 ms at most, where a FIFO would fill. Windows go
/// from (40 + 8)/2 = 24 ms of the rate to 48: for two thirds of the time the line is at 24 … 40 ms' worth of 40, so at
/// 0.8, and else it is full: 0.87. A drop or two more at a time make that 0.8.
#[test]
fn codel_keeps_the_wait_of_a_flow_short() {
    let rate = Rate::from_mbps(20);
    let law = CodelLaw { target: Span::from_millis(5), interval: Span::from_millis(100), ecn: false, mark: None };
    let queue = QueueSpec::Codel(CodelSpec { limit: Some(Limit::Packets(1000)), law });
    let net = dumbbell(&[wire(Rate::from_gbps(1), Span::ZERO)], Wire { queue, ..wire(rate, Span::from_millis(20)) });
    let outcome = Setup::new(&net.net, profile())
        .flow(net.pairs[0], None, Span::ZERO)
        .sample(Span::from_millis(10), &[SampleKind::Goodput, SampleKind::Rtt])
        .run(SPAN);
    let longest = outcome
        .series(SampleKind::Rtt, SampleOf::Subflow(0, 0, 0), WARMUP)
        .iter()
        .fold(0.0, |longest: f64, &(_, rtt)| longest.max(rtt));
    // beside the wait, 40 ms and the frame's own transmission
    assert!((0.045..0.050).contains(&longest), "{longest} s");
    let share = outcome.goodput(0, WARMUP) / (rate.bps() as f64 * f64::from(MSS) / FULL as f64);
    assert!((0.8..0.9).contains(&share), "{share} of the line");
}
