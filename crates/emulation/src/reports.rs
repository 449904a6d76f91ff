//! Reports of kernel hosts, as flows, samples and commands of the shape that modelled hosts give.

use std::collections::{BTreeMap, VecDeque};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use headway_agent::protocol::Report;
use headway_kernel::{EPOCH_NS, HostOutput};
use headway_results::{CommandRecord, Failed, Output};
use headway_transport::{FlowEnd, Sample, SampleKind, SampleOf};
use headway_units::{Bytes, Span, Time};

use crate::kernels::{Command, Kernels};
use crate::start::{Sent, nanos};
use headway_scenario::plan::Network;

/// The outcome of flows and commands of a run's kernel hosts.
#[derive(Debug, Default)]
pub struct KernelOutcome {
    /// The flows, in order of time.
    pub ends: Vec<FlowEnd>,
    /// Samples of flows.
    pub samples: Vec<Sample>,
    /// Commands, and behind them daemons.
    pub commands: Vec<CommandRecord>,
    /// By traffic and reason.
    pub failed: BTreeMap<(u16, String), u64>,
    /// Of everything that was reported.
    pub digest: u64,
}

/// Where a connection ends: host, port, and the other end.
type Place = (Arc<str>, u16, SocketAddr);

/// A connection as its receiver saw it.
#[derive(Debug, Clone, Copy)]
struct Received {
    bytes: u64,
    last_ns: u64,
}

/// The time of a simulation that a guest's clock stands for.
fn time(nanos: u64) -> Time {
    Time::from_picos(nanos.saturating_sub(EPOCH_NS).saturating_mul(1000))
}

impl KernelOutcome {
    /// Joins the reports in `outputs` with the flows `sent`; `ideal` gives the completion times on an idle network in the
    /// same order.
    ///
    /// # Errors
    /// If a report that every agent makes is not there.
    pub fn new(
        kernels: &Kernels,
        sent: &[Sent],
        ideal: &[Option<Span>],
        outputs: &[HostOutput],
        network: &Network,
        wants: impl Fn(SampleKind) -> bool,
    ) -> Result<KernelOutcome, String> {
        let mut joined = KernelOutcome { digest: digest(outputs), ..KernelOutcome::default() };
        let (mut received, senders) = collect(outputs);
        for (sent, &ideal) in sent.iter().zip(ideal) {
            let host = network.name(sent.start.destination);
            let none = Vec::new();
            let reports = senders.get(&sent.start.id).unwrap_or(&none);
            let ends: Vec<Option<Received>> = sent
                .connections
                .iter()
                .map(|&(from, to, _)| {
                    received.get_mut(&(Arc::clone(&host), to.port(), from)).and_then(VecDeque::pop_front)
                })
                .collect();
            joined.flow(sent, ideal, reports, &ends);
        }
        if let Some(step) = kernels.sample_ns {
            joined.sample(sent, step, nanos(kernels.end), outputs, network, wants);
        }
        for command in &kernels.commands {
            joined.commands.push(outcome(command, outputs, network, nanos(kernels.end))?);
        }
        for output in outputs {
            joined.commands.extend(daemons(output, nanos(kernels.end)));
        }
        Ok(joined)
    }

    fn flow(&mut self, sent: &Sent, ideal: Option<Span>, reports: &[&Report], ends: &[Option<Received>]) {
        let size = sent.start.size.map(Bytes::get);
        let whole = ends.iter().flatten().filter(|end| size.is_some_and(|size| end.bytes >= size));
        let last = whole.map(|end| time(end.last_ns).max(sent.start.time)).min();
        let delivered = ends.iter().flatten().map(|end| end.bytes).max().unwrap_or(0);
        let mut end = FlowEnd { ideal, ..FlowEnd::new(sent.start, last, delivered) };
        let mut reason = None;
        for report in reports {
            let Report::Sent { error, subflows, .. } = report else { continue };
            reason = reason.or(error.as_ref());
            for subflow in subflows {
                end.retransmissions += subflow.retransmissions;
                end.timeouts += subflow.timeouts;
                end.marks += subflow.marks;
                end.subflows += 1;
                end.interfaces |= 1 << interface(subflow.local.ip()).min(63);
            }
        }
        if end.subflows == 0 {
            // it never came to a connection
            for &(_, _, pair) in &sent.connections {
                end.subflows += 1;
                end.interfaces |= 1 << pair.min(63);
            }
        }
        if let Some(reason) = reason.filter(|_| end.end.is_none()) {
            *self.failed.entry((sent.start.traffic, reason.clone())).or_default() += 1;
        }
        self.ends.push(end);
    }

