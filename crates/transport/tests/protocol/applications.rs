//! Flows that start because others have completed.

use headway_engine::Streams;
use headway_fabric::NodeId;
use headway_transport::{Application, FlowEnd, FlowStart, HostModel, Measure, Simulation};
use headway_units::{Bytes, Rate, Span, Time};

use crate::common::{Line, line, profile, wire};

const TICK: Span = Span::from_picos(1);

/// Sends one flow after another, `think` after the one before was complete, and one at each of `listed`.
#[derive(Debug, Clone)]
struct Chain {
    pair: (NodeId, NodeId),
    think: Span,
    left: u64,
    next: Time,
    listed: Vec<Time>,
    told: Vec<(Time, u64)>,
}

impl Application for Chain {
    fn next(&mut self) -> Time {
        self.listed.first().copied().unwrap_or(Time::NEVER).min(self.next)
    }

    fn act(&mut self, now: Time) -> Option<FlowStart> {
        let id = if self.next <= now {
            self.next = Time::NEVER;
            self.left = self.left.checked_sub(1)?;
            self.left
        } else {
            self.listed.remove(0).picos()
        };
        let (source, destination) = self.pair;
        let size = Some(Bytes::new(20_000));
        Some(FlowStart { time: now, id, traffic: 0, source, destination, size, deadline: None, profile: 0 })
    }

    fn listens(&self) -> bool {
        true
    }

    fn completed(&mut self, at: Time, id: u64) {
        self.told.push((at, id));
        if id < 1_000 {
            self.next = at + self.think;
        }
    }
}

fn us(us: u64) -> Time {
    Time::ZERO + Span::from_micros(us)
}

fn chain(think: Span, listed: &[u64], model: Option<HostModel>, stops: &[u64]) -> (Chain, Vec<FlowEnd>) {
    chain_beside(think, listed.iter().copied().map(us).collect(), model, stops)
}

fn chain_beside(think: Span, listed: Vec<Time>, model: Option<HostModel>, stops: &[u64]) -> (Chain, Vec<FlowEnd>) {
    let Line { net, source, sink, .. } = line(&[wire(Rate::from_bps(100_000_000), Span::from_micros(10))]);
    let mut simulation = Simulation::new(net.graph.clone(), vec![profile()], Measure::default(), Streams::new(1));
    for host in [source, sink] {
        if let Some(model) = model {
            simulation.model_host(host, model);
        }
    }
    let mut chain = Chain { pair: (source, sink), think, left: 10, next: Time::ZERO, listed, told: Vec::new() };
    for &stop in stops {
        simulation.run_application(us(stop), &mut chain).expect("the hosts are connected");
    }
    let (mut ends, ..) = simulation.finish();
    ends.sort_by_key(|end| end.start.time);
    (chain, ends)
}

/// Back to back or after a pause, on hosts that take no time and on hosts whose cores come last in an instant.
#[test]
fn each_flow_starts_when_the_one_before_is_complete() {
    for model in [None, Some(HostModel::default())] {
        for think in [Span::ZERO, TICK, Span::from_millis(3)] {
            let (_, ends) = chain(think, &[], model, &[1_000_000]);
            assert_eq!(ends.len(), 10);
            for pair in ends.windows(2) {
                let complete = pair[0].end.expect("it completes");
                assert_eq!(pair[1].start.time, complete + think.max(TICK));
            }
        }
    }
}

/// Who acts at the very instant of a completion does not know of it yet, as everybody else.
#[test]
fn a_completion_is_told_after_all_that_happens_at_its_instant() {
    let (_, alone) = chain(Span::ZERO, &[], None, &[1_000_000]);
    let complete = alone[0].end.expect("it completes");
    let (chain, ends) = chain_beside(Span::ZERO, vec![complete], None, &[1_000_000]);
    let starts: Vec<Time> = ends[..3].iter().map(|end| end.start.time).collect();
    assert_eq!(starts, [Time::ZERO, complete, complete + TICK]);
    assert_eq!(chain.told.len(), 11);
}

/// What is known beforehand starts on time, and all completions are told in order.
#[test]
fn reactions_do_not_move_what_is_listed() {
    let listed = [1, 1_000, 3_333, 500_000, 900_000];
    let (chain, ends) = chain(Span::ZERO, &listed, None, &[2_000_000]);
    let on_time: Vec<u64> = ends.iter().filter(|end| end.start.id > 1_000).map(|end| end.start.time.picos()).collect();
    assert_eq!(on_time, listed.map(|us| us * 1_000_000));
    let mut told: Vec<(Time, u64)> = ends.iter().map(|end| (end.end.expect("it completes"), end.start.id)).collect();
    told.sort_unstable();
    assert_eq!(chain.told, told);
}

/// The run may stop between a completion and what follows from it.
#[test]
fn a_run_in_parts_is_the_same() {
    let (whole, ends) = chain(Span::ZERO, &[1_000, 70_000], None, &[1_000_000]);
    let first = ends[0].end.expect("it completes").picos() / 1_000_000;
    let (parts, again) = chain(Span::ZERO, &[1_000, 70_000], None, &[first, first + 1, 5_000, 20_000, 1_000_000]);
    assert_eq!(ends, again);
    assert_eq!(whole.told, parts.told);
}
