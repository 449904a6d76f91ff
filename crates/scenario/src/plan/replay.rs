//! Flows of a list, on the hosts that it means.

use std::collections::BTreeSet;
use std::path::Path;

use headway_fabric::NodeId;
use headway_language::suggest_help;
use headway_traffic::{Expected, FlowList, HostNames, ListError, ListedFlow, ListedPath};
use headway_units::{Bytes, Span, Time};

use super::error::PlanError;
use super::flow_table;
use super::network::{Hosts, Network};
use super::traffic::{FlowsPlan, Origin, check_paths};
use crate::schema::{ReplayRecord, ScenarioRecord};

/// A list has at most this many bytes.
const LARGEST: u64 = 64 << 20;

/// The flows of a list that are replayed.
#[derive(Debug, Clone)]
pub(super) struct Replay {
    list: FlowList,
    /// How many of its flows, which are in order of time, start before the end.
    count: usize,
    /// The hosts that its indices mean.
    hosts: Hosts,
    start: Time,
}

impl Replay {
    /// When flow number `number` starts, if there is one.
    pub fn time(&self, number: usize) -> Option<Time> {
        Some(self.flow(number)?.0)
    }

    /// Start, source, destination and size of flow number `number`.
    pub fn flow(&self, number: usize) -> Option<(Time, [NodeId; 2], Option<Bytes>)> {
        let ListedFlow { time, source, destination, size, .. } = self.flows().get(number)?;
        let ends = [*source, *destination].map(|index| self.hosts[index as usize]);
        Some((self.start.saturating_add(*time), ends, *size))
    }

    /// All pairs of hosts between which its flows run.
    pub fn pairs(&self) -> BTreeSet<(NodeId, NodeId)> {
        let host = |index: u32| self.hosts[index as usize];
        self.flows().iter().map(|flow| (host(flow.source), host(flow.destination))).collect()
    }

    /// Its flows, those with and those without an end, each with the time from the first to the last.
    pub fn expected(&self) -> impl Iterator<Item = (Expected, (Time, Time))> {
        let of = |endless: bool| {
            let own: Vec<&ListedFlow> = self.flows().iter().filter(|flow| flow.size.is_none() == endless).collect();
            let (first, last) = (own.first()?.time, own.last()?.time);
            let together = own.chunk_by(|one, other| one.time == other.time).map(<[_]>::len).max().unwrap_or(0);
            let bytes: u64 = own.iter().filter_map(|flow| flow.size).map(Bytes::get).fold(0, u64::saturating_add);
            let mean = (bytes as f64 / own.len() as f64).max(1.0);
            let bytes = if endless { None } else { Some(mean) };
            let span = [first, last].map(|at| self.start.saturating_add(at));
            Some((Expected { flows: own.len() as f64, at_once: together as f64, bytes }, (span[0], span[1])))
        };
        [false, true].into_iter().filter_map(of).collect::<Vec<_>>().into_iter()
    }

    /// Whether one of its flows has no end.
    pub fn is_endless(&self) -> bool {
        self.flows().iter().any(|flow| flow.size.is_none())
    }

    /// The paths that the list gives: the number of the flow, its ends, and the path of one of its subflows.
    pub fn paths(&self) -> impl Iterator<Item = (usize, [NodeId; 2], &ListedPath)> {
        self.flows().iter().enumerate().flat_map(|(number, flow)| {
            let ends = [flow.source, flow.destination].map(|index| self.hosts[index as usize]);
            self.list.paths(flow).iter().map(move |path| (number, ends, path))
        })
    }

    fn flows(&self) -> &[ListedFlow] {
        &self.list.flows()[..self.count]
    }
}

