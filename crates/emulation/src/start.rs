//! The kernel hosts of one run: flows with their addresses and times, commands, and the plan to launch them.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use headway_agent::protocol::{self, Config};
use headway_engine::Streams;
use headway_fabric::NodeId;
use headway_kernel::image::Image;
use headway_kernel::setup::{ipv4, ipv6, mac};
use headway_kernel::{CardSpec, Cpu, EPOCH_NS, GuestPlan, RunPlan};
use headway_lab::{LabHost, LabPlan};
use headway_transport::{FlowStart, Ports, Profile};
use headway_units::{Bytes, Span, Time};

use crate::kernels::{Guest, Kernels};
use headway_scenario::plan::Network;

/// Flows have these ports of their own.
const PORTS: std::ops::Range<u32> = 10_000..60_000;
/// Programs of a policy start so long before the run.
const BEFORE_NS: u64 = EPOCH_NS / 2;
/// A guest that does not answer for so long has come to a halt.
const PATIENCE: Duration = Duration::from_secs(60);

/// The machine for kernel hosts.
#[derive(Debug, Clone)]
pub enum Machine {
    /// Guests.
    Guests(GuestMachine),
    /// Namespaces of the machine's own kernel.
    Namespaces,
}

/// The machine for guests.
#[derive(Debug, Clone)]
pub struct GuestMachine {
    /// The kernel.
    pub image: Arc<Image>,
    /// The processors to use, if they are to be chosen.
    pub processors: Vec<usize>,
    /// Threads.
    pub threads: usize,
    /// Where captures of this run go, if they are kept.
    pub captures: Option<PathBuf>,
}

/// How the kernel hosts of one run are run.
#[derive(Debug)]
pub enum LaunchPlan {
    /// In guests.
    Guests(RunPlan),
    /// In namespaces.
    Namespaces(LabPlan),
}

/// The kernel hosts of one run, ready to boot.
#[derive(Debug)]
pub struct Started {
    /// How they are run.
    pub plan: LaunchPlan,
    /// The flows, in order of time.
    pub sent: Vec<Sent>,
}

/// A flow that a kernel host sends.
#[derive(Debug, Clone)]
pub struct Sent {
    /// The flow.
    pub start: FlowStart,
    /// Its connections: from where, to where, and by which pair of interfaces.
    pub connections: Vec<(SocketAddr, SocketAddr, usize)>,
    /// Whether it is sampled.
    pub sampled: bool,
    /// Whether its connections are of MPTCP.
    pub mptcp: bool,
}

/// A time as guests have it, rounded up.
pub(crate) fn nanos(time: Time) -> u64 {
    EPOCH_NS + time.picos().div_ceil(1000)
}

fn after(span: Span) -> u64 {
    nanos(Time::ZERO + span)
}

/// Ports in use, by address: runs of them, from the first to the one behind the last.
#[derive(Debug, Default)]
struct Taken(BTreeMap<(u32, u32), BTreeMap<u32, u32>>);

impl Taken {
    /// The first free port from `wanted` on; when all have been used, all are free again.
    fn take(&mut self, address: (u32, u32), wanted: u16) -> u16 {
        let count = PORTS.len() as u32;
        let runs = self.0.entry(address).or_default();
        if runs.get(&0) == Some(&count) {
            runs.clear();
        }
        let mut port = u32::from(wanted) % count;
        while let Some((_, &end)) = runs.range(..=port).next_back().filter(|&(_, &end)| end > port) {
            port = end % count;
        }
        let end = runs.remove(&(port + 1)).unwrap_or(port + 1);
        match runs.range_mut(..port).next_back() {
            Some((_, before)) if *before == port => *before = end,
            _ => _ = runs.insert(port, end),
        }
        (PORTS.start + port) as u16
    }
}

/// The hosts that take part in a run, and what each is told of its flows.
struct Told {
    hosts: BTreeSet<NodeId>,
    flows: BTreeMap<NodeId, Vec<protocol::Flow>>,
    expected: BTreeMap<NodeId, Vec<protocol::Expected>>,
}

impl Told {
    fn new(kernels: &Kernels, sent: &[Sent]) -> Told {
        let hosts = kernels.commands.iter().map(|command| command.host).collect();
        let mut told = Told { hosts, flows: BTreeMap::new(), expected: BTreeMap::new() };
        for flow in sent {
            told.hosts.extend([flow.start.source, flow.start.destination]);
            let size = flow.start.size.map(Bytes::get);
            if protocol::is_long(size) {
                let long = |&(peer, to, _): &(SocketAddr, SocketAddr, usize)| protocol::Expected {
                    peer,
                    port: to.port(),
                    size,
                };
                let expected = told.expected.entry(flow.start.destination).or_default();
                expected.extend(flow.connections.iter().map(long));
            }
            told.flows.entry(flow.start.source).or_default().push(kernels.flow(flow));
        }
        told
    }

