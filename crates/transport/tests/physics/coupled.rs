//! OLIA and BALIA beside LIA, by the goals of RFC 6356 §1 and their own fixed points.
//!
//! OLIA (Khalili, Gast, Popovic, Le Boudec, CoNEXT 2012) and BALIA (Peng, Walid, Hwang, Low, ToN 2016) balance, like LIA,
//! where their windows' sum is a TCP's on the best path; they differ in how they divide it (see the control's own
//! tests). As in `coupling` the sum is up to 10 % more where windows fluctuate.

use headway_fabric::{Limit, QueueSpec, RedSpec, Wire};
use headway_transport::{Profile, SampleKind};
use headway_units::{Bytes, Rate, Span};

use super::coupling::{in_flows, on_paths, shared};
use super::traffic::background;
use crate::common::{MSS, Setup, assert_near, lossy, multipath, parallel, profile, wire};

/// Goal 2 at a queue: beside three TCP flows at 20 Mb/s and 40 ms two subflows are worth one. Not linked they are worth
/// two. The analysis has every packet lost with the same probability, which RED comes near; at a drop-tail queue, where
/// packets that acknowledgements clock out find room and those that growth adds do not, flows that grow slowly
/// lose less. Tolerance 25 %: 10 for the fluctuation, and 15 for chance: five minutes have some 100 losses of a flow, whose
/// share has a standard error of 0.55/√100 = 6 %, the mean of three others 3 %.
#[test]
fn at_a_shared_queue_two_coupled_subflows_are_one_flow() {
    let rate = Rate::from_mbps(20);
    let (access, span) = (wire(Rate::from_gbps(1), Span::from_micros(100)), Span::from_secs(305));
    let red = RedSpec {
        limit: Some(Limit::Packets(200)),
        min: Limit::Packets(15),
        max: Limit::Packets(60),
        probability: 0.02,
        weight: 0.002,
        packet: Bytes::new(1518),
        gentle: true,
        ecn: false,
        hard_drop: false,
    };
    for (control, expected) in [("lia", 1.0), ("olia", 1.0), ("balia", 1.0), ("new-reno", 2.0)] {
        let link = Wire { queue: QueueSpec::Red(red), ..wire(rate, Span::from_millis(20)) };
        let (setup, rest) = shared(control, 3, access, link);
        let got = in_flows(&background(setup, rest, rate, 0.2, span).run(span), 3);
        println!("{control}: {got}");
        assert_near(control, got, expected, 0.25);
    }
}

/// Goals 1 and 2 on two paths with losses p and 4p and equal round trips: the sum is TCP's window on the better path. Of
/// it the worse path has 1/5 under LIA, 1/(1 + 5.39) under BALIA, under OLIA nothing but what chance
/// makes of it (a path looks better for a while if it happens to lose nothing), so less than under BALIA. Tolerance 18 %: 10 for the fluctuation, and two standard errors of the ratio to
/// a TCP flow with 800 losses, each 2 to 3 %; shares of the worse path's windows of 6 to 9 whole segments: a quarter.
#[test]
fn on_two_paths_coupled_subflows_have_the_best_tcp() {
    let link = |p| lossy(wire(Rate::from_gbps(100), Span::from_millis(5)), p);
    for (control, share) in [("lia", Some(0.2)), ("balia", Some(1.0 / 6.39)), ("olia", None)] {
        let net = parallel(wire(Rate::from_gbps(100), Span::ZERO), &[(link(1e-3), 1), (link(4e-3), 1)]);
        let start = Some(Bytes::new(20 * u64::from(MSS)));
        let outcome = Setup::new(&net.net, Profile { initial_ssthresh: start, ..profile() })
            .profile(Profile { initial_ssthresh: start, ..multipath(control, 2) })
            .sample(Span::from_secs(1), &[SampleKind::Goodput])
            .flow_of(1, net.multi, None, Span::ZERO)
            .flow(net.single[0][0], None, Span::ZERO)
            .flow(net.single[1][0], None, Span::ZERO)
            .run(Span::from_secs(200));
        let tcp = [1, 2].map(|id| outcome.goodput(id, Span::ZERO));
        let own = on_paths(&outcome, &net.bottlenecks, &tcp);
        let sum = own[0] + own[1];
        println!("{control}: {} of the best TCP, {} of it on the worse path", sum / tcp[0], own[1] / sum);
        assert_near(control, sum / tcp[0], 1.0, 0.18);
        match share {
            Some(share) => assert_near(&format!("{control}, worse path"), own[1] / sum, share, 0.25),
            None => assert!(own[1] / sum < 1.0 / 6.39, "{control}: {}", own[1] / sum),
        }
    }
}
