//! From the records of one sweep point and one policy to a network, its hosts and its flows.

mod network;
mod profile;
mod traffic;

use std::path::Path;
use std::sync::Arc;

use headway_engine::Streams;
use headway_fabric::{LinkId, NoPath, NodeId};
use headway_results::{Counters, FlowRecord, Job, Outcome, Sample};
use headway_transport::{FlowEnd, FlowStart, Measure, Profile, SampleKind, SampleOf, Simulation};
use headway_units::{Bytes, Time};

use crate::Document;
use crate::language::Problem;
use crate::schema::{PolicyRecord, ScenarioRecord, Series};
pub(crate) use network::Network;
use traffic::Planned;

/// A problem with the value at a key path, before it is tied to its place in the file.
pub(crate) struct Fault {
    path: Vec<String>,
    message: String,
    help: Option<String>,
}

impl Fault {
    pub(crate) fn new(path: &[&str], message: impl Into<String>) -> Fault {
        Fault { path: path.iter().map(|&s| s.to_owned()).collect(), message: message.into(), help: None }
    }

    pub(crate) fn help(mut self, help: impl Into<String>) -> Fault {
        self.help = Some(help.into());
        self
    }

    pub(crate) fn locate(self, document: &Document) -> Problem {
        let path: Vec<&str> = self.path.iter().map(String::as_str).collect();
        document.problem_at(&path, self.message, self.help)
    }
}

/// One policy at one sweep point, ready to run with any seed.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    network: Arc<Network>,
    profiles: Vec<Profile>,
    traffics: Vec<Planned>,
    measure: Measure,
    duration: Time,
    end: Time,
}

impl Plan {
    /// Builds what `scenario` and `policy` describe on its network; files it names are looked for in `folder`.
    pub(crate) fn new(
        scenario: &ScenarioRecord,
        policy: usize,
        network: &Arc<Network>,
        folder: &Path,
    ) -> Result<Plan, Fault> {
        let record: &PolicyRecord = &scenario.policy[policy];
        let profiles = profile::build(scenario, record, policy)?;
        let network = Arc::clone(network);
        let traffics = scenario
            .traffic
            .iter()
            .enumerate()
            .map(|(index, record)| Planned::build(record, index, scenario, &network, folder))
            .collect::<Result<Vec<_>, _>>()?;
        for (traffic, profile) in traffics.iter().zip(&profiles) {
            traffic.check_lanes(profile, &network, &policy.to_string())?;
        }
        let duration = Time::ZERO + scenario.duration;
        let end = duration.saturating_add(scenario.drain);
        let measure = measure(scenario, &network)?;
        Ok(Plan { network, profiles, traffics, measure, duration, end })
    }

    /// Runs it. The random numbers depend on `seed`, the repeat and nothing else, so that policies and sweep points
    /// meet the same traffic.
    pub(crate) fn run(&self, seed: u64, job: Job) -> Result<Outcome, NoPath> {
        let streams = Streams::new(seed).part("repeat", u64::from(job.repeat));
        let graph = self.network.built.graph.clone();
        let mut simulation = Simulation::new(graph, self.profiles.clone(), self.measure.clone(), streams);
        let flows = self.traffics.iter().map(|traffic| traffic.starts(self.duration, streams));
        let mut starts = Merged { heads: flows.map(Iterator::peekable).collect() };
        simulation.run(self.end, &mut starts)?;
        let (ends, samples, totals) = simulation.finish();
        Ok(self.outcome(job, ends, &samples, totals))
    }

    fn outcome(
        &self,
        job: Job,
        mut ends: Vec<FlowEnd>,
        samples: &[headway_transport::Sample],
        totals: headway_transport::Totals,
    ) -> Outcome {
        // Flows are known to users by their traffic and their number in it, in order of their starts.
        ends.sort_by_key(|flow| (flow.start.traffic, flow.start.time, flow.start.id));
        let mut numbers: Vec<(u64, u64)> = Vec::with_capacity(ends.len());
        let mut flows = Vec::with_capacity(ends.len());
        let (mut traffic, mut number) = (u16::MAX, 0);
        for end in &ends {
            number = if end.start.traffic == traffic { number + 1 } else { 0 };
            traffic = end.start.traffic;
            numbers.push((end.start.id, number));
            flows.push(self.record(end, number));
        }
        numbers.sort_unstable();
        let samples = samples.iter().map(|sample| self.sample(sample, &numbers)).collect();
        let counters = Counters {
            events: totals.events,
            packet_hops: totals.hops,
            drops: totals.drops + totals.lost,
            marks: totals.marks,
        };
        Outcome { job, flows, samples, counters, digest: totals.digest, end: self.end }
    }

