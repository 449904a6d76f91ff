//! How topologies are wired: the graph under construction, and the checks that all of them share.

use std::ops::Range;

use headway_units::Span;
use thiserror::Error;

use crate::graph::{Graph, GraphError, NodeId};
use crate::wire::Wire;

/// The most hosts that are counted.
pub(super) const MAX_HOSTS: u64 = 1_000_000_000;

/// Why a topology cannot be built.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum TopologyError {
    /// A parameter outside its range.
    #[error("`{name}` is {value}; it must be {allowed}")]
    Parameter {
        /// Name of the field.
        name: &'static str,
        /// What it is.
        value: u32,
        /// What it may be.
        allowed: &'static str,
    },
    /// More links than a graph may have. Found before anything is allocated.
    #[error("this topology has {links} directed links; the most is {}", Graph::MAX_LINKS)]
    TooLarge {
        /// How many it would have.
        links: u128,
    },
    /// More hosts than are counted.
    #[error("this topology has {hosts} hosts; the most is {}", MAX_HOSTS)]
    TooManyHosts {
        /// How many it would have.
        hosts: u128,
    },
    /// An extra host for a topology that has no switches to attach it to.
    #[error("`{name}` cannot be attached: this topology has no switches for extra hosts")]
    NoTop {
        /// Name of the extra host.
        name: String,
    },
    /// A node or a cable that the graph refuses.
    #[error(transparent)]
    Graph(#[from] GraphError),
}

/// A topology that has been built.
#[derive(Debug, Clone, PartialEq)]
pub struct Built {
    /// Nodes and links.
    pub graph: Graph,
    /// The topology's own hosts in the order that its struct documents.
    pub hosts: Vec<NodeId>,
    /// The switches that hosts "above" the topology attach to, such as traffic generators: entry `i` takes their
    /// interface `i`. Drop entries to use fewer.
    pub top: Vec<NodeId>,
}

impl Built {
    /// Adds a host with one interface to each switch of `top`, in that order; `wire_up` is the direction from the
    /// switch to the new host, `wire_down` the direction from the host.
    ///
    /// Nothing here keeps those cables from being the bottleneck; choose their rate accordingly.
    ///
    /// # Errors
    /// A topology without `top`, a duplicate name, a wire that [`Graph::connect`](crate::Graph::connect) refuses, too many links. After the last
    /// two the host is there with fewer cables than it should have: do not go on with this graph.
    pub fn attach_top_host(
        &mut self,
        name: impl Into<String>,
        latency: Span,
        wire_up: Wire,
        wire_down: Wire,
    ) -> Result<NodeId, TopologyError> {
        let name = name.into();
        if self.top.is_empty() {
            return Err(TopologyError::NoTop { name });
        }
        let host = self.graph.add_host(name, latency)?;
        for &switch in &self.top {
            self.graph.connect(host, switch, wire_down, wire_up)?;
        }
        Ok(host)
    }
}

/// A topology under construction.
pub(super) struct Wiring {
    graph: Graph,
    hosts: Vec<NodeId>,
    /// From a host to a switch.
    host_wire: Wire,
    /// From a switch to a host.
    wire: Wire,
    host_latency: Span,
    switch_latency: Span,
}

impl Wiring {
    /// Nothing yet, with the wires from and to hosts, and the latencies of hosts and switches.
    pub fn new(host_wire: Wire, wire: Wire, host_latency: Span, switch_latency: Span) -> Wiring {
        Wiring { graph: Graph::new(), hosts: Vec::new(), host_wire, wire, host_latency, switch_latency }
    }

    /// Adds a switch.
    pub fn switch(&mut self, name: impl Into<String>) -> Result<NodeId, GraphError> {
        self.graph.add_switch(name, self.switch_latency)
    }

    /// Adds `count` switches named `{prefix}0`, `{prefix}1`, ….
    pub fn switches(&mut self, prefix: &str, count: u32) -> Result<Vec<NodeId>, GraphError> {
        (0..count).map(|i| self.switch(format!("{prefix}{i}"))).collect()
    }