impl FlowsPlan {
    /// The flows of the list that `record`, which is number `index`, names in `folder`.
    ///
    /// # Errors
    /// If there is no such list, or not of these hosts.
    pub(super) fn replay(
        name: &str,
        record: &ReplayRecord,
        index: usize,
        scenario: &ScenarioRecord,
        network: &Network,
        folder: &Path,
    ) -> Result<FlowsPlan, PlanError> {
        let number = index.to_string();
        let fault = |key: &str, message: String| PlanError::new(&["traffic", &number, key], message);
        let hosts: Hosts = match &record.hosts {
            Some(group) => network.group(group).to_vec(),
            None => network.built.hosts.clone(),
        };
        let file = &record.file;
        let names: Vec<_> = hosts.iter().map(|&host| network.name(host)).collect();
        let list = read(record, folder, HostNames::new(names.iter().map(|name| &**name)));
        let list = list.map_err(|(message, unknown)| {
            let fault = fault("file", message);
            match unknown {
                Some(unknown) => fault.help(suggest_help(&unknown, names.iter().map(|name| &**name), "hosts")),
                None => fault,
            }
        })?;
        let stop = record.stop.unwrap_or(scenario.duration).min(scenario.duration);
        let window = stop.saturating_sub(record.start);
        let count = list.flows().partition_point(|flow| flow.time < window);
        if count == 0 {
            let first = list.flows().first().map_or(Span::ZERO, |flow| flow.time);
            let message = format!(
                "{file}: no flow starts within {window}, the time from `start` to the end: the first starts at {first}"
            );
            return Err(fault("file", message).help("times count from `start`; give the scenario a longer `duration`"));
        }
        let replay = Replay { list, count, hosts, start: Time::ZERO + record.start };
        if record.connections.is_some() && replay.is_endless() {
            let message = format!("{file}: it has flows without end, and messages on connections have one");
            return Err(fault("connections", message).help("leave `connections` out, or give each flow a size"));
        }
        let ends = replay.check_paths(network).map_err(|message| fault("file", format!("{file}: {message}")))?;
        Ok(FlowsPlan::new((name, index), Origin::Listed(replay), record.deadline, ends, network))
    }
}

impl Replay {
    /// Checks that there is a path for each of its flows; gives those who send and those who receive.
    fn check_paths(&self, network: &Network) -> Result<[Hosts; 2], String> {
        let (mut senders, mut receivers, mut pairs) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
        // hosts whose interfaces are in the same parts of the network have the same paths
        let parts: Vec<_> = self.hosts.iter().map(|&host| network.parts_of(host)).collect();
        let alike = |index: u32| {
            let own = &parts[index as usize];
            parts.iter().position(|other| other == own).expect("it is one of them")
        };
        let alike: Vec<usize> = (0..parts.len() as u32).map(alike).collect();
        for &ListedFlow { source, destination, .. } in self.flows() {
            senders.insert(source);
            receivers.insert(destination);
            if pairs.insert([source, destination].map(|index| alike[index as usize])) {
                let [from, to] = [source, destination].map(|index| [self.hosts[index as usize]]);
                check_paths(&from, &to, network)?;
            }
        }
        let hosts = |of: BTreeSet<u32>| of.into_iter().map(|index| self.hosts[index as usize]).collect();
        Ok([hosts(senders), hosts(receivers)])
    }
}

/// Reads the list; otherwise the mistake, and the name of a host that there is not.
fn read(record: &ReplayRecord, folder: &Path, hosts: HostNames<'_>) -> Result<FlowList, (String, Option<String>)> {
    let file = &record.file;
    let bytes = headway_input::read(&folder.join(file), LARGEST).map_err(|error| (format!("{file}: {error}"), None))?;
    let select: Vec<_> = record.select.iter().map(|(column, value)| (column.to_owned(), value.to_string())).collect();
    let list = if flow_table::is_parquet(&bytes) {
        flow_table::read(bytes, &select, hosts)
    } else {
        FlowList::parse(&bytes, &select, &hosts)
    };
    list.map_err(|error| {
        let ListError { fault, .. } = &error;
        let unknown = if let headway_traffic::Fault::Host { found } = fault { Some(found.clone()) } else { None };
        (format!("{file}: {error}"), unknown)
    })
}