    fn sample(
        &mut self,
        sent: &[Sent],
        step: u64,
        end_ns: u64,
        outputs: &[HostOutput],
        network: &Network,
        wants: impl Fn(SampleKind) -> bool,
    ) {
        let (arrived, states) = samples_of(sent, outputs, network);
        let seconds = Span::from_picos(step * 1000).as_secs_f64();
        for (index, sent) in sent.iter().enumerate().filter(|(_, sent)| sent.sampled) {
            if !wants(SampleKind::Goodput) {
                break;
            }
            let end = &self.ends[index];
            let last = end.end.map_or(end_ns + 1, nanos);
            let first = (nanos(sent.start.time) - EPOCH_NS).div_ceil(step).max(1);
            let mut news = arrived.get(&index).map_or([].as_slice(), Vec::as_slice).iter().peekable();
            let mut furthest = 0;
            let mut before = 0;
            let mut at = EPOCH_NS + first * step;
            let mut push = |at: u64, bytes: u64| {
                let (of, value) = (SampleOf::Flow(sent.start.id, sent.start.traffic), bytes as f64 * 8.0 / seconds);
                self.samples.push(Sample { time: time(at), kind: SampleKind::Goodput, of, value });
            };
            while at < last {
                while let Some(&(_, bytes)) = news.next_if(|news| news.0 <= at) {
                    // of copies that which is furthest counts, as in the flow's record
                    furthest = bytes.max(furthest);
                }
                push(at, furthest.saturating_sub(before));
                before = before.max(furthest);
                at += step;
            }
            // the flow, or the run, ends within an interval
            let rest = end.delivered.saturating_sub(before);
            if rest > 0 {
                push(at.min(end_ns), rest);
            }
        }
        let by_id: BTreeMap<u64, &Sent> = sent.iter().map(|sent| (sent.start.id, sent)).collect();
        for state in states {
            let Report::Sample { at_ns, flow, connection, subflow, cwnd_bytes, srtt_ns } = *state else { continue };
            let Some(sent) = by_id.get(&flow) else { continue };
            // copies have one subflow each, but those of MPTCP as many as there are interfaces
            let first = if sent.mptcp { connection.saturating_mul(64) } else { connection };
            let nth = first.saturating_add(subflow).min(u32::from(u16::MAX));
            let of = SampleOf::Subflow(flow, sent.start.traffic, nth as u16);
            if wants(SampleKind::Cwnd) {
                let value = cwnd_bytes as f64;
                self.samples.push(Sample { time: time(at_ns), kind: SampleKind::Cwnd, of, value });
            }
            if wants(SampleKind::Rtt) && srtt_ns > 0 {
                let value = srtt_ns as f64 / 1e9;
                self.samples.push(Sample { time: time(at_ns), kind: SampleKind::Rtt, of, value });
            }
        }
    }
}

/// Which interface of a host an address is of.
fn interface(address: IpAddr) -> u32 {
    match address.to_canonical() {
        IpAddr::V4(four) => u32::from(four.octets()[1]),
        IpAddr::V6(six) => u32::from(six.segments()[3]),
    }
}

/// Connections by where they end, in order of time.
type Receivers = BTreeMap<Place, VecDeque<Received>>;
/// Reports of connections by flow.
type Senders<'a> = BTreeMap<u64, Vec<&'a Report>>;

