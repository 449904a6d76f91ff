//! Links that fail and come back: the fabric loses frames, routing learns of it later, hosts see their own carrier.
//!
//! Three things happen, each at its time. From the failure on, frames are lost ([`Fabric::take_down`]). Hosts at an end of
//! a cable that is down see that at once, if its failure says so. And after a time that stands for the routing
//! protocol's, switches avoid the cable: a flow whose path uses it gets the path that the same choice gives in what is
//! left; all others keep theirs, as with resilient hashing (RFC 2992's hash-threshold would move some of them). When
//! routing learns that the cable is back, paths are again what they were.
//!
//! [`Fabric::take_down`]: headway_fabric::Fabric::take_down

use std::collections::BTreeSet;

use headway_fabric::{Choice, Graph, LinkId, NodeKind, Paths};
use headway_units::{Span, Time};

use crate::network::Network;

/// Links that go down together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// One direction each.
    pub links: Vec<LinkId>,
    /// From when on. What happens at this instant still happens.
    pub at: Time,
    /// Until when; `None`: to the end of the run. Later than `at`.
    pub until: Option<Time>,
    /// After so long routing avoids the cables, and after so long uses them again; `None`: it never learns of it.
    pub reroute: Option<Span>,
    /// Hosts at an end of a cable of which both directions are in `links` see that at once.
    pub carrier: bool,
}

/// What changes about a link. At one time, what goes down does so before anything comes back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Change {
    Down(LinkId),
    Avoid(LinkId),
    CarrierDown(LinkId),
    Up(LinkId),
    Use(LinkId),
    CarrierUp(LinkId),
}

/// What is down, and what will be.
#[derive(Debug)]
pub(crate) struct FailureState {
    /// In order of time; the next one's event is pending.
    changes: Vec<(Time, Change)>,
    next: usize,
    /// Per link how many failures have it down, and how many routing knows of; per interface how many took its carrier.
    down: Vec<u32>,
    avoided: Vec<u32>,
    dark: Vec<u32>,
    /// Links that are down.
    broken: usize,
    /// When the last link came back.
    restored: Option<Time>,
    /// Paths in what routing takes to be left; `None` while that is everything.
    remaining: Option<Paths>,
}

/// What the changes of an instant mean to others than the fabric.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    /// Routing has learnt something.
    pub learnt: bool,
    /// Interfaces that have lost their carrier, and those that have it back.
    pub lost: Vec<LinkId>,
    pub back: Vec<LinkId>,
    /// When the next changes are due.
    pub next: Option<Time>,
}

/// What `failures` change, in order of time.
fn changes(failures: &[Failure], graph: &Graph) -> Vec<(Time, Change)> {
    let mut changes = Vec::new();
    for failure in failures {
        assert!(failure.until.is_none_or(|until| until > failure.at), "a failure ends after it begins");
        let links: BTreeSet<LinkId> = failure.links.iter().copied().collect();
        let mut both = |at: Option<Time>, after: Option<Span>, change: &dyn Fn(LinkId) -> Change| {
            let Some(time) = at.zip(after).map(|(at, after)| at.saturating_add(after)) else { return };
            changes.extend(links.iter().map(|&link| (time, change(link))));
        };
        both(Some(failure.at), Some(Span::ZERO), &Change::Down);
        both(failure.until, Some(Span::ZERO), &Change::Up);
        // what is over before routing has learnt of it passes unnoticed
        let lasts = failure.until.map_or(Span::MAX, |until| until - failure.at);
        let reroute = failure.reroute.filter(|&after| after < lasts);
        both(Some(failure.at), reroute, &Change::Avoid);
        both(failure.until, reroute, &Change::Use);
        let host = |link: LinkId| {
            let from = graph.link(link).from;
            graph.interfaces(from).contains(&link) && graph.node(from).kind == NodeKind::Host
        };
        for &link in links.iter().filter(|link| failure.carrier && links.contains(&link.reverse()) && host(**link)) {
            changes.push((failure.at, Change::CarrierDown(link)));
            changes.extend(failure.until.map(|until| (until, Change::CarrierUp(link))));
        }
    }
    changes.sort_unstable();
    changes
}

