//! The series of goodput adds up to what was delivered, to the byte, wherever flows and the run end.

use headway_engine::Streams;
use headway_fabric::Limit;
use headway_transport::{
    Datagram, FlowEnd, FlowStart, HostModel, Measure, Profile, Roce, Sample, SampleKind, SampleOf, Simulation,
    Transport,
};
use headway_units::{Bytes, Rate, Span, Time};

use super::path::{cables, plain};
use crate::common::{limited, lossy, multipath, profile};

/// The bytes that the samples of a flow stand for, at `interval` each.
pub fn sampled(samples: &[Sample], end: &FlowEnd, interval: Span) -> u64 {
    let of = SampleOf::Flow(end.start.id, end.start.traffic);
    let own = samples.iter().filter(|sample| sample.kind == SampleKind::Goodput && sample.of == of);
    own.map(|sample| (sample.value * interval.as_secs_f64() / 8.0).round() as u64).sum()
}

/// Flows of sizes and starts that no interval divides, over two cables of 100 Mb/s and 10 ms, one of them with loss and
/// both with short queues, sampled every `interval`, until `until`.
fn run(transport: Transport, interval: Span, until: Span, model: Option<HostModel>) -> (Vec<FlowEnd>, Vec<Sample>) {
    let short = limited(plain(), Limit::Packets(20));
    let (net, pair, _) = cables(&[lossy(short, 0.01), short]);
    let measure = Measure {
        interval,
        kinds: vec![SampleKind::Goodput, SampleKind::Cwnd],
        traffics: vec![0],
        ..Measure::default()
    };
    let mut simulation = Simulation::new(net.graph.clone(), vec![transport], measure, Streams::new(3));
    if let Some(model) = model {
        simulation.model_host(pair.1, model);
    }
    let start = |id: u64, size: Option<u64>| FlowStart {
        time: Time::ZERO + Span::from_micros(3_701 * id),
        id,
        traffic: 0,
        source: pair.0,
        destination: pair.1,
        size: size.map(Bytes::new),
        deadline: None,
        profile: 0,
    };
    let sizes = [Some(700), Some(31_001), Some(1_000_003), Some(1), Some(40_000_001), None];
    let mut starts = (0..).zip(sizes).map(|(id, size)| start(id, size));
    simulation.run(Time::ZERO + until, &mut starts).expect("all are connected");
    let (ends, samples, _) = simulation.finish();
    (ends, samples)
}

fn transports() -> Vec<(&'static str, Transport)> {
    let copies = Profile { replicate: Some((Bytes::new(2_000_000), 2)), ..profile() };
    let datagram = Datagram { rate: Rate::from_mbps(11), payload: 958, overhead: 42 };
    vec![
        ("rfc", profile().into()),
        ("linux", Profile::linux().into()),
        ("mptcp", multipath("lia", 2).into()),
        ("copies", copies.into()),
        ("datagrams", datagram.into()),
        ("roce", Roce::default().into()),
    ]
}

/// A flow that ended counts with each of its bytes. One that goes on counts with all that has arrived, which is what was
/// delivered and what waits behind a gap. A run may end within an interval, and a flow with the run.
#[test]
fn goodput_adds_up_to_what_was_delivered() {
    for (name, transport) in transports() {
        for (interval, until) in [(10_000, 900_000), (7_300, 900_001), (1_000_000, 900_000), (333, 51_000)] {
            let (interval, until) = (Span::from_micros(interval), Span::from_micros(until));
            let (ends, samples) = run(transport.clone(), interval, until, None);
            let mut whole = 0;
            for end in &ends {
                let sum = sampled(&samples, end, interval);
                match end.end {
                    Some(_) => assert_eq!(sum, end.delivered, "{name}, {interval}: {end:?}"),
                    None => assert!(sum >= end.delivered, "{name}, {interval}: {sum} {end:?}"),
                }
                whole += u64::from(end.end.is_some());
            }
            assert!(whole >= 2, "{name}: {ends:?}");
            let in_order = samples.windows(2).all(|two| two[0].time <= two[1].time);
            assert!(in_order && samples.iter().all(|sample| sample.time <= Time::ZERO + until), "{name}");
        }
    }
}

/// Without loss nothing waits behind a gap, also where a core delivers after the samples of its instant.
#[test]
fn goodput_of_a_flow_under_way_is_what_was_delivered() {
    let (net, pair, _) = cables(&[plain()]);
    let host = HostModel::default();
    for model in [None, Some(host)] {
        for until in [97_000, 100_000] {
            let interval = Span::from_micros(10_000);
            let measure =
                Measure { interval, kinds: vec![SampleKind::Goodput], traffics: vec![0], ..Measure::default() };
            let mut simulation = Simulation::new(net.graph.clone(), vec![profile()], measure, Streams::new(1));
            if let Some(model) = model {
                simulation.model_host(pair.1, model);
            }
            let start = FlowStart {
                time: Time::ZERO,
                id: 0,
                traffic: 0,
                source: pair.0,
                destination: pair.1,
                size: None,
                deadline: None,
                profile: 0,
            };
            simulation.run(Time::ZERO + Span::from_micros(until), &mut [start].into_iter()).unwrap();
            let (ends, samples, _) = simulation.finish();
            assert!(ends[0].delivered > 0);
            assert_eq!(sampled(&samples, &ends[0], interval), ends[0].delivered, "{model:?}, {until}");
        }
    }
}
