//! One relayed flow: its segments, and how far each is.

use super::chain::Chain;
use crate::socket::{End, Socket};
use crate::tcp::connection::UNLIMITED;
use crate::tcp::sender::SenderCounters;

/// Segments at most.
pub(super) const MOST: usize = super::plan::MOST_RELAYS + 1;

/// Which way data goes over a relay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// From the source's side to the destination's.
    Forth,
    /// The other way.
    Back,
}

/// Where a relay reads and where it writes: segment and end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Passage {
    pub from: (usize, End),
    pub to: (usize, End),
}

impl Way {
    /// What the relay at stop `stop` reads and writes.
    pub fn at(self, stop: usize) -> Passage {
        let (before, after) = ((stop - 1, End::Acceptor), (stop, End::Opener));
        match self {
            Way::Forth => Passage { from: before, to: after },
            Way::Back => Passage { from: after, to: before },
        }
    }
}

/// The place of an end in pairs.
pub(super) fn at(end: End) -> usize {
    usize::from(end == End::Acceptor)
}

/// A segment of a flow: one two-way connection.
#[derive(Debug)]
pub(super) struct Segment {
    pub connection: u32,
    /// What it had done when the flow got it.
    pub before: SenderCounters,
    /// By end: it may write.
    pub open: [bool; 2],
    /// By end: all that the other one writes is there.
    pub ended: [bool; 2],
    /// By end: it writes no more.
    pub shut: [bool; 2],
    /// Of a connection from a pool: what tells this flow's data from others'.
    pub records: Option<Records>,
    /// … and its place in the pool.
    pub pooled: Option<u32>,
}

impl Segment {
    pub fn new(connection: u32) -> Segment {
        Segment {
            connection,
            before: SenderCounters::default(),
            open: [false; 2],
            ended: [false; 2],
            shut: [false; 2],
            records: None,
            pooled: None,
        }
    }

    pub fn socket(&self, end: End) -> Socket {
        Socket { connection: self.connection, end }
    }
}

/// Records that frame a session's data in a connection of a pool, and how much of both has passed. Each pair is by the
/// end that reads.
#[derive(Debug, Clone, Copy)]
pub(super) struct Records {
    /// Bytes of the record before the data that have found no room, and that are not read.
    pub unsent: [u64; 2],
    pub head: [u64; 2],
    /// Data written to this end so far, and in all once that is known.
    pub written: [u64; 2],
    pub total: [u64; 2],
    /// Data that this end has read.
    pub read: [u64; 2],
    /// Bytes of the record behind the data that are not written, and not read.
    pub unwritten: [u64; 2],
    pub tail: [u64; 2],
}

impl Records {
    /// Before `head` bytes of records and `tail` behind the data.
    pub fn new(head: [u64; 2], tail: u64) -> Records {
        Records {
            unsent: [0; 2],
            head,
            written: [0; 2],
            total: [UNLIMITED; 2],
            read: [0; 2],
            unwritten: [tail; 2],
            tail: [tail; 2],
        }
    }

    /// Everything has been written and read, both ways.
    pub fn is_over(&self) -> bool {
        self.tail == [0; 2]
    }
}

/// A flow on its way over relays.
#[derive(Debug)]
pub(super) struct Session {
    /// Whose settings it has.
    pub plan: u16,
    /// Tells the sessions of one place apart.
    pub serial: u32,
    /// The user's flow; none if a crash has cut these segments off from it.
    pub flow: Option<u32>,
    pub chain: Chain,
    pub segments: [Option<Segment>; MOST],
    /// Bytes that the source has not written.
    pub unwritten: u64,
    /// Bytes that the destination has read.
    pub delivered: u64,
    /// What segments did that are closed, how many were opened and how many reset.
    pub done: SenderCounters,
    pub opened: u32,
    pub resets: u32,
    /// By relay and way: work on it waits for the relay's processor.
    pub waiting: [[bool; 2]; 2],
}

impl Session {
    /// Segments.
    pub fn count(&self) -> usize {
        usize::from(self.chain.segments)
    }

    /// Which segment a connection is.
    #[inline]
    pub fn find(&self, connection: u32) -> Option<usize> {
        self.segments.iter().position(|own| own.as_ref().is_some_and(|own| own.connection == connection))
    }
}