impl FailureState {
    /// Nothing is down yet; gives the time of the first change, too. `None` if there is none.
    ///
    /// # Panics
    /// If a failure ends before it begins, or a link is not in the graph.
    pub fn new(failures: &[Failure], graph: &Graph) -> Option<(Time, FailureState)> {
        let changes = changes(failures, graph);
        let &(first, _) = changes.first()?;
        let none = vec![0; graph.links().len()];
        let state = FailureState {
            changes,
            next: 0,
            down: none.clone(),
            avoided: none.clone(),
            dark: none,
            broken: 0,
            restored: None,
            remaining: None,
        };
        Some((first, state))
    }

    /// Makes the changes of this instant: takes links down or up in the fabric, and notes what routing and hosts learn.
    pub fn make_changes(&mut self, now: Time, graph: &Graph, net: &mut Network) -> Changes {
        let mut made = Changes::default();
        while let Some(&(_, change)) = self.changes.get(self.next).filter(|(time, _)| *time == now) {
            self.next += 1;
            match change {
                Change::Down(link) => {
                    if FailureState::count(&mut self.down, link, true) {
                        self.broken += 1;
                        net.fabric.take_down(&mut net.queue, now, link);
                    }
                }
                Change::Up(link) => {
                    if FailureState::count(&mut self.down, link, false) {
                        self.broken -= 1;
                        self.restored = Some(now);
                        net.fabric.bring_up(&mut net.queue, now, link);
                    }
                }
                Change::Avoid(link) => made.learnt |= FailureState::count(&mut self.avoided, link, true),
                Change::Use(link) => made.learnt |= FailureState::count(&mut self.avoided, link, false),
                Change::CarrierDown(link) => {
                    if FailureState::count(&mut self.dark, link, true) {
                        made.lost.push(link);
                    }
                }
                Change::CarrierUp(link) => {
                    if FailureState::count(&mut self.dark, link, false) {
                        made.back.push(link);
                    }
                }
            }
        }
        if made.learnt {
            self.converge(graph);
        }
        made.next = self.changes.get(self.next).map(|&(time, _)| time);
        made
    }

    /// Whether the interface with this outgoing link has a carrier.
    pub fn has_carrier(&self, interface: LinkId) -> bool {
        self.dark[interface.index()] == 0
    }

    /// Whether a link is down, or was after `since`.
    pub fn touched(&self, since: Time) -> bool {
        self.broken > 0 || self.restored.is_some_and(|restored| since <= restored)
    }

    fn avoids(&self, path: &[LinkId]) -> bool {
        let known = |link: LinkId| self.avoided[link.index()] + self.avoided[link.reverse().index()] > 0;
        path.iter().any(|&link| known(link))
    }

    /// Counts a change up or down in one of the tables; says whether the link's state is another now.
    fn count(table: &mut [u32], link: LinkId, more: bool) -> bool {
        let count = &mut table[link.index()];
        if more {
            *count += 1;
            *count == 1
        } else {
            *count -= 1;
            *count == 0
        }
    }

    /// Routing has learnt something.
    fn converge(&mut self, graph: &Graph) {
        let any = self.avoided.iter().any(|&count| count > 0);
        self.remaining = any.then(|| Paths::avoiding(graph, |link| self.avoided[link.index()] > 0));
    }
}

/// Replaces `path`, on which routing knows that a link is down, by one in what is left, if there is one.
#[inline]
pub(crate) fn detour(
    failures: &mut Option<Box<FailureState>>,
    from: LinkId,
    to: LinkId,
    choice: Choice,
    path: &mut Vec<LinkId>,
) {
    let Some(failures) = failures.as_mut().filter(|failures| failures.remaining.is_some()) else { return };
    if !failures.avoids(path) {
        return;
    }
    let mut other = Vec::new();
    let found =
        failures.remaining.as_mut().is_some_and(|remaining| remaining.path(from, to, choice, &mut other).is_ok());
    // An interface whose own cable is down has no way round.
    if found && !failures.avoids(&other) {
        *path = other;
    }
}