    /// All that `host` is told.
    fn host(&mut self, kernels: &Kernels, host: NodeId) -> protocol::Host {
        let mut own = kernels.host(host, self.flows.remove(&host).unwrap_or_default());
        own.expected = self.expected.remove(&host).unwrap_or_default();
        own
    }
}

impl Kernels {
    /// The kernel hosts of the run in which `starts` are the flows that kernel hosts send, in order of time, and all
    /// random numbers come from `streams`; nothing if nobody takes part.
    pub fn start(
        &self,
        starts: impl Iterator<Item = FlowStart>,
        network: &Network,
        profiles: &[Profile],
        streams: Streams,
        machine: &Machine,
    ) -> Option<Started> {
        let sent = self.flows(starts, network, profiles, Ports::new(streams));
        let mut told = Told::new(self, &sent);
        if told.hosts.is_empty() {
            return None;
        }
        let plan = match machine {
            Machine::Guests(machine) => LaunchPlan::Guests(self.run_plan(&mut told, network, streams, machine)),
            Machine::Namespaces => LaunchPlan::Namespaces(self.lab_plan(&mut told, network, streams)),
        };
        Some(Started { plan, sent })
    }

    /// How hosts that are namespaces are run.
    fn lab_plan(&self, told: &mut Told, network: &Network, streams: Streams) -> LabPlan {
        let hosts = std::mem::take(&mut told.hosts);
        let own = |node: NodeId| LabHost { node, setup: self.hosts[&node].setup.clone(), host: told.host(self, node) };
        LabPlan {
            graph: network.built.graph.clone(),
            hosts: hosts.into_iter().map(own).collect(),
            mtu: u32::from(self.mtu),
            names: self.names(),
            end_ns: nanos(self.end),
            files: self.files.clone(),
            seed: streams.stream("namespaces").next_u64(),
        }
    }

    /// How hosts that are guests are run.
    fn run_plan(&self, told: &mut Told, network: &Network, streams: Streams, machine: &GuestMachine) -> RunPlan {
        let graph = &network.built.graph;
        let mut addresses = BTreeMap::new();
        for host in told.hosts.iter().map(|host| &self.hosts[host]) {
            for (interface, &link) in (0..).zip(&host.links) {
                addresses.insert(ipv4(host.setup.number, interface).into(), link);
                addresses.insert(ipv6(host.setup.number, interface).into(), link);
            }
        }
        let wire = |link| graph.link(link).wire;
        let mut guests = Vec::new();
        for guest in &self.guests {
            let members: Vec<NodeId> = guest.hosts.iter().copied().filter(|host| told.hosts.contains(host)).collect();
            if members.is_empty() {
                continue;
            }
            let seed = streams.stream(&format!("guest/{}", guest.name)).next_u64();
            let hosts = members.iter().map(|&host| told.host(self, host)).collect();
            guests.push(self.guest(guest, &members, hosts, seed, &wire));
        }
        let captures = machine.captures.iter().flat_map(|folder| {
            self.captures.iter().flat_map(move |(name, watches)| {
                let path = folder.join(format!("{}.pcap", name.replace('>', "-to-")));
                watches.iter().map(move |&watch| (watch, path.clone()))
            })
        });
        RunPlan {
            linux: machine.image.linux.clone(),
            initramfs: machine.image.initramfs.clone(),
            system: machine.image.system.clone(),
            fast_path: machine.image.about.fast_path,
            guests,
            addresses,
            files: self.files.clone(),
            captures: captures.collect(),
            processors: machine.processors.clone(),
            threads: machine.threads.max(1),
            patience: PATIENCE,
        }
    }

    fn flows(
        &self,
        starts: impl Iterator<Item = FlowStart>,
        network: &Network,
        profiles: &[Profile],
        ports: Ports,
    ) -> Vec<Sent> {
        let graph = &network.built.graph;
        let mut taken = Taken::default();
        let mut sent = Vec::new();
        for start in starts {
            let flows = &self.flows[&start.traffic];
            let profile = &profiles[usize::from(start.profile)];
            let copies = match (profile.replicate, start.size) {
                (Some((below, copies)), Some(size)) if size <= below => copies,
                _ => 1,
            };
            let pairs = graph.interfaces(start.source).len().min(graph.interfaces(start.destination).len());
            let (ours, theirs) = [start.source, start.destination].map(|host| self.hosts[&host].setup.number).into();
            let connection = |copy: u32| {
                let copy = copy as u8;
                let pair = if flows.mptcp { 0 } else { ports.pair(start.id, copy, pairs.max(1), profile.interface) };
                let port = taken.take((ours, pair as u32), ports.port(start.id, copy, 0));
                let from = SocketAddr::from((ipv4(ours, pair as u32), port));
                (from, SocketAddr::from((ipv4(theirs, pair as u32), flows.port)), pair)
            };
            let connections = (0..copies).map(connection).collect();
            sent.push(Sent { start, connections, sampled: flows.sampled, mptcp: flows.mptcp });
        }
        sent
    }

