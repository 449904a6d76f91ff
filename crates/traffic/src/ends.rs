//! The hosts a traffic runs between.

use headway_engine::Stream;

/// The two groups of hosts a traffic runs between. Indices count within a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ends {
    /// From one group to another. Hosts that are in both may be chosen as both ends of a flow; keep groups apart.
    Between {
        /// Number of sources.
        sources: usize,
        /// Number of destinations.
        destinations: usize,
    },
    /// Within one group: every host is source and destination, but never of the same flow.
    Within {
        /// Number of hosts.
        hosts: usize,
    },
}

impl Ends {
    /// Number of sources.
    pub const fn sources(self) -> usize {
        match self {
            Ends::Between { sources, .. } => sources,
            Ends::Within { hosts } => hosts,
        }
    }

    /// Number of destinations.
    pub const fn destinations(self) -> usize {
        match self {
            Ends::Between { destinations, .. } => destinations,
            Ends::Within { hosts } => hosts,
        }
    }

    /// How many sources may send to one destination.
    pub(crate) const fn senders(self) -> usize {
        self.others(self.sources())
    }

    /// Whether a flow may not run from `source` to `destination`.
    pub(crate) const fn same(self, source: usize, destination: usize) -> bool {
        matches!(self, Ends::Within { .. }) && source == destination
    }

    /// How many hosts of a group of `count` a given host may meet.
    pub(crate) const fn others(self, count: usize) -> usize {
        count.saturating_sub(matches!(self, Ends::Within { .. }) as usize)
    }

    /// One of the `count` hosts of a group, uniformly, but not `own` within one group.
    pub(crate) fn other(self, own: usize, count: usize, stream: &mut Stream) -> usize {
        let drawn = stream.below(self.others(count) as u64) as usize;
        self.skip(own, drawn)
    }

    /// Number `index` of the hosts that `own` may meet.
    pub(crate) const fn skip(self, own: usize, index: usize) -> usize {
        index + (matches!(self, Ends::Within { .. }) && index >= own) as usize
    }
}
