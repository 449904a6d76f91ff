//! Connections between a pair of relays that are kept for one session after the other.
//!
//! A session has a connection of the pool for itself, so that each keeps its own order and window. Its data stands between
//! two records in each direction: [`OPEN`] bytes that say where to go (or, in the direction of the opener, that the
//! destination has answered, where a relay waits for that), and [`CLOSE`] bytes at the end. When all four have been read
//! the connection is free again. The pool of each direction is the opening relay's: `warm` connections are open from
//! the start of the run; if none is free a further one is opened, and stays. The one that was used last is taken first: its
//! window is the largest. What becomes of a window that was not used for a while is the profile's
//! [`IdleRestart`](crate::IdleRestart).
//!
//! Leaves out: headers within the data (8 bytes for every 64 KiB would be 0.01 %), and closing idle connections.

use std::collections::BTreeMap;

use headway_fabric::NodeId;

/// Bytes of a record before a session's data: addresses and ports of both ends as in version 2 of the PROXY protocol
/// (12 bytes of signature, 4 of header, 12 of IPv4 addresses and ports), and 4 for the session.
pub(super) const OPEN: u64 = 32;
/// Bytes of the record behind it.
pub(super) const CLOSE: u64 = 8;

/// A connection of a pool.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pooled {
    pub connection: u32,
    /// Its pool.
    pub pool: u32,
}

/// Connections from one relay to another.
#[derive(Debug)]
pub(super) struct Pool {
    pub from: NodeId,
    pub to: NodeId,
    /// Of which settings it is.
    pub relay: u16,
    /// Connections that no session has, in the order of their return.
    pub free: Vec<u32>,
}

/// All pools of a run.
#[derive(Debug, Default)]
pub(super) struct Pools {
    pub pools: Vec<Pool>,
    by_pair: BTreeMap<(NodeId, NodeId, u16), u32>,
    pub all: Vec<Pooled>,
    pub slots: crate::slots::SlotPool,
    /// Connections opened so far, which names them.
    pub opened: u64,
}

impl Pools {
    /// The pool from one relay to another under settings number `relay`.
    pub fn of(&mut self, from: NodeId, to: NodeId, relay: u16) -> u32 {
        let next = self.pools.len() as u32;
        *self.by_pair.entry((from, to, relay)).or_insert_with(|| {
            self.pools.push(Pool { from, to, relay, free: Vec::new() });
            next
        })
    }

    /// Notes a new connection of `pool`.
    pub fn add(&mut self, connection: u32, pool: u32) -> u32 {
        let place = self.slots.take();
        crate::slots::put(&mut self.all, place, Pooled { connection, pool });
        place
    }

    /// A connection was reset, and nobody takes it any more.
    pub fn withdraw(&mut self, place: u32) {
        let pool = self.all[place as usize].pool;
        self.pools[pool as usize].free.retain(|&free| free != place);
    }

    /// A connection is closed.
    pub fn remove(&mut self, place: u32) {
        self.withdraw(place);
        self.slots.give(place);
    }

    /// A connection is free.
    pub fn free(&mut self, place: u32) {
        let pool = self.all[place as usize].pool;
        self.pools[pool as usize].free.push(place);
    }
}