    fn flow(&self, sent: &Sent) -> protocol::Flow {
        let flows = &self.flows[&sent.start.traffic];
        protocol::Flow {
            id: sent.start.id,
            start_ns: nanos(sent.start.time),
            size: sent.start.size.map(Bytes::get),
            sampled: sent.sampled,
            mptcp: sent.mptcp,
            control: Some(flows.control.clone()),
            max_pacing_rate: flows.max_pacing_rate.map(|rate| rate.bps() / 8),
            connections: sent.connections.iter().map(|&(from, to, _)| (from, to)).collect(),
        }
    }

    fn host(&self, host: NodeId, flows: Vec<protocol::Flow>) -> protocol::Host {
        let own = &self.hosts[&host];
        let listens = self.flows.values().filter(|flows| flows.destinations.contains(&host));
        let mut commands: Vec<protocol::Command> = self
            .commands
            .iter()
            .filter(|command| command.host == host)
            .map(|command| protocol::Command {
                name: command.traffic.to_string(),
                shell: command.shell.clone(),
                start_ns: command.start.map_or(EPOCH_NS - BEFORE_NS, after),
                stop_ns: command.stop.map(after),
            })
            .collect();
        commands.sort_by_key(|command| command.start_ns);
        protocol::Host {
            name: own.name.to_string(),
            interfaces: own.setup.interfaces,
            setup: own.setup.programs(),
            listeners: listens
                .map(|flows| protocol::Listener {
                    port: flows.port,
                    mptcp: flows.mptcp,
                    control: Some(flows.control.clone()),
                })
                .collect(),
            expected: Vec::new(),
            daemons: own.daemon.iter().cloned().collect(),
            flows,
            commands,
            sample_ns: self.sample_ns,
        }
    }

    fn guest(
        &self,
        guest: &Guest,
        members: &[NodeId],
        hosts: Vec<protocol::Host>,
        seed: u64,
        wire: &dyn Fn(headway_fabric::LinkId) -> headway_fabric::Wire,
    ) -> GuestPlan {
        let record = &self.hosts[&guest.hosts[0]].record;
        let mut cards = Vec::new();
        let mut carriers = BTreeMap::new();
        for (cpu, member) in members.iter().enumerate() {
            let host = &self.hosts[member];
            for (interface, &link) in (0..).zip(&host.links) {
                let wire = wire(link);
                let card = CardSpec {
                    mac: mac(host.setup.number, interface),
                    mtu: self.mtu,
                    rate: wire.rate,
                    gap: wire.gap,
                    segmentation: record.segmentation,
                    checksums: record.checksums,
                    cpu,
                };
                if let Some(times) = self.carriers.get(&link) {
                    carriers.insert(cards.len(), times.iter().map(|&time| nanos(time)).collect());
                }
                cards.push((link, card));
            }
        }
        let whole = |span: Span| span.picos() / 1000;
        let cpu = Cpu { packet: whole(record.cpu_per_packet), interrupt: whole(record.cpu_per_interrupt) };
        GuestPlan {
            config: Config {
                epoch_ns: EPOCH_NS,
                end_ns: nanos(self.end),
                files: self.files.is_some(),
                names: self.names(),
                hosts,
            },
            cards,
            carriers,
            cpus: vec![cpu; members.len()],
            memory: crate::kernels::memory(record),
            seed,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_are_their_own_as_long_as_there_are_any() {
        let mut taken = Taken::default();
        let first = taken.take((0, 0), 7);
        assert_eq!(first, 10_007);
        assert_eq!(taken.take((0, 0), 7), 10_008, "the next one");
        assert_eq!(taken.take((0, 1), 7), 10_007, "of another address");
        assert_eq!(taken.take((0, 0), 49_999), 59_999);
        assert_eq!(taken.take((0, 0), 49_999), 10_000, "round again");
        let mut all: BTreeSet<u16> = [10_000, 10_007, 10_008, 59_999].into();
        for wanted in 0..49_996 {
            assert!(all.insert(taken.take((0, 0), (wanted * 31) as u16)));
        }
        assert_eq!(all.len(), 50_000);
        assert_eq!(taken.take((0, 0), 7), 10_007, "all are free again");
    }

    #[test]
    fn times_are_rounded_up() {
        assert_eq!(nanos(Time::ZERO), EPOCH_NS);
        assert_eq!(nanos(Time::from_picos(1)), EPOCH_NS + 1);
    }
}
