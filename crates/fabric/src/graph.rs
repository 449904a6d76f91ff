//! The network as a graph of nodes and directed links, before anything moves.
//!
//! Cables are full duplex: [`Graph::connect`] adds both directions at once, so the links `2c` and
//! `2c + 1` are the two directions of cable `c` and the reverse of link `l` is `l ^ 1`.

use std::collections::BTreeMap;

use headway_units::Span;
use thiserror::Error;

use crate::queue::{QueueSpec, SharedBufferSpec};
use crate::wire::{PeriodicLoss, Wire};

/// Index of a node in [`Graph::nodes`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub u32);

/// Index of a directed link in [`Graph::links`]: the output port of its `from` node and the wire behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LinkId(pub u32);

impl NodeId {
    /// This as an index into [`Graph::nodes`].
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl LinkId {
    /// The other direction of the same cable.
    pub const fn reverse(self) -> LinkId {
        LinkId(self.0 ^ 1)
    }

    /// This as an index into [`Graph::links`].
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// What a node does with a packet: hosts end paths, switches forward.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NodeKind {
    /// Sends and receives; forwards only where [`Graph::let_forward`] says so.
    Host,
    /// Forwards only.
    Switch,
}

/// A host or a switch.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// Unique name, for example `pod0-edge1`.
    pub name: String,
    /// Host or switch.
    pub kind: NodeKind,
    /// Whether paths may lead through it: all switches, and hosts of topologies in which servers forward.
    pub forwards: bool,
    /// Time from a packet's full arrival here until it is queued at its output port.
    pub latency: Span,
    /// The buffer that its output ports share. `None`: every port has its own.
    pub buffer: Option<SharedBufferSpec>,
}

/// A directed link.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Link {
    /// The node whose output port this is.
    pub from: NodeId,
    /// The node at the far end.
    pub to: NodeId,
    /// Rate, delay, loss and queue.
    pub wire: Wire,
    /// Regular loss, in place of that of the wire.
    pub periodic_loss: Option<PeriodicLoss>,
}

/// Why a node or a cable cannot be added.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum GraphError {
    /// A node with an empty name.
    #[error("a node has an empty name")]
    EmptyName,
    /// A second node of the same name.
    #[error("two nodes are named `{name}`")]
    DuplicateName {
        /// The name in question.
        name: String,
    },
    /// A cable with both ends in one node.
    #[error("`{name}` is connected to itself")]
    SelfLoop {
        /// The node in question.
        name: String,
    },
    /// A wire that would never deliver.
    #[error("the wire from `{from}` to `{to}` has rate zero")]
    ZeroRate {
        /// Sending end.
        from: String,
        /// Receiving end.
        to: String,
    },
    /// A loss that is no probability.
    #[error("the wire from `{from}` to `{to}` has loss {loss}; a probability lies between 0 and 1")]
    Loss {
        /// Sending end.
        from: String,
        /// Receiving end.
        to: String,
        /// What was given.
        loss: f64,
    },
    /// More than [`Graph::MAX_NODES`].
    #[error("more than {} nodes", Graph::MAX_NODES)]
    TooManyNodes,
    /// More than [`Graph::MAX_LINKS`].
    #[error("more than {} directed links", Graph::MAX_LINKS)]
    TooManyLinks,
}

/// Nodes, directed links and who is connected to whom.
///
/// Methods that take a [`NodeId`] or [`LinkId`] panic if it does not come from this graph.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Graph {
    nodes: Vec<Node>,
    links: Vec<Link>,
    /// Per node its outgoing links in order of connection.
    interfaces: Vec<Vec<LinkId>>,
    names: BTreeMap<String, NodeId>,
}

impl Graph {
    /// The most directed links: a FatTree of half a million hosts, and well inside [`LinkId`].
    pub const MAX_LINKS: u32 = 4_000_000;
    /// The most nodes; a connected graph of [`Graph::MAX_LINKS`] has fewer.
    pub const MAX_NODES: u32 = Graph::MAX_LINKS;

    /// An empty graph.
    pub fn new() -> Graph {
        Graph::default()
    }

    /// Adds a host whose packets wait `latency` between arrival and processing.
    ///
    /// # Errors
    /// An empty or duplicate name; too many nodes.
    pub fn add_host(&mut self, name: impl Into<String>, latency: Span) -> Result<NodeId, GraphError> {
        self.add(name.into(), NodeKind::Host, latency)
    }

