//! The ends of two-way connections, and what happens at them.

use headway_engine::{EventClass, EventQueue, Source};
use headway_units::Time;

/// Which end of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum End {
    /// The flow's source, which opened it.
    Opener,
    /// The flow's destination.
    Acceptor,
}

/// One end of a two-way connection; good until [`SocketEvent::Closed`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Socket {
    pub(crate) connection: u32,
    /// Which end it is.
    pub end: End,
}

impl End {
    /// The other one.
    pub(crate) fn other(self) -> End {
        match self {
            End::Opener => End::Acceptor,
            End::Acceptor => End::Opener,
        }
    }
}

impl Socket {
    /// The other end.
    pub fn peer(self) -> Socket {
        Socket { end: self.end.other(), ..self }
    }
}

/// Whose a two-way connection is: who hears of what happens at its ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Owner {
    /// The application's programs.
    Program,
    /// A session of relays, by its place.
    Session(u32),
    /// A pool of connections between relays, by the place of the connection there.
    Pool(u32),
}

/// What a program hears of a socket, in the order of its happening.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SocketEvent {
    /// SYN has come to an acceptor that wants to decide on the answer: a relay's.
    Asked,
    /// The handshake is over at this end. The acceptor hears of a connection by this.
    Connected,
    /// Something has arrived in order since the program last read. It may have been read since, at the same instant.
    Readable,
    /// There is room in the send buffer after a write that found too little.
    Writable,
    /// All that the other end wrote is there, and it has closed its direction.
    PeerClosed,
    /// Both directions are closed, acknowledged and read. The socket is gone.
    Closed,
    /// The other end has reset the connection (RFC 9293 §3.5.2). What was under way is lost, and the socket is gone.
    Reset,
}

/// Events that programs have not heard of.
#[derive(Debug, Default)]
pub(crate) struct SocketEvents {
    waiting: Vec<(Socket, SocketEvent)>,
    /// Events of the queue set so far: tells those of one time apart.
    number: u32,
}

impl SocketEvents {
    /// Something has happened; programs hear of it when the network has done all else of this instant.
    pub fn note(&mut self, now: Time, socket: Socket, event: SocketEvent, queue: &mut EventQueue) {
        if self.waiting.is_empty() {
            self.number = self.number.wrapping_add(1);
            queue.push(now, Source::new(EventClass::Program, 0), self.number);
        }
        self.waiting.push((socket, event));
    }

    /// What has happened, in order. `kept` is an empty list whose memory serves for what happens next.
    pub fn take(&mut self, kept: Vec<(Socket, SocketEvent)>) -> Vec<(Socket, SocketEvent)> {
        debug_assert!(kept.is_empty());
        std::mem::replace(&mut self.waiting, kept)
    }
}
