//! The topology as a drawing: where each node stands, so that tiers, pods and racks are seen and few links cross.
//!
//! Three ways, by the shape of the network. Where switches are in tiers, with cables between neighbouring tiers alone, tiers
//! are rows with the hosts at the bottom. Where hosts are only at two ends (dumbbells, parallel paths), columns lead from one
//! end to the other. All others are drawn by forces. Levels of BCube are rows, too.
//!
//! Rows are ordered by barycentres (Sugiyama, Tagawa and Toda, doi:10.1109/TSMC.1981.4308636), of which the order with the
//! fewest crossings is taken; forces are those of Fruchterman and Reingold (doi:10.1002/spe.4380211102). The same network
//! is always drawn the same.

use headway_results::{NodeKind, Topology};

mod collapse;
mod forces;
mod graph;
mod layers;
mod shape;

use collapse::collapse;
use shape::Shape;

/// At most so many nodes are drawn.
pub const MAX_DRAWN: usize = 400;

/// A node of a drawing.
#[derive(Debug, Clone, PartialEq)]
pub struct DrawnNode {
    /// Its name; of several nodes drawn as one, those of the first and the last.
    pub name: String,
    /// What it is, or they are.
    pub kind: NodeKind,
    /// Its tier.
    pub tier: u32,
    /// From the left edge, 0, to the right one, 1.
    pub x: f64,
    /// From the upper edge, 0, to the lower one, 1.
    pub y: f64,
    /// How many nodes it stands for.
    pub count: usize,
}

/// A link of a drawing, or several that are drawn as one. There is one for each direction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DrawnLink {
    /// Place of the sending node among [`Drawing::nodes`].
    pub from: usize,
    /// Place of the far end.
    pub to: usize,
    /// The links it stands for: their places in the network, in order.
    pub members: Vec<u32>,
}

/// A network, laid out.
#[derive(Debug, Clone, PartialEq)]
pub struct Drawing {
    /// At most [`MAX_DRAWN`] nodes.
    pub nodes: Vec<DrawnNode>,
    /// Links between different ones of them. Parallel links of the network are one.
    pub links: Vec<DrawnLink>,
    /// The drawn node of each node of the network.
    pub node_of: Vec<usize>,
}

/// Lays a network out. Any network will do, also one of no nodes, or in several parts.
///
/// # Panics
/// If a link has an end that is no node.
pub fn draw(topology: &Topology) -> Drawing {
    let collapsed = collapse(topology, MAX_DRAWN);
    let graph = &collapsed.graph;
    let places = match Shape::of(graph) {
        Shape::Rows(layers) => {
            layers::place(graph, &layers).into_iter().map(|(along, across)| (along, 1.0 - across)).collect()
        }
        Shape::Columns(layers) => {
            layers::place(graph, &layers).into_iter().map(|(along, across)| (across, along)).collect()
        }
        Shape::Any => forces::place(graph),
    };
    let places: Vec<(f64, f64)> = places;
    let nodes = collapsed.groups.iter().zip(&graph.nodes).zip(places);
    let nodes = nodes.map(|((members, node), (x, y))| DrawnNode {
        name: name(topology, members),
        kind: node.kind,
        tier: node.tier,
        x: x.clamp(0.0, 1.0),
        y: y.clamp(0.0, 1.0),
        count: members.len(),
    });
    Drawing { nodes: nodes.collect(), links: collapsed.links, node_of: collapsed.node_of }
}

fn name(topology: &Topology, members: &[usize]) -> String {
    let of = |member: &usize| topology.nodes[*member].name.as_str();
    match members {
        [] => String::new(),
        [one] => of(one).to_owned(),
        [first, .., last] => format!("{} … {}", of(first), of(last)),
    }
}

#[cfg(test)]
mod tests;
