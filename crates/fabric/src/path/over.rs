//! Paths over nodes that are given.

use super::{FAR, NoPath, Paths, pick};
use crate::graph::{Graph, LinkId, NodeId};

/// A node that a path is to pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Waypoint {
    /// The node.
    pub node: NodeId,
    /// By which of the cables from the node before, as [`Graph::cable`] counts them; any of them where it is left out.
    pub cable: Option<u32>,
}

impl Paths {
    /// As [`Paths::path`], of the shortest paths that pass `over` in this order: between these nodes the hash `hash`
    /// chooses. The two ends may be among them. `graph` is the one that the paths are of.
    ///
    /// # Errors
    /// [`NoPath`], with `out` empty: there is no path, or no shortest path passes these nodes like that.
    ///
    /// # Panics
    /// As [`Paths::path`].
    pub fn path_over(
        &mut self,
        graph: &Graph,
        (source_interface, destination_interface): (LinkId, LinkId),
        hash: u64,
        over: &[Waypoint],
        out: &mut Vec<LinkId>,
    ) -> Result<(), NoPath> {
        self.path(source_interface, destination_interface, super::Choice::Ecmp(hash), out)?;
        let shortest = out.len();
        let ends = [source_interface, destination_interface].map(|interface| self.ends[interface.index()].0);
        out.clear();
        let [from, to] = ends;
        let mut missed = None;
        let over = over.strip_prefix(&[Waypoint { node: from, cable: None }]).unwrap_or(over);
        let (last, between) = match over.split_last() {
            Some((last, between)) if last.node == to => (Some(last), between),
            _ => (None, over),
        };
        out.push(source_interface);
        for (nth, stop) in between.iter().enumerate() {
            if !self.go_on(graph, (stop, nth == 0), (hash, ends), out) {
                missed = Some(stop.node);
                break;
            }
        }
        let exit = self.ends[destination_interface.index()].1;
        if missed.is_none() && source_interface != destination_interface.reverse() {
            let there = Waypoint { node: exit, cable: None };
            if !self.go_on(graph, (&there, true), (hash, ends), out) || out.len() + 1 > shortest {
                missed = between.last().map(|stop| stop.node);
            }
            out.push(destination_interface.reverse());
        }
        if let Some(Waypoint { cable: Some(cable), .. }) = last
            && graph.cable(destination_interface.reverse()).0 != *cable
        {
            missed = missed.or(Some(to));
        }
        match missed {
            Some(over) => {
                out.clear();
                Err(NoPath::NotOver { from, to, over })
            }
            None => Ok(()),
        }
    }

    /// Goes on from the end of `out` to `stop` on a shortest path between the two; says whether there is one. It may be
    /// where `out` ends if it `may_stay`.
    fn go_on(
        &mut self,
        graph: &Graph,
        (stop, may_stay): (&Waypoint, bool),
        (hash, ends): (u64, [NodeId; 2]),
        out: &mut Vec<LinkId>,
    ) -> bool {
        let fits = |link: LinkId| stop.cable.is_none_or(|cable| graph.cable(link).0 == cable);
        let before = *out.last().expect("a path begins at an interface");
        let here = self.ends[before.index()].1;
        if here == stop.node {
            return may_stay && fits(before);
        }
        let (Some(mut at), Some(goal)) = (self.forwarder[here.index()], self.forwarder[stop.node.index()]) else {
            return false;
        };
        let distance = if self.host.is_empty() {
            self.search(goal);
            self.distances[goal as usize].as_deref().expect("just searched")
        } else {
            self.search_between(goal, at, ends);
            &self.own.distance
        };
        if distance[at as usize] == FAR {
            return false;
        }
        while at != goal {
            let nearer = distance[at as usize] - 1;
            let leads = |link: LinkId| nearer > 0 || fits(link);
            let candidates =
                || self.hops(at).iter().filter(|hop| distance[hop.to as usize] == nearer && leads(hop.link));
            let count = candidates().count() as u32;
            if count == 0 {
                return false;
            }
            let number = if count == 1 { 0 } else { pick(hash, self.node[at as usize], count) };
            let hop = candidates().nth(number as usize).expect("it is one of them");
            out.push(hop.link);
            at = hop.to;
        }
        true
    }
}
