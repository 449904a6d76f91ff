//! What a player of the topology shows: networks, and what their links did in each step of a run.

use std::collections::BTreeMap;
use std::sync::Arc;

use headway_units::{Bytes, Rate, Span, Time};

/// Hosts send and receive, switches forward.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum NodeKind {
    /// A host, also one that forwards.
    Host,
    /// A switch.
    Switch,
}

/// A host or a switch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TopologyNode {
    /// Its name, the only one of that name.
    pub name: String,
    /// What it is.
    pub kind: NodeKind,
    /// Cables between it and the next host at the bottom: 0 for such a host, 1 for a switch with hosts, 2 for the switches
    /// above; most for a host that is attached to the top.
    pub tier: u32,
}

/// One direction of a cable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TopologyLink {
    /// The node that sends: its place in [`Topology::nodes`].
    pub from: u32,
    /// The node at the far end.
    pub to: u32,
    /// Bits per second on the wire; more than zero.
    pub rate: Rate,
    /// Propagation delay.
    pub delay: Span,
    /// Room of its queue, where it is one in bytes.
    pub limit: Option<Bytes>,
}

/// A network.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Topology {
    /// Hosts and switches.
    pub nodes: Vec<TopologyNode>,
    /// Directed links.
    pub links: Vec<TopologyLink>,
}

impl Topology {
    /// The name of each link, in their order: `a>b`. Of parallel ones the second is `a>b#2`, and so on.
    ///
    /// # Panics
    /// If a link has an end that is no node.
    pub fn link_names(&self) -> Vec<String> {
        let mut seen: BTreeMap<(u32, u32), u32> = BTreeMap::new();
        let name = |node: u32| &self.nodes[node as usize].name;
        let named = self.links.iter().map(|link| {
            let count = seen.entry((link.from, link.to)).or_default();
            *count += 1;
            let plain = format!("{}>{}", name(link.from), name(link.to));
            if *count == 1 { plain } else { format!("{plain}#{count}") }
        });
        named.collect()
    }
}

/// What a link did in one step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LinkStep {
    /// Bytes that have left the port, with preamble and inter-frame gap: at most the rate times the step, but for the frame
    /// that was being sent when it began.
    pub sent: u64,
    /// The most bytes that were queued at those times in the step at which it was looked; the last of them is its end.
    pub queue: u64,
    /// Frames that did not get over the link: dropped by the queue, refused by a limit, damaged, or lost because it was down.
    pub drops: u32,
    /// Flows that had data on their way over the link at the end of the step.
    pub flows: u32,
}

/// A link of a film that was used at some time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilmedLink {
    /// Its place in [`Topology::links`].
    pub link: u32,
    /// What it did, in as many steps as the film has.
    pub steps: Vec<LinkStep>,
}

/// The links of one run, step by step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Film {
    /// The network.
    pub topology: Arc<Topology>,
    /// When each step ended; the first began with the run. At least one.
    pub times: Vec<Time>,
    /// The links that were used, in the order of the network's.
    pub links: Vec<FilmedLink>,
}

/// A row of `links.parquet`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkRecord {
    /// When the step ended.
    pub time: Time,
    /// The link, as [`Topology::link_names`] names it.
    pub link: Arc<str>,
    /// What it did.
    pub step: LinkStep,
}
