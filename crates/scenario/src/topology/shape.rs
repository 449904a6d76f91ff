//! The trait of all kinds of topology.

use std::fmt;

use headway_fabric::topology::{Built, TopologyError};
use headway_fabric::{GraphError, Wire};
use headway_units::{Rate, Span};

use super::link::{LinkChangeRecord, LinkRecord};
use crate::checker::Checker;
use crate::queue::QueueRecord;

/// A kind of topology: its record, which the file gives, with its checks and the graph that it describes.
pub(crate) trait Shape {
    /// Notes mistakes beyond those of single keys; `link` is every cable that has no key of its own.
    fn check(&self, _link: &LinkRecord, _checker: &mut Checker) {}

    /// Cables that differ from `topology.link`, by their keys.
    fn changes(&self) -> Vec<(&'static str, Option<&LinkChangeRecord>)> {
        Vec::new()
    }

    /// Its size, without building it.
    fn extent(&self) -> Extent;

    /// The graph, cabled with `wires`.
    fn build(&self, wires: &Wires) -> Result<Built, BuildError>;

    /// Whether it has planes, above which hosts can be.
    fn has_planes(&self) -> bool {
        false
    }

    /// Whether its servers forward.
    fn servers_forward(&self) -> bool {
        false
    }
}

/// Why a topology cannot be built.
#[derive(Debug)]
pub(crate) enum BuildError {
    Topology(TopologyError),
    Graph(GraphError),
}

impl From<TopologyError> for BuildError {
    fn from(error: TopologyError) -> BuildError {
        BuildError::Topology(error)
    }
}

impl From<GraphError> for BuildError {
    fn from(error: GraphError) -> BuildError {
        BuildError::Graph(error)
    }
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BuildError::Topology(error) => write!(f, "this topology cannot be built: {error}"),
            BuildError::Graph(error) => write!(f, "this graph cannot be built: {error}"),
        }
    }
}

/// Hosts, and cables of all sorts, of a topology. Wide enough for every combination of keys.
pub(crate) struct Extent {
    pub hosts: u128,
    pub cables: u128,
}

/// Refuses an odd number, whose half the topology needs.
pub(super) fn even(key: &str, number: u32, checker: &mut Checker) {
    if !number.is_multiple_of(2) {
        let why = match key {
            "intermediate-ports" => "aggregation switches, as many, come in pairs",
            _ => "half of the ports go up, half go down",
        };
        let help = format!("{why}: {} or {}", number - 1, number + 1);
        let message = format!("`topology.{key}` must be even");
        checker.problem(&["topology", key], message, &format!("this is {number}"), Some(&help));
    }
}

/// The wire out of a port with the queue `own`.
pub(crate) fn wire(link: &LinkRecord, own: &QueueRecord) -> Wire {
    Wire { rate: link.rate, delay: link.delay, gap: link.gap, loss: link.loss.get(), queue: own.spec() }
}

/// The wires of a topology: hosts' ports, switches' ports to hosts, and changed links between switches.
pub(crate) struct Wires<'a> {
    pub link: &'a LinkRecord,
    pub queue: &'a QueueRecord,
    pub host_queue: &'a QueueRecord,
    pub switch_latency: Span,
}

impl Wires<'_> {
    fn changed(&self, change: Option<&LinkChangeRecord>) -> LinkRecord {
        change.map_or_else(|| self.link.clone(), |change| change.over(self.link))
    }

    /// Out of a host.
    pub fn host(&self, change: Option<&LinkChangeRecord>) -> Wire {
        wire(&self.changed(change), self.host_queue)
    }

    /// Out of a switch.
    pub fn switch(&self, change: Option<&LinkChangeRecord>) -> Wire {
        let own = change.and_then(|change| change.queue.as_ref());
        wire(&self.changed(change), own.unwrap_or(self.queue))
    }

    /// Between switches, the rate divided by `factor`.
    pub fn oversubscribed(&self, change: Option<&LinkChangeRecord>, factor: f64) -> Wire {
        let wire = self.switch(change);
        Wire { rate: Rate::from_bps((wire.rate.bps() as f64 / factor).round() as u64), ..wire }
    }
}
