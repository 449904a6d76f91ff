//! Topologies of the papers and of the field: a small struct of parameters each, built into a [`Graph`].
//!
//! Hosts attach with two wires: `host_wire` for the direction from the host (whose queue is the host's own
//! output queue) and `wire` for the direction from the switch. Between switches one wire serves both directions.
//! What no struct here describes can be laid cable by cable with [`Graph::connect`].

mod bcube;
mod dual_homed;
mod dumbbell;
mod fat_tree;
mod inventory;
mod multi_homed;
mod parallel_paths;
mod tree;
mod two_tier;
mod vl2;

pub use bcube::Bcube;
pub use dual_homed::{DualHomedFatTree, DualHomedPod};
pub use dumbbell::Dumbbell;
pub use fat_tree::FatTree;
pub use inventory::{Design, Inventory, Role, Tier};
pub use multi_homed::MultiHomedFatTree;
pub use parallel_paths::ParallelPaths;
pub use tree::Tree;
pub use two_tier::TwoTier;
pub use vl2::Vl2;

use headway_units::Span;
use thiserror::Error;

use crate::graph::{Graph, GraphError, NodeId};
use crate::wire::Wire;

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
    #[error("this topology has {hosts} hosts; the most is {}", Design::MAX_HOSTS)]
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
    /// A topology without `top`, a duplicate name, a wire that [`Graph::connect`] refuses, too many links. After the last
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

/// Refuses fewer than `1`.
fn at_least_one(name: &'static str, value: u32) -> Result<(), TopologyError> {
    if value == 0 {
        return Err(TopologyError::Parameter { name, value, allowed: "at least 1" });
    }
    Ok(())
}

/// Half of the arity `k` of a tree, which must be even.
fn half(k: u32) -> Result<u32, TopologyError> {
    if k < 2 || !k.is_multiple_of(2) {
        return Err(TopologyError::Parameter { name: "k", value: k, allowed: "even and at least 2" });
    }
    Ok(k / 2)
}

/// Refuses more than [`Graph::MAX_LINKS`]. Factors are given apart because their product may not fit; each term is the
/// product of one row.
fn limit(cables: &[[u32; 3]]) -> Result<(), TopologyError> {
    let product = |row: &[u32; 3]| row.iter().map(|&n| u128::from(n)).product::<u128>();
    let links = 2 * cables.iter().map(product).sum::<u128>();
    if links > u128::from(Graph::MAX_LINKS) {
        return Err(TopologyError::TooLarge { links });
    }
    Ok(())
}

/// Adds `count` switches named `{prefix}0`, `{prefix}1`, ….
fn switches(graph: &mut Graph, prefix: &str, count: u32, latency: Span) -> Result<Vec<NodeId>, GraphError> {
    (0..count).map(|i| graph.add_switch(format!("{prefix}{i}"), latency)).collect()
}

/// Connects every one of `lower` to every one of `upper`; both see the others in order.
fn mesh(graph: &mut Graph, lower: &[NodeId], upper: &[NodeId], wire: Wire) -> Result<(), GraphError> {
    for &low in lower {
        for &up in upper {
            graph.connect(low, up, wire, wire)?;
        }
    }
    Ok(())
}

/// Connects aggregation switch `j` of a pod to its group of cores: `j·k/2` to `(j + 1)·k/2 - 1`.
fn core_groups(graph: &mut Graph, aggregation: &[NodeId], cores: &[NodeId], wire: Wire) -> Result<(), GraphError> {
    for (&switch, group) in aggregation.iter().zip(cores.chunks(aggregation.len())) {
        mesh(graph, &[switch], group, wire)?;
    }
    Ok(())
}

#[cfg(test)]
pub(crate) mod tests;