    fn record(&self, end: &FlowEnd, id: u64) -> FlowRecord {
        let paths: Vec<String> = (0..64).filter(|i| end.interfaces >> i & 1 == 1).map(|i: u32| i.to_string()).collect();
        FlowRecord {
            id,
            traffic: Arc::clone(&self.traffics[usize::from(end.start.traffic)].name),
            source: self.network.name(end.start.source),
            destination: self.network.name(end.start.destination),
            bytes: end.start.size.map(Bytes::get),
            delivered: end.delivered,
            start: end.start.time,
            end: end.end,
            ideal: end.ideal,
            retransmissions: end.retransmissions,
            timeouts: end.timeouts,
            marks: end.marks,
            subflows: end.subflows.min(255) as u8,
            paths: paths.join("+").into(),
            switched: end.switched,
        }
    }

    fn sample(&self, sample: &headway_transport::Sample, numbers: &[(u64, u64)]) -> Sample {
        let flow = |id: u64, traffic: u16| {
            let at = numbers.binary_search_by_key(&id, |&(id, _)| id).expect("a sampled flow is recorded");
            format!("{}/{}", self.traffics[usize::from(traffic)].name, numbers[at].1)
        };
        let entity = match sample.of {
            SampleOf::Flow(id, traffic) => flow(id, traffic),
            SampleOf::Subflow(id, traffic, nth) => format!("{}/{nth}", flow(id, traffic)),
            SampleOf::Link(link) => self.network.port_name(link),
        };
        let (metric, scale) = match sample.kind {
            SampleKind::Goodput => ("goodput_bps", 1.0),
            SampleKind::Cwnd => ("cwnd_bytes", 1.0),
            SampleKind::Rtt => ("rtt_ns", 1e9),
            SampleKind::LinkCost => ("link_cost", 1.0),
            SampleKind::Queue => ("queue_bytes", 1.0),
        };
        Sample { time: sample.time, entity: entity.into(), metric: metric.into(), value: sample.value * scale }
    }
}

/// More samples of one quantity than this are a mistake in the interval.
const MOST_SAMPLES: u64 = 10_000_000;

fn measure(scenario: &ScenarioRecord, network: &Network) -> Result<Measure, Fault> {
    let record = &scenario.measure;
    let end = scenario.duration.checked_add(scenario.drain).unwrap_or(scenario.duration);
    if !record.series.is_empty() && end.picos() / record.interval.picos().max(1) > MOST_SAMPLES {
        let message = format!("an interval of {} is over {MOST_SAMPLES} samples in {end}", record.interval);
        return Err(Fault::new(&["measure", "interval"], message));
    }
    let kinds = record.series.iter().map(|series| match series {
        Series::Goodput => SampleKind::Goodput,
        Series::Cwnd => SampleKind::Cwnd,
        Series::Rtt => SampleKind::Rtt,
        Series::LinkCost => SampleKind::LinkCost,
        Series::Queue => SampleKind::Queue,
    });
    let chosen = |name: &str| record.traffic.as_ref().is_none_or(|names| names.iter().any(|one| one.as_str() == name));
    let traffics = scenario.traffic.iter().enumerate().filter(|(_, t)| chosen(&t.name)).map(|(i, _)| i as u16);
    let links = if record.series.contains(&Series::Queue) { network.switch_ports() } else { Vec::<LinkId>::new() };
    Ok(Measure { interval: record.interval, kinds: kinds.collect(), traffics: traffics.collect(), links })
}

/// The starts of several kinds of traffic in order of time; at equal times in the order of the file.
struct Merged<I: Iterator<Item = FlowStart>> {
    heads: Vec<std::iter::Peekable<I>>,
}

impl<I: Iterator<Item = FlowStart>> Iterator for Merged<I> {
    type Item = FlowStart;

    fn next(&mut self) -> Option<FlowStart> {
        let heads = self.heads.iter_mut().enumerate();
        let first = heads.filter_map(|(i, head)| head.peek().map(|start| (start.time, i))).min()?;
        self.heads[first.1].next()
    }
}

/// The hosts of a group.
pub(crate) type Hosts = Vec<NodeId>;