/// Reports of receivers and of senders, by flow.
fn collect(outputs: &[HostOutput]) -> (Receivers, Senders<'_>) {
    let (mut received, mut senders) = (Receivers::new(), Senders::new());
    for output in outputs {
        let host: Arc<str> = output.name.as_str().into();
        for report in &output.reports {
            match *report {
                Report::Received { peer, port, bytes, last_ns, .. } => {
                    received.entry((Arc::clone(&host), port, peer)).or_default().push_back(Received { bytes, last_ns });
                }
                Report::Sent { flow, .. } => senders.entry(flow).or_default().push(report),
                _ => {}
            }
        }
    }
    (received, senders)
}

/// The bytes that had arrived over one of a flow's connections, by the flow's place: when, and how many.
type Arrivals = BTreeMap<usize, Vec<(u64, u64)>>;

/// Samples of receivers by flow, and those of senders.
fn samples_of<'a>(sent: &[Sent], outputs: &'a [HostOutput], network: &Network) -> (Arrivals, Vec<&'a Report>) {
    let mut places: BTreeMap<Place, Vec<usize>> = BTreeMap::new();
    for (index, sent) in sent.iter().enumerate() {
        let host = network.name(sent.start.destination);
        for &(from, to, _) in &sent.connections {
            places.entry((Arc::clone(&host), to.port(), from)).or_default().push(index);
        }
    }
    let mut arrived = Arrivals::new();
    let mut states = Vec::new();
    for output in outputs {
        let host: Arc<str> = output.name.as_str().into();
        for report in &output.reports {
            match *report {
                Report::Arrived { at_ns, peer, port, bytes } => {
                    let flows = places.get(&(Arc::clone(&host), port, peer)).into_iter().flatten();
                    // the last one that had begun: ports may be used again
                    if let Some(&flow) = flows.rev().find(|&&flow| nanos(sent[flow].start.time) <= at_ns) {
                        arrived.entry(flow).or_default().push((at_ns, bytes));
                    }
                }
                Report::Sample { .. } => states.push(report),
                _ => {}
            }
        }
    }
    (arrived, states)
}

fn outcome(command: &Command, outputs: &[HostOutput], network: &Network, end_ns: u64) -> Result<CommandRecord, String> {
    let host = network.name(command.host);
    let output = outputs.iter().find(|output| *output.name == *host);
    let reports = output.into_iter().flat_map(|output| &output.reports);
    let mut report = reports.filter_map(|report| match report {
        Report::Command { name, start_ns, end_ns, code } if **name == *command.traffic => {
            Some((*start_ns, *end_ns, *code))
        }
        _ => None,
    });
    let Some((start, end, code)) = report.next_back() else {
        return Err(format!("host `{host}` does not say what became of the program of `{}`", command.traffic));
    };
    let wrote = |end: &str| output.map_or_else(|| Output::new(Vec::new()), |own| wrote(own, &command.traffic, end));
    let told = command.stop.map_or(end_ns, |stop| nanos(Time::ZERO + stop).min(end_ns));
    Ok(CommandRecord {
        traffic: command.traffic.clone(),
        host,
        start: time(start),
        end: time(end),
        code,
        ended: end >= told,
        stdout: wrote("stdout"),
        stderr: wrote("stderr"),
    })
}

/// The output of the command or daemon `name`: standard output or error.
fn wrote(output: &HostOutput, name: &str, end: &str) -> Output {
    let file = output.files.iter().find(|(known, _)| *known == format!("{name}.{end}"));
    Output::new(file.map(|(_, content)| content.clone()).unwrap_or_default())
}

