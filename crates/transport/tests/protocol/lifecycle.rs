//! Connections come and go: places are reused, joins fail, runs go on in parts.

use headway_engine::Streams;
use headway_transport::{FlowEnd, FlowStart, Measure, Profile, Recovery, Sample, SampleKind, Simulation, Totals};
use headway_units::{Bytes, Span, Time};

use super::path::{cables, plain, segments};
use crate::common::{Net, Setup, lossy, multipath, profile};

fn starts(pair: (headway_fabric::NodeId, headway_fabric::NodeId), times_ms: &[u64]) -> Vec<FlowStart> {
    let start = |(id, &ms): (u64, &u64)| FlowStart {
        time: Time::ZERO + Span::from_millis(ms),
        id,
        traffic: 0,
        source: pair.0,
        destination: pair.1,
        size: Some(Bytes::new(segments(30))),
        deadline: None,
        profile: 0,
    };
    (0..).zip(times_ms).map(start).collect()
}

/// Runs five flows in parts that end at `cuts`, with samples.
fn in_parts(cuts: &[u64]) -> (Vec<FlowEnd>, Vec<Sample>, Totals) {
    let (net, pair, links) = cables(&[plain()]);
    let measure = Measure {
        interval: Span::from_millis(10),
        kinds: vec![SampleKind::Cwnd, SampleKind::Goodput, SampleKind::Queue],
        traffics: vec![0],
        links,
        ..Measure::default()
    };
    let flows = starts(pair, &[0, 5, 40, 300, 301]);
    let mut simulation = Simulation::new(net.graph, vec![profile()], measure, Streams::new(1));
    let mut from = None;
    for &cut in cuts {
        let begin = from;
        let end = Time::ZERO + Span::from_millis(cut);
        // flows not yet started are given again, as `run` asks for
        let mut rest = flows.iter().copied().filter(|start| begin.is_none_or(|begin| start.time > begin));
        simulation.run(end, &mut rest).expect("connected");
        from = Some(end);
    }
    simulation.finish()
}

#[test]
fn a_run_in_parts_is_the_run_as_a_whole() {
    let (ends, samples, _) = in_parts(&[1000]);
    assert!(ends.iter().all(|end| end.end.is_some()));
    for cuts in [&[37, 1000][..], &[100, 290, 1000], &[40, 299, 300, 1000], &[0, 10, 1000]] {
        let (parts, series, _) = in_parts(cuts);
        assert_eq!(parts, ends, "{cuts:?}");
        assert_eq!(series, samples, "{cuts:?}");
    }
}

/// Both hosts have two interfaces, but the second ones are in different networks: the connection goes on with what it
/// has, and later ones are not harmed.
#[test]
fn a_join_without_a_path_leaves_the_connection_with_one_subflow() {
    let mut net = Net::default();
    let (a, b) = (net.host(), net.host());
    let switches = [net.switch(), net.switch(), net.switch()];
    net.cable(a, switches[0], plain());
    net.cable(switches[0], b, plain());
    net.cable(a, switches[1], plain());
    net.cable(b, switches[2], plain());
    let mut setup = Setup::new(&net, multipath("lia", 2));
    for i in 0..20 {
        setup = setup.flow((a, b), Some(segments(30)), Span::from_millis(30) * i);
    }
    let outcome = setup.run(Span::from_secs(100));
    for end in &outcome.ends {
        assert_eq!((end.delivered, end.subflows), (segments(30), 1));
    }
}

/// Hundreds of flows one after the other on a lossy path: segments, acknowledgements and timers of the old ones are
/// under way while their places are taken again.
#[test]
fn places_are_reused_without_harm() {
    for recovery in [Recovery::NEW_RENO, Recovery::Sack] {
        for base in [profile(), multipath("lia", 2)] {
            let (net, pair, _) = cables(&[lossy(plain(), 0.05), lossy(plain(), 0.02)]);
            let profile = Profile { recovery, min_rto: Span::from_millis(5), ..base };
            let mut setup = Setup::new(&net, profile);
            for i in 0..300 {
                setup = setup.flow(pair, Some(i * 100), Span::from_millis(20) * i);
            }
            let outcome = setup.run(Span::from_secs(1000));
            for (end, size) in outcome.ends.iter().zip((0..).step_by(100)) {
                assert!(end.end.is_some(), "{end:?}");
                assert_eq!(end.delivered, size);
            }
        }
    }
}
