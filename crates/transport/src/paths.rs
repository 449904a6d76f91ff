//! Paths of connections: those that are given, in place of the hash's, and those that were taken.
//!
//! Both are looked at where a path is resolved, when a subflow opens or routing has learnt of a change, so they cost
//! nothing per frame.
//!
//! Leaves out: hosts outside the loop, whose frames tell no flow; and connections that relays and web clients keep, which
//! are of no flow.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use headway_fabric::{Choice, LinkId, Waypoint};
use headway_units::Time;

use crate::flows::{FlowStart, NO_TRAFFIC};

/// A subflow of a connection of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct PathOf {
    /// The flow, by its id.
    pub flow: u64,
    /// The connection: a copy of a replicated flow, or a segment between relays; from 0.
    pub connection: u8,
    /// The subflow, in the order in which they were opened; 0 of what is not MPTCP.
    pub subflow: u8,
}

/// Nodes that a path is to pass: none of them leaves all to the hash.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct GivenPath {
    /// From the source to the destination.
    pub forth: Arc<[Waypoint]>,
    /// From the destination to the source.
    pub back: Arc<[Waypoint]>,
}

/// The paths that flows are given. Those of single subflows come before those of a traffic.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct GivenPaths {
    /// By number of the traffic, for all its flows.
    pub traffics: BTreeMap<u16, GivenPath>,
    /// By subflow.
    pub subflows: BTreeMap<PathOf, GivenPath>,
}

impl GivenPaths {
    /// Whether no flow is given a path.
    pub fn is_empty(&self) -> bool {
        self.traffics.is_empty() && self.subflows.is_empty()
    }
}

/// The path of a subflow from `time` on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathTaken {
    /// Which subflow.
    pub of: PathOf,
    /// When it was opened, or began to take this path.
    pub time: Time,
    /// From the source to the destination.
    pub forth: Arc<[LinkId]>,
    /// From the destination to the source; empty where nothing goes back, as of datagrams.
    pub back: Arc<[LinkId]>,
}

/// One way of a subflow, for which a path is wanted.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Leg {
    of: PathOf,
    traffic: u16,
    back: bool,
}

impl Leg {
    /// The way forth, of the flow `start`.
    pub fn forth(start: &FlowStart, connection: u8, subflow: usize) -> Leg {
        let of = PathOf { flow: start.id, connection, subflow: subflow as u8 };
        Leg { of, traffic: start.traffic, back: false }
    }

    /// The same, back if `back`.
    pub fn turned(self, back: bool) -> Leg {
        Leg { back, ..self }
    }
}

/// A path that was resolved.
#[derive(Debug)]
struct Entry {
    of: PathOf,
    back: bool,
    time: Time,
    path: Arc<[LinkId]>,
}

/// Paths that are given, and those that are written down.
#[derive(Debug, Default)]
pub(crate) struct PathBook {
    pub given: Arc<GivenPaths>,
    /// Whether it writes paths down.
    pub keeps: bool,
    /// In order of time.
    entries: Vec<Entry>,
    /// Each path once.
    known: BTreeSet<Arc<[LinkId]>>,
}

impl PathBook {
    /// The nodes that the path of `leg` is to pass.
    pub fn over(&self, leg: Leg) -> &[Waypoint] {
        let own = self.given.subflows.get(&leg.of).or_else(|| self.given.traffics.get(&leg.traffic));
        own.map_or(&[], |given| if leg.back { &given.back } else { &given.forth })
    }

    /// Writes down that `leg` takes `path` from now on.
    pub fn note(&mut self, time: Time, leg: Leg, path: &[LinkId]) {
        if !self.keeps || leg.traffic == NO_TRAFFIC {
            return;
        }
        let path = if let Some(known) = self.known.get(path) {
            Arc::clone(known)
        } else {
            let path: Arc<[LinkId]> = path.into();
            self.known.insert(Arc::clone(&path));
            path
        };
        self.entries.push(Entry { of: leg.of, back: leg.back, time, path });
    }

    /// The paths taken, by subflow and time.
    pub fn finish(mut self) -> Vec<PathTaken> {
        self.entries.sort_by_key(|entry| (entry.of, entry.time));
        let mut all: Vec<PathTaken> = Vec::new();
        for Entry { of, back, time, path } in self.entries {
            let before = all.last().filter(|last| last.of == of);
            let mut taken = before.cloned().unwrap_or_else(|| {
                let none: Arc<[LinkId]> = Arc::from([]);
                PathTaken { of, time, forth: Arc::clone(&none), back: none }
            });
            *(if back { &mut taken.back } else { &mut taken.forth }) = path;
            let same = before.is_some_and(|last| (&last.forth, &last.back) == (&taken.forth, &taken.back));
            if before.is_some_and(|last| last.time == time) {
                all.pop();
            } else if same {
                continue;
            }
            all.push(PathTaken { time, ..taken });
        }
        all
    }
}

/// The hash by which a choice is made where several are left.
pub(crate) fn hash(choice: Choice) -> u64 {
    match choice {
        Choice::Ecmp(hash) | Choice::Lane { pair: hash, .. } => hash,
    }
}