    /// Adds a switch whose packets wait `latency` between arrival and the output queue.
    ///
    /// # Errors
    /// An empty or duplicate name; too many nodes.
    pub fn add_switch(&mut self, name: impl Into<String>, latency: Span) -> Result<NodeId, GraphError> {
        self.add(name.into(), NodeKind::Switch, latency)
    }

    fn add(&mut self, name: String, kind: NodeKind, latency: Span) -> Result<NodeId, GraphError> {
        if name.is_empty() {
            return Err(GraphError::EmptyName);
        }
        if self.names.contains_key(&name) {
            return Err(GraphError::DuplicateName { name });
        }
        if self.nodes.len() >= Graph::MAX_NODES as usize {
            return Err(GraphError::TooManyNodes);
        }
        let id = NodeId(self.nodes.len() as u32);
        self.names.insert(name.clone(), id);
        let forwards = kind == NodeKind::Switch;
        self.nodes.push(Node { name, kind, forwards, latency, buffer: None });
        self.interfaces.push(Vec::new());
        Ok(id)
    }

    /// Lays a cable and returns its two directions: `a` to `b` with `wire_ab`, and the reverse with `wire_ba`.
    /// Two nodes may be connected by several cables.
    ///
    /// # Errors
    /// Both ends the same node, a rate of zero, a loss outside 0 to 1, too many links. The graph is then unchanged.
    pub fn connect(
        &mut self,
        a: NodeId,
        b: NodeId,
        wire_ab: Wire,
        wire_ba: Wire,
    ) -> Result<(LinkId, LinkId), GraphError> {
        if a == b {
            return Err(GraphError::SelfLoop { name: self.node(a).name.clone() });
        }
        self.check(a, b, &wire_ab)?;
        self.check(b, a, &wire_ba)?;
        if self.links.len() + 2 > Graph::MAX_LINKS as usize {
            return Err(GraphError::TooManyLinks);
        }
        let forth = LinkId(self.links.len() as u32);
        self.links.push(Link { from: a, to: b, wire: wire_ab, periodic_loss: None });
        self.links.push(Link { from: b, to: a, wire: wire_ba, periodic_loss: None });
        self.interfaces[a.index()].push(forth);
        self.interfaces[b.index()].push(forth.reverse());
        Ok((forth, forth.reverse()))
    }

    fn check(&self, from: NodeId, to: NodeId, wire: &Wire) -> Result<(), GraphError> {
        let name = |node| self.node(node).name.clone();
        if wire.rate.is_zero() {
            return Err(GraphError::ZeroRate { from: name(from), to: name(to) });
        }
        // A NaN is in no range.
        if !(0.0..=1.0).contains(&wire.loss) {
            return Err(GraphError::Loss { from: name(from), to: name(to), loss: wire.loss });
        }
        Ok(())
    }

    /// Lets all output ports of `node` share one buffer. What their queues allow each stays as it is.
    pub fn share_buffer(&mut self, node: NodeId, buffer: SharedBufferSpec) {
        self.nodes[node.index()].buffer = Some(buffer);
    }

    /// Gives the output port of `link` another queue.
    pub fn set_queue(&mut self, link: LinkId, queue: QueueSpec) {
        self.links[link.index()].wire.queue = queue;
    }

    /// Lets the wire of `link` damage frames with this probability, in place of its own.
    ///
    /// # Panics
    /// If it is no probability.
    pub fn set_loss(&mut self, link: LinkId, loss: f64) {
        assert!((0.0..=1.0).contains(&loss), "a probability lies between 0 and 1");
        self.links[link.index()].wire.loss = loss;
    }

    /// Lets the wire of `link` damage frames at regular distances.
    ///
    /// # Panics
    /// If a distance or the first number is 0.
    pub fn lose_every(&mut self, link: LinkId, loss: PeriodicLoss) {
        assert!(loss.every > 0 && loss.first > 0, "frames are counted from 1");
        self.links[link.index()].periodic_loss = Some(loss);
    }

    /// Lets a host forward what is not for it, from any of its interfaces to any other, as switches do.
    pub fn let_forward(&mut self, host: NodeId) {
        self.nodes[host.index()].forwards = true;
    }

