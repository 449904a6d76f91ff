//! Requests that are split up among hosts, and their answers.

use std::path::Path;

use headway_engine::Streams;
use headway_traffic::app::{Level, Message, PartitionAggregate, Requests, TreeError, Way};
use headway_transport::{FlowEnd, FlowStart, Profile};
use headway_units::{Span, Time};

use super::error::PlanError;
use super::network::{Hosts, Network};
use super::offered::{Offered, Round};
use super::traffic::{arrival, check_interface, check_lanes, check_paths, fewest_interfaces};
use crate::schema::{PartitionAggregateRecord, PolicyRecord, ScenarioRecord};

/// A partition–aggregate application with its hosts.
#[derive(Debug, Clone)]
pub(super) struct Tree {
    /// Its place among all traffic.
    pub index: u16,
    name: String,
    /// The place of its first name among those by which flows are reported; see
    /// [`PartitionAggregateRecord::reported`].
    first: u16,
    app: PartitionAggregate,
    /// The roots, then each level.
    hosts: Vec<Hosts>,
}

impl Tree {
    pub fn build(
        name: &str,
        record: &PartitionAggregateRecord,
        (index, first): (usize, usize),
        scenario: &ScenarioRecord,
        network: &Network,
        folder: &Path,
    ) -> Result<Tree, PlanError> {
        let number = index.to_string();
        let fault = |key: &str, message: String| PlanError::new(&["traffic", &number, key], message);
        let mut hosts = vec![network.group(&record.root).to_vec()];
        let mut levels = Vec::new();
        for (level, own) in record.levels.iter().enumerate() {
            let level = level.to_string();
            let at = ["traffic", &number, "levels", &level, "answer"];
            let answer = own.answer.0.size(folder).map_err(|message| PlanError::new(&at, message))?;
            hosts.push(network.group(&own.on).to_vec());
            levels.push(Level {
                hosts: network.group(&own.on).len(),
                answer: answer.ok_or_else(|| PlanError::new(&at, "an answer without end is none"))?,
                deadline: own.deadline,
                work: own.work,
                jitter: own.jitter,
            });
        }
        let query = record.query.0.size(folder).map_err(|message| fault("query", message))?;
        let stop = record.stop.unwrap_or(scenario.duration).min(scenario.duration);
        let app = PartitionAggregate {
            name: name.to_owned(),
            roots: hosts[0].len(),
            levels,
            query: query.ok_or_else(|| fault("query", "a query without end is none".to_owned()))?,
            arrival: arrival(&record.arrival).ok_or_else(|| fault("arrival", "requests make up no load".to_owned()))?,
            deadline: record.deadline,
            start: Time::ZERO + record.start,
            stop: Time::ZERO + stop,
        };
        for (level, pair) in hosts.windows(2).enumerate() {
            check_paths(&pair[0], &pair[1], network).and_then(|()| check_paths(&pair[1], &pair[0], network)).map_err(
                |message| PlanError::new(&["traffic", &number, "levels", &level.to_string(), "on"], message),
            )?;
        }
        // What could be wrong with it is wrong for any seed.
        app.requests(Streams::new(0)).map_err(|error| {
            let key = if matches!(error, TreeError::Arrival(_)) { "arrival" } else { "levels" };
            fault(key, format!("traffic `{name}`: {error}"))
        })?;
        Ok(Tree { index: index as u16, name: name.to_owned(), first: first as u16, app, hosts })
    }

    /// An interface that is asked for must be there.
    pub fn check_interface(
        &self,
        profile: &Profile,
        network: &Network,
        policy: &PolicyRecord,
        index: usize,
    ) -> Result<(), PlanError> {
        let fewest = self.hosts.windows(2).filter_map(|pair| fewest_interfaces([&pair[0], &pair[1]], network)).min();
        check_interface(&self.name, fewest, profile, policy, index)
    }

