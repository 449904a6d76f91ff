//! Gap frames that are sent and gap frames that are computed make the same run.

use headway_control::pacing::{Burst, Limit};
use headway_engine::Streams;
use headway_fabric::{Limit as QueueLimit, LinkId};
use headway_transport::{CardClass, CardModel, FlowRate, Profile, Release, RoundTrip};
use headway_units::{Bytes, Rate, Span};

use super::spacing::card;
use crate::common::{Outcome, Setup, delayed, dumbbell, limited, lossy, profile, wire};

/// Four hosts with cards, flows of random sizes both ways at random times, losses, delayed acknowledgements: every
/// segment leaves and every acknowledgement arrives at the same picosecond, and the same gaps are counted.
fn compare(model: &CardModel, rate: Rate, seed: u64) -> Outcome {
    let access = wire(rate, Span::from_micros(3));
    let bottleneck = lossy(limited(wire(rate, Span::from_micros(200)), QueueLimit::Packets(20)), 0.002);
    let network = dumbbell(&[access, access], bottleneck);
    let run = |release| {
        let mut random = Streams::new(seed).stream("flows");
        let own = Profile { delayed_ack: delayed(), timestamps: false, ..profile() };
        let linux = Profile { receive_window: Bytes::from_kb(500), mss: 1448, overhead: 70, ..Profile::linux() };
        let mut setup = Setup::new(&network.net, own).profile(linux).seed(seed).traced();
        for &(source, sink) in &network.pairs {
            let model = CardModel { release, ..model.clone() };
            setup = setup.card(source, model.clone()).card(sink, model);
        }
        let mut at = Span::ZERO;
        for nth in 0..40_u16 {
            let (source, sink) = network.pairs[random.below(2) as usize];
            let pair = if random.below(2) == 0 { (source, sink) } else { (sink, source) };
            let size = 1 + random.below(200_000);
            setup = setup.flow_of(nth % 2, pair, Some(size), at);
            setup.flows.last_mut().unwrap().traffic = nth % 3;
            at += Span::from_micros(random.below(2_000));
        }
        // a host's link fails with a frame or a gap on it, and comes back
        setup = setup.cut(LinkId(2), Span::from_micros(20_000 + 7 * seed), Some(Span::from_millis(23)));
        setup.run(Span::from_millis(400))
    };
    let [computed, sent] = [Release::Gap, Release::GapFrames].map(run);
    assert!(computed.trace.len() > 1_000);
    assert_eq!(computed.trace.len(), sent.trace.len());
    let differ = computed.trace.iter().zip(&sent.trace).find(|(one, other)| one != other);
    assert_eq!(differ, None);
    assert_eq!(computed.ends, sent.ends);
    assert_eq!(computed.cards, sent.cards);
    let lost = |outcome: &Outcome| {
        let own = &outcome.totals;
        (own.drops, own.lost, own.marks, own.card_drops, own.gap_frames, own.gap_bytes)
    };
    assert_eq!(lost(&computed), lost(&sent));
    // gap frames are on the cable that fails, too
    assert!(computed.totals.down <= sent.totals.down);
    assert!(computed.totals.gap_frames > 0, "{:?}", computed.totals);
    assert!(computed.totals.events < sent.totals.events);
    computed
}

#[test]
fn with_a_static_rate() {
    for seed in 0..5 {
        let model = card(Release::Gap, FlowRate::Static(Rate::from_mbps(90)));
        compare(&model, Rate::from_gbps(1), seed);
    }
}

#[test]
fn with_a_dynamic_rate_and_bursts() {
    for (seed, burst) in [(0, Burst::Packets(1)), (1, Burst::Packets(4)), (2, Burst::Clusters(3))] {
        let limit = Some(Rate::from_mbps(400));
        let model =
            CardModel { burst, ..card(Release::Gap, FlowRate::Dynamic { limit, round_trip: RoundTrip::Smoothed }) };
        compare(&model, Rate::from_gbps(1), seed);
    }
}

/// A line of 3 Gb/s, on which a byte takes no whole number of picoseconds.
#[test]
fn with_classes_on_an_odd_line() {
    for seed in 0..3 {
        let limit = |mbps| Some(Limit { rate: Rate::from_mbps(mbps), burst: 2 });
        let class = |traffic, limit, rate| CardClass { traffics: vec![traffic], limit, share: 2, rate };
        let model = CardModel {
            limit: limit(700),
            classes: vec![class(0, limit(300), None), class(1, None, Some(FlowRate::Unpaced))],
            ..card(Release::Gap, FlowRate::Dynamic { limit: None, round_trip: RoundTrip::Smoothed })
        };
        compare(&model, Rate::from_gbps(3), seed);
    }
}