/// The outcome of a host's daemons, whose reports are those of commands with names of their own.
fn daemons(output: &HostOutput, end_ns: u64) -> Vec<CommandRecord> {
    let of = |report: &Report| match report {
        Report::Command { name, start_ns, end_ns: at, code } if name.starts_with(CommandRecord::DAEMON) => {
            Some(CommandRecord {
                traffic: name.as_str().into(),
                host: output.name.as_str().into(),
                start: time(*start_ns),
                end: time(*at),
                code: *code,
                ended: *at >= end_ns,
                stdout: wrote(output, name, "stdout"),
                stderr: wrote(output, name, "stderr"),
            })
        }
        _ => None,
    };
    output.reports.iter().filter_map(of).collect()
}

impl KernelOutcome {
    /// The failures by the names of traffics.
    pub fn failures(&self, names: &[Arc<str>]) -> Vec<Failed> {
        let failed = |((traffic, reason), &flows): (&(u16, String), &u64)| Failed {
            traffic: names[usize::from(*traffic)].to_string(),
            reason: reason.clone(),
            flows,
        };
        self.failed.iter().map(failed).collect()
    }
}

/// FNV-1a (Fowler, Noll, Vo; 64 bits) of everything that was reported.
fn digest(outputs: &[HostOutput]) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut add = |bytes: &[u8]| {
        for &byte in bytes {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        hash = (hash ^ 0xff).wrapping_mul(0x0100_0000_01b3);
    };
    for output in outputs {
        add(output.name.as_bytes());
        for report in &output.reports {
            add(format!("{report:?}").as_bytes());
        }
        for (name, content) in &output.files {
            add(name.as_bytes());
            add(content);
        }
    }
    hash
}

#[cfg(test)]
mod tests {
    use headway_agent::protocol::Subflow;
    use headway_fabric::NodeId;
    use headway_transport::FlowStart;

    use super::*;

    fn end(host: u8, interface: u8, port: u16) -> SocketAddr {
        SocketAddr::from(([10, interface, 0, host], port))
    }

    fn sent(id: u64, start_ns: u64, size: u64, ports: &[u16]) -> Sent {
        let start = FlowStart {
            time: Time::from_picos(start_ns * 1000),
            id,
            traffic: 0,
            source: NodeId(0),
            destination: NodeId(1),
            size: Some(Bytes::new(size)),
            deadline: None,
            profile: 0,
        };
        let connection = |(pair, &port): (usize, &u16)| (end(1, pair as u8, port), end(2, pair as u8, 5000), pair);
        Sent { start, connections: ports.iter().enumerate().map(connection).collect(), sampled: true, mptcp: false }
    }

    fn received(port: u16, interface: u8, bytes: u64, at_ns: u64) -> Report {
        let (peer, last_ns) = (end(1, interface, port), EPOCH_NS + at_ns);
        Report::Received { peer, port: 5000, bytes, last_ns, ended: true }
    }

    fn report(flow: u64, connection: u32, interface: u8, error: Option<&str>) -> Report {
        let (local, remote) = (end(1, interface, 1), end(2, interface, 5000));
        let subflow = Subflow { local, remote, retransmissions: 3, timeouts: 1, marks: 2 };
        let subflows = if error.is_some() { Vec::new() } else { vec![subflow] };
        Report::Sent { flow, connection, error: error.map(str::to_owned), subflows }
    }

    fn output(name: &str, reports: Vec<Report>) -> HostOutput {
        HostOutput { name: name.to_owned(), reports, files: Vec::new() }
    }