    /// All nodes; a [`NodeId`] is an index here.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// All directed links; a [`LinkId`] is an index here.
    pub fn links(&self) -> &[Link] {
        &self.links
    }

    /// One node.
    pub fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.index()]
    }

    /// One directed link.
    pub fn link(&self, id: LinkId) -> &Link {
        &self.links[id.index()]
    }

    /// The node called `name`.
    pub fn find(&self, name: &str) -> Option<NodeId> {
        self.names.get(name).copied()
    }

    /// The outgoing links of a node in order of connection: interface 0, 1, … of a host, the output ports of a switch.
    pub fn interfaces(&self, node: NodeId) -> &[LinkId] {
        &self.interfaces[node.index()]
    }

    /// The number of a link among those from its node to the same one, counted from 1 in order of connection, and how many
    /// they are.
    pub fn cable(&self, id: LinkId) -> (u32, u32) {
        let Link { from, to, .. } = *self.link(id);
        let parallel = || self.interfaces(from).iter().filter(|&&other| self.link(other).to == to);
        (parallel().take_while(|&&other| other <= id).count() as u32, parallel().count() as u32)
    }

    /// All hosts in order of creation.
    pub fn hosts(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.of_kind(NodeKind::Host)
    }

    /// All switches in order of creation.
    pub fn switches(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.of_kind(NodeKind::Switch)
    }

    fn of_kind(&self, kind: NodeKind) -> impl Iterator<Item = NodeId> + '_ {
        (0..).map(NodeId).zip(&self.nodes).filter(move |(_, node)| node.kind == kind).map(|(id, _)| id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::QueueSpec;
    use headway_units::{Bytes, Rate};

    fn wire(mbps: u64) -> Wire {
        Wire {
            rate: Rate::from_mbps(mbps),
            delay: Span::from_micros(1),
            gap: Bytes::new(20),
            loss: 0.0,
            queue: QueueSpec::DropTail { limit: None, mark: None },
        }
    }

    #[test]
    fn a_cable_is_two_links_that_reverse_each_other() {
        let mut graph = Graph::new();
        let host = graph.add_host("a", Span::ZERO).unwrap();
        let switch = graph.add_switch("s", Span::from_micros(25)).unwrap();
        let (first, _) = graph.connect(host, switch, wire(1), wire(2)).unwrap();
        let (back, forth) = graph.connect(switch, host, wire(3), wire(4)).unwrap();
        for link in [first, back, forth] {
            let (one, other) = (graph.link(link), graph.link(link.reverse()));
            assert_eq!((one.from, one.to), (other.to, other.from));
            assert_eq!(link.reverse().reverse(), link);
        }
        assert_eq!(graph.link(forth).wire.rate, Rate::from_mbps(4));
        assert_eq!(graph.interfaces(host), [first, forth], "interfaces are in order of connection");
        assert_eq!(graph.interfaces(switch), [first.reverse(), back]);
        assert_eq!(graph.hosts().collect::<Vec<_>>(), [host]);
        assert_eq!(graph.switches().collect::<Vec<_>>(), [switch]);
        assert_eq!((graph.find("s"), graph.find("t")), (Some(switch), None));
    }

    #[test]
    fn mistakes_are_errors_and_leave_the_graph_alone() {
        let mut graph = Graph::new();
        let a = graph.add_host("a", Span::ZERO).unwrap();
        let b = graph.add_host("b", Span::ZERO).unwrap();
        let before = graph.clone();
        assert_eq!(graph.add_switch("a", Span::ZERO), Err(GraphError::DuplicateName { name: "a".into() }));
        assert_eq!(graph.add_switch("", Span::ZERO), Err(GraphError::EmptyName));
        assert_eq!(graph.connect(b, b, wire(1), wire(1)), Err(GraphError::SelfLoop { name: "b".into() }));
        let zero = GraphError::ZeroRate { from: "b".into(), to: "a".into() };
        assert_eq!(graph.connect(a, b, wire(1), wire(0)), Err(zero));
        for loss in [-0.1, 1.1, f64::NAN, f64::INFINITY] {
            let error = graph.connect(a, b, Wire { loss, ..wire(1) }, wire(1)).unwrap_err();
            assert!(matches!(error, GraphError::Loss { .. }), "{loss}: {error}");
        }
        assert_eq!(graph, before);
    }
}
