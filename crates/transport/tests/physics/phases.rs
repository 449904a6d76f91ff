//! Phase effects: Floyd and Jacobson, *On Traffic Phase Effects in Packet-Switched Gateways*, Internetworking: Research and
//! Experience 3(3), 1992: two flows over a drop-tail queue, the round trip of one of them a little longer (§3), and random
//! processing times at hosts, up to a packet's at the bottleneck, as the remedy (§5).

use headway_fabric::Limit;
use headway_transport::SampleKind;
use headway_units::{Rate, Span, Time};

use crate::common::{FULL, Setup, dumbbell, limited, profile, transmission, wire};

const RATE: Rate = Rate::from_mbps(10);
const SPAN: Span = Span::from_secs(240);

/// Goodput of the second flow over that of the first, for each of eight parts of a packet's time at the bottleneck by which
/// its way is longer; hosts process for up to `most`.
fn ratios(most: Option<Span>) -> Vec<f64> {
    let packet = transmission(RATE, FULL);
    let ratio = |part: u64| {
        let access = [Span::from_millis(5), Span::from_millis(5) + packet * part / 8];
        let access = access.map(|delay| wire(Rate::from_mbps(80), delay));
        let net = dumbbell(&access, limited(wire(RATE, Span::from_millis(45)), Limit::Packets(15)));
        let mut setup = Setup::new(&net.net, profile()).sample(Span::from_millis(100), &[SampleKind::Goodput]);
        for &(source, sink) in &net.pairs {
            setup = setup.flow((source, sink), None, Span::ZERO);
            for (host, most) in [source, sink].into_iter().zip(most.into_iter().cycle()) {
                setup = setup.processing(host, most);
            }
        }
        let outcome = setup.run(SPAN);
        let [first, second] = [0, 1].map(|id| outcome.goodput(id, Span::from_secs(5)));
        second / first
    };
    (0..8).map(ratio).collect()
}

#[test]
fn random_processing_takes_the_phase_out_of_shares() {
    let packet = transmission(RATE, FULL);
    let [without, with] = [None, Some(packet)].map(ratios);
    println!("without {without:.2?}, with {with:.2?}");
    let spread = |ratios: &[f64]| {
        let most = ratios.iter().copied().fold(0.0, f64::max);
        most / ratios.iter().copied().fold(f64::INFINITY, f64::min)
    };
    assert!(spread(&without) > 4.0, "{without:.2?}");
    assert!(spread(&with) < 2.0, "{with:.2?}");
}

/// A frame takes between nothing and `most` longer, and no frame overtakes another.
#[test]
fn processing_delays_by_up_to_its_bound_and_keeps_the_order() {
    let most = Span::from_millis(1);
    let line = crate::common::line(&[wire(Rate::from_gbps(1), Span::from_millis(5))]);
    let flow = |at: u64, setup: Setup| setup.flow((line.source, line.sink), Some(1), Span::from_millis(50 * at));
    let plain = flow(0, Setup::new(&line.net, profile())).run(Span::from_secs(1)).fct(0);
    let setup =
        (0..40).fold(Setup::new(&line.net, profile()).processing(line.source, most), |setup, at| flow(at, setup));
    let again = setup.clone().run(Span::from_secs(5));
    let outcome = setup.run(Span::from_secs(5));
    // SYN and the segment
    let times: Vec<Span> = (0..40).map(|id| outcome.fct(id)).collect();
    assert!(times.iter().all(|&time| time >= plain && time <= plain + most * 2), "{times:?}");
    let mean = times.iter().map(|&time| (time - plain).as_secs_f64()).sum::<f64>() / 40.0;
    // two times of half a millisecond on average, of variance 1/12 ms² each: four standard errors of 40 flows are 0.26 ms
    assert!((mean - 1e-3).abs() < 0.26e-3, "{mean}");
    assert_eq!(times, (0..40).map(|id| again.fct(id)).collect::<Vec<_>>(), "the seed decides");
    let long = Setup::new(&line.net, profile()).processing(line.source, most);
    let long = long.flow((line.source, line.sink), Some(3_000_000), Span::ZERO).run(Span::from_secs(60));
    // overtaken segments would look lost
    assert_eq!((long.ends[0].retransmissions, long.ends[0].end > Some(Time::ZERO)), (0, true));
}