    /// Two hosts with a cable for each of two planes.
    fn network() -> (Network, Kernels) {
        let text = "name = \"x\"\nabout = \"x\"\nduration = \"1s\"\nhost-kind = \"linux\"\n\
            [topology]\nkind = \"parallel-paths\"\npaths = 2\nlink = { rate = \"1Gbps\" }\n\
            queue = { kind = \"drop-tail\", limit = \"none\" }\n\
            [hosts]\nleft = { count = 1 }\nright = { count = 1 }\n\
            [[traffic]]\nname = \"t\"\nfrom = \"left\"\nto = \"right\"\nsize = \"1KB\"\narrival = { kind = \"once\" }\n\
            [[policy]]\nname = \"p\"\ntransport = { kind = \"tcp\" }\n\
            [measure]\nseries = [\"goodput\", \"cwnd\", \"rtt\"]\ninterval = \"10us\"\n";
        let document =
            headway_scenario::Document::parse(text, "x.toml", &[]).unwrap_or_else(|problems| panic!("{problems}"));
        let scenario = document.scenario(&document.points()[0]).unwrap_or_else(|problems| panic!("{problems}"));
        let network = Network::build(&scenario).unwrap();
        let folder = std::path::Path::new(".");
        let traffic = headway_scenario::plan::TrafficPlan::build(&scenario, &network, folder).unwrap();
        let kernels = Kernels::new(&scenario, 0, &network, &traffic.flows, &[], folder).unwrap();
        (network, kernels.expect("all hosts are kernels"))
    }

    fn join(sent: &mut [Sent], outputs: &[HostOutput]) -> KernelOutcome {
        let (network, kernels) = network();
        let hosts: Vec<NodeId> = network.built.graph.hosts().collect();
        for sent in sent.iter_mut() {
            (sent.start.source, sent.start.destination) = (hosts[0], hosts[1]);
        }
        let ideal = vec![None; sent.len()];
        KernelOutcome::new(&kernels, sent, &ideal, outputs, &network, |_| true).unwrap()
    }

    const LEFT: &str = "left-host0";
    const RIGHT: &str = "right-host0";

    #[test]
    fn a_flow_ends_when_its_last_byte_was_read() {
        let mut flows = [sent(7, 1_000, 500, &[10_000]), sent(8, 2_000, 500, &[10_001])];
        let outputs = [
            output(LEFT, vec![report(7, 0, 0, None), report(8, 0, 0, None)]),
            output(RIGHT, vec![received(10_001, 0, 499, 9_000), received(10_000, 0, 500, 5_000)]),
        ];
        let joined = join(&mut flows, &outputs);
        let [whole, cut] = &joined.ends[..] else { panic!("two flows") };
        assert_eq!((whole.end, whole.delivered), (Some(Time::from_picos(5_000_000)), 500));
        assert_eq!((whole.retransmissions, whole.timeouts, whole.marks, whole.subflows), (3, 1, 2, 1));
        assert_eq!((cut.end, cut.delivered), (None, 499));
        assert!(joined.failed.is_empty());
    }

    #[test]
    fn the_first_copy_to_be_whole_counts() {
        let mut flows = [sent(7, 0, 500, &[10_000, 10_001])];
        let outputs = [
            output(LEFT, vec![report(7, 0, 0, None), report(7, 1, 1, None)]),
            output(RIGHT, vec![received(10_000, 0, 500, 9_000), received(10_001, 1, 500, 5_000)]),
        ];
        let end = &join(&mut flows, &outputs).ends[0];
        assert_eq!(end.end, Some(Time::from_picos(5_000_000)));
        assert_eq!((end.subflows, end.interfaces, end.retransmissions), (2, 0b11, 6));
    }

    #[test]
    fn connections_with_the_same_ports_are_told_apart_by_time() {
        let mut flows = [sent(7, 0, 500, &[10_000]), sent(8, 6_000, 300, &[10_000])];
        let arrived = |at_ns: u64, bytes| {
            let at_ns = EPOCH_NS + at_ns;
            Report::Arrived { at_ns, peer: end(1, 0, 10_000), port: 5000, bytes }
        };
        let outputs = [output(
            RIGHT,
            vec![
                arrived(5_000, 100),
                received(10_000, 0, 500, 5_500),
                arrived(20_000, 200),
                received(10_000, 0, 300, 30_000),
            ],
        )];
        let joined = join(&mut flows, &outputs);
        assert_eq!(joined.ends[0].end, Some(Time::from_picos(5_500_000)));
        assert_eq!(joined.ends[1].end, Some(Time::from_picos(30_000_000)));
        // samples every 10 us: the first flow is over before the first one, and the second between the last two
        let goodput = |sample: &&Sample| sample.kind == SampleKind::Goodput;
        let of = |id: u64| -> Vec<(u64, f64)> {
            let own = joined.samples.iter().filter(goodput).filter(|sample| sample.of == SampleOf::Flow(id, 0));
            own.map(|sample| (sample.time.picos() / 1_000_000, (sample.value * 10e-6 / 8.0).round())).collect()
        };
        assert_eq!(of(7), [(10, 500.0)]);
        assert_eq!(of(8), [(10, 0.0), (20, 200.0), (30, 100.0)]);
    }

