//! Classes, shares and limits of an interface.

use headway_control::pacing::Limit;
use headway_transport::{CardClass, CardModel, FlowRate, Release, SampleKind, SampleOf};
use headway_units::{Rate, Span};

use super::spacing::card;
use crate::common::{FULL, MSS, Outcome, Setup, assert_near, line, profile, wire};

const GIGABIT: Rate = Rate::from_gbps(1);

fn limit(mbps: u64) -> Limit {
    Limit { rate: Rate::from_mbps(mbps), burst: 1 }
}

/// Three flows without end from one host, each of a traffic of its own.
fn three(model: CardModel) -> Outcome {
    let net = line(&[wire(GIGABIT, Span::from_micros(5)), wire(GIGABIT, Span::from_micros(50))]);
    let mut setup = Setup::new(&net.net, profile()).card(net.source, model);
    for traffic in 0..3 {
        setup = setup.flow((net.source, net.sink), None, Span::ZERO);
        setup.flows.last_mut().unwrap().traffic = traffic;
    }
    setup = setup.sample(Span::from_millis(20), &[SampleKind::Goodput]);
    setup.measure.traffics = vec![0, 1, 2];
    setup.run(Span::from_millis(400))
}

/// The rate of each flow on the line, Mb/s, from 100 ms on.
fn rates(outcome: &Outcome) -> Vec<f64> {
    let mean = |flow: u16| {
        let series = outcome.series(SampleKind::Goodput, SampleOf::Flow(u64::from(flow), flow), Span::from_millis(100));
        series.iter().map(|&(_, value)| value).sum::<f64>() / series.len() as f64 / 1e6 * FULL as f64 / f64::from(MSS)
    };
    (0..3).map(mean).collect()
}

fn class(traffic: u16, limit: Option<Limit>, share: u32) -> CardClass {
    CardClass { traffics: vec![traffic], limit, share, rate: None }
}

#[test]
fn an_interfaces_limit_is_shared() {
    let model = CardModel {
        limit: Some(limit(400)),
        classes: vec![class(0, None, 3), class(1, None, 4)],
        ..card(Release::Gap, FlowRate::Unpaced)
    };
    for (own, expected) in rates(&three(model)).iter().zip([150.0, 200.0, 50.0]) {
        assert_near("a share of 400 Mb/s", *own, expected, 0.01);
    }
}

/// A class at its limit leaves what it does not take to the others, by their shares.
#[test]
fn a_limited_class_leaves_the_rest_to_others() {
    let model = CardModel {
        limit: Some(limit(400)),
        classes: vec![class(0, Some(limit(40)), 9), class(1, None, 2)],
        ..card(Release::Gap, FlowRate::Unpaced)
    };
    for (own, expected) in rates(&three(model)).iter().zip([40.0, 240.0, 120.0]) {
        assert_near("a share of 400 Mb/s", *own, expected, 0.01);
    }
}

/// Paced and unpaced flows of one host: the paced have their rate, the unpaced the rest of the line.
#[test]
fn a_class_may_have_a_pace_of_its_own() {
    let model = CardModel {
        classes: vec![CardClass { rate: Some(FlowRate::Unpaced), ..class(2, None, 1) }],
        ..card(Release::Gap, FlowRate::Static(Rate::from_mbps(100)))
    };
    for (own, expected) in rates(&three(model)).iter().zip([100.0, 100.0, 800.0]) {
        assert_near("a rate", *own, expected, 0.01);
    }
}

/// A timer keeps the same limits.
#[test]
fn a_timer_keeps_an_interfaces_limit() {
    let model =
        CardModel { limit: Some(limit(300)), ..card(Release::Timer(Span::from_micros(500)), FlowRate::Unpaced) };
    let sum: f64 = rates(&three(model)).iter().sum();
    assert_near("all together", sum, 300.0, 0.01);
}