    /// Lanes need a subflow left for long flows.
    pub fn check_lanes(&self, profile: &Profile, network: &Network, policy: &str) -> Result<(), PlanError> {
        self.hosts
            .windows(2)
            .try_for_each(|pair| check_lanes(&self.name, [&pair[0], &pair[1]], profile, network, policy))
    }

    /// The numbers that its flows have: requests, then answers and queries of each level.
    pub fn numbers(&self) -> std::ops::Range<u16> {
        self.first..self.first + 1 + 2 * (self.hosts.len() as u16 - 1)
    }

    /// What it is expected to send in a run: every host of a level is asked once for each request, and answers.
    pub fn offers(&self, round: &Round<'_>) -> Vec<Offered<'_>> {
        let (start, stop) = (self.app.start, self.app.stop);
        let levels = || self.hosts.windows(2).zip(&self.app.levels);
        let answers = || levels().map(|(pair, level)| (pair, level, level.answer.mean().get() as f64));
        let takes = answers().map(|(pair, level, bytes)| round(&pair[1], &pair[0], bytes).saturating_add(level.work));
        let takes = takes.fold(Span::ZERO, Span::saturating_add);
        let requests = self.app.roots as f64 * self.app.arrival.expected(stop.since(start), takes);
        let query = self.app.query.mean().get() as f64;
        let messages = answers().flat_map(|(pair, level, bytes)| {
            let (above, below) = (&pair[0][..], &pair[1][..]);
            [(above, below, query), (below, above, bytes)].map(|(sources, destinations, bytes)| Offered {
                traffic: self.index,
                sources,
                destinations,
                flows: requests * level.hosts as f64,
                at_once: level.hosts as f64,
                bytes: Some(bytes),
                start,
                stop,
                waits: self.app.arrival.waits(),
            })
        });
        messages.collect()
    }

    /// Its requests in one run.
    pub fn starts(&self, streams: Streams) -> TreeStarts<'_> {
        TreeStarts { tree: self, requests: self.app.requests(streams).expect("checked when it was planned") }
    }

    fn id(&self, generator: u32, number: u64) -> u64 {
        u64::from(self.index) << 52 | u64::from(generator) << 32 | number
    }
}

/// The flows of a tree in one run.
pub(super) struct TreeStarts<'a> {
    tree: &'a Tree,
    requests: Requests,
}

impl TreeStarts<'_> {
    pub fn index(&self) -> u16 {
        self.tree.index
    }

    pub fn next_time(&mut self) -> Option<Time> {
        self.requests.next_time()
    }

    pub fn start(&mut self, now: Time) -> Option<FlowStart> {
        let message = self.requests.act(now)?;
        let Message { way, level, host, asker, size, deadline, generator, number } = message;
        let (above, below) = (self.tree.hosts[level][asker], self.tree.hosts[level + 1][host]);
        let (source, destination) = if way == Way::Query { (above, below) } else { (below, above) };
        // as reported: requests, then answers and queries of each level
        let name = 1 + 2 * level as u16 + u16::from(way == Way::Query);
        Some(FlowStart {
            time: now,
            id: self.tree.id(generator, number),
            traffic: self.tree.first + name,
            source,
            destination,
            size: Some(size),
            deadline,
            profile: self.tree.index,
        })
    }

    pub fn completed(&mut self, at: Time, generator: u32, number: u64) {
        self.requests.completed(at, generator, number);
    }

    /// Its requests, as flows from a root to itself.
    pub fn finish(self) -> impl Iterator<Item = FlowEnd> {
        let Tree { first, index, .. } = *self.tree;
        let tree = self.tree;
        self.requests.finish().into_iter().map(move |request| {
            let start = FlowStart {
                time: request.start,
                id: tree.id(request.generator, request.number),
                traffic: first,
                source: tree.hosts[0][request.root],
                destination: tree.hosts[0][request.root],
                size: Some(request.size),
                deadline: tree.app.deadline,
                profile: index,
            };
            FlowEnd::new(start, request.end, request.gathered.get())
        })
    }
}
