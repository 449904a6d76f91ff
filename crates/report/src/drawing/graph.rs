//! The graph that is drawn.

use headway_results::NodeKind;

/// A node, which may stand for several.
#[derive(Debug, Clone, Copy)]
pub(super) struct Node {
    pub kind: NodeKind,
    pub tier: u32,
}

/// Nodes and who is a neighbour of whom.
#[derive(Debug)]
pub(super) struct Graph {
    pub nodes: Vec<Node>,
    /// Each neighbour once, in the order in which they were connected.
    pub neighbours: Vec<Vec<usize>>,
}

impl Graph {
    pub fn is_host(&self, node: usize) -> bool {
        self.nodes[node].kind == NodeKind::Host
    }

    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Pairs of neighbours, each once.
    pub fn edges(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        let all = self.neighbours.iter().enumerate();
        all.flat_map(|(one, others)| others.iter().map(move |&other| (one, other))).filter(|(one, other)| one < other)
    }
}