    /// Adds a host without cables.
    pub fn host(&mut self, name: impl Into<String>) -> Result<NodeId, GraphError> {
        let host = self.graph.add_host(name, self.host_latency)?;
        self.hosts.push(host);
        Ok(host)
    }

    /// Adds a host without cables that forwards.
    pub fn forwarding_host(&mut self, name: impl Into<String>) -> Result<NodeId, GraphError> {
        let host = self.host(name)?;
        self.graph.let_forward(host);
        Ok(host)
    }

    /// Adds hosts named `{prefix}` and a number of `numbers`, each with an interface to every one of `switches`.
    pub fn hosts(&mut self, prefix: &str, numbers: Range<u32>, switches: &[NodeId]) -> Result<(), GraphError> {
        for i in numbers {
            let host = self.host(format!("{prefix}{i}"))?;
            for &switch in switches {
                self.attach(host, switch)?;
            }
        }
        Ok(())
    }

    /// Adds `count` hosts to each of `edges`: `{tier}0-host0`, … edge by edge.
    pub fn hosts_on_each(&mut self, tier: &str, edges: &[NodeId], count: u32) -> Result<(), GraphError> {
        for (e, &edge) in edges.iter().enumerate() {
            self.hosts(&format!("{tier}{e}-host"), 0..count, &[edge])?;
        }
        Ok(())
    }

    /// Connects a host to a switch.
    pub fn attach(&mut self, host: NodeId, switch: NodeId) -> Result<(), GraphError> {
        self.graph.connect(host, switch, self.host_wire, self.wire)?;
        Ok(())
    }

    /// Connects two switches.
    pub fn connect(&mut self, lower: NodeId, upper: NodeId, wire: Wire) -> Result<(), GraphError> {
        self.graph.connect(lower, upper, wire, wire)?;
        Ok(())
    }

    /// Connects each of `lower` to the one of `upper` in the same place.
    pub fn pairs(&mut self, lower: &[NodeId], upper: &[NodeId], wire: Wire) -> Result<(), GraphError> {
        lower.iter().zip(upper).try_for_each(|(&low, &up)| self.connect(low, up, wire))
    }

    /// Connects every one of `lower` to every one of `upper`; both see the others in order.
    pub fn mesh(&mut self, lower: &[NodeId], upper: &[NodeId], wire: Wire) -> Result<(), GraphError> {
        for &low in lower {
            for &up in upper {
                self.connect(low, up, wire)?;
            }
        }
        Ok(())
    }

    /// Connects aggregation switch `j` of a pod to its group of cores: `j·k/2` to `(j + 1)·k/2 - 1`.
    pub fn core_groups(&mut self, aggregation: &[NodeId], cores: &[NodeId], wire: Wire) -> Result<(), GraphError> {
        for (&switch, group) in aggregation.iter().zip(cores.chunks(aggregation.len())) {
            self.mesh(&[switch], group, wire)?;
        }
        Ok(())
    }

    /// What has been built, with the switches that hosts above it attach to.
    pub fn finish(self, top: Vec<NodeId>) -> Built {
        Built { graph: self.graph, hosts: self.hosts, top }
    }
}

/// Refuses fewer than `1`.
pub(super) fn at_least_one(name: &'static str, value: u32) -> Result<(), TopologyError> {
    if value == 0 {
        return Err(TopologyError::Parameter { name, value, allowed: "at least 1" });
    }
    Ok(())
}

/// Half of the arity `k` of a tree, which must be even.
pub(super) fn half(k: u32) -> Result<u32, TopologyError> {
    if k < 2 || !k.is_multiple_of(2) {
        return Err(TopologyError::Parameter { name: "k", value: k, allowed: "even and at least 2" });
    }
    Ok(k / 2)
}

/// Refuses more than [`Graph::MAX_LINKS`]. Factors are given apart because their product may not fit; each term is the
/// product of one row.
pub(super) fn limit(cables: &[[u32; 3]]) -> Result<(), TopologyError> {
    let product = |row: &[u32; 3]| row.iter().map(|&n| u128::from(n)).product::<u128>();
    let links = 2 * cables.iter().map(product).sum::<u128>();
    if links > u128::from(Graph::MAX_LINKS) {
        return Err(TopologyError::TooLarge { links });
    }
    Ok(())
}