    #[test]
    fn goodput_adds_up_to_the_copy_that_was_furthest() {
        let mut flows = [sent(7, 0, 500, &[10_000, 10_001])];
        let arrived = |at_ns: u64, copy: u8, bytes| Report::Arrived {
            at_ns: EPOCH_NS + at_ns,
            peer: end(1, copy, 10_000 + u16::from(copy)),
            port: 5000,
            bytes,
        };
        let outputs = [output(
            RIGHT,
            vec![
                arrived(10_000, 0, 200),
                arrived(10_000, 1, 300),
                arrived(20_000, 0, 400),
                received(10_000, 0, 500, 25_000),
                received(10_001, 1, 350, 40_000),
            ],
        )];
        let joined = join(&mut flows, &outputs);
        let bytes = joined.samples.iter().map(|sample| (sample.value * 10e-6 / 8.0).round());
        assert_eq!(bytes.collect::<Vec<_>>(), [300.0, 100.0, 100.0]);
    }

    #[test]
    fn flows_that_failed_are_counted_by_reason_unless_all_arrived() {
        let mut flows = [sent(7, 0, 500, &[1]), sent(8, 0, 500, &[2]), sent(9, 0, 500, &[3])];
        let refused = Some("cannot connect: connection refused");
        let outputs = [
            output(LEFT, vec![report(7, 0, 0, refused), report(8, 0, 0, refused), report(9, 0, 0, refused)]),
            output(RIGHT, vec![received(3, 0, 500, 5_000)]),
        ];
        let joined = join(&mut flows, &outputs);
        let failed = joined.failures(&["t".into()]);
        assert_eq!(failed.len(), 1);
        assert_eq!((&*failed[0].traffic, failed[0].flows), ("t", 2));
        assert_eq!(joined.ends[0].interfaces, 1, "as it was meant to go");
    }

    #[test]
    fn windows_and_round_trips_are_of_subflows() {
        let mut flows = [sent(7, 0, 500, &[10_000, 10_001])];
        let sample = |connection, srtt_ns| Report::Sample {
            at_ns: EPOCH_NS + 10_000,
            flow: 7,
            connection,
            subflow: 0,
            cwnd_bytes: 14_480,
            srtt_ns,
        };
        let outputs = [output(LEFT, vec![sample(0, 0), sample(1, 2_000_000)])];
        let joined = join(&mut flows, &outputs);
        let of = |kind| {
            let all = joined.samples.iter().filter(move |sample| sample.kind == kind);
            all.map(|sample| (sample.of, sample.value)).collect::<Vec<_>>()
        };
        let (first, second) = (SampleOf::Subflow(7, 0, 0), SampleOf::Subflow(7, 0, 1));
        assert_eq!(of(SampleKind::Cwnd), [(first, 14_480.0), (second, 14_480.0)]);
        assert_eq!(of(SampleKind::Rtt), [(second, 0.002)], "none before the first was measured");
    }

    #[test]
    fn the_digest_is_of_all_that_was_reported() {
        let of = |bytes| digest(&[output(RIGHT, vec![received(1, 0, bytes, 1)])]);
        assert_eq!(of(1), of(1));
        assert_ne!(of(1), of(2));
        assert_ne!(digest(&[]), 0);
    }
}
