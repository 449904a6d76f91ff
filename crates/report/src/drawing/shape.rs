//! Which way a network is drawn.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::graph::Graph;

/// The layer of each node, or that there are none.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// Rows, the lowest is 0.
    Rows(Vec<usize>),
    /// Columns, the left one is 0.
    Columns(Vec<usize>),
    /// No layers.
    Any,
}

impl Shape {
    pub fn of(graph: &Graph) -> Shape {
        let tiers_join = graph.edges().all(|(one, other)| graph.nodes[one].tier != graph.nodes[other].tier);
        if tiers_join && (0..graph.len()).any(|node| !graph.is_host(node)) {
            return Shape::Rows(levels(graph).unwrap_or_else(|| tiers(graph)));
        }
        columns(graph).map_or(Shape::Any, Shape::Columns)
    }
}

/// Tiers as rows, without those that have no node.
fn tiers(graph: &Graph) -> Vec<usize> {
    let known: BTreeSet<u32> = graph.nodes.iter().map(|node| node.tier).collect();
    let row: BTreeMap<u32, usize> = known.into_iter().zip(0..).collect();
    graph.nodes.iter().map(|node| row[&node.tier]).collect()
}

/// Rows where switches connect hosts alone, and each stands for one digit of the hosts' numbers, as in BCube: the n-th
/// interfaces of hosts lead to level n. `None` if it is not so.
fn levels(graph: &Graph) -> Option<Vec<usize>> {
    if graph.edges().any(|(one, other)| !graph.is_host(one) && !graph.is_host(other)) {
        return None;
    }
    let mut rows = vec![0; graph.len()];
    for host in (0..graph.len()).filter(|&node| graph.is_host(node)) {
        for (level, &switch) in graph.neighbours[host].iter().enumerate() {
            if graph.is_host(switch) || rows[switch] > 0 && rows[switch] != level + 1 {
                return None;
            }
            rows[switch] = level + 1;
        }
    }
    // levels that divide the hosts in the same way are planes next to each other, and no levels
    let divisions = |row: usize| -> BTreeSet<BTreeSet<usize>> {
        let switches = (0..graph.len()).filter(|&node| !graph.is_host(node) && rows[node] == row);
        switches.map(|switch| graph.neighbours[switch].iter().copied().collect()).collect()
    };
    let most = rows.iter().copied().max().filter(|&most| most > 1)?;
    let different: BTreeSet<_> = (1..=most).map(divisions).collect();
    (different.len() == most).then_some(rows)
}

/// Columns where hosts are at two ends of the switches between them. `None` if it is not so.
fn columns(graph: &Graph) -> Option<Vec<usize>> {
    let switches: Vec<usize> = (0..graph.len()).filter(|&node| !graph.is_host(node)).collect();
    let mut column: Vec<Option<usize>> = vec![None; graph.len()];
    // Each part of the switches begins with the first of them that has hosts.
    let has_hosts = |node: usize| graph.neighbours[node].iter().any(|&other| graph.is_host(other));
    for &start in switches.iter().filter(|&&node| has_hosts(node)) {
        if column[start].is_some() {
            continue;
        }
        column[start] = Some(1);
        let mut open = VecDeque::from([start]);
        while let Some(node) = open.pop_front() {
            let next = column[node].map(|column| column + 1);
            for &other in graph.neighbours[node].iter().filter(|&&other| !graph.is_host(other)) {
                if column[other].is_none() {
                    column[other] = next;
                    open.push_back(other);
                }
            }
        }
    }
    let last = switches.iter().map(|&node| column[node]).max()??;
    for host in (0..graph.len()).filter(|&node| graph.is_host(node)) {
        let at: BTreeSet<Option<usize>> = graph.neighbours[host].iter().map(|&switch| column[switch]).collect();
        column[host] = match at.into_iter().collect::<Vec<_>>()[..] {
            [Some(1)] => Some(0),
            [Some(end)] if end == last => Some(last + 1),
            _ => return None,
        };
    }
    column.into_iter().collect()
}
